"""A whole answer that its tests can't call has failed; one that can't be built does not compile."""

from __future__ import annotations

import pytest

import codeeval as ce
from codeeval.executors.local import LocalExecutor
from codeeval.program import Execution, Status
from tests.support.machine import NeedToolchain

#: Language → prompt, tests, a whole answer with the name `add`, another type for its argument.
PROBLEMS = {
    "cpp": (
        "#include <assert.h>\nlong add(long a) {\n",
        "}\nint main() {\n    auto candidate = add;\n    assert(candidate(1) == 2);\n}\n",
        "long add(long a) {\n    return a + 1;\n}\n",
        "long add(struct Other* a) {\n    return 1;\n}\n",
    ),
    "rust": (
        "fn add(a: isize) -> isize {\n",
        "}\n\nfn main() {\n    let candidate = add;\n    assert_eq!(candidate(1), 2);\n}\n",
        "fn add(a: isize) -> isize {\n    a + 1\n}\n",
        "fn add(a: String) -> isize {\n    a.len() as isize\n}\n",
    ),
    "d": (
        "import std.math;\nlong add(long a) \n",
        "unittest\n{\n    alias candidate = add;\n    assert(candidate(1) == 2L);\n}\nvoid main(){}\n",
        "long add(long a)\n{\n    return a + 1;\n}\n",
        "long add(string a)\n{\n    return a.length;\n}\n",
    ),
    "go": (
        'package add_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\nfunc add(a int) int {\n',
        'func TestAdd(t *testing.T) {\n  candidate := add\n  if candidate(1) != 2 { t.Errorf("no") }\n}\n',
        "func add(a int) int {\n    return a + 1\n}\n",
        "func add(a string) int {\n    return len(a)\n}\n",
    ),
    "java": (
        "import java.util.*;\nclass Problem {\n    public static long add(long a) {\n",
        "    }\n    public static void main(String[] args) {\n    assert(add(1l) == (2l));\n    }\n\n}\n",
        "class Problem {\n    public static long add(long a) {\n        return a + 1;\n    }\n}\n",
        "class Problem {\n    public static long add(String a) {\n        return a.length();\n    }\n}\n",
    ),
    "csharp": (
        "using System;\nusing System.Diagnostics;\nclass Problem {\n    public static long Add(long a) {\n",
        "    }\n    public static void Main(string[] args) {\n    Debug.Assert(Add(1L) == (2L));\n    }\n\n}\n",
        "class Problem {\n    public static long Add(long a) {\n        return a + 1;\n    }\n}\n",
        "class Problem {\n    public static long Add(string a) {\n        return a.Length;\n    }\n}\n",
    ),
    "scala": (
        "import scala.math._\nobject Problem {\n    def add(a : Long) : Long = {\n",
        "    }\n    def main(args: Array[String]) = {\n    assert(add((1l)) == (2l));\n    }\n\n}\n",
        "object Problem {\n    def add(a : Long) : Long = {\n        a + 1\n    }\n}\n",
        "object Problem {\n    def add(a : String) : Long = {\n        a.length\n    }\n}\n",
    ),
    "typescript": (
        "function add(a: number): number {\n",
        (
            "declare var require: any;\nconst assert = require('node:assert');\n\n\nfunction test() {\n"
            "  let candidate = add;\n  assert.deepEqual(candidate(1),2);\n}\n\ntest();\n"
        ),
        "function add(a: number): number {\n  return a + 1;\n}\n",
        "function add(a: string): number {\n  return a.length;\n}\n",
    ),
}


@pytest.fixture(params=PROBLEMS)
def language(need_toolchain: NeedToolchain, request: pytest.FixtureRequest) -> str:
    need_toolchain(request.param)
    return str(request.param)


def judged(executor: LocalExecutor, language: str, answer: str) -> Execution:
    """Judge an answer, which is whole: it does not begin as the prompt does."""
    prompt, tests, *_ = PROBLEMS[language]
    answer = "// An answer.\n" + answer
    entry_point = "Add" if language == "csharp" else "add"
    suite = ce.SourceSuite.of(tests, language, prompt=prompt, entry_point=entry_point)
    limits = ce.languages.get(language).run_limits
    problem = ce.Problem(task_id="t/0", prompt=prompt, language=language, suites={"tests": suite}, limits=limits)
    return executor.run(suite.program(answer, problem=problem, limits=limits))


def test_an_answer_under_another_name_has_failed(executor: LocalExecutor, language: str) -> None:
    right = PROBLEMS[language][2]
    name = "Add" if language == "csharp" else "add"

    passed = judged(executor, language, right)
    renamed = judged(executor, language, right.replace(name, "sumUp"))
    again = judged(executor, language, right.replace(name, "sumUp"))

    assert (passed.status, passed.message) == (Status.PASSED, "")
    assert renamed.status is Status.FAILED, renamed
    assert renamed.message.startswith(f"the answer compiles, but there is no '{name}' for its tests to call: ")
    assert (again.status, again.message, again.cpu_s) == (renamed.status, renamed.message, 0.0)


def test_an_answer_that_the_tests_call_otherwise_has_failed(executor: LocalExecutor, language: str) -> None:
    name = "Add" if language == "csharp" else "add"

    execution = judged(executor, language, PROBLEMS[language][3])

    assert execution.status is Status.FAILED, execution
    # A type-checker may accept what the tests, which have no types, then find out.
    assert language == "typescript" or execution.message.startswith(
        f"the answer compiles, but its tests can't call '{name}' as it is: "
    )


def test_an_answer_that_can_not_be_built_does_not_compile(executor: LocalExecutor, language: str) -> None:
    name = "Add" if language == "csharp" else "add"
    broken = PROBLEMS[language][2].replace(name, "sumUp").replace("a + 1", "missing + 1")

    execution = judged(executor, language, broken)

    assert execution.status is Status.COMPILE_ERROR, execution
    assert execution.message.startswith("build: ")


def test_only_a_whole_answer_is_built_alone() -> None:
    """A continuation has the prompt's name; and the answer alone is no part of the program that is run."""
    prompt, tests, right, _ = PROBLEMS["cpp"]
    suite = ce.SourceSuite.of(tests, "cpp", prompt=prompt, entry_point="add")
    problem = ce.Problem(task_id="t/0", prompt=prompt, language="cpp", suites={"tests": suite})

    whole = suite.program(right, problem=problem, limits=problem.limits)
    continued = suite.program(prompt + "    return a + 1;\n", problem=problem, limits=problem.limits)

    assert whole.check is not None
    assert continued.check is not None
    assert whole.check.parameters["alone"] == f"#include <assert.h>\n{right.rstrip()}\n\nint main() {{}}\n"
    assert list(whole.files) == ["main.cpp"]
    assert "alone" not in continued.check.parameters
