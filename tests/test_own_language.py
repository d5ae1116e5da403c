"""A user's own language: what is extracted, masked, placed and judged comes from its record alone.

The language is called Tiny. Its comments begin with `--`, its blocks end with `end`, its imports are `use math`.
Nothing but this record knows it; behind the record, Python translates it line by line and runs it.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence

import pytest

import codeeval as ce
from codeeval.errors import InvalidProblem
from codeeval.extract import extract
from codeeval.languages import Ending, Language, SelfTest, known
from codeeval.languages.syntax import (
    Answer,
    Blocks,
    Comments,
    Imports,
    Script,
    Sealing,
    Syntax,
    beside,
    defines,
    function_end,
    masked,
    with_imports,
)
from codeeval.languages.syntax.patterns import DOUBLE_QUOTED, SINGLE_QUOTED
from codeeval.program import Status
from codeeval.suites import SourceSuite, StdioSuite

_INTERPRETER = r"""
import re, sys
lines = []
for line in open(sys.argv[1], encoding="utf-8"):
    line = re.sub(r"(\"[^\"\n]*\"|'[^'\n]*')|--.*", lambda m: m[1] or "", line.rstrip("\n")).rstrip()
    blank, words = re.match(r"( *)(.*)", line).groups()
    if words.startswith("use "):
        words = "import " + words[4:]
    elif re.match(r"(def|if|while|for)\b", words):
        words += ":"
    elif words == "end":
        words = "pass"
        blank += " "
    elif words.startswith("check "):
        words = "assert " + words[6:]
    elif words.startswith("say "):
        words = "print(" + words[4:] + ")"
    lines.append(blank + words)
program = "\n".join(lines).replace("\n pass", "\n")
exec(compile(re.sub(r"(?m)^ +pass$", "", program), "tiny", "exec"), {"read": input})
"""

_TEST = "def add(a, b)\n  return a {operator} b\nend\ncheck add(1, 2) == 3\n"

SYNTAX = Syntax(
    comments=Comments(line=("--",)),
    strings=(DOUBLE_QUOTED, SINGLE_QUOTED),
    definition=r"^[ \t]*def[ \t]+{name}\b",
    blocks=Blocks(opening=r"\b(?:def|if|while|for)\b", closing=r"\bend\b"),
    closer=r"end\b",
    imports=Imports(line=r"use[ \t]+\w+"),
    script=Script(definition=r"^def\b", end="end", needed=r"use\b|(\w+) *=(?!=)"),
    main=r"^def[ \t]+main\b",
)

TINY = Language(
    name="tiny",
    title="Tiny",
    aliases=("tn",),
    suffix=".tn",
    main="main.tn",
    tools={"python": ("python3", "python")},
    sysroot=("{python}", "-c", "import sys; print(sys.base_prefix)"),
    run=("{python}", "-s", "-c", _INTERPRETER, "{main}"),
    ending=Ending(compile_stderr=r"^SyntaxError: ", missing=r"^ModuleNotFoundError: "),
    syntax=SYNTAX,
    stop=("\nend", "\n--", "\ndef"),
    epilogue='say "\\n{token}"',
    alone='def main()\n  say "nothing"\nend\n',
    version=("{python}", "--version"),
    self_test=SelfTest(
        passing=_TEST.format(operator="+"), wrong=_TEST.format(operator="-"), broken=_TEST.format(operator="+ *")
    ),
)

PROMPT = "-- Adds.\nuse math\ndef add(a, b)\n"
TESTS = 'end\ncheck add(1, 2) == 3\ncheck add(-1, 1) == 0  -- "end"\n'


def problem(language: Language = TINY, *, tests: str = TESTS, **fields: object) -> ce.Problem:
    options = {"entry_point": "add", "sealed": True, **fields}
    return ce.Problem.from_source("add/0", PROMPT, tests, language, **options)  # type: ignore[arg-type]  # as tests give them


def sample(completion: str) -> ce.Sample:
    return ce.Sample(task_id="add/0", completion=completion)


def judged(problem: ce.Problem, completions: Sequence[str], language: Language = TINY) -> list[Status]:
    samples = [ce.Sample(task_id="add/0", index=i, completion=text) for i, text in enumerate(completions)]
    with ce.LocalExecutor(workers=1, languages=[language]) as executor:
        results = ce.evaluate(
            [problem], ce.RecordedSampler(samples), executor, extract="codeeval", cache=False, progress=False
        )
    return [attempt.executions["tests"].status for attempt in results]


ADD = "def add(a, b)\n  -- end\n  if a == 'end' --\n    return 0\n  end\n\n  return a + b\nend\n"


@pytest.mark.sandbox
def test_toolchain_behind_the_record_works() -> None:
    assert known("tiny") is None
    (diagnosis,) = ce.languages.doctor([TINY])

    assert diagnosis.state == "works", diagnosis.message


def test_comments_and_strings_are_the_records_own() -> None:
    source = "x = '-- end' -- end {\ny = a // b  # /* no comment\nz = 1 - -1\n"

    assert masked(source, SYNTAX) == "x =                  \ny = a // b  # /* no comment\nz = 1 - -1\n"


def test_a_language_without_any_comment_or_string_is_masked_by_nothing() -> None:
    bare = Syntax(comments=Comments(), strings=(), definition="fn {name}")

    assert masked("a // b \"c\" /* d */ 'e' # f\n", bare) == "a // b \"c\" /* d */ 'e' # f\n"
    assert with_imports("x", "use y\nfn f", "f", bare) == "x"
    assert extract(sample("fn f"), own(bare, prompt="", entry_point="f", style="chat")).code == "fn f"


def own(syntax: Syntax | None, *, prompt: str = PROMPT, **fields: object) -> ce.Problem:
    """Return a problem in a language that differs from Tiny in its syntax alone."""
    language = dataclasses.replace(TINY, syntax=syntax)
    return ce.Problem.from_source("add/0", prompt, TESTS, language, **fields)  # type: ignore[arg-type]  # as tests give them


@pytest.mark.parametrize(
    ("code", "is_definition"),
    [("  def add(a)\n", True), ("-- def add(a)\n", False), ("def adder(a)\n", False), ("int add(int a) {\n", False)],
)
def test_a_definition_is_what_the_record_says(code: str, is_definition: bool) -> None:
    assert defines(code, "add", SYNTAX) is is_definition


def test_a_function_ends_with_the_records_own_word() -> None:
    body = ADD.removeprefix("def add(a, b)\n")

    assert function_end(body + "\ncheck 1\nend\n", PROMPT, SYNTAX) == len(body) - 1
    assert function_end(body.removesuffix("end\n"), PROMPT, SYNTAX) is None


ANSWER = f"""\
<think>Is it def add(a, b)?</think>
Here it is; save it:

```tn
{ADD}
limit = 1
say add(1, limit)
```

Use it so:

```tiny
say add(1, 2)
```
"""


def test_chat_answer_becomes_its_function_with_the_imports_of_the_prompt() -> None:
    asked = problem(style="chat")

    extraction = extract(sample(ANSWER), asked)

    assert extraction.code == "use math\n" + ADD
    assert extraction.rule == "program, fenced"
    assert "say add(1, limit)" in extraction.dropped


def test_answer_among_sentences_begins_with_the_records_comment_or_definition() -> None:
    extraction = extract(sample(f"Sure; this adds.\n-- It adds.\n{ADD}"), problem(style="chat"))

    assert extraction.code.endswith(f"-- It adds.\n{ADD}")
    assert "Sure" not in extraction.code


@pytest.mark.parametrize(
    ("completion", "body"),
    [
        ("  return a + b\nend\n\nsay add(1, 2)\n", "  return a + b"),
        ("  if a\n    a = b\n  end\n\n  -- b\n  return a\nend\n--", "  if a\n    a = b\n  end\n\n  -- b\n  return a"),
        ("  x = 1\n-- not indented\n  return a + b\nend\n--", "  x = 1\n-- not indented\n  return a + b"),
    ],
)  # fmt: skip
def test_continuation_is_cut_where_its_function_ends(completion: str, body: str) -> None:
    assert extract(sample(completion), problem()).code == PROMPT + body


def test_whole_answer_goes_beside_tests_that_close_the_prompt_s_function() -> None:
    answer = "helper = 1\n" + ADD + '\ndef main()\n  say "hello"\nend\n'

    program = beside(answer, TESTS, prompt=PROMPT, entry_point="add", syntax=SYNTAX)

    assert program == f"use math\nhelper = 1\n{ADD.rstrip()}\n\n{TESTS.removeprefix('end').lstrip()}"


def test_own_placement_puts_program_together() -> None:
    placed = dataclasses.replace(SYNTAX, place=put_tests_first)

    assert beside("code", "tests", prompt="", entry_point="add", syntax=placed) == "tests\ncode"


def put_tests_first(answer: Answer) -> str:
    return f"{answer.tests}\n{answer.code}"


@pytest.mark.sandbox
def test_answers_in_own_language_are_extracted_placed_and_judged() -> None:
    whole = f"Here:\n```tn\n{ADD}\nsay add(1)\n```\n"
    wrong = f"Here:\n```tn\n{ADD.replace('a + b', 'a - b')}```\n"
    broken = "```tn\ndef add(a, b)\n  return a +* b\nend\n```\n"
    leaves = "```tn\ndef add(a, b)\n  exit()\nend\n```\n"

    statuses = judged(problem(), ["  return a + b\n", whole, "  return a - b\n", wrong, broken, leaves])

    assert statuses == [
        Status.PASSED,
        Status.PASSED,
        Status.FAILED,
        Status.FAILED,
        Status.COMPILE_ERROR,
        Status.EARLY_EXIT,
    ]


@pytest.mark.sandbox
def test_import_of_the_prompt_that_nobody_has_is_an_infrastructure_error() -> None:
    asked = ce.Problem.from_source(
        "add/0", PROMPT.replace("math", "nosuchlibrary"), TESTS, TINY, entry_point="add", stop=()
    )

    assert judged(asked, ["  return a + b\n"]) == [Status.SANDBOX_ERROR]


def test_whole_answer_is_built_without_its_tests_by_the_records_own_stub() -> None:
    asked = problem()

    program = asked.suites["tests"].program(ADD, problem=asked, limits=asked.limits)

    assert program.check is not None
    assert program.check.parameters["alone"] == f"use math\n{ADD.rstrip()}\n\n{TINY.alone}"


def test_stop_string_that_closes_the_function_goes_with_tests_that_do_so() -> None:
    assert problem().stop == TINY.stop
    assert problem(tests="check add(1, 2) == 3\n").stop == ("\n--", "\ndef")


def test_sealing_in_front_of_what_closes_the_tests_is_the_records_own() -> None:
    from codeeval.benchmarks._sealing import sealed_tests

    sealing = Sealing(statement='say "{token}"', closing=r"\bend")
    language = dataclasses.replace(TINY, syntax=dataclasses.replace(SYNTAX, sealing=sealing))

    assert sealed_tests("def t()\n  x\nend\n", language, "t/0", "through") == 'def t()\n  x\n\nsay "through"\nend\n'
    with pytest.raises(InvalidProblem, match="sealed=True needs tests that end as"):
        sealed_tests("def t()\n", language, "t/0", "through")


@pytest.mark.sandbox
def test_whole_programs_in_own_language_are_judged() -> None:
    suite = StdioSuite.of([("3\n", "3\n")], language=TINY)
    asked = ce.Problem(
        task_id="add/0", prompt="Print the input.", suites={"tests": suite}, language="tiny", style="chat"
    )

    assert judged(asked, ["```tn\nsay read()\n```", "```\nsay 4\n```"]) == [Status.PASSED, Status.FAILED]


def test_problem_with_own_language_keeps_it_when_pickled() -> None:
    asked = problem()

    copy = pickle.loads(pickle.dumps(asked))

    assert (copy.record, copy.syntax) == (TINY, SYNTAX)
    assert copy.digest() == asked.digest()


def test_records_that_are_known_by_name_are_not_kept() -> None:
    (suite,) = ce.Problem.from_source("a", "b", "c", "lua").suites.values()
    under = SourceSuite.of("c", ce.languages.get("go").under("humanevalpack"), protocol="humanevalpack")

    assert isinstance(suite, SourceSuite)
    assert suite.record is None
    assert under.record is None


def test_own_record_with_a_known_name_is_read_in_place_of_ours() -> None:
    own_lua = dataclasses.replace(TINY, name="lua")
    asked = ce.Problem.from_source("a", "b", "c", own_lua)

    assert asked.record == own_lua
    assert asked.syntax == SYNTAX


# --- a language without a syntax

UNKNOWN = dataclasses.replace(TINY, syntax=None)


@pytest.mark.parametrize("style", ["completion", "chat"])
def test_without_syntax_an_answer_is_what_stands_in_its_fence(style: str) -> None:
    """C's rules would take the last lines for prose behind a brace, and `//` and quotes for no code."""
    code = "def add(a, b)\n  c = { '}' // 'b\n  return a + b\nend\nsay add(1, 2)\n"
    asked = problem(UNKNOWN, style=style)

    extraction = extract(sample(f"So:\n```tn\n{code}```\nDone }}.\n"), asked)

    assert extraction.code.removeprefix("\n") == code
    assert extraction.rule == "program, fenced"


def test_without_syntax_a_fence_that_does_not_repeat_the_head_goes_on() -> None:
    extraction = extract(sample("```tn\n  return a + b\n```"), problem(UNKNOWN))

    assert extraction.code == PROMPT + "  return a + b\n"
    assert extraction.rule == "continuation, fenced"


def test_without_syntax_text_without_a_fence_is_taken_whole() -> None:
    """By C's rules, `int add(…) {` is the definition and what precedes it prose."""
    text = "So it is.\nint add(int a) {\n  return a;\n}\nDone.\n"

    extraction = extract(sample(text), problem(UNKNOWN, style="chat"))

    assert (extraction.code, extraction.rule, extraction.dropped) == (text, "program", "")


def test_without_syntax_stop_strings_cut_wherever_they_stand() -> None:
    extraction = extract(sample("  -- end\n-- more\n  return a\nend\n"), problem(UNKNOWN))

    assert extraction.code == PROMPT + "  -- end"


@pytest.mark.sandbox
def test_without_syntax_an_answer_is_judged_as_it_is() -> None:
    tests = TESTS.removeprefix("end\n")
    whole = f"```tn\n{ADD}```\n"

    assert judged(problem(UNKNOWN, tests=tests), [whole], UNKNOWN) == [Status.PASSED]


def test_without_syntax_a_suite_that_places_whole_answers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the record of Tiny needs syntax=Syntax\(…\).*or leave prompt out"):
        SourceSuite.of(TESTS, UNKNOWN, prompt=PROMPT, entry_point="add")


def test_a_language_that_nobody_knows_gets_no_rules_either() -> None:
    suite = SourceSuite(tests="x", language="nobodys", main="main.x", prompt="int f() {\n", entry_point="f")
    asked = ce.Problem(
        task_id="add/0", prompt="int f() {\n", suites={"tests": suite}, language="nobodys", entry_point="f"
    )

    assert asked.record is None
    assert suite.program("int f() {\n 1", problem=asked, limits=asked.limits).files == {"main.x": "int f() {\n 1\nx"}
    with pytest.raises(ValueError, match="the record of nobodys needs syntax"):
        suite.program("int f() { 1 }", problem=asked, limits=asked.limits)


# --- what a syntax may not be


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("definition", "def add", r"Syntax.definition must hold \{name\}"),
        ("definition", "def ({name}", "Syntax.definition must be a regular expression"),
        ("strings", (r"(q)x\1",), "Syntax.strings must refer to groups by name"),
        ("strings", '"', "Syntax.strings must be a tuple of strings"),
        ("blocks", "end", r"Syntax.blocks must be Blocks\(…\) or None"),
        ("comments", None, r"Syntax.comments must be Comments\(…\)"),
        ("place", "after", "Syntax.place must be a function or None"),
    ],
)
def test_wrong_field_of_a_syntax_is_refused(field: str, value: object, message: str) -> None:
    fields = {"comments": Comments(), "strings": (), "definition": "def {name}", field: value}

    with pytest.raises((TypeError, ValueError), match=message):
        Syntax(**fields)  # type: ignore[arg-type]  # one of them is wrong


def test_wrong_parts_of_a_syntax_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Language.syntax must be Syntax\(…\) or None"):
        dataclasses.replace(TINY, syntax="--")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="marks that are not empty"):
        Comments(line=("",))
    with pytest.raises(TypeError, match="blocks as pairs"):
        Comments(block=("/*", "*/"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Blocks\.closing must be a regular expression that is not empty"):
        Blocks(closing="")
    with pytest.raises(ValueError, match=r"Sealing.statement must hold \{token\}"):
        Sealing(statement="say 1", closing="end")
    with pytest.raises(TypeError, match=r"Script\.end must be a string that is not empty"):
        Script(definition="^def", end="")


def test_digest_of_a_record_is_of_how_programs_are_built_and_run() -> None:
    assert TINY.digest() == UNKNOWN.digest()
    assert TINY.digest() != dataclasses.replace(TINY, suffix=".tiny").digest()
