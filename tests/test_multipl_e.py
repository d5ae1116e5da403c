"""MultiPL-E: what a completion and a chat answer become, whose rules differ how, folders of its own completions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.errors import DatasetError, InvalidProblem
from codeeval.extract import extract

CPP: dict[str, Any] = {
    "name": "HumanEval_53_add",
    "language": "cpp",
    "prompt": "#include<assert.h>\n#include<bits/stdc++.h>\n// Add two numbers.\nlong add(long x, long y) {\n",
    "tests": "}\nint main() {\n    auto candidate = add;\n    assert(candidate((0), (1)) == (1));\n}\n",
    "stop_tokens": ["\n}"],
    "doctests": "transform",
}
TS: dict[str, Any] = {
    "name": "HumanEval_53_add",
    "language": "ts",
    "prompt": "//Add two numbers.\nfunction add(x: number, y: number): number {\n",
    "tests": "declare var require: any;\nconst assert = require('node:assert');\nassert.deepEqual(add(0, 1),1);",
    "stop_tokens": ["\nfunction ", "\n/*", "\n//", "\nclass"],
}


def load(tmp_path: Path, row: Mapping[str, Any], **options: Any) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return ce.load("multipl-e", language=row["language"], source=path, verify=False, **options)


def program(problem: ce.Problem, completion: str, extractor: ce.extract.Extractor = ce.until_stop) -> str:
    taken = extractor(ce.Sample(task_id=problem.task_id, completion=completion), problem)
    code = taken if isinstance(taken, str) else taken.code
    return problem.suites["tests"].program(code, problem=problem, limits=problem.limits).code


def test_program_is_prompt_completion_newline_tests(tmp_path: Path) -> None:
    problem = load(tmp_path, CPP)[0]

    assert problem.task_id == "HumanEval_53_add"
    assert problem.language == "cpp"
    assert problem.entry_point == "add"
    assert problem.prompt == CPP["prompt"].strip()
    assert program(problem, "\n    return x + y;\n}\n\nint sub() {}") == (
        f"{CPP['prompt'].strip()}\n    return x + y;\n{CPP['tests']}"
    )


def test_completions_are_cut_by_default(tmp_path: Path) -> None:
    problems = load(tmp_path, CPP)

    assert ce.extract.default_extractor(problems) is ce.until_stop


def test_qwen_has_headers_limits_and_stops_of_its_own(tmp_path: Path) -> None:
    cpp, ts = load(tmp_path, CPP, protocol="qwen")[0], load(tmp_path, TS, protocol="qwen")[0]

    assert cpp.prompt == CPP["prompt"]
    assert cpp.limits.cpu_s == 10
    assert program(cpp, "    return x + y;\n}\n").startswith("#include<stdlib.h>\n#include<algorithm>\n")
    assert program(cpp, "    return x + y;\n}\n").endswith(f"\n\n{CPP['prompt']}\n    return x + y;\n{CPP['tests']}")
    assert ts.stop == ("\nfunction ", "\n/*", "\n//", "\nclass", "\nexport", "\nconsole.log")


CHAT = """Here is the function:

```cpp
#include <bits/stdc++.h>

long add(long x, long y) {
    return x + y;
}

int main() {
    std::cout << add(1, 2) << std::endl;
    return 0;
}
```

Run it:

```cpp
add(1, 2);
```
"""


@pytest.mark.parametrize("protocol", ["multipl-e", "qwen"])
def test_chat_answer_with_the_whole_function_is_put_beside_the_tests(tmp_path: Path, protocol: str) -> None:
    problem = load(tmp_path, CPP, protocol=protocol)[0]

    text = program(problem, CHAT, extract)

    assert text.count("int main()") == 1
    assert text.count("long add(") == 1
    assert text.count("bits/stdc++.h") == 1
    assert "#include<assert.h>" in text
    assert text.endswith(CPP["tests"].removeprefix("}\n"))
    assert text.count("{") == text.count("}")


ANSWERS = {
    "body": "    return x + y;\n}\n",
    "body, indented brace": "\n    return x + y;\n}\n",
    "whole function": "long add(long x, long y) {\n    return x + y;\n}\n",
    "prompt and rest": f"{CPP['prompt']}    return x + y;\n}}\n",
    "stripped prompt and rest": f"{CPP['prompt'].strip()}\n    return x + y;\n}}\n",
    "fenced body": "```cpp\n    return x + y;\n}\n```",
    "fenced function": "Sure!\n```c++\nlong add(long x, long y) {\n    return x + y;\n}\n```\nThat adds.",
    "unclosed fence": "```\nlong add(long x, long y) {\n    return x + y;\n}\n",
    "prose around": "This adds:\n\nlong add(long x, long y) {\n    return x + y;\n}\n\nIt works.",
    "thinking": "<think>long add(long x) { hm</think>\n```cpp\nlong add(long x, long y) {\n    return x + y;\n}\n```",
    "helper after": "    return sum(x, y);\n}\n\nlong sum(long x, long y) {\n    return x + y;\n}\n",
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_every_form_of_an_answer_becomes_one_closed_program(tmp_path: Path, answer: str) -> None:
    problem = load(tmp_path, CPP)[0]

    text = program(problem, ANSWERS[answer], extract)

    assert text.count("{") == text.count("}")
    assert text.count("long add(long x, long y) {") == 1
    assert text.count("int main()") == 1
    assert text.startswith("#include<assert.h>") or text.lstrip().startswith("#include<assert.h>")
    assert "adds:" not in text.lower()
    assert "works" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "klingon"}, "no language 'klingon'"),
        ({"language": "python"}, "HumanEval and MBPP themselves"),
        ({"language": None}, "needs language=…, one of cpp, cs"),
        ({"base": "apps"}, "the bases 'humaneval' and 'mbpp'"),
        ({"protocol": "evalplus"}, "the protocols 'multipl-e', 'qwen'"),
        ({"language": "lua", "protocol": "qwen"}, "is known of bash, cpp"),
    ],
)
def test_wrong_choice_says_which_there_are(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ce.load("multipl-e", source=tmp_path / "rows.jsonl", **({"language": "cpp"} | options))


def test_part_of_unknown_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(CPP | {"name": "mbpp_3_is_not_prime"}) + "\n")

    with pytest.raises(DatasetError, match="wanted 397 rows, but got 1"):
        ce.load("multipl-e", language="c++", base="mbpp", source=path)


def completions(folder: Path, number: int, **fields: Any) -> Path:
    row = CPP | {"name": f"HumanEval_{number}_add", "completions": ["\n    return x + y;"], **fields}
    file = folder / f"{row['name']}.json.gz"
    file.write_bytes(gzip.compress(json.dumps(row).encode()))
    return file


def test_folder_of_completions_is_a_set_of_problems(tmp_path: Path) -> None:
    folder = tmp_path / "humaneval-cpp-model-0.2-reworded"
    folder.mkdir()
    for number in (10, 9):
        completions(folder, number)
    (folder / "HumanEval_9_add.results.json.gz").write_bytes(b"not read")

    problems = ce.load("multipl-e", source=folder)

    assert problems.task_ids == ("HumanEval_9_add", "HumanEval_10_add")
    assert problems[0].prompt == CPP["prompt"]  # as it was generated from
    assert problems.name == "multipl-e (humaneval-cpp-model-0.2-reworded)"


def test_folder_in_another_language_is_refused(tmp_path: Path) -> None:
    completions(tmp_path, 1)

    with pytest.raises(ValueError, match=r"holds completions in C\+\+, but got language='lua'"):
        ce.load("multipl-e", language="lua", source=tmp_path)


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="wanted MultiPL-E's files"):
        ce.load("multipl-e", source=tmp_path)
    (tmp_path / "HumanEval_1_add.json").write_text('{"name": "HumanEval_1_add"}')
    with pytest.raises(InvalidProblem, match="it has no prompt, tests, stop_tokens, language"):
        ce.load("multipl-e", source=tmp_path)


def test_a_folder_of_problem_files_says_to_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "humaneval-lua.jsonl.gz").touch()

    with pytest.raises(DatasetError, match=r"a file of problems is named itself, as source='.*humaneval-lua.jsonl.gz'"):
        ce.load("multipl-e", language="lua", source=tmp_path)


BASH: dict[str, Any] = {
    "name": "HumanEval_53_add",
    "language": "sh",
    "prompt": "#!/bin/bash\n# Add two numbers.\n#\n# $1 is an integer\nadd() {\n",
    "tests": '}\n\ncandidate() {\n    add "$@"\n}\n\nset -e\n[[ $(candidate "2" "3") = "5" ]]\n',
    "stop_tokens": ["\n}"],
}
JS: dict[str, Any] = TS | {
    "language": "js",
    "prompt": "//Add two numbers.\nfunction add(x, y){\n",
    "tests": "const assert = require('node:assert');\nassert.deepEqual(add(0, 1),1);",
}


def statuses(problems: ce.ProblemSet, completions: list[str], **options: Any) -> list[ce.Status]:
    (diagnosis,) = ce.languages.doctor([problems[0].language])
    if diagnosis.state == "missing":
        pytest.skip(f"{diagnosis.language.title}: {diagnosis.message}")
    samples = [
        ce.Sample(task_id="HumanEval_53_add", completion=text, index=index) for index, text in enumerate(completions)
    ]
    results = ce.evaluate(problems, ce.RecordedSampler(samples), cache=False, **options)
    return [attempt.executions["tests"].status for attempt in results]


@pytest.mark.sandbox
def test_continuations_in_bash_are_judged(tmp_path: Path) -> None:
    completions = ["\n    echo $(($1 + $2))\n}\n", "\n    echo $(($1 - $2))\n}\n", "\n    if (; then\n}\n"]

    assert statuses(load(tmp_path, BASH), completions) == [
        ce.Status.PASSED,
        ce.Status.FAILED,
        ce.Status.COMPILE_ERROR,
    ]


@pytest.mark.sandbox
def test_chat_answers_in_bash_are_judged(tmp_path: Path) -> None:
    right = "```bash\n#!/bin/bash\nadd() {\n    echo $(($1 + $2))\n}\n\nadd 1 2\n```"
    exits = "```bash\nadd() {\n    echo $(($1 + $2))\n}\n\necho $(add 1 2)\nexit 1\n```"  # an example, taken off

    assert statuses(load(tmp_path, BASH), [right, exits, "```\necho 6\n```"], extract="codeeval") == [
        ce.Status.PASSED,
        ce.Status.PASSED,
        ce.Status.FAILED,
    ]


@pytest.mark.sandbox
def test_javascript_that_prints_fails_under_the_rules_of_qwen_alone(tmp_path: Path) -> None:
    completions = ["    console.log(x);\n    return x + y;\n}\n", "    return x + y;\n}\n"]

    assert statuses(load(tmp_path, JS), completions) == [ce.Status.PASSED, ce.Status.PASSED]
    assert statuses(load(tmp_path, JS, protocol="qwen"), completions) == [ce.Status.FAILED, ce.Status.PASSED]


@pytest.mark.parametrize(
    ("language", "stop", "prompt", "body"),
    [
        ("lua", ["\nlocal", "\n--", "\n\n"], "local function add(x, y)\n", "\n    -- sum\n\n    return x + y\nend"),
        ("lua", ["\nlocal", "\n--", "\n\n"], "local function add(x, y)\n", "local z = x\n-- sum\n\nreturn z + y\nend"),
        ("jl", ["\nfunction", "\n\n"], "function add(x, y)\n", "    z = x\n\n    return z + y\nend"),
        ("rb", ["\ndef", "\n#", "\n\n"], "def add(x, y)\n", "  z = x\n\n# sum\n  z + y\nend"),
        ("pl", ["\nsub", "\n#", "\n\n"], "sub add {\n    my($x, $y) = @_;\n", "\n\n    return $x + $y;\n}"),
        ("d", ["\n\n", "\nint"], "int add(int x, int y)\n", "{\n\nint z = x;\n    return z + y;\n}"),
        (
            "go",
            ["\nfunc", "struct", "\n// "],
            "func add(x, y int) int {\n",
            "\ttype t struct{}\n// a\n\treturn 3\n}",
        ),
        ("js", ["\nfunction ", "\n//"], "function add(x, y){\n", "// sum\n\n//of both\n  return x + y;\n}"),
    ],
)
def test_what_is_legal_in_the_open_function_does_not_cut_it(
    tmp_path: Path, language: str, stop: list[str], prompt: str, body: str
) -> None:
    problems = load(tmp_path, TS | {"language": language, "prompt": prompt, "stop_tokens": stop})
    ran_on = "".join(f"{string} more" for string in stop)

    found = extract(ce.Sample(task_id="HumanEval_53_add", completion=body + ran_on), problems[0])

    assert found.code == problems[0].prompt + body
    assert found.dropped == ran_on


def test_the_brace_that_the_tests_bring_is_cut_and_no_other(tmp_path: Path) -> None:
    problems = load(tmp_path, BASH)
    body = "    if true; then {\n        echo 1\n}; fi\n    echo 2"

    found = [
        extract(ce.Sample(task_id="HumanEval_53_add", completion=text), problems[0])
        for text in (f"{body}\n}}\n\nsub() {{\n    echo 3\n}}\n", body)
    ]

    assert [f.code for f in found] == [problems[0].prompt + body] * 2


def test_a_mark_of_the_model_or_a_word_after_a_function_without_an_end_still_cuts(tmp_path: Path) -> None:
    problems = load(tmp_path, JS | {"stop_tokens": ["\nfunction ", "\n//", "<|end|>"]})

    for text, kept in (
        ("  return x <|end|> // a\n}\n", "  return x "),
        ("  return x\nfunction g()", "  return x"),
        ("  return x\n// y", "  return x\n// y"),
    ):
        found = extract(ce.Sample(task_id="HumanEval_53_add", completion=text), problems[0])
        assert found.code == problems[0].prompt + kept


def seal_row(language: str, prompt: str, tests: str, stop: str) -> dict[str, Any]:
    return CPP | {"language": language, "prompt": prompt, "tests": tests, "stop_tokens": [stop]}


#: Row, right body, body that ends the program well before its tests; both as they follow the prompt.
SEALED: dict[str, tuple[dict[str, Any], str, str]] = {
    "bash": (BASH, "    echo $(($1 + $2))", "    echo 5; }\nexit 0\nsub() {\n    echo 0"),
    "cpp": (CPP, "    return x + y;", "    exit(0);"),
    "csharp": (
        seal_row(
            "cs",
            "using System;\nusing System.Diagnostics;\nclass Problem {\n    public static long Add(long x, long y) {\n",
            "    }\n    public static void Main(string[] args) {\n"
            "    Debug.Assert(Add((0L), (1L)) == (1L));\n    }\n\n}\n",
            "\n    }\n",
        ),
        '        Console.Write("no newline");\n        return x + y;',
        "        Environment.Exit(0);\n        return 0;",
    ),
    "d": (
        seal_row(
            "d",
            "import std.math;\nlong add(long x, long y) \n",
            "unittest\n{\n    alias candidate = add;\n\n    assert(candidate(0L, 1L) == 1L);\n}\nvoid main(){}",
            "\nint",
        ),
        "{\n    return x + y;\n}",
        "{\n    import core.stdc.stdlib : exit;\n    exit(0);\n    return 0;\n}",
    ),
    "go": (
        seal_row(
            "go",
            'package add_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\nfunc add(x int, y int) int {\n',
            "func TestAdd(t *testing.T) {\n  candidate := add\n"
            '  if fmt.Sprintf("%v", candidate(0, 1)) != "1" {\n    t.Errorf("expected 1")\n  }\n}\n',
            "\nfunc",
        ),
        "    return x + y\n}",
        '    (*testing.T)(nil).SkipNow()\n    panic("")\n}',
    ),
    "java": (
        seal_row(
            "java",
            "import java.util.*;\nclass Problem {\n    public static long add(long x, long y) {\n",
            "    }\n    public static void main(String[] args) {\n    assert(add((0l), (1l)) == (1l));\n    }\n\n}\n",
            "\n    }\n",
        ),
        '        System.out.print("no newline");\n        return x + y;',
        "        System.exit(0);\n        return 0;",
    ),
    "javascript": (JS, "    process.stdout.write('no newline');\n    return x + y;\n}", "    process.exit(0);\n}"),
    "lua": (
        seal_row(
            "lua",
            "local function add(x, y)\n",
            "lu = require('luaunit')\n\nfunction test_humaneval()\nlocal candidate = add\n"
            "    lu.assertEquals(candidate(0, 1), 1)\nend\n\nos.exit(lu.LuaUnit.run())",
            "\nlocal",
        ),
        "    io.write('no newline')\n    return x + y\nend",
        "    return 0\nend\nos.exit(0)",
    ),
    "ruby": (
        seal_row(
            "rb",
            "def add(x, y)\n",
            "require 'test/unit'\nclass TestHumanEval < Test::Unit::TestCase\n  def test_add\n"
            "    candidate = method(:add)\n    assert_equal(1, candidate.call(0, 1))\n  end\nend\n",
            "\nclass",
        ),
        "  x + y\nend",
        "  exit!(0)\nend",
    ),
    "rust": (
        seal_row(
            "rs",
            "fn add(x: isize, y: isize) -> isize {\n",
            "}\n\nfn main() {\n    let candidate = add;\n    assert_eq!(candidate(0, 1), 1);\n}\n",
            "\n}",
        ),
        '    print!("no newline");\n    return x + y;',
        "    std::process::exit(0);",
    ),
    "scala": (
        seal_row(
            "scala",
            "object Problem {\n    def add(x : Long, y : Long) : Long = {\n",
            "    }\n    def main(args: Array[String]) = {\n    assert(add((0l), (1l)) == (1l));\n    }\n\n}\n",
            "\n    }\n",
        ),
        "        return x + y",
        "        sys.exit(0)",
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("language", SEALED)
def test_what_leaves_before_its_tests_passes_by_the_originals_rule_and_not_sealed(
    tmp_path: Path, language: str
) -> None:
    row, right, leaving = SEALED[language]

    sealed = statuses(load(tmp_path, row, sealed=True), [right, leaving])

    assert sealed[0] is ce.Status.PASSED
    assert sealed[1] is (ce.Status.FAILED if language == "go" else ce.Status.EARLY_EXIT)
    if language in ("javascript", "lua"):
        assert statuses(load(tmp_path, row), [right, leaving]) == [ce.Status.PASSED] * 2


def test_sealed_sets_are_told_from_the_original(tmp_path: Path) -> None:
    plain, sealed = load(tmp_path, CPP), load(tmp_path, CPP, sealed=True)

    assert sealed.name == "multipl-e (humaneval, cpp, sealed)"
    assert (plain.name, sealed[0].prompt) == ("multipl-e (humaneval, cpp)", plain[0].prompt)
    assert sealed.digest() != plain.digest()


def test_tests_that_cannot_be_sealed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"HumanEval_53_add: sealed=True needs tests that end as .* in C\+\+ do"):
        load(tmp_path, CPP | {"tests": "}\nint main() {}\n// end"}, sealed=True)
    with pytest.raises(ValueError, match="sealed=True goes with protocol='multipl-e', but got 'qwen'"):
        load(tmp_path, CPP, sealed=True, protocol="qwen")
    with pytest.raises(TypeError, match="sealed must be True or False, but got 'yes'"):
        load(tmp_path, CPP, sealed="yes")
