"""Go, and how its packages and imports are merged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeeval.languages.libraries import LIBRARIES
from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax.masking import masked
from codeeval.languages.syntax.patterns import BACKQUOTED, CHARACTER, DOUBLE_QUOTED
from codeeval.languages.syntax.placing import without_main
from codeeval.languages.syntax.record import Answer, Blocks, Comments, Imports, Sealing, Syntax
from codeeval.program import Limits

__all__ = ["GO", "go_program"]

_PROGRAM = "{out}/program"
_GO_MEMORY = r"^(fatal error: |runtime: )+.*(out of memory|cannot allocate)"


def go_program(header: str, code: str, tests: str) -> str:
    """Return a Go file of a header (package and imports), code that may have its own, and tests.

    Go refuses imports that nothing uses, so the header's are taken as far as they are used, whether the code repeats
    them or not, and so are the code's that only its own `main` or tests used; what the code never used stays, for the
    mistake is its author's.
    """
    package = re.search(r"^[ \t]*package[ \t]+(\w+)", header, re.MULTILINE)
    body = without_main(_IMPORTS.sub("", _PACKAGE.sub("", code)), _SYNTAX).strip()
    program = f"{body}\n\n{_IMPORTS.sub('', _PACKAGE.sub('', tests)).strip()}\n"
    used = masked(program, _SYNTAX)
    unmerged = masked(_IMPORTS.sub("", code), _SYNTAX)
    given = dict.fromkeys((*_imports(header), *_imports(tests)))
    kept = {spec: None for spec in given if _uses(used, spec)}
    kept |= {spec: None for spec in _imports(code) if _uses(used, spec) or not (spec in given or _uses(unmerged, spec))}
    imports = "".join(f"\t{spec}\n" for spec in kept)
    return f"package {package[1] if package else 'main'}\n\n" + (f"import (\n{imports})\n\n" if kept else "") + program


def _into_package(answer: Answer) -> str:
    return go_program(answer.prompt, answer.code, answer.tests)


def _none(lines: list[str], mask: str) -> list[str]:
    """Add no imports: Go refuses those that are not used."""
    return []


_PACKAGE = re.compile(r"^[ \t]*package[ \t]+\w+[ \t]*;?[ \t]*$", re.MULTILINE)
_IMPORTS = re.compile(r"^[ \t]*import[ \t]*(?:\([^)]*\)|[\w.]*[ \t]*\"[^\"\n]+\")[ \t]*;?", re.MULTILINE)


def _imports(text: str) -> Iterator[str]:
    """Yield what a file imports, as `"path"` or `name "path"`."""
    for statement in _IMPORTS.findall(text):
        for alias, path in re.findall(r"(?:^|[\s(;])([\w.]+[ \t]+)?(\"[^\"\n]+\")", statement.removeprefix("import")):
            yield f"{alias.strip()} {path}".strip()


def _uses(mask: str, spec: str) -> bool:
    alias, _, path = spec.rpartition(" ")
    name = alias or re.sub(r"/v\d+$", "", path.strip('"')).rpartition("/")[2]
    return name in ("_", ".") or re.search(rf"\b{re.escape(name)}\.", mask) is not None


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

_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),)),
    strings=(BACKQUOTED, DOUBLE_QUOTED, CHARACTER),
    definition=r"^[ \t]*(?:func[ \t]+(?:\([^)\n]*\)[ \t]*)?{name}\b[ \t]*[\[(]"
    r"|(?:var[ \t]+)?{name}[ \t]*:?=[ \t]*func\b)",
    blocks=Blocks(),
    imports=Imports(
        line=r"import[ \t]+(?:[\w.]+[ \t]+)?\"[^\"\n]+\"[ \t]*;?", opening="package main\n\n", choose=_none
    ),
    main=r"^[ \t]*func\s+(?:main\s*\(|(?:Test|Benchmark|Example)\w*\s*\()",
    ends_in_brace=True,
    place=_into_package,
    sealing=Sealing(statement=r'fmt.Printf("\n{token}\n")', closing=r"\}"),
)

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
    syntax=_SYNTAX,
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
