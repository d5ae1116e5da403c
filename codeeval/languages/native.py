"""Languages that compile to a program of their own: C++, D, Swift; Go and Rust have modules of their own."""

from __future__ import annotations

from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax.patterns import (
    BACKQUOTED,
    CHARACTER,
    DOUBLE_QUOTED,
    DOUBLE_QUOTED_LINES,
    TRIPLE_DOUBLE_QUOTED,
    TYPED_FUNCTION,
)
from codeeval.languages.syntax.record import Blocks, Comments, Imports, Script, Sealing, Syntax
from codeeval.program import Limits

__all__ = ["CPP", "SWIFT", "D"]

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

_CPP_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),)),
    strings=(r'R"(?P<mark>[^\s()\\]{0,16})\((?s:.*?)(?:\)(?P=mark)"|\Z)', DOUBLE_QUOTED, CHARACTER),
    definition=TYPED_FUNCTION,
    blocks=Blocks(),
    imports=Imports(line=r"#[ \t]*include[ \t]*(?:<[^>\n]+>|\"[^\"\n]+\")|using[ \t]+[^;\n()]+;"),
    main=r"^[ \t]*(?:(?:static|signed)[ \t]+)*(?:int|void|auto)\s+main\s*\(",
    ends_in_brace=True,
    sealing=Sealing(statement=r'std::puts("\n{token}");', closing=r"\}"),
)

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
    syntax=_CPP_SYNTAX,
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

_D_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"), ("/+", "+/"))),
    strings=(BACKQUOTED, DOUBLE_QUOTED_LINES, CHARACTER),
    definition=TYPED_FUNCTION,
    blocks=Blocks(),
    imports=Imports(line=r"import[ \t]+[\w., :=\t]+;"),
    main=r"^[ \t]*(?:int|void)\s+main\s*\(",
    sealing=Sealing(
        statement=r'import std.stdio : writeln; writeln("\n{token}");', closing=r"\}\s*void main\(\)\s*\{\s*\}"
    ),
)

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
    syntax=_D_SYNTAX,
    stop=("\n\n", "\nvoid", "\nbool", "\nint"),
    alone="void main() {}\n",
    version=("{ldc2}", "--version"),
    self_test=SelfTest(
        passing=_D_TEST % "numbers.sum", wrong=_D_TEST % "numbers.sum + 1", broken=_D_TEST % "numbers.missing(1"
    ),
    packages={"apt": "ldc"},
)

_SWIFT_TEST = """\
func add(numbers: [Int]) -> Int {
    return numbers.reduce(%s, +)
}
assert(add(numbers: [1, 2]) == 3)
"""

_SWIFT_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),), nested=True),
    strings=(TRIPLE_DOUBLE_QUOTED, DOUBLE_QUOTED),
    definition=r"^[ \t]*(?:(?:public|private|internal|static|@\w+)[ \t]+)*func[ \t]+{name}\b",
    blocks=Blocks(),
    imports=Imports(line=r"import[ \t]+[\w.]+"),
    script=Script(definition=r"^(?:func|struct|class|enum|extension|protocol)\b"),
    sealing=Sealing(statement=r'print("\n{token}")', closing=""),
)

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
    syntax=_SWIFT_SYNTAX,
    stop=("\n}",),
    alone="print()\n",
    version=("{swiftc}", "--version"),
    self_test=SelfTest(passing=_SWIFT_TEST % "0", wrong=_SWIFT_TEST % "1", broken=_SWIFT_TEST % "missing"),
    packages={"swift.org": "the toolchain of swift.org/install"},
    is_verified=False,
)
