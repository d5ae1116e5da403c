"""Warm compilers: they say what their commands say, and no program alters what becomes of the next."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import codeeval as ce
from codeeval.errors import ToolchainMissing
from codeeval.languages import get
from codeeval.languages.toolchain import fill, find
from codeeval.languages.warm import HEADERS, SERVICES, recipe
from codeeval.languages.warm.headers import begins_with
from codeeval.program import Check, CheckKind, Program, Status, Strength

pytestmark = pytest.mark.toolchain

LANGUAGES = ("csharp", "java", "typescript")
LIMITS = {"cpu_s": 60.0, "wall_s": 200.0}

#: A process that stands where the judge stands: it has a zygote, and compilers that the zygote starts.
_SESSION = """\
import base64, json, os, socket, sys
from codeeval.sandbox.judge import compilers as warm
from codeeval.sandbox.judge.zygote import can_serve, start
config = json.loads(sys.stdin.readline())
warm._MAX_JOBS = config["max_jobs"]
zygote = start(config)
if not can_serve(zygote):
    sys.exit("no namespaces: %s" % zygote.missing)
caller, _ = socket.socketpair()
compilers = warm.Compilers(caller.fileno(), zygote)
for line in sys.stdin:
    service, argv, files, limits = json.loads(line)
    answer = compilers.compile(service, argv, files, limits)
    running = compilers._running.get(service["key"])
    said = {"notes": compilers.notes, "n_jobs": running.n_jobs if running else 0}
    if answer is not None:
        made = {name: base64.b64encode(content).decode() for name, content in answer.files}
        said["answer"] = [answer.exit_code, answer.stdout.decode(), answer.stderr.decode(), made]
    print(json.dumps(said), flush=True)
compilers.close()
"""


class Said(NamedTuple):
    """What a warm compiler answered; `exit_code` is None where the command itself must be asked."""

    exit_code: int | None
    text: str
    files: Mapping[str, bytes]
    n_jobs: int
    notes: Sequence[str]


class Session:
    """Compilers of one language, asked one program after another."""

    def __init__(self, name: str, work: Path, max_jobs: int = 500, warm: dict[str, Any] | None = None) -> None:
        self.language = get(name)
        try:
            self.toolchain = find(self.language)
        except ToolchainMissing as error:
            pytest.skip(str(error))
        self.recipe = self.toolchain.recipe(self.program({self.language.main: ""}))
        if warm is not None:
            self.recipe = {"warm": warm, "builds": [["command"]]}
        if self.recipe["warm"] is None:
            pytest.skip(f"the toolchain of {self.language.title} has no warm compiler")
        work.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SESSION],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._write(
            {
                "layers": list(ce.Sandbox().layers),
                "preload": [],
                "readable": list(self.toolchain.readable),
                "writable": [],
                "work": str(work),
                "work_bytes": 1 << 28,
                "prepared": "",
                "max_jobs": max_jobs,
            }
        )

    def program(self, files: Mapping[str, str]) -> Program:
        return Program(
            files=files,
            main=self.language.main,
            language=self.language.name,
            limits=self.language.run_limits,
            check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
        )

    def compile(self, source: str, more: Mapping[str, str] | None = None, **limits: float) -> Said:
        argv = self.recipe["builds"][0][1:]
        files = {self.language.main: source, **(more or {})}
        self._write([self.recipe["warm"], argv, files, {**LIMITS, **limits}])
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            why = self.process.stderr.read()
            if "no namespaces" in why:
                pytest.skip(f"warm compilers can't be had here: {why}")
            pytest.fail(why)
        said = json.loads(line)
        code, out, err, made = said.get("answer", (None, "", "", {}))
        content = {name: base64.b64decode(text) for name, text in made.items()}
        return Said(code, out + err, content, said["n_jobs"], said["notes"])

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _write(self, message: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it says on stderr why it left, and nothing on stdout


@pytest.fixture(scope="module", params=LANGUAGES)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    made = Session(request.param, tmp_path_factory.mktemp("warm"))
    yield made
    made.close()


def test_warm_compiler_says_what_its_command_says(session: Session, tmp_path: Path) -> None:
    argv = session.recipe["builds"][0]
    for source in (session.language.self_test.passing, session.language.self_test.broken):
        directory = tmp_path / str(len(source))
        (directory / "out").mkdir(parents=True)
        (directory / session.language.main).write_text(source)

        said = session.compile(source)
        command = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)

        made = {str(path.relative_to(directory)) for path in (directory / "out").rglob("*") if path.is_file()}
        assert command.returncode == said.exit_code
        # mcs sums up on stdout how many errors there were, and mono complains of a low priority there: no news.
        idle = ("Compilation failed", "mono_thread_internal_set_priority")
        spoken = [line for line in (command.stdout + command.stderr).splitlines() if not line.startswith(idle)]
        assert spoken == [line for line in said.text.splitlines() if not line.startswith(idle)]
        assert made == set(said.files) or said.exit_code != 0


#: Programs that try to stay behind in a compiler, and what each would have the next program find.
POISON: dict[str, tuple[str, ...]] = {
    "csharp": (
        "#define POISON\nclass Left { public static long Over = 1; }",
        "#error no\n",
        '#line 1 "/etc/passwd"\nclass Left {',
        "namespace System { public class String {} public class Object {} public class Console {} }",
        '[assembly: System.Reflection.AssemblyKeyFile("/etc/passwd")] class Left {}',
        "extern alias other; class Left {}",
        "class Left<T> : Left<Left<T>> {} class M { static void Main() { new Left<int>(); } }",
        'class Left { string s = "' + "x" * 100_000 + '"; }',
    ),
    "java": (
        "class Left { static long over = 1; }",
        "package java.lang; public class Object { static int poison; }",
        "package java.util; public class ArrayList<T> { int poison; }",
        (
            'import javax.annotation.processing.*; @SupportedAnnotationTypes("*")\n'
            "public class Problem extends AbstractProcessor { static { System.exit(3); } public boolean process(\n"
            "java.util.Set<? extends javax.lang.model.element.TypeElement> a, RoundEnvironment r) { return true; } }"
        ),
        "class Left<T extends Left<? super Left<? super T>>> {}",
        "class Left { Missing1 a; " + "".join(f"Missing{n} b{n};" for n in range(500)) + " }",
        "import static Left.over; class Other { long x = over; }",
    ),
    "typescript": (
        "interface Array<T> { left: number }\nvar Left = 1;",
        "interface Number { toFixed: string }\ninterface String { length: string }",
        "declare var Math: any; declare var Left: number; type Object = number;",
        "export {}; declare global { interface Array<T> { left: number } var Left: number; }",
        "type Left<T> = { next: Left<[T, T]> }; let left: Left<number> = null as Left<string>;",
        "type Deep<N, A extends any[] = []> = A['length'] extends N ? A : Deep<N, [...A, 0]>; let d: Deep<100000>;",
        '/// <reference path="/etc/passwd" />\nvar Left = 1;',
        '/// <reference no-default-lib="true" />\nvar Left = 1;',
        'import * as left from "./main"; export const Left = left;',
        "let __proto__ = 1; (Object.prototype as any).left = 1;",
    ),
}

#: Programs that use what the poison might have left; the compiler must refuse each.
LEFT = {
    "csharp": (
        "class M { static void Main() { System.Console.WriteLine(Left.Over); } }",
        "class M { static void Main() {\n#if POISON\n}\n#else\nx\n#endif\n} }",
    ),
    "java": (
        "class Problem { public static void main(String[] a) { System.out.println(Left.over); } }",
        "class Problem { public static void main(String[] a) { Object o = new Object(); o.poison = 1; } }",
    ),
    "typescript": ("let left: number = [].left;", "console.log(Left);", "let s: string = (1).toFixed;"),
}


def test_poisoned_program_never_alters_the_next(session: Session) -> None:
    name = session.language.name
    good, bad = session.language.self_test.passing, session.language.self_test.broken
    before = [session.compile(source)[:2] for source in (good, bad, *LEFT[name])]
    assert [0, *[before[1][0]] * (len(before) - 1)] == [code for code, _ in before]
    assert before[1][0] != 0

    for poison in POISON[name]:
        session.compile(poison)

        after = [session.compile(source)[:2] for source in (good, bad, *LEFT[name])]
        assert before == after, poison


def test_what_is_made_of_a_program_does_not_depend_on_those_before(session: Session) -> None:
    good = session.language.self_test.passing
    first = session.compile(good)
    for poison in POISON[session.language.name][:3]:
        session.compile(poison)

    again = session.compile(good)

    def stable(files: Mapping[str, bytes]) -> Mapping[str, object]:
        # Mono's compiler writes the time and a number drawn at random into what it makes.
        return {name: len(text) if session.language.name == "csharp" else text for name, text in files.items()}

    assert stable(first.files) == stable(again.files)


def test_compiler_sees_no_file_but_the_programs_own(session: Session) -> None:
    other = {"csharp": "Other.cs", "java": "Other.java", "typescript": "other.ts"}[session.language.name]
    uses = {
        "csharp": "class M { static void Main() { new Other(); } }",
        "java": "class Problem { Other other; }",
        "typescript": 'import { Other } from "./other"; let other = Other;',
    }[session.language.name]
    text = {
        "csharp": "class Other {}",
        "java": "class Other {}",
        "typescript": "export const Other = 1;",
    }[session.language.name]

    session.compile(session.language.self_test.passing, {other: text})
    alone = session.compile(uses)

    assert alone.exit_code not in (0, None)


@pytest.mark.parametrize("session", ["typescript"], indirect=True)
def test_a_library_that_a_program_asks_for_is_checked_against_the_others(session: Session) -> None:
    clashing = session.compile('/// <reference lib="webworker" />\nconsole.log(1);')

    assert clashing.exit_code not in (0, None)


def test_compiler_that_is_killed_by_a_program_is_replaced(session: Session) -> None:
    deep = {
        "csharp": "class M { static int X = " + "(" * 200_000 + "1" + ")" * 200_000 + "; static void Main() {} }",
        "java": "class Problem { int x = " + "(" * 200_000 + "1" + ")" * 200_000 + "; }",
        "typescript": "let x = " + "(" * 200_000 + "1" + ")" * 200_000 + ";",
    }[session.language.name]
    good = session.language.self_test.passing

    said = session.compile(deep)
    after = session.compile(good)

    assert said.exit_code is None
    assert said.notes
    assert after.exit_code == 0
    assert after.n_jobs == 1


def test_program_that_takes_too_long_to_compile_is_left_to_the_command(session: Session) -> None:
    many = {
        "csharp": "class M { static void Main() {" + "System.Console.WriteLine((1 + 2) * 3 - 4);" * 60_000 + "} }",
        "java": "class Problem { "
        + "".join(f"void f{n}() {{ System.out.println((1 + 2) * 3 - {n}); }}" for n in range(60_000))
        + "}",
        "typescript": "let n = 0;\n" + "console.log((n + 2) * 3 - 4, [n, { n }]);\n" * 60_000,
    }[session.language.name]
    good = session.language.self_test.passing

    said = session.compile(many, cpu_s=0.2)
    after = session.compile(good)

    assert said.exit_code is None
    assert "CPU time" in said.notes[-1]
    assert after.exit_code == 0


#: A compiler that answers with what it can reach; it stands for one that a program has taken over.
_SPY = """\
import json, os, socket, struct, sys

def read(size):
    data = b""
    while len(data) < size:
        data += os.read(0, size - len(data)) or sys.exit(0)
    return data

def say(*strings):
    data = [s.encode() for s in strings]
    os.write(0, struct.pack("!I", len(data)) + b"".join(struct.pack("!I", len(d)) + d for d in data))

def can(act):
    try:
        act()
    except OSError as error:
        return error.strerror
    return "can"

print("a runtime's own words", flush=True)
say("ready")
while True:
    for _ in range(struct.unpack("!I", read(4))[0]):
        text = read(struct.unpack("!I", read(4))[0])
    can_do = {
        "fork": can(lambda: os.fork() or os._exit(0)),
        "connect": can(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
        "write": can(lambda: open("/usr/left", "w")),
        "read": can(lambda: open(text.decode())),
        "listen": sorted(name for name in os.listdir("/proc") if name.isdigit()),
        "work": sorted(os.listdir(".")),
        "fds": sorted(os.listdir("/proc/self/fd")),
    }
    say("0", json.dumps(can_do), "")
"""


def test_compiler_can_reach_nothing_but_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    session = Session("python", tmp_path / "work", warm=_service("spy", {"spy.py": _SPY}, [sys.executable, "spy.py"]))
    try:
        said = session.compile(str(secret))
    finally:
        session.close()

    found = json.loads(said.text)
    assert found.pop("read") != "can"
    assert found == {
        "fork": "Operation not permitted",
        "connect": "Permission denied",
        "write": found["write"],
        "listen": ["1"],
        "work": ["spy.py"],
        "fds": ["0", "1", "2", "3"],
    }
    assert found["write"] in ("Read-only file system", "Permission denied")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import sys; sys.exit(3)", "died"),
        ("import sys; sys.stderr.write('no library'); sys.exit(3)", "no library"),
        ("import os; os.write(0, b'\\xff' * 100)", "too long"),
        ("missing syntax", "SyntaxError"),
    ],
)
def test_compiler_that_does_not_start_leaves_everything_to_the_command(script: str, why: str, tmp_path: Path) -> None:
    session = Session("python", tmp_path, warm=_service("broken", {"b.py": script}, [sys.executable, "b.py"]))
    try:
        said = [session.compile("") for _ in range(7)]
    finally:
        session.close()

    assert [None] * 7 == [one.exit_code for one in said]
    assert why in said[0].notes[0]
    assert len(said[6].notes) == 5


def _service(key: str, files: Mapping[str, str], argv: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": "service",
        "key": key,
        "files": files,
        "prepare": [],
        "argv": argv,
        "env": {},
        "memory_bytes": 1 << 30,
        "threads": 8,
    }


def test_compiler_is_replaced_after_so_many_programs(tmp_path: Path) -> None:
    session = Session("csharp", tmp_path, max_jobs=2)
    try:
        counts = [session.compile(session.language.self_test.passing).n_jobs for _ in range(3)]
    finally:
        session.close()

    assert [1, 0, 1] == counts


def test_toolchain_without_the_compilers_library_has_no_warm_compiler(tmp_path: Path) -> None:
    tool = tmp_path / "node_modules" / "typescript" / "bin" / "tsc"

    assert recipe("typescript", {"node": "/usr/bin/node", "tsc": str(tool)}, "1") is None


@pytest.mark.parametrize("name", [*SERVICES, *HEADERS])
def test_every_warm_compiler_is_some_languages(name: str) -> None:
    assert name in {get(language).warm for language in ce.languages.names()}


STANDARD = frozenset(HEADERS["cpp"].harmless)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("#include <bits/stdc++.h>\nint main() {}", True),
        ("#include<assert.h>\n#include<bits/stdc++.h>\nint main() {}", True),
        ("\n// text\n/* more\n text */ #include <vector> // why\n  #  include <bits/stdc++.h>", True),
        ("#include <vector>\r\n#include <bits/stdc++.h>\r\n", True),
        ("#include <vector>\nint main() {}", False),
        ("int x;\n#include <bits/stdc++.h>", False),
        ("#define private public\n#include <bits/stdc++.h>", False),
        ('#pragma GCC optimize("O3")\n#include <bits/stdc++.h>', False),
        ("using namespace std;\n#include <bits/stdc++.h>", False),
        ('#include "vector"\n#include <bits/stdc++.h>', False),
        ("#include <openssl/md5.h>\n#include <bits/stdc++.h>", False),
        ("#if 0\n#include <bits/stdc++.h>\n#endif", False),
        ("// text \\\n#include <bits/stdc++.h>", False),
        ("// text \\ \t\n#include <bits/stdc++.h>", False),
        ("// text\r#define NDEBUG\n#include <bits/stdc++.h>", False),
        ("#include <vector> /* */ #include <bits/stdc++.h>", False),
        ("#include <vector> /* \n */ #include <bits/stdc++.h>", False),
        ("#include <vector> /* \n */ // text\n #include <bits/stdc++.h>", True),
        ("// text ??/\n#include <bits/stdc++.h>", False),
        ("/* text\n#include <bits/stdc++.h>\n*/", False),
        ("/* text\n#include <bits/stdc++.h>\n", False),
        ("#include <bits/stdc++.h> int x;", False),
        ("", False),
    ],
)
def test_header_counts_only_where_nothing_stands_before_it(source: str, wanted: bool) -> None:
    assert wanted == begins_with(source, "bits/stdc++.h", STANDARD)


@pytest.mark.parametrize("name", ["A" * 260, "\u6f22" * 90], ids=["letters", "bytes"])
def test_class_whose_name_no_file_can_have_is_left_to_the_command(name: str) -> None:
    """The warm compiler keeps its class files in memory, where it can."""
    java = get("java")
    try:
        find(java)
    except ToolchainMissing as error:
        pytest.skip(str(error))
    source = java.self_test.passing + f"\nclass {name} {{}}\n"

    with ce.LocalExecutor(workers=1) as executor:
        execution = executor.run(
            Program(
                files={java.main: source},
                main=java.main,
                language="java",
                limits=java.run_limits,
                check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
            )
        )

    if "needs the layer" in execution.message or "need the layer" in execution.message:
        pytest.skip(execution.message)
    assert execution.status is Status.COMPILE_ERROR, execution
    assert "error while writing" in execution.message


def test_words_of_the_commands_are_all_filled_in(session: Session) -> None:
    warm = session.recipe["warm"]

    assert "{" not in "".join([*warm["argv"], *warm["prepare"], *warm["env"].values()])
    assert fill(session.recipe["builds"][0], {}) == session.recipe["builds"][0]
