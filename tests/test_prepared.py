"""Prepared headers: made once, kept whole or not at all, and they alter no verdict."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.data import cache_dir
from codeeval.languages import get
from codeeval.languages.toolchain import find
from codeeval.languages.warm.headers import HEADERS, NAME, PREPARED
from codeeval.languages.warm.prepared import PreparedHeaders
from codeeval.program import Check, CheckKind, Execution, Limits, Program, Status, Strength
from codeeval.sandbox.setup import Setup

CPP = HEADERS["cpp"]
BEGIN = "#include <bits/stdc++.h>\n"
BODY = "int main() {{ std::vector<int> v({n}); return v.size() == {n} ? 0 : 1; }}\n"
#: After so many programs, the header is there.
FIRST = 3

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
pytestmark = pytest.mark.toolchain


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of prepared headers, which is empty."""
    monkeypatch.setenv("CODEEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "prepared"


def judged(sources: Sequence[str], **options: object) -> list[Execution]:
    with ce.LocalExecutor(workers=1, **options) as executor:  # type: ignore[arg-type]  # as the tests give them
        found = dict(executor.execute(map(program, sources)))
    return [found[i] for i in range(len(sources))]


def program(source: str) -> Program:
    return Program(
        files={"main.cpp": source},
        main="main.cpp",
        language="cpp",
        limits=Limits(cpu_s=5),
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )


def is_given(sources: Sequence[str]) -> list[bool]:
    """Say, as an executor that has just begun, which of the programs get a prepared header."""
    headers, toolchain = PreparedHeaders(Setup(), cache_dir), find(get("cpp"))
    return [headers.recipe(toolchain, program(source)) is not None for source in sources]


def several(n: int, start: int = 0) -> list[str]:
    return [BEGIN + BODY.format(n=i) for i in range(start, start + n)]


@pytest.mark.parametrize(
    ("rest", "part"),
    [
        ("int main() {}", "common"),
        ("#include <cstdio> // text\n#  include <vector>\nint main() { return __gcd(1, 2); }", "common"),
        ("std::thread t;", "whole"),
        ("// asks for a future", "whole"),
        ("#include <future>", "whole"),
        ("#include <ext/pb_ds/assoc_container.hpp>", "whole"),
        ('#include "other.h"', "whole"),
        ("#include/**/<sys/wait.h>", "whole"),
        ("# /* text */ include <sys/wait.h>", "whole"),
        ("%:include <sys/wait.h>", "whole"),
        ("#define NAME(a, b) a##b\nstd::NAME(thr, ead) t;", "whole"),
        ("std::thr\\\nead t;", "whole"),
        ("std::thr\\ \nead t;", "whole"),
        ("std::thr\\u0065ad t;", "whole"),
        ("#ifdef __cpp_lib_filesystem\n#endif", "whole"),
        ("#if __has_include(<future>)\n#endif", "whole"),
        ("int _GLIBCXX_THREAD;", "whole"),
        ("struct Any { template <class T> operator T() const; };", "whole"),
        ("int threads, futures, launched;", "common"),
    ],
)
def test_common_header_is_for_programs_that_name_nothing_it_lacks(rest: str, part: str) -> None:
    assert CPP.part(BEGIN + rest) == part


@pytest.mark.parametrize(
    ("options", "fits"),
    [(["-std=c++17"], True), (["-std=c++17", "-O2"], False), (["-pthread", "-std=c++17"], False), ([], False)],
)
def test_a_command_with_other_options_is_given_none(options: list[str], fits: bool) -> None:
    assert CPP.fits(["{g++}", *options, "{main}", "-o", "{out}/program"]) is fits


def test_program_that_does_not_begin_with_the_header_is_given_none() -> None:
    assert CPP.part("#include <vector>\nint main() {}") is None
    assert CPP.part("#define vector list\n" + BEGIN) is None


@pytest.mark.sandbox
@needs_gcc
@pytest.mark.slow
def test_every_name_that_the_common_header_lacks_is_known(tmp_path: Path) -> None:
    """Whatever GCC knows by a name with the whole header, and not with the common one, keeps a program from that."""
    whole, common = preprocessed(BEGIN, tmp_path), preprocessed(CPP.without_rare(text_of_header()), tmp_path)
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w*", whole.read_text())))
    assert "shared_future" in names

    lacking = set()
    for scope in ("std", ""):
        lacking |= declared(whole, scope, names) - declared(common, scope, names)
    lacking |= macros(BEGIN) - macros(CPP.without_rare(text_of_header()))

    assert {"async", "thread", "cv_status", "__cpp_lib_filesystem"} <= lacking
    assert {name for name in lacking if CPP.part(f"{BEGIN}int {name};") != "whole"} == set()


def text_of_header() -> str:
    rule = subprocess.run(
        ["g++", CPP.standard, "-M", "-x", "c++", "-"], input=BEGIN, capture_output=True, text=True, check=True
    ).stdout
    return Path(next(name for name in rule.split() if name.endswith(CPP.header))).read_text()


def preprocessed(text: str, directory: Path) -> Path:
    target = directory / f"{len(text)}.ii"
    argv = ["g++", CPP.standard, "-E", "-P", "-x", "c++", "-", "-o", str(target)]
    subprocess.run(argv, input=text, capture_output=True, text=True, check=True)
    return target


def declared(header: Path, scope: str, names: Sequence[str]) -> set[str]:
    """Return those of the names that the compiler finds in a scope."""
    uses = "".join(f"using {scope}::{name};\n" for name in names)
    text = f'{header.read_text()}\nnamespace uses {{\n# 1 "uses"\n{uses}}}\n'
    argv = ["g++", CPP.standard, "-w", "-fsyntax-only", "-fmax-errors=0", "-fpreprocessed", "-x", "c++", "-"]
    said = subprocess.run(argv, input=text, capture_output=True, text=True, check=False).stderr
    wrong = {int(line) for line in re.findall(r"^uses:(\d+):\d+: error: .* has not been declared", said, re.MULTILINE)}
    return {name for line, name in enumerate(names, 1) if line not in wrong}


def macros(text: str) -> set[str]:
    argv = ["g++", CPP.standard, "-dM", "-E", "-x", "c++", "-"]
    said = subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^#define (\w+)", said, re.MULTILINE))


@needs_gcc
@pytest.mark.slow
def test_prepared_headers_lend_nothing(cache: Path) -> None:
    """They are prepared after a few programs; those after them get the same verdicts as before."""
    sources = several(8)
    sources += [BODY.format(n=99), "#include <string>\nint main() { return INT_MAX == 1; }\n"]
    sources += [BEGIN + "int main() { return std::missing(); }\n", "#define vector list\n" + sources[0]]
    # Names of the headers that the common one lacks, one as the program's own.
    sources += [BEGIN + f"using namespace std; int launch = {n}; int main() {{ return launch; }}\n" for n in range(5)]
    wanted = [Status.PASSED] * 8 + [Status.COMPILE_ERROR] * 9
    sources += [sources[0].replace("== 0 ?", "!= 0 ?")]
    sources += [BEGIN + f"int main() {{ return std::async([] {{ return {n}; }}).get() - {n}; }}\n" for n in range(3)]
    wanted += [Status.FAILED] + [Status.PASSED] * 3

    found = judged(sources)

    assert wanted == [one.status for one in found]
    assert len(list(cache.iterdir())) == 2


@needs_gcc
@pytest.mark.slow
def test_compiler_takes_what_is_prepared(cache: Path, tmp_path: Path) -> None:
    """Else it would read the header's text, which costs time and is seen nowhere."""
    is_given(several(FIRST))
    (kept,) = cache.iterdir()
    (tmp_path / "main.cpp").write_text(BEGIN + "int main() {}\n")

    flags = CPP.flags(str(kept), is_common=True)
    argv = ["g++", CPP.standard, "-H", *flags, "-fsyntax-only", str(tmp_path / "main.cpp")]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stderr.splitlines()

    assert f"! {kept / PREPARED}" in said
    assert [line for line in said if "/thread" in line or "/filesystem" in line] == []


@needs_gcc
@pytest.mark.slow
def test_header_is_kept_for_later_executors_and_a_damaged_one_is_not_used(cache: Path) -> None:
    before = is_given(several(FIRST))
    (kept,) = cache.iterdir()
    again = is_given(several(1))
    assert before == [False] * (FIRST - 1) + [True]
    assert again == [True]

    with open(kept / PREPARED, "r+b") as file:
        file.seek(10_000_000)
        file.write(b"\xff" * 50_000_000)
    after = is_given(several(FIRST))
    assert after == [False] * (FIRST - 1) + [True]
    assert list(cache.iterdir()) == [kept]


@needs_gcc
@pytest.mark.slow
def test_header_that_breaks_while_it_is_used_costs_time_and_no_verdict(cache: Path) -> None:
    """Whatever the compiler makes of it, the program is compiled without."""
    bad = BEGIN + "int main() { return std::missing(); }"
    with ce.LocalExecutor(workers=1) as executor:
        for _, execution in executor.execute(map(program, several(FIRST))):
            assert execution.status is Status.PASSED
        (kept,) = cache.iterdir()
        with open(kept / PREPARED, "r+b") as file:
            file.write(b"none")
        none = dict(executor.execute(map(program, several(2, start=30))))
        os.truncate(kept / PREPARED, 5_000_000)
        cut = dict(executor.execute(map(program, [*several(2, start=9), bad])))
        shutil.rmtree(kept)
        gone = dict(executor.execute(map(program, [*several(1, start=20), bad + "\n"])))

    assert [none[i].status for i in range(2)] == [Status.PASSED] * 2
    assert [cut[i].status for i in range(3)] == [Status.PASSED, Status.PASSED, Status.COMPILE_ERROR]
    assert [gone[i].status for i in range(2)] == [Status.PASSED, Status.COMPILE_ERROR]


@needs_gcc
@pytest.mark.slow
def test_whole_header_that_the_compiler_does_not_take_is_read(cache: Path) -> None:
    threads = [BEGIN + f"std::thread t; int main() {{ return {n} - {n}; }}" for n in range(FIRST + 2)]
    with ce.LocalExecutor(workers=1) as executor:
        before = dict(executor.execute(map(program, threads[:FIRST])))
        (kept,) = cache.iterdir()
        with open(kept / PREPARED, "r+b") as file:
            file.write(b"none")
        after = dict(executor.execute(map(program, threads[FIRST:])))

    assert [one.status for one in (*before.values(), *after.values())] == [Status.PASSED] * (FIRST + 2)
    assert not (kept / "read").exists()


@needs_gcc
@pytest.mark.slow
def test_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("CODEEVAL_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    assert is_given(several(FIRST)) == [False] * (FIRST - 1) + [True]
    assert [one.status for one in judged(several(FIRST))] == [Status.PASSED] * FIRST
    assert list((tmp_path / "temporary").iterdir()) == []


@needs_gcc
@pytest.mark.slow
def test_changed_library_is_prepared_anew(cache: Path, tmp_path: Path) -> None:
    """A compiler with a header of its own before the system's: what that says counts, also when it has changed."""
    tool, own = tmp_path / "gcc" / "bin" / "g++", tmp_path / "gcc" / "include" / "bits" / "stdc++.h"
    for path in (tool, own):
        path.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{shutil.which("g++")}" -isystem "{own.parent.parent}" "$@"\n')
    tool.chmod(0o755)
    record = dataclasses.replace(get("cpp"), tools={"g++": (str(tool),)})

    for state in ("first", "second one"):
        own.write_text(f'#pragma GCC system_header\n#include_next <bits/stdc++.h>\n#define STATE "{state}"\n')
        test = f'int main() {{ return std::string(STATE) != "{state}"; }}'
        found = judged([BEGIN + test + f"  // {n}" for n in range(FIRST + 1)], languages=[record])

        assert [one.status for one in found] == [Status.PASSED] * (FIRST + 1), found[0].stderr
    assert len(list(cache.iterdir())) == 2


@needs_gcc
@pytest.mark.slow
def test_programs_can_read_the_header_and_not_write_it(cache: Path) -> None:
    attack = BEGIN + (
        "#include <dirent.h>\n#include <fcntl.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
        'int main() { std::string top = "/prepared"; int n_seen = 0;\n'
        "  DIR *directory = opendir(top.c_str());\n"
        "  while (dirent *entry = readdir(directory)) { if (entry->d_name[0] == '.') continue; n_seen++;\n"
        '    std::string path = top + "/" + entry->d_name + "/prepared.h.gch";\n'
        "    const char *name = path.c_str();\n"
        "    if (access(name, R_OK)) return 1;\n"
        "    if (open(name, O_WRONLY) >= 0 || !unlink(name) || !chmod(name, 0777)) return 2; }\n"
        '  return n_seen == 1 && open((top + "/new").c_str(), O_CREAT | O_WRONLY, 0600) < 0 ? 0 : 3; }\n'
    )

    found = judged([*several(FIRST), attack])

    assert [one.status for one in found] == [Status.PASSED] * (FIRST + 1), found[-1].exit_code
    (kept,) = cache.iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["digest", NAME, PREPARED, "read"]


_SCRIPT = """\
import sys
sys.path.insert(0, {tests!r})
from test_prepared import judged, several
for execution in judged(several({n})):
    print(execution.status.value)
"""


def started(n: int) -> subprocess.Popen[str]:
    script = _SCRIPT.format(tests=str(Path(__file__).parent), n=n)
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


@needs_gcc
@pytest.mark.slow
def test_processes_that_prepare_it_at_once_leave_one(cache: Path) -> None:
    both = [started(FIRST + 1) for _ in range(2)]
    said = [process.communicate(timeout=400)[0].split() for process in both]

    assert said == [["passed"] * (FIRST + 1)] * 2
    assert len(list(cache.iterdir())) == 1


@needs_gcc
@pytest.mark.slow
def test_process_killed_while_it_prepares_leaves_nothing_that_counts(cache: Path) -> None:
    process = started(FIRST)
    deadline = time.monotonic() + 400
    while not (found := list(cache.glob("*/prepared.h.gch"))) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (begun,) = found
    assert begun.parent.name.startswith(".making-")
    os.utime(begun.parent, (1, 1))

    after = judged(several(FIRST))

    assert [one.status for one in after] == [Status.PASSED] * FIRST
    (kept,) = cache.iterdir()
    assert not kept.name.startswith(".")


@needs_gcc
@pytest.mark.slow
def test_only_the_latest_headers_are_kept(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "somebody's").mkdir()
    os.utime(cache / "somebody's", (1, 1))
    for age in range(9):
        (cache / f"{age:032}").mkdir()
        os.utime(cache / f"{age:032}", (1e9 - age, 1e9 - age))

    judged(several(FIRST))

    left = sorted(path.name for path in cache.iterdir() if path.name != "somebody's")
    assert len(left) == 4
    assert (cache / "somebody's").is_dir()
    assert [f"{age:032}" for age in range(3)] == left[:3]
