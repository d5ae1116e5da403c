"""Problems and sets of them: a user's own in a minute, identity, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from codeeval.errors import InvalidProblem, ResultsError
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Limits, Status, Strength


def add(task_id: str = "add/0", **options: Any) -> Problem:
    return Problem.from_test(task_id, "def add(a, b):\n", "assert add(1, 2) == 3", "add", **options)


@pytest.mark.sandbox
def test_cases_are_judged_by_the_values_that_come_out() -> None:
    problem = Problem.from_io(
        "p", "", [((1, 2), 3), (("a", "b"), "ab"), ((float("inf"), 1), float("inf")), (((1,), (2,)), (1, 2))], "add"
    )
    suite = problem.suites["tests"]

    with LocalExecutor(1) as executor:
        right = executor.run(suite.program("def add(a, b): return a + b", problem=problem, limits=problem.limits))
        wrong = executor.run(suite.program("def add(a, b): return a", problem=problem, limits=problem.limits))

    assert (right.status, wrong.status) == (Status.PASSED, Status.FAILED)
    assert problem.strength is Strength.VALUES_OUT


def test_values_that_are_no_data_are_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidProblem, match="from_test"):
        Problem.from_io("p", "", [((object(),), 1)], "f")


def test_no_cases_are_refused() -> None:
    with pytest.raises(InvalidProblem, match="no cases"):
        Problem.from_io("p", "", [], "f")


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"task_id": ""}, "task_id"),
        ({"prompt": None}, "prompt"),
        ({"suites": {}}, "without tests"),
        ({"style": "instruct"}, "'completion'.*'chat'"),
    ],
)
def test_unusable_fields_are_refused(fields: dict[str, Any], what: str) -> None:
    suites = dict(add().suites)

    with pytest.raises(InvalidProblem, match=what):
        Problem(**({"task_id": "a", "prompt": "", "suites": suites} | fields))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"canonical_solution": 3}, "a: canonical_solution must be a string, but got 3"),
        ({"prompt": None}, "a: prompt must be a string, but got None"),
        ({"test_code": ["assert f() == 1"]}, r"a: test_code must be a string, .*; write '\\n'.join\(test_code\)"),
        ({"test_code": 3}, "a: test_code must be a string, but got 3$"),
    ],
)
def test_a_part_of_a_problem_that_is_no_text_is_named(given: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"prompt": "", "test_code": "assert f() == 1", "entry_point": "f"}

    with pytest.raises(InvalidProblem, match=message):
        Problem.from_test("a", **(parts | given))


def test_a_file_given_to_a_problem_set_names_from_rows() -> None:
    with pytest.raises(TypeError, match=r"write ProblemSet.from_rows\('mine.jsonl'\)"):
        ProblemSet("mine.jsonl")  # type: ignore[arg-type]


def test_rows_with_other_names_are_mapped_and_the_rest_is_kept() -> None:
    rows = [{"id": 7, "question": "Add.", "unit_tests": ["assert add(1, 2) == 3"], "fn": "add", "level": "easy"}]

    problems = ProblemSet.from_rows(
        rows, columns={"task_id": "id", "prompt": "question", "test": "unit_tests", "entry_point": "fn"}, style="chat"
    )

    assert problems["7"].metadata == {"level": "easy"}
    assert problems["7"].style == "chat"


def test_rows_come_from_a_dataset_and_from_a_file(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"task_id": "a", "prompt": "", "test": "assert f(1) == 1", "entry_point": "f"}]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    from_file = ProblemSet.from_rows(path)  # type: ignore[arg-type]  # a Path serves as well as its text
    from_dataset = ProblemSet.from_rows(datasets.Dataset.from_list(rows))

    assert from_file.digest() == from_dataset.digest() == ProblemSet.from_rows(rows).digest()


def test_a_row_without_a_field_is_named_with_what_it_has() -> None:
    with pytest.raises(InvalidProblem, match=r"t/9.*entry_point.*\['prompt', 'task_id', 'test'\]"):
        ProblemSet.from_rows([{"task_id": "t/9", "prompt": "", "test": "assert 1"}])


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"task_id": "a", "prompt": "", "test": "assert f()", "entry_point": "f"}\n{"task_id":\n')

    with pytest.raises(ResultsError, match="line 2"):
        ProblemSet.from_rows(str(path))


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="tests"):
        ProblemSet.from_rows([], columns={"tests": "x"})


def test_a_set_is_addressed_sliced_and_filtered() -> None:
    problems = ProblemSet([add("a"), add("b", canonical_solution="    return a + b\n"), add("c")], name="mine")

    assert problems["b"].task_id == problems[1].task_id == "b"
    assert problems[1:].task_ids == ("b", "c")
    assert problems.subset(["c", "a"]).task_ids == ("a", "c")
    assert problems.filter(lambda p: bool(p.canonical_solution)).task_ids == ("b",)
    assert problems.__contains__("a")
    assert problems[:1].version == problems.version


def test_an_unknown_id_is_refused() -> None:
    problems = ProblemSet([add("a")])

    with pytest.raises(KeyError, match="nope"):
        problems["nope"]
    with pytest.raises(KeyError, match="nope"):
        problems.subset(["nope"])


def test_the_same_id_twice_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="twice"):
        ProblemSet([add("a"), add("a")])


def test_limits_are_replaced_and_are_not_identity() -> None:
    problems = ProblemSet([add()])

    faster = problems.with_limits(cpu_s=1, memory_bytes=1 << 28)

    assert faster[0].limits == Limits(cpu_s=1, memory_bytes=1 << 28)
    assert faster.digest() == problems.digest()


def test_identity_is_the_same_in_every_process_and_changes_with_any_field() -> None:
    problems = ProblemSet([add()])

    assert pickle.loads(pickle.dumps(problems)).digest() == problems.digest()
    for other in (add("add/1"), add(stop=["x"]), add(strength="same box"), add(canonical_solution="    pass")):
        assert ProblemSet([other]).digest() != problems.digest()


def test_lint_lists_what_is_legal_but_worth_knowing() -> None:
    shown = Problem.from_test("shown", "Write f.\nassert f(1) == 1", "assert f(1) == 1", "f", style="chat")
    idle = Problem.from_test("idle", "", "f(1)", "f", canonical_solution="def f(x): pass")

    remarks = ProblemSet([shown, idle]).lint(null_answers=False)

    assert any("shown" in r and "every test" in r for r in remarks)
    assert any("shown" in r and "canonical" in r for r in remarks)
    assert any("idle" in r and "asserts nothing" in r for r in remarks)


def test_strengths_are_listed_by_task() -> None:
    problems = ProblemSet([add("a"), add("b", strength="same box")])

    assert problems.strengths() == {"a": Strength.SPLIT, "b": Strength.SAME_BOX}


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"cpu_s": 0}, ValueError),
        ({"wall_s": -1}, ValueError),
        ({"memory_bytes": float("inf")}, ValueError),
        ({"cpu_s": "3"}, TypeError),
        ({"processes": True}, TypeError),
        ({"network": "internet"}, ValueError),
    ],
)
def test_senseless_limits_are_refused(limits: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Limits(**limits)


def test_a_part_of_a_set_never_goes_by_the_name_of_the_whole() -> None:
    problems = ProblemSet([add("a"), add("b"), add("c")], name="mine")

    assert problems[:2].name == "mine (2 of 3)"
    assert problems[:2][:1].name == "mine (1 of 3)"
    assert problems[:].name == problems.with_limits(cpu_s=1).name == "mine"


def test_equal_limits_are_one_limit_however_they_are_written() -> None:
    one, same = (ProblemSet([add()]).with_limits(cpu_s=cpu_s)[0] for cpu_s in (1, 1.0))

    digests = {p.suites["tests"].program("x", problem=p, limits=p.limits).digest() for p in (one, same)}

    assert len(digests) == 1


@pytest.mark.parametrize(
    ("cases", "hint"),
    [
        ([("ab", "ba")], r"arguments must be a list or a tuple.*\(\('ab',\), 'ba'\)"),
        ([(1, 2)], r"case 0: the arguments must be"),
        ([((1,), 2), 5], r"case 1: a case is"),
        ([((1,), 2, 3)], r"a case is"),
        ([{"input": [1], "output": 2}], r"a case is"),
        ({"input": 1}, r"cases must be a list"),
        ("[[[1], 2]]", r"cases must be a list"),
    ],
)
def test_what_merely_looks_like_cases_is_refused(cases: Any, hint: str) -> None:
    with pytest.raises(InvalidProblem, match=hint):
        Problem.from_io("p", "", cases, "f")


def test_a_string_of_ids_is_not_taken_for_its_letters() -> None:
    with pytest.raises(TypeError, match=r"\['a'\]"):
        ProblemSet([add("a")]).subset("a")


# --- assembly


def ask(**options: Any) -> Problem:
    """Return a problem whose prompt is no code."""
    return Problem.from_test("ask/0", "Q: add\n", "assert add(1, 2) == 3", "add", **options)


def test_a_continuation_stands_between_prefix_and_suffix() -> None:
    problem = ask(prefix="import math\ndef add(a, b):\n", suffix="    return total\n")

    program = problem.assemble("Q: add\n    total = a + b\n")

    assert program == "import math\ndef add(a, b):\n    total = a + b\n    return total\n"


def test_without_prefix_the_prompt_itself_begins_the_program() -> None:
    problem = add("a")

    assert problem.assemble(problem.prompt + "    return 1\n") == problem.prompt + "    return 1\n"


def test_an_empty_prefix_leaves_the_answer_alone() -> None:
    problem = ask(prefix="")

    assert problem.assemble("Q: add\ndef add(a, b): ...") == "def add(a, b): ..."


@pytest.mark.parametrize("options", [{}, {"style": "chat"}])
def test_code_that_does_not_begin_with_the_prompt_is_whole(options: dict[str, Any]) -> None:
    problem = add("a", prefix="import math\n", suffix="# the end\n", **options)

    assert problem.assemble("def add(a, b): return a + b\n") == "def add(a, b): return a + b\n"


def test_an_answer_to_a_chat_prompt_is_whole_even_where_it_repeats_it() -> None:
    problem = add("a", style="chat", prefix="import math\n")

    assert problem.assemble(problem.prompt + "    return 1\n") == problem.prompt + "    return 1\n"


def test_a_suite_judges_the_assembled_program() -> None:
    problem = ask(prefix="def add(a, b):\n", suffix="    return total\n")

    program = problem.suites["tests"].program("Q: add\n    total = 0\n", problem=problem, limits=problem.limits)

    assert program.code == "def add(a, b):\n    total = 0\n    return total\n"


def test_the_tests_of_a_gap_may_use_a_helper_before_it() -> None:
    problem = Problem.from_test(
        "gap/0",
        "def half(x):\n    return x / 2\n",
        "assert quarter(8) == half(4)\n",
        "quarter",
        suffix="    return half(half(x))\n",
        canonical_solution="def quarter(x):\n",
    )

    assert problem.strength is Strength.SPLIT


@pytest.mark.parametrize("field", ["prefix", "suffix"])
def test_assembly_is_part_of_a_problem_s_digest(field: str) -> None:
    assert add("a").digest() != add("a", **{field: "x = 1\n"}).digest()


def test_an_empty_canonical_solution_is_one_where_it_fills_a_gap() -> None:
    assert add("a", suffix="    return a + b\n").has_canonical_solution
    assert not add("a").has_canonical_solution
    assert add("a", canonical_solution="    return a + b\n").has_canonical_solution


def test_a_problem_prints_its_prompt_and_how_it_is_judged() -> None:
    problem = Problem.from_test("add/0", "def add(a, b):\n", "assert add(1, 2) == 3\n", "add", suffix="\nadd(1, 2)\n")

    assert str(problem) == ("add/0 · python · completion · suites: tests (split)\n\ndef add(a, b):\n…\n\nadd(1, 2)")
    assert "no canonical solution" in str(Problem.from_io("t", "Twice.", [((1,), 2)], "twice", style="chat"))
