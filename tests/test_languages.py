"""Every language that is installed: what passes, what fails and how, and what nothing can be told about."""

from __future__ import annotations

import dataclasses
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import codeeval as ce
from codeeval.errors import InvalidProblem, SandboxUnavailable, ToolchainMissing
from codeeval.languages import Ending, Language, SelfTest, get
from codeeval.languages.syntax import main_type
from codeeval.languages.toolchain import fill, find
from codeeval.program import Check, CheckKind, Execution, Limits, Program, Status, Strength
from codeeval.sandbox.worker import Worker
from tests.support.machine import NeedToolchain


class Bad(NamedTuple):
    """Programs that misbehave, in one language."""

    loop: str
    "Never ends."
    hog: str
    "Takes all the memory that it can get."
    leave: str = ""
    "A function whose call exits with code 0; only where the tests' end can be seen."


BAD = {
    "bash": Bad("while :; do :; done", 'a=xxxxxxxxxxxxxxxx; while :; do a="$a$a"; done', "add() { exit 0; }\nadd\n"),
    "cpp": Bad(
        "int main() { volatile long n = 0; for (;;) n++; }",
        "#include <vector>\nint main() { std::vector<char*> all; for (;;) { all.push_back(new char[1 << 24]);\n"
        "for (int i = 0; i < 1 << 24; i += 4096) all.back()[i] = 1; } }",
    ),
    "csharp": Bad(
        "class Problem { public static void Main() { for (;;) {} } }",
        "using System.Collections.Generic;\nclass Problem { public static void Main() {\n"
        "var all = new List<byte[]>(); for (;;) { var b = new byte[1 << 24];\n"
        "for (int i = 0; i < b.Length; i += 4096) b[i] = 1; all.Add(b); } } }",
    ),
    "d": Bad(
        "unittest { for (;;) {} }\nvoid main(){}",
        "unittest { ubyte[][] all; for (;;) { all ~= new ubyte[](1 << 24); all[$ - 1][] = 1; } }\nvoid main(){}",
    ),
    "go": Bad(
        'package p\nimport "testing"\nfunc TestLoop(t *testing.T) { for {} }',
        'package p\nimport "testing"\nfunc TestHog(t *testing.T) { all := [][]byte{}\n'
        "for { b := make([]byte, 1 << 24)\n"
        "for i := 0; i < len(b); i += 4096 { b[i] = 1 }; all = append(all, b) } }",
    ),
    "java": Bad(
        "class Problem { public static void main(String[] args) { for (;;) {} } }",
        "import java.util.*;\nclass Problem { public static void main(String[] args) {\n"
        "List<byte[]> all = new ArrayList<>(); for (;;) all.add(new byte[1 << 24]); } }",
    ),
    "javascript": Bad(
        "for (;;) {}",
        "const all = []; for (;;) all.push(Buffer.alloc(1 << 26).fill(1));",
        "function add() { process.exit(0); }\nadd();",
    ),
    "julia": Bad("while true end", "a = []; while true push!(a, ones(10^7)) end", "add() = exit(0)\nadd()"),
    "lua": Bad(
        "while true do end",
        "local a = {}; local i = 0; while true do i = i + 1; a[i] = string.rep('x', 1 << 20) .. i end",
        "function add() os.exit(0) end\nadd()",
    ),
    "perl": Bad("while (1) {}", "my @a; while (1) { push @a, 'x' x (1 << 24); }", "sub add { exit 0; }\nadd();"),
    "php": Bad(
        "<?php while (true) {}",
        "<?php ini_set('memory_limit', -1); $a = []; while (true) { $a[] = str_repeat('x', 1 << 24); }",
        "<?php\nfunction add() { exit(0); }\nadd();",
    ),
    "python": Bad(
        "while True: pass", "a = []\nwhile True: a.append(bytearray(1 << 24))", "def add(): raise SystemExit\nadd()"
    ),
    "r": Bad("while (TRUE) {}", "a <- list(); while (TRUE) a[[length(a) + 1]] <- rep(1, 1e7)", "quit(status = 0)"),
    "racket": Bad(
        "#lang racket\n(let loop () (loop))",
        "#lang racket\n(let loop ([all '()]) (loop (cons (make-bytes 16777216 1) all)))",
        "#lang racket\n(define (add) (exit 0))\n(add)",
    ),
    "ruby": Bad("loop {}", "a = []\nloop { a << 'x' * (1 << 24) }", "def add = exit(0)\nadd"),
    "rust": Bad(
        "fn main() { let mut n = 0u64; loop { n = std::hint::black_box(n.wrapping_add(1)); } }",
        "fn main() { let mut all = Vec::new(); loop { all.push(vec![1u8; 1 << 24]); } }",
    ),
    "scala": Bad(
        "object Problem { def main(args: Array[String]) = { while (true) {} } }",
        "object Problem { def main(args: Array[String]) = { var all = List[Array[Byte]]();\n"
        "while (true) all = new Array[Byte](1 << 24) :: all } }",
    ),
    "swift": Bad(
        "while true {}", "var all: [[UInt8]] = []\nwhile true { all.append(Array(repeating: 1, count: 1 << 24)) }"
    ),
    "typescript": Bad(
        "for (;;) {}",
        "declare var Buffer: any;\nconst all = []; for (;;) all.push(Buffer.alloc(1 << 26).fill(1));",
        "declare var process: any;\nfunction add() { process.exit(0); }\nadd();",
    ),
}


@pytest.fixture(scope="module", params=list(BAD))
def language(need_toolchain: NeedToolchain, request: pytest.FixtureRequest) -> Language:
    """Each language whose tools are found, or that must be found."""
    record = ce.languages.get(request.param)
    need_toolchain(record)
    return record


def program(language: Language, source: str, **limits: float) -> Program:
    return Program(
        files={language.main: source},
        main=language.main,
        language=language.name,
        limits=dataclasses.replace(language.run_limits, **limits),  # type: ignore[arg-type]  # numbers all
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )


def run(executor: ce.LocalExecutor, language: Language, source: str, **limits: float) -> Execution:
    return executor.run(program(language, source, **limits))


# ------------------------------------------------------------------------------------------------ every language


def test_a_right_program_passes(executor: ce.LocalExecutor, language: Language) -> None:
    execution = run(executor, language, language.self_test.passing)

    assert execution.status is Status.PASSED, execution
    assert execution.exit_code == 0
    assert execution.cpu_s > 0


def test_a_wrong_answer_fails_and_says_why(executor: ce.LocalExecutor, language: Language) -> None:
    execution = run(executor, language, language.self_test.wrong)

    assert execution.status is Status.FAILED, execution
    assert execution.message or language.name == "bash"  # whose tests say nothing


def test_what_does_not_compile_is_told_from_a_wrong_answer(executor: ce.LocalExecutor, language: Language) -> None:
    execution = run(executor, language, language.self_test.broken)

    assert execution.status is Status.COMPILE_ERROR, execution
    assert execution.message
    assert execution.message.startswith("build: ") == (language.build is not None)


def test_an_endless_loop_is_stopped_by_its_cpu_time(executor: ce.LocalExecutor, language: Language) -> None:
    execution = run(executor, language, BAD[language.name].loop, cpu_s=1.0, wall_s=60.0)

    assert execution.status is Status.TIMED_OUT, execution
    assert execution.message.startswith("cpu: ")
    assert execution.cpu_s >= 0.9


def test_a_memory_hog_is_told_from_a_wrong_answer(executor: ce.LocalExecutor, language: Language) -> None:
    execution = run(executor, language, BAD[language.name].hog, cpu_s=30.0, wall_s=120.0, memory_bytes=1 << 29)

    assert execution.status is Status.MEMORY_EXCEEDED, execution
    assert execution.peak_memory_bytes <= 700 << 20


def test_exiting_before_the_tests_is_no_pass(executor: ce.LocalExecutor, language: Language) -> None:
    if not language.epilogue:
        pytest.skip(f"{language.title} has no statement that could stand after its tests")
    proof = "the tests are through"
    sealed = BAD[language.name].leave + "\n" + language.epilogue.replace("{token}", proof) + "\n"
    left = program(language, sealed)
    assert left.check is not None

    execution = executor.run(
        dataclasses.replace(left, check=dataclasses.replace(left.check, parameters={"proof": proof}))
    )

    assert execution.status is Status.EARLY_EXIT, execution


def test_a_missing_tool_is_named_and_what_to_install(language: Language) -> None:
    bare = dataclasses.replace(language, tools={**language.tools, "missing": ("no-such-tool-at-all",)})

    with ce.LocalExecutor(workers=1, languages=[bare]) as executor, pytest.raises(ToolchainMissing) as caught:
        run(executor, bare, language.self_test.passing)

    assert language.title in str(caught.value)
    assert "no-such-tool-at-all" in str(caught.value)
    assert next(iter(language.packages.values())) in str(caught.value)


# ------------------------------------------------------------------------------------------------ records

OCAML = Language(
    name="ocaml",
    title="OCaml",
    aliases=("ml",),
    suffix=".ml",
    main="main.ml",
    tools={"ocaml": ("ocaml",)},
    run=("{ocaml}", "{main}"),
    ending=Ending(
        compile_stderr=r"^Error: (Syntax error|Unbound|This expression)",
        memory=r"Out_of_memory",
        fault=r"Cannot find file stdlib",
    ),
    stop=("\n\n", "\n(*", "\ntype", "\nlet"),
    epilogue=r'let () = print_endline "\n{token}"',
    version=("{ocaml}", "-version"),
    self_test=SelfTest(
        passing="let add a b = a + b\nlet () = assert (add 1 2 = 3)\n",
        wrong="let add a b = a - b\nlet () = assert (add 1 2 = 3)\n",
        broken="let add a b = a +\nlet () = assert (add 1 2 = 3)\n",
    ),
    packages={"apt": "ocaml-nox"},
)


def test_a_language_of_ones_own_is_one_record(need_toolchain: NeedToolchain) -> None:
    """What the how-to page says, with a language that is not among ours."""
    need_toolchain(OCAML)
    problem = ce.Problem.from_source(
        "add/0", "let add a b =\n", "let () = assert (add 1 2 = 3)", OCAML, canonical_solution="  a + b\n", sealed=True
    )
    answers = {"  a + b\n": "passed", "  a - b\n": "failed", "  a +\n": "compile_error", "  exit 0\n": "early_exit"}
    samples = [ce.Sample(task_id="add/0", index=i, completion=text) for i, text in enumerate(answers)]

    with ce.LocalExecutor(workers=1, languages=[OCAML]) as executor:
        results = ce.evaluate(ce.ProblemSet([problem]), ce.RecordedSampler(samples), executor, n_samples=4)

    statuses = {attempt.sample.completion: attempt.executions["tests"].status.value for attempt in results.attempts}
    assert answers == statuses
    assert results.manifest["executor"]["toolchains"]["ocaml"]["record"] == OCAML.digest()


def test_a_problem_in_another_language_gets_what_its_record_says() -> None:
    record = ce.languages.get("rust")

    problem = ce.Problem.from_source("a/0", "fn f() {\n", "fn main() {}", "rs", metadata={"source": "mine"})

    assert (problem.language, problem.stop, problem.limits) == ("rust", (), record.run_limits)
    assert ce.Problem.from_source("a/0", "fn f() {\n", "}\nfn main() {}", "rs").stop == record.stop
    assert problem.strength is Strength.SAME_BOX
    assert problem == pickle.loads(pickle.dumps(problem))
    with pytest.raises(InvalidProblem, match="a/0: a problem needs tests"):
        ce.Problem.from_source("a/0", "fn f() {\n", " ", "rust")


def test_there_are_python_and_the_18_of_multipl_e() -> None:
    short = "cpp cs d go_test.go java jl js lua php pl py r rb rkt rs scala sh swift ts".split()

    assert len(ce.languages.names()) >= len({ce.languages.get(name).name for name in short}) == 19


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(ValueError, match="did you mean 'javascript'"):
        ce.languages.get("javascrip")
    with pytest.raises(TypeError, match="must be a string"):
        ce.languages.get(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ce.languages.names())
def test_a_record_says_everything_that_is_needed(name: str) -> None:
    record = ce.languages.get(name)

    assert record == pickle.loads(pickle.dumps(record))
    assert record.digest() == pickle.loads(pickle.dumps(record)).digest()
    assert record.packages
    assert record.stop
    assert record.build is None or any("{out}" in word for word in record.build)
    assert record.is_verified == (name not in ("julia", "swift"))
    for protocol in record.protocols:
        assert protocol in ce.languages.PROTOCOLS
        assert record.under(protocol) != record
    assert record.under("multipl-e") == record  # ours are MultiPL-E's rules


def test_names_of_languages_are_given_once() -> None:
    every = [n for name in ce.languages.names() for n in (name, *ce.languages.get(name).aliases)]

    assert len(every) == len(set(every))


@pytest.mark.sandbox
def test_a_tool_outside_of_the_system_brings_what_it_was_installed_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "opt" / "tool-1.2"
    (home / "bin").mkdir(parents=True)
    tool = home / "bin" / "sometool"
    tool.write_text("#!/bin/sh\necho 1.2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    record = dataclasses.replace(
        OCAML, tools={"tool": ("missing", "sometool")}, version=("{tool}",), run=("{tool}", "{main}")
    )

    toolchain = find(record)

    assert toolchain.places["tool"] == str(tool)
    assert toolchain.readable == (str(home),)
    assert toolchain.path.split(":")[0] == str(home / "bin")
    assert toolchain.version() == "1.2"


def test_a_tool_in_somebodys_home_does_not_bring_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "sometool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))

    toolchain = find(dataclasses.replace(OCAML, tools={"tool": ("sometool",)}, run=("{tool}",), version=("{tool}",)))

    assert toolchain.readable == (str(tool.parent),)


def test_another_compiler_is_another_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "sometool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    record = dataclasses.replace(OCAML, tools={"tool": ("sometool",)}, run=("{tool}", "{main}"), version=("{tool}",))
    before = find(record).identity

    tool.write_text("#!/bin/sh\necho other\n")

    assert find(record).identity != before
    assert find(dataclasses.replace(record, run=("{tool}",))).identity != find(record).identity


# ------------------------------------------------------------------------------------------------ doctor


def broken_language(**changes: object) -> Language:
    """A record whose tool is always there, and that needs nothing: a shell."""
    shell = dataclasses.replace(
        OCAML,
        name="shell",
        title="Shell",
        tools={"sh": ("sh",)},
        run=("{sh}", "{main}"),
        epilogue='[ $? = 0 ] && echo "{token}"',
        version=("{sh}", "-c", "echo shell 1"),
        ending=Ending(compile_stderr="Syntax error|syntax error"),
        self_test=SelfTest(passing="true", wrong="false", broken="("),
        packages={"apt": "dash"},
    )
    return dataclasses.replace(shell, **changes)  # type: ignore[arg-type]


def test_doctor_tells_what_works_what_is_broken_and_what_is_missing(executor: ce.LocalExecutor) -> None:
    works = broken_language()
    broken = broken_language(name="broken", title="Broken", self_test=SelfTest(passing="false", wrong="", broken=""))
    missing = broken_language(name="gone", title="Gone", tools={"sh": ("no-such-shell",)})

    found = ce.languages.doctor([works, broken, missing])

    assert [d.state for d in found] == ["works", "broken", "missing"]
    assert [bool(d) for d in found] == [True, False, False]
    assert found["shell"].version == "shell 1"
    assert "must pass" in found["broken"].message
    assert "dash" in found["broken"].message
    assert "no-such-shell" in found["gone"].message
    assert "dash" in found["gone"].message
    for shown in (repr(found), found._repr_html_()):
        assert all(word in shown for word in ("Shell", "works", "Broken", "Gone", "missing", "shell 1"))


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"epilogue": 'nonsense "{token}"'},
            "with the epilogue behind it, and passes without; check Language.epilogue",
        ),
        ({"epilogue": "# {token}"}, "ended as early_exit"),
        ({"epilogue": 'echo "{token}"'}, "the program that must fail ended as passed (self-test-is-through) with the"),
        ({"self_test": SelfTest(passing="exit 0", wrong="false", broken="(")}, "lets its end be reached"),
        (
            {"self_test": SelfTest(passing="printf x", wrong="false", broken="(")},
            "Language.epilogue, which begins a new line",
        ),
    ],
)
def test_an_epilogue_that_proves_nothing_breaks_its_language(changes: dict[str, Any], told: str) -> None:
    """Otherwise every right answer to a sealed problem would fail, and a model would seem to solve nothing."""
    language = broken_language(**changes)
    problem = ce.Problem.from_source("a/0", "true\n", "true", language, canonical_solution="true\n", sealed=True)

    with (
        ce.LocalExecutor(workers=1, languages=[language]) as executor,
        pytest.raises(ToolchainMissing, match=re.escape(told)),
    ):
        ce.evaluate(ce.ProblemSet([problem]), ce.CanonicalSampler(), executor)


def test_a_wrong_answer_in_bash_fails_sealed_tests_too(executor: ce.LocalExecutor) -> None:
    """What a script ends with is what its last command came to, and the seal must not be that."""
    problem = ce.Problem.from_source("add/0", "add() {\n", '[ "$(add 1 2)" = 3 ]', "bash", sealed=True)
    samples = [
        ce.Sample(task_id="add/0", index=index, completion=f"    {body}; }}\n")
        for index, body in enumerate(("echo $(($1 + $2))", "echo 4", "exit 0"))
    ]

    results = ce.evaluate(ce.ProblemSet([problem]), ce.RecordedSampler(samples), executor, n_samples=3, cache=False)

    statuses = [attempt.executions["tests"].status.value for attempt in results.attempts]
    assert statuses == ["passed", "failed", "failed"]  # the subshell alone exits


@pytest.mark.parametrize(
    ("name", "prompt", "body", "tests"),
    [
        ("bash", "add() {\n", "    echo $(($1 + $2))\n}\n", '[ "$(add 1 2)" = 3 ]'),
        ("cpp", "int add(int a, int b) {\n", "    return a + b;\n}\n", "int main() { return add(1, 2) - 3; }"),
        ("cpp", "int add(int a, int b) {\n", "    return a + b;\n}\n", "}\nint main() { return add(1, 2) - 3; }"),
        ("php", "<?php\nfunction add($a, $b) {\n", "    return $a + $b;\n}\n", "exit(add(1, 2) === 3 ? 0 : 1);"),
        ("rust", "fn add(a: i32, b: i32) -> i32 {\n", "    a + b\n}\n", "fn main() { assert_eq!(add(1, 2), 3); }"),
    ],
)
def test_what_closes_a_function_is_cut_only_where_the_tests_bring_it(
    need_toolchain: NeedToolchain, executor: ce.LocalExecutor, name: str, prompt: str, body: str, tests: str
) -> None:
    need_toolchain(name)
    problem = ce.Problem.from_source("add/0", prompt, tests, name)
    sampler = ce.RecordedSampler([{"task_id": "add/0", "completion": body}])

    results = ce.evaluate(ce.ProblemSet([problem]), sampler, executor, cache=False)

    assert [attempt.passed for attempt in results.attempts] == [True], results.failures()


def test_ruby_is_sealed_behind_what_its_tests_do_at_the_end(
    need_toolchain: NeedToolchain, executor: ce.LocalExecutor
) -> None:
    """Test::Unit runs them when the program ends; a candidate that leaves there has not been through them."""
    need_toolchain("ruby")
    tests = (
        "require 'test/unit'\nclass TestAdd < Test::Unit::TestCase\n"
        "  def test_add\n    assert_equal(3, add(1, 2))\n  end\nend\n"
    )
    problem = ce.Problem.from_source("add/0", "def add(a, b)\n", tests, "ruby", sealed=True)
    bodies = ("  a + b\nend\n", "  exit!(0)\nend\n", "  a - b\nend\n")
    samples = [ce.Sample(task_id="add/0", index=i, completion=body) for i, body in enumerate(bodies)]

    results = ce.evaluate(ce.ProblemSet([problem]), ce.RecordedSampler(samples), executor, n_samples=3, cache=False)

    statuses = [attempt.executions["tests"].status.value for attempt in results.attempts]
    assert statuses == ["passed", "early_exit", "failed"]


@pytest.mark.sandbox
def test_a_right_program_passes_without_an_epilogue_where_the_language_has_none() -> None:
    language = broken_language(epilogue="", self_test=SelfTest(passing="exit 0", wrong="false", broken="("))

    (found,) = ce.languages.doctor([language])

    assert (found.state, found.message) == ("works", "")


@pytest.mark.sandbox
def test_doctor_says_what_to_look_at_and_names_packages_where_one_may_be_missing() -> None:
    def message(**tests: str) -> str:
        programs = {"passing": "true", "wrong": "false", "broken": "("} | tests
        (found,) = ce.languages.doctor([broken_language(self_test=SelfTest(**programs))])
        return found.message

    assert message(broken="true") == (
        "the program that must not compile ended as passed; check self_test.broken and Ending.compile_stderr"
    )
    assert message(wrong="echo said") == (
        "the program that must fail ended as passed (said); check self_test.wrong and Ending.failed_stdout"
    )
    assert message(passing="echo no module >&2; exit 1").endswith(
        "if it lacks a library, install apt: dash; otherwise check self_test.passing, run and ending"
    )
    (bare,) = ce.languages.doctor(
        [broken_language(packages={}, self_test=SelfTest(passing="false", wrong="false", broken="("))]
    )
    assert bare.message.endswith("ended as failed (exited with code 1); check self_test.passing, run and ending")


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        (
            {"tools": {"ocaml": "ocaml"}},
            TypeError,
            "Language.tools['ocaml'] must be a tuple of strings, but got 'ocaml'",
        ),
        ({"tools": {"ocaml": "ocaml"}}, TypeError, "; write ('ocaml',)"),
        ({"tools": {"ocaml": ()}}, TypeError, "Language.tools['ocaml'] must be a tuple of strings that is not empty"),
        ({"tools": {}}, TypeError, "Language.tools must be one tool at least"),
        ({"tools": ("ocaml",)}, TypeError, "Language.tools must be a mapping"),
        ({"files": {"lib": "/usr/lib/x"}}, TypeError, "Language.files['lib'] must be a tuple"),
        ({"run": "{ocaml} {main}"}, TypeError, "Language.run must be a tuple of strings, but got '{ocaml} {main}'"),
        ({"run": "{ocaml} {main}"}, TypeError, "; write ('{ocaml}', '{main}')"),
        ({"run": ()}, TypeError, "Language.run must be a tuple of strings that is not empty"),
        ({"run": ("{ocaml}", Path("x"))}, TypeError, "Language.run must be a tuple of strings"),
        ({"build": "ocamlc {main}"}, TypeError, "Language.build must be a tuple"),
        ({"second_build": "ocamlc {main}"}, TypeError, "Language.second_build must be a tuple"),
        ({"version": "ocaml -version"}, TypeError, "Language.version must be a tuple"),
        ({"sysroot": "ocaml"}, TypeError, "Language.sysroot must be a tuple"),
        ({"aliases": "ml"}, TypeError, "Language.aliases must be a tuple of strings, but got 'ml'; write ('ml',)"),
        ({"stop": "\n"}, TypeError, "Language.stop must be a tuple of strings, but got '\\n'; write ('\\n',)"),
        ({"readable": "/etc/ocaml"}, TypeError, "Language.readable must be a tuple"),
        ({"optional": "lib"}, TypeError, "Language.optional must be a tuple"),
        ({"env": {"A": 1}}, TypeError, "Language.env['A'] must be a string, but got 1"),
        ({"packages": "ocaml-nox"}, TypeError, "Language.packages must be a mapping"),
        ({"packages": {"apt": ("a",)}}, TypeError, "Language.packages['apt'] must be a string"),
        ({"run_limits": 3}, TypeError, "Language.run_limits must be Limits(…), but got 3"),
        ({"build_limits": None}, TypeError, "Language.build_limits must be Limits(…)"),
        ({"ending": "Error"}, TypeError, "Language.ending must be Ending(…)"),
        ({"self_test": ("a", "b", "c")}, TypeError, "Language.self_test must be SelfTest(…)"),
        ({"name": ""}, TypeError, "Language.name must be a string that is not empty"),
        ({"main": None}, TypeError, "Language.main must be a string that is not empty"),
        ({"suffix": None}, TypeError, "Language.suffix must be a string"),
        ({"epilogue": None}, TypeError, "Language.epilogue must be a string"),
        ({"epilogue": "print_endline proof"}, ValueError, "Language.epilogue must hold {token}, which it prints"),
        ({"is_verified": "no"}, TypeError, "Language.is_verified must be True or False"),
        ({"protocols": {"mine": "x"}}, TypeError, "Language.protocols['mine'] must be a mapping"),
        ({"protocols": {"mine": {"runs": ()}}}, ValueError, "must hold fields of Language, but got 'runs'"),
        ({"protocols": {"mine": {"run": "x"}}}, TypeError, "under the protocol 'mine', Language.run must be"),
    ],
)
def test_a_record_with_a_wrong_field_is_refused_when_it_is_made(
    changes: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=re.escape(told)):
        dataclasses.replace(OCAML, **changes)


def test_an_ending_that_is_no_pattern_is_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match=r"Ending\.compile_stderr must be a regular expression, but '\(' is none"):
        Ending(compile_stderr="(")
    with pytest.raises(TypeError, match=r"Ending\.memory must be a regular expression as a string, but got None"):
        Ending(memory=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Ending\.exit_code must be True or False, but got 'no'"):
        Ending(exit_code="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"SelfTest\.wrong must be a string, but got None"):
        SelfTest(passing="", wrong=None, broken="")  # type: ignore[arg-type]


def test_tests_are_not_sealed_where_a_protocol_fails_what_prints() -> None:
    """MultiPL-E's JavaScript passes whatever it prints; by the rules of Qwen's evaluator, printing fails a program."""
    assert ce.SourceSuite.of("f();", "javascript", sealed=True).proof
    with pytest.raises(ValueError, match="JavaScript has no statement to seal tests with under the protocol 'qwen'"):
        ce.SourceSuite.of("f();", "javascript", sealed=True, protocol="qwen")


@pytest.mark.parametrize(("manager", "told"), [("apt", "install apt: it;"), ("a.org", "from a.org: it")])
def test_a_web_site_is_no_package_manager(manager: str, told: str) -> None:
    gone = broken_language(tools={"sh": ("no-such-shell",)}, packages={manager: "it", "npm": "that"})

    (found,) = ce.languages.doctor([gone])

    assert f"{told}" in found.message
    assert "npm: that" in found.message


def test_doctor_is_asked_about_one_language_by_name_or_record(executor: ce.LocalExecutor) -> None:
    assert [d.language.name for d in ce.languages.doctor("bash")] == ["bash"]
    assert [d.state for d in ce.languages.doctor(broken_language())] == ["works"]


def test_doctor_tries_again_where_a_worker_dies_in_a_self_test(
    executor: ce.LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead: list[Worker] = []
    submit = Worker.submit

    def submit_to_the_dead_first(worker: Worker, *program: Any, **more: Any) -> None:
        if not dead:
            dead.append(worker)
            worker.process.kill()
            worker.process.wait()
        submit(worker, *program, **more)

    monkeypatch.setattr(Worker, "submit", submit_to_the_dead_first)

    (found,) = ce.languages.doctor([broken_language(title="Shell of the dead")])

    assert found.state == "works", found
    assert len(dead) == 1


def test_doctor_names_the_limit_where_a_box_takes_more_than_there_is(executor: ce.LocalExecutor) -> None:
    """A worker that can have no box says so, and leaves; what else was to be tried must not hide what it said."""
    shell = f"ulimit -n 24; exec {sys.executable} -c 'import codeeval as ce; print(ce.languages.doctor(\"bash\"))'"

    done = subprocess.run(["sh", "-c", shell], check=False, capture_output=True, text=True)

    assert "Too many open files" in done.stdout or "works" in done.stdout, done


def test_doctor_says_which_records_were_never_tried(executor: ce.LocalExecutor) -> None:
    found = ce.languages.doctor([broken_language(is_verified=False)])

    assert "works, unverified" in repr(found)


@pytest.mark.sandbox
def test_a_language_whose_self_test_fails_is_never_scored() -> None:
    """A broken toolchain would otherwise be a model that solves nothing."""
    wrong = SelfTest(passing="true", wrong="true", broken="(")
    language = broken_language(self_test=wrong)
    problem = ce.Problem.from_source("a/0", "true\n", "true", language, canonical_solution="true\n")

    with (
        ce.LocalExecutor(workers=1, languages=[language]) as executor,
        pytest.raises(ToolchainMissing, match="must fail ended as passed"),
    ):
        ce.evaluate(ce.ProblemSet([problem]), ce.CanonicalSampler(), executor)


@pytest.mark.sandbox
def test_a_toolchain_that_breaks_in_a_job_is_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "bin" / "shell"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    language = broken_language(tools={"sh": ("shell",)})

    with ce.LocalExecutor(workers=1, languages=[language]) as executor:
        before = run(executor, language, "true")
        tool.unlink()
        after = run(executor, language, "true")

    assert before.status is Status.PASSED
    assert after.status is Status.SANDBOX_ERROR
    assert "No such file" in after.message


@pytest.mark.sandbox
def test_a_program_that_plays_a_broken_toolchain_fails() -> None:
    """What breaks is not scored, so a program must not be able to look like it."""
    ending = Ending(fault="cannot open shared object", compile_stderr="[Ss]yntax error")
    language = broken_language(ending=ending)

    with ce.LocalExecutor(workers=1, languages=[language]) as executor:
        execution = run(executor, language, "echo 'libc: cannot open shared object file' >&2; exit 127")

    assert execution.status is Status.FAILED
    assert "cannot open shared object" in execution.message


@pytest.mark.sandbox
def test_a_source_that_crashes_its_compiler_does_not_compile() -> None:
    build = ("{sh}", "-c", 'grep -q CRASH "$0" && kill -SEGV $$; cp "$0" out/program', "{main}")
    language = broken_language(
        build=build, run=("{sh}", "out/program"), self_test=SelfTest(passing="true", wrong="false", broken="CRASH")
    )

    with ce.LocalExecutor(workers=1, languages=[language]) as executor:
        execution = run(executor, language, "# CRASH")

    assert execution.status is Status.COMPILE_ERROR
    assert "died of SIGSEGV" in execution.message


@pytest.mark.sandbox
def test_a_compiler_that_is_kept_from_working_does_not_time_a_program_out(tmp_path: Path) -> None:
    """It waits for what never comes, and uses no time: once, for a program's own doing shows again."""
    marker = tmp_path / "waited"
    wait = f'if grep -q SLOW "$0" && [ ! -e {marker} ]; then touch {marker}; sleep 60; fi; cp "$0" out/program'
    language = broken_language(
        build=("{sh}", "-c", wait, "{main}"),
        run=("{sh}", "out/program"),
        build_limits=Limits(cpu_s=5.0, wall_s=1.0, processes=8),
        self_test=SelfTest(passing="true", wrong="false", broken="("),
    )
    sandbox = ce.Sandbox(writable=(str(tmp_path),))

    with ce.LocalExecutor(workers=1, languages=[language], sandbox=sandbox) as executor:
        once = run(executor, language, "true # SLOW")
        marker.unlink()
        patient = dataclasses.replace(language, build=("{sh}", "-c", wait.replace("touch", "true"), "{main}"))
    with ce.LocalExecutor(workers=1, languages=[patient], sandbox=sandbox) as executor:
        always = run(executor, patient, "true # SLOW")

    assert once.status is Status.PASSED, once
    assert always.status is Status.COMPILE_ERROR, always
    assert "wall: " in always.message


# ------------------------------------------------------------------------------------------------ runs


_CSHARP_SETTINGS = """\
using System;
using System.Diagnostics;
using System.IO;
using System.Runtime.InteropServices;
class Problem {
    [DllImport("libc")] static extern int getpid();
    public static void Main() {
        Console.WriteLine(File.Exists(RuntimeEnvironment.SystemConfigurationFile));
        Console.WriteLine(getpid() > 0);
        Debug.Assert(1 + 1 == 3, "sum", "of two");
        Console.WriteLine(Debug.Listeners.Count + " " + Debug.AutoFlush + " " + Debug.IndentSize);
        throw new InvalidOperationException("end");
    }
}
"""


@pytest.mark.sandbox
def test_csharp_reads_no_machine_config_and_says_what_it_would_say_with_one(tmp_path: Path) -> None:
    """It costs a failed assertion more than all the rest; libraries are still found by mono's other settings."""
    language = get("csharp")
    try:
        toolchain = find(language)
    except ToolchainMissing as error:
        pytest.skip(str(error))
    if not toolchain.places["config"]:
        pytest.skip("mono's settings are not where they are looked for")
    (tmp_path / "main.cs").write_text(_CSHARP_SETTINGS)
    places = {**toolchain.places, "main": "main.cs", "out": "."}
    subprocess.run(fill(language.build or (), places), cwd=tmp_path, check=True, capture_output=True)
    plain = subprocess.run(
        fill(language.run, places),
        cwd=tmp_path,
        env={"PATH": os.defpath, "MONO_TRACE_LISTENER": "Console.Error"},
        capture_output=True,
        text=True,
        check=False,
    )

    with ce.LocalExecutor(workers=1) as executor:
        ours = run(executor, language, _CSHARP_SETTINGS)

    assert ours.stdout.splitlines() == ["False", "True", "1 False 4"]
    assert plain.stdout.splitlines() == ["True", "True", "1 False 4"]
    assert ours.exit_code == plain.returncode
    assert _without_identities(ours.stderr) == _without_identities(plain.stderr)
    assert "sum" in plain.stderr


def _without_identities(text: str) -> str:
    """Leave out the numbers that mono draws for each assembly."""
    return re.sub(r"<[0-9a-f]{32}>", "<>", text).strip()


def test_variables_that_name_an_absent_library_are_not_set() -> None:
    language = broken_language(
        files={"there": ("/dev/null",), "absent": ("/nowhere/at/all",)},
        optional=("there", "absent"),
        env={"THERE": "{there}/x", "ABSENT": "{absent}/x", "PLAIN": "{box}"},
    )

    env = find(language).recipe(program(language, "true"))["env"]

    assert {name: value for name, value in env.items() if name != "PATH"} == {"THERE": "/dev/null/x", "PLAIN": "{box}"}


@pytest.mark.sandbox
def test_output_beyond_what_is_kept_is_no_pass_where_a_text_could_fail_it() -> None:
    quiet = broken_language(ending=Ending(failed_stderr="FAILED", compile_stderr="Syntax error|syntax error"))
    flood = "i=0; while [ $i -lt 3000 ]; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2; i=$((i+1)); done\n"

    with ce.LocalExecutor(workers=1, languages=[quiet]) as executor:
        flooded = run(executor, quiet, flood, stdout_bytes=1000)
        failed = run(executor, quiet, flood + "echo FAILED >&2\n", stdout_bytes=1000)
        little = run(executor, quiet, "echo x >&2\n", stdout_bytes=1000)

    assert [flooded.status, failed.status, little.status] == [Status.OUTPUT_EXCEEDED, Status.FAILED, Status.PASSED]
    assert flooded.truncated


@pytest.mark.sandbox
def test_stdin_reaches_the_program() -> None:
    language = broken_language()
    reading = dataclasses.replace(program(language, 'read line; [ "$line" = hello ]'), stdin="hello\n")

    with ce.LocalExecutor(workers=1, languages=[language]) as executor:
        assert executor.run(reading).status is Status.PASSED


@pytest.mark.sandbox
def test_programs_in_several_languages_share_an_executor() -> None:
    language = broken_language()
    plain = Program(files={"main.py": "x = 1\n"}, main="main.py")

    with ce.LocalExecutor(workers=2, languages=[language]) as executor:
        programs = [plain, program(language, "true"), plain, program(language, "false")]
        executions = dict(executor.execute(programs))

    assert [executions[i].status.value for i in range(4)] == ["passed", "passed", "passed", "failed"]


@pytest.mark.sandbox
def test_workers_for_other_paths_replace_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A toolchain outside of the system's directories needs workers that can read it, but not more workers."""
    tool = tmp_path / "tools" / "bin" / "shell"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    near, far = broken_language(), broken_language(name="far", title="Far", tools={"sh": ("shell",)})
    look = f"test -e {tool}"

    with ce.LocalExecutor(workers=1, languages=[near, far]) as executor:
        seen, n_workers = [], []
        for language in (near, far, near, far):
            seen.append(run(executor, language, look).status is Status.PASSED)
            n_workers.append(len(executor._pool.workers))

    assert seen == [False, True, False, True]
    assert max(n_workers) == 1


def test_an_unknown_language_is_said_to_be_unknown(executor: ce.LocalExecutor) -> None:
    odd = Program(
        files={"main.x": ""},
        main="main.x",
        language="klingon",
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )

    execution = executor.run(odd)

    assert execution.status is Status.SANDBOX_ERROR
    assert "no language 'klingon'" in execution.message


@pytest.mark.sandbox
def test_without_a_pid_namespace_nothing_is_run() -> None:
    """Its processes could not all be stopped."""
    sandbox = ce.Sandbox(layers=tuple(name for name in ce.Sandbox().layers if name != "pid"))
    language = broken_language()

    with (
        ce.LocalExecutor(workers=1, languages=[language], sandbox=sandbox) as executor,
        pytest.raises(SandboxUnavailable, match="layer pid"),
    ):
        run(executor, language, "true")

    (diagnosis,) = ce.languages.doctor([language], sandbox=sandbox)
    assert diagnosis.state == "broken"
    assert "layer pid" in diagnosis.message


def test_the_executor_is_pickled_with_its_languages() -> None:
    executor = ce.LocalExecutor(languages=[OCAML])

    assert pickle.loads(pickle.dumps(executor)).languages == (OCAML,)


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(TypeError, match="must be Language records"):
        ce.LocalExecutor(languages=["ocaml"])  # type: ignore[list-item]


def test_programs_in_other_languages_are_judged_by_what_they_print(executor: ce.LocalExecutor) -> None:
    suite = ce.StdioSuite.of([("1 2", "3"), ("5 5", "10"), ("20 22", "42")])
    codes = {
        "right": "read a b; echo $((a + b))",
        "wrong for one": "read a b; [ $a = 5 ] && echo 11 || echo $((a + b))",
        "failing": "read a b; echo $((a + b)); exit 4",
        "not compiling": "read a b; (",
    }
    problem = ce.Problem(task_id="sum/0", prompt="", suites={"tests": suite}, language="bash", style="chat")

    executions = {
        name: executor.run(suite.program(code, problem=problem, limits=Limits(cpu_s=5))) for name, code in codes.items()
    }

    passed = {name: [test.passed for test in execution.tests] for name, execution in executions.items()}
    assert passed == {
        "right": [True, True, True],
        "wrong for one": [True, False, True],
        "failing": [False, False, False],
        "not compiling": [False, False, False],
    }
    statuses = [execution.status.value for execution in executions.values()]
    assert statuses == ["passed", "failed", "failed", "compile_error"]
    assert executions["right"].strength is Strength.VALUES_OUT


WHOLE_PROGRAMS = {
    "go": 'package main\nimport "fmt"\nfunc main() {\n\tvar n int\n\tfmt.Scan(&n)\n\tfmt.Println(n * 2)\n}\n',
    "java": (
        "import java.util.*;\npublic class Main {\n  static class Node { int value; }\n"
        "  public static void main(String[] args) {\n"
        "    System.out.println(new Scanner(System.in).nextInt() * 2);\n  }\n}\n"
    ),
    "scala": "object Two { def x = 2 }\nobject Start extends App { println(scala.io.StdIn.readInt() * Two.x) }\n",
}


@pytest.mark.parametrize("language", WHOLE_PROGRAMS)
def test_whole_programs_may_be_called_as_their_authors_call_them(
    need_toolchain: NeedToolchain, executor: ce.LocalExecutor, language: str
) -> None:
    need_toolchain(language)
    suite = ce.StdioSuite.of([("3", "6"), ("5", "10")])
    wrong = ce.StdioSuite.of([("3", "7")])
    limits = ce.languages.get(language).run_limits
    problem = ce.Problem(
        task_id="twice", prompt="", suites={"tests": suite}, language=language, style="chat", limits=limits
    )
    code = WHOLE_PROGRAMS[language]

    right = executor.run(suite.program(code, problem=problem, limits=limits))
    failing = executor.run(wrong.program(code, problem=problem, limits=limits))

    assert (right.status, right.message) == (ce.Status.PASSED, "")
    assert failing.status is ce.Status.FAILED


@pytest.mark.parametrize(
    ("language", "code", "name"),
    [
        ("java", "class A { }\nclass B { public static void main(String[] a) { } }\n", "B"),
        ("java", "class A { public static void main(String[] a) { } }\npublic final class B { }\n", "B"),
        ("java", "// public class A\nclass B { class A { } public static final void main(String... a) { } }\n", "B"),
        ("java", "class A { void main() { } }\n", None),
        ("scala", "class A\nobject B { def main(a: Array[String]) = { } }\n", "B"),
        ("java", "int total = 1;\n", None),
        ("scala", "", None),
        ("go", "package main\n", None),
    ],
)
def test_main_class_is_the_public_one_or_the_one_that_starts(language: str, code: str, name: str | None) -> None:
    syntax = get(language).syntax

    assert syntax is not None
    assert main_type(code, syntax) == name


def test_a_command_that_names_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Language.run names \{mian\}, .*\{main\}"):
        broken_language(run=("{sh}", "{mian}"))


@pytest.mark.sandbox
def test_a_toolchain_that_was_mended_works_at_the_next_look(tmp_path: Path) -> None:
    """The tool is the same file with the same time; what is broken lies elsewhere."""
    shell = tmp_path / "shell"
    missing = tmp_path / "library"
    shell.write_text(f'#!/bin/sh\n[ -e "{missing}" ] || exit 1\nexec sh "$@"\n')
    shell.chmod(0o755)
    record = broken_language(tools={"sh": (str(shell),)}, readable=(str(tmp_path),), version=("{sh}", "-c", "echo 1"))

    before = ce.languages.doctor([record])[0].state
    missing.touch()

    after = ce.languages.doctor([record])[0]

    assert (before, after.state, after.message) == ("broken", "works", "")


@pytest.mark.sandbox
def test_a_diagnosis_is_found_by_any_name_of_its_language() -> None:
    assert ce.languages.doctor(["sh"])["sh"].language.name == "bash"


@pytest.mark.sandbox
def test_a_program_is_built_once_for_all_its_inputs() -> None:
    script = 'grep -q "exit 3" "$0" && exit 1; cp "$0" out/program; date +%N > out/when'
    language = broken_language(
        name="bash",
        main="main.sh",
        build=("{sh}", "-c", script, "{main}"),
        run=("{sh}", "out/program"),
        ending=Ending(),
        self_test=SelfTest(passing="true", wrong="false", broken="exit 3"),
    )
    cases = [(str(i), "x") for i in range(3)]
    suite = ce.StdioSuite.of(cases, oracle=ce.Oracle.checker("def check(stdin, expected, stdout): return True"))
    problem = ce.Problem(task_id="a/0", prompt="", suites={"tests": suite}, language="bash", style="chat")
    program = suite.program("cat out/when", problem=problem, limits=Limits(cpu_s=5))

    with ce.LocalExecutor(workers=1, languages=[language]) as executor:
        first, second = executor.run(program), executor.run(program)

    assert first.status is Status.PASSED, first
    assert first.stdout == second.stdout != ""


@pytest.mark.parametrize("check", [Check(kind=CheckKind.SCRIPT, strength=Strength.SPLIT, source="assert True"), None])
def test_only_tests_that_fit_a_language_judge_it(executor: ce.LocalExecutor, check: Check | None) -> None:
    """Python's tests would run the program as Python; without tests, it has to end well."""
    odd = Program(files={"main.sh": "exit 1"}, main="main.sh", language="bash", check=check)

    execution = executor.run(odd)

    assert execution.status is (Status.FAILED if check is None else Status.SANDBOX_ERROR)
