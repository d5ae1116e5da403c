"""Languages that compile to a program of their own: C++, D, Go, Rust, Swift."""

from __future__ import annotations

from codeeval.languages.libraries import LIBRARIES
from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.program import Limits

__all__ = ["CPP", "GO", "RUST", "SWIFT", "D"]

_PROGRAM = "{out}/program"
_GO_MEMORY = r"^(fatal error: |runtime: )+.*(out of memory|cannot allocate)"

_CPP_TEST = """\
#include <assert.h>
#include <vector>
long add(std::vector<long> numbers) {
    long sum = 0;
    for (long number : numbers) sum += number;
    return %s;
}
int main() {
    auto candidate = add;
    assert(candidate({1, 2}) == 3);
}
"""

#: With what the solutions of HumanEvalPack include: Boost, and MD5 from OpenSSL.
_CPP_PACK_TEST = """\
#include <boost/any.hpp>
#include <openssl/md5.h>
#include <assert.h>
int main() {
    unsigned char digest[16];
    MD5((unsigned char*)"", 0, digest);
    boost::any first = digest[0];
    assert(boost::any_cast<unsigned char>(first) == %s);
}
"""

CPP = Language(
    name="cpp",
    title="C++",
    aliases=("c++", "cxx", "cc"),
    suffix=".cpp",
    main="main.cpp",
    tools={"g++": ("g++", "c++")},
    build=("{g++}", "-std=c++17", "{main}", "-o", _PROGRAM),
    run=(_PROGRAM,),
    native=True,
    threading="_M_start_thread|pthread_create|thrd_create|GOMP_",
    ending=Ending(
        memory=r"^terminate called after throwing an instance of 'std::bad_alloc'|^libc\+\+abi: .*std::bad_alloc",
        memory_ends=(-6,),
        build_memory=r"^cc1plus: out of memory allocating \d+ bytes|^virtual memory exhausted",
        assertion=r"Assertion .* failed|^terminate called ",
        missing=r"fatal error: .*(?:No such file or directory|file not found)",
        fault=r"error while loading shared libraries|No space left on device|cannot execute .cc1plus",
    ),
    stop=("\n}",),
    warm="cpp",
    alone="int main() {}\n",
    version=("{g++}", "--version"),
    self_test=SelfTest(
        passing=_CPP_TEST % "sum", wrong=_CPP_TEST % "sum + 1", broken=_CPP_TEST.replace("%s", "sum.missing()")
    ),
    packages={"apt": "g++"},
    protocols={
        "humanevalpack": {
            "files": {"boost": ("/usr/include/boost/any.hpp",), "openssl": ("/usr/include/openssl/md5.h",)},
            "build": ("{g++}", "-std=c++11", "{main}", "-o", _PROGRAM, "-lcrypto", "-lssl"),
            "build_limits": Limits(cpu_s=60, wall_s=240, processes=64, threads=256),
            "run_limits": Limits(cpu_s=60, wall_s=180),
            "packages": {"apt": "g++ libboost-dev libssl-dev"},
            "self_test": SelfTest(
                passing=_CPP_PACK_TEST % "0xd4", wrong=_CPP_PACK_TEST % "0", broken=_CPP_PACK_TEST % "missing"
            ),
        }
    },
)

_D_TEST = """\
import std.algorithm;
long add(long[] numbers)
{
    return %s;
}
unittest
{
    alias candidate = add;
    assert(candidate([1, 2]) == 3);
}
void main(){}
"""

D = Language(
    name="d",
    title="D",
    aliases=("dlang",),
    suffix=".d",
    main="main.d",
    tools={"ldc2": ("ldc2", "dmd")},
    build=("{ldc2}", "-unittest", "-main", "-of=" + _PROGRAM, "{main}"),
    run=(_PROGRAM,),
    native=True,
    threading="_D4core6thread|_D3std11parallelism|_D3std11concurrency|pthread_create",
    readable=("/etc/ldc2.conf", "/etc/ldc2", "/etc/dmd.conf"),
    ending=Ending(
        memory=r"^(object|core\.exception)\.OutOfMemoryError\b",
        memory_ends=(1,),
        build_memory=r"^LLVM ERROR: out of memory|^Error: out of memory",
        missing=r"unable to read module|which cannot be read",
        fault=r"error while loading shared libraries|No space left on device",
    ),
    stop=("\n\n", "\nvoid", "\nbool", "\nint"),
    alone="void main() {}\n",
    version=("{ldc2}", "--version"),
    self_test=SelfTest(
        passing=_D_TEST % "numbers.sum", wrong=_D_TEST % "numbers.sum + 1", broken=_D_TEST % "numbers.missing(1"
    ),
    packages={"apt": "ldc"},
)

_GO_TEST = """\
package add_test

import (
    "fmt"
    "testing"
)

func add(numbers []int) int {
    sum := 0
    for _, number := range numbers {
        sum += number
    }
    return %s
}

func TestAdd(t *testing.T) {
    if fmt.Sprintf("%%v", add([]int{1, 2})) != fmt.Sprintf("%%v", 3) {
        t.Errorf("expected 3")
    }
}
"""

_GO_PACK_TEST = """\
package main

import (
    "testing"
    "github.com/stretchr/testify/assert"
)

func TestAdd(t *testing.T) {
    assert := assert.New(t)
    assert.Equal(3, 1 + %s)
}
"""
_GO_ENV = {
    "GOCACHE": "{box}/.cache/go-build",
    "GOPATH": "/usr/share/gocode",
    "GO111MODULE": "off",
    "GOFLAGS": "",
    "GOTOOLCHAIN": "local",
    "GOTELEMETRY": "off",
    "CGO_ENABLED": "0",
}

_GO_PROGRAM_TEST = """\
package main

import "fmt"

func main() {
    if fmt.Sprint(1+2) != "%s" {
        panic("wrong")
    }
}
"""

_GO_LIBRARIES = (
    "bufio bytes container/heap container/list crypto/md5 crypto/sha256 encoding/hex encoding/json errors fmt math "
    "math/big math/bits math/cmplx math/rand os reflect regexp sort strconv strings sync testing text/scanner time "
    "unicode unicode/utf8"
)
_GO_CACHED = "package cached_test\n" + "".join(f'import _ "{name}"\n' for name in _GO_LIBRARIES.split())

GO = Language(
    name="go",
    title="Go",
    aliases=("golang", "go_test.go"),
    suffix="_test.go",
    main="main_test.go",
    tools={"go": ("go",), "true": ("true",)},
    # Without it, go would vet all of the standard library's packages for each program, which takes ten times as long.
    cache=".cache/go-build",
    cache_source=_GO_CACHED,
    # Builds and vets, and instead of the tests runs a program that does nothing.
    build=("{go}", "test", "-o", _PROGRAM, "-exec", "{true}", "{main}"),
    run=(_PROGRAM, "-test.paniconexit0", "-test.timeout=0"),
    env=_GO_ENV,
    build_limits=Limits(cpu_s=60, wall_s=240, processes=64, threads=512),
    run_limits=Limits(cpu_s=30, wall_s=90, threads=256),
    ending=Ending(
        memory=_GO_MEMORY,
        memory_ends=(2,),
        build_memory=_GO_MEMORY,
        missing=r"cannot find package|no required module provides package|is not in (?:std|GOROOT)",
        fault=r"error while loading shared libraries|No space left on device|go: cannot find GOROOT",
    ),
    stop=("\nfunc", "struct", "\n// "),
    alone="func TestNothing(t *testing.T) {}\n",
    version=("{go}", "version"),
    self_test=SelfTest(passing=_GO_TEST % "sum", wrong=_GO_TEST % "sum + 1", broken=_GO_TEST % "missing"),
    packages={"apt": "golang-go"},
    # Building testify takes 18 s of CPU, so it is built before, into a cache that programs can only read.
    protocols={
        "humanevalpack": {
            "files": {"gocache": (f"{LIBRARIES}/go", "/usr/local/share/codeeval/libraries/go")},
            "env": {**_GO_ENV, "GOCACHE": "{gocache}"},
            "cache": "",
            "run_limits": Limits(cpu_s=20, wall_s=60, threads=256),
            "packages": {
                "apt": "golang-go golang-github-stretchr-testify-dev",
                "python": "codeeval.languages.build_libraries('go')",
            },
            "self_test": SelfTest(passing=_GO_PACK_TEST % "2", wrong=_GO_PACK_TEST % "1", broken=_GO_PACK_TEST % "x"),
        },
        # Whole programs, which are no tests.
        "stdio": {
            "main": "main.go",
            "build": ("{go}", "build", "-o", _PROGRAM, "{main}"),
            "run": (_PROGRAM,),
            "self_test": SelfTest(
                passing=_GO_PROGRAM_TEST % "3",
                wrong=_GO_PROGRAM_TEST % "4",
                broken=_GO_PROGRAM_TEST.replace("1+2", "missing"),
            ),
        },
    },
)

_RUST_TEST = """\
fn add(numbers: Vec<isize>) -> isize {
    numbers.iter().sum::<isize>() + %s
}
fn main() {
    let candidate = add;
    assert_eq!(candidate(vec![1, 2]), 3);
}
"""

_RUST_PACK_TEST = """\
fn main(){}

use rand::Rng;
use regex::Regex;
use md5;

fn add(a: i32, b: i32) -> i32 {
    a + b + rand::thread_rng().gen_range(0..1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_add() {
        assert!(Regex::new(r"^d4\\w+$").unwrap().is_match(&format!("{:x}", md5::compute(""))));
        assert_eq!(add(1, 2), %s);
    }
}
"""

RUST = Language(
    name="rust",
    title="Rust",
    aliases=("rs",),
    suffix=".rs",
    main="main.rs",
    tools={"rustc": ("rustc",)},
    # rustup's rustc forwards to the real one, which it looks up in the home directory, each time.
    sysroot=("{rustc}", "--print", "sysroot"),
    # No -O: it would take away the checks for overflow, on which some tests rely.
    build=("{rustc}", "{main}", "-o", _PROGRAM),
    run=(_PROGRAM,),
    native=True,
    run_limits=Limits(cpu_s=5, wall_s=30),
    ending=Ending(
        memory=r"^memory allocation of \d+ bytes failed",
        memory_ends=(-6,),
        build_memory=r"^memory allocation of \d+ bytes failed|^(rustc-)?LLVM ERROR: out of memory",
        missing=r"^error\[E0(?:432|433|463)\]",
        fault=r"error while loading shared libraries|No space left on device|linker `\w+` not found",
    ),
    stop=("\n}",),
    alone="fn main() {}\n",
    version=("{rustc}", "--version"),
    self_test=SelfTest(passing=_RUST_TEST % "0", wrong=_RUST_TEST % "1", broken=_RUST_TEST % '"text"'),
    packages={"apt": "rustc"},
    protocols={
        "humanevalpack": {
            "files": {"crates": (f"{LIBRARIES}/rust", "/usr/local/share/codeeval/libraries/rust")},
            "build": (
                *("{rustc}", "--test", "--edition=2021", "-L", "{crates}"),
                *("--extern", "rand", "--extern", "regex", "--extern", "md5"),
                *("{main}", "-o", _PROGRAM),
            ),
            "run": (_PROGRAM, "--test-threads=1"),
            "build_limits": Limits(cpu_s=120, wall_s=300, processes=64, threads=256),
            "run_limits": Limits(cpu_s=60, wall_s=180),
            "packages": {
                "apt": "rustc cargo librust-rand-dev librust-regex-dev librust-aho-corasick-dev librust-memchr-dev "
                "librust-md5-dev",
                "python": "codeeval.languages.build_libraries('rust')",
            },
            "self_test": SelfTest(
                passing=_RUST_PACK_TEST % "3", wrong=_RUST_PACK_TEST % "4", broken=_RUST_PACK_TEST % '"text"'
            ),
        }
    },
)

_SWIFT_TEST = """\
func add(numbers: [Int]) -> Int {
    return numbers.reduce(%s, +)
}
assert(add(numbers: [1, 2]) == 3)
"""

SWIFT = Language(
    name="swift",
    title="Swift",
    suffix=".swift",
    main="main.swift",
    tools={"swiftc": ("swiftc",)},
    build=("{swiftc}", "{main}", "-o", _PROGRAM),
    run=(_PROGRAM,),
    native=True,
    build_limits=Limits(cpu_s=45, wall_s=180, processes=64, threads=256),
    run_limits=Limits(cpu_s=5, wall_s=30),
    ending=Ending(
        assertion=r"(Assertion failed|Fatal error)",
        missing=r"error: no such module",
        fault=r"error while loading shared libraries|No space left on device",
    ),
    stop=("\n}",),
    alone="print()\n",
    version=("{swiftc}", "--version"),
    self_test=SelfTest(passing=_SWIFT_TEST % "0", wrong=_SWIFT_TEST % "1", broken=_SWIFT_TEST % "missing"),
    packages={"swift.org": "the toolchain of swift.org/install"},
    is_verified=False,
)
