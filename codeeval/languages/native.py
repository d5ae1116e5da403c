"""Languages that compile to a program of their own: C++, D, Go, Rust, Swift."""

from __future__ import annotations

from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.program import Limits

__all__ = ["CPP", "GO", "RUST", "SWIFT", "D"]

_PROGRAM = "{out}/program"

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

CPP = Language(
    name="cpp",
    title="C++",
    aliases=("c++", "cxx", "cc"),
    suffix=".cpp",
    main="main.cpp",
    tools={"g++": ("g++", "c++")},
    build=("{g++}", "-std=c++17", "{main}", "-o", _PROGRAM),
    run=(_PROGRAM,),
    ending=Ending(
        memory=r"std::bad_alloc|cc1plus: out of memory|virtual memory exhausted",
        assertion=r"Assertion .* failed|^terminate called ",
        fault=r"error while loading shared libraries|No space left on device|cannot execute .cc1plus",
    ),
    stop=("\n}",),
    warm="cpp",
    version=("{g++}", "--version"),
    self_test=SelfTest(
        passing=_CPP_TEST % "sum", wrong=_CPP_TEST % "sum + 1", broken=_CPP_TEST.replace("%s", "sum.missing()")
    ),
    packages={"apt": "g++"},
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
    readable=("/etc/ldc2.conf", "/etc/ldc2", "/etc/dmd.conf"),
    ending=Ending(
        memory=r"OutOfMemoryError|Memory allocation failed",
        fault=r"error while loading shared libraries|No space left on device",
    ),
    stop=("\n\n", "\nvoid", "\nbool", "\nint"),
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

GO = Language(
    name="go",
    title="Go",
    aliases=("golang", "go_test.go"),
    suffix="_test.go",
    main="main_test.go",
    tools={"go": ("go",), "true": ("true",)},
    # Builds and vets, and instead of the tests runs a program that does nothing.
    build=("{go}", "test", "-o", _PROGRAM, "-exec", "{true}", "{main}"),
    run=(_PROGRAM, "-test.paniconexit0", "-test.timeout=0"),
    env={
        "GOCACHE": "{box}/.cache/go-build",
        "GOPATH": "/usr/share/gocode",
        "GO111MODULE": "off",
        "GOFLAGS": "",
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        "CGO_ENABLED": "0",
    },
    build_limits=Limits(cpu_s=60, wall_s=240, processes=64, threads=512),
    run_limits=Limits(cpu_s=30, wall_s=90, threads=256),
    ending=Ending(
        memory=r"^(fatal error: )?runtime: out of memory|cannot allocate memory",
        fault=r"error while loading shared libraries|No space left on device|go: cannot find GOROOT",
    ),
    stop=("\nfunc", "struct", "\n// "),
    version=("{go}", "version"),
    self_test=SelfTest(passing=_GO_TEST % "sum", wrong=_GO_TEST % "sum + 1", broken=_GO_TEST % "missing"),
    packages={"apt": "golang-go"},
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
    run_limits=Limits(cpu_s=5, wall_s=30),
    ending=Ending(
        memory=r"^memory allocation of \d+ bytes failed|capacity overflow|LLVM ERROR: out of memory",
        fault=r"error while loading shared libraries|No space left on device|linker `\w+` not found",
    ),
    stop=("\n}",),
    version=("{rustc}", "--version"),
    self_test=SelfTest(passing=_RUST_TEST % "0", wrong=_RUST_TEST % "1", broken=_RUST_TEST % '"text"'),
    packages={"apt": "rustc"},
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
    build_limits=Limits(cpu_s=45, wall_s=180, processes=64, threads=256),
    run_limits=Limits(cpu_s=5, wall_s=30),
    ending=Ending(
        assertion=r"(Assertion failed|Fatal error)",
        fault=r"error while loading shared libraries|No space left on device",
    ),
    stop=("\n}",),
    version=("{swiftc}", "--version"),
    self_test=SelfTest(passing=_SWIFT_TEST % "0", wrong=_SWIFT_TEST % "1", broken=_SWIFT_TEST % "missing"),
    packages={"swift.org": "the toolchain of swift.org/install"},
    is_verified=False,
)
