"""What a prompt imports: whole answers get it where they leave it out, and where it is missing nobody is scored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import codeeval as ce
from codeeval.extract import extract
from codeeval.languages import get
from codeeval.languages.syntax import Syntax, imports_of, imports_program, with_imports
from codeeval.problem import Style
from tests.support.machine import NeedToolchain

PROMPTS = {
    "cpp": "#include <cassert>  // assert\n// #include <map>\nusing namespace std;\nlong total(vector<long> v) {\n",
    "csharp": "using System;\nusing System.Linq;\nclass Problem {\n    public static long total(long[] v) {\n",
    "d": "import std.math;\nlong total(long[] v) {\n",
    "java": "import java.util.*;\nclass Problem {\n    public static long total(List<Long> v) {\n",
    "javascript": "const assert = require('node:assert');\nfunction total(v) {\n",
    "julia": "using Statistics\nfunction total(v)\n",
    "lua": 'local json = require("json")\nlocal function total(v)\n',
    "perl": "use List::Util qw(sum);\nsub total {\n",
    "r": "library(stats)\ntotal <- function(v) {\n",
    "ruby": "require 'set'\ndef total(v)\n",
    "rust": "use std::collections::HashMap;\nfn total(v: Vec<i64>) -> i64 {\n",
    "scala": "import scala.math._\nobject Problem {\n    def total(v : List[Long]) : Long = {\n",
    "swift": "import Foundation\nfunc total(v: [Int]) -> Int {\n",
}
IMPORTS = {
    "cpp": ["#include <cassert>", "using namespace std;"],
    "csharp": ["using System;", "using System.Linq;"],
    "go": ['import "fmt"'],
}


def syntax(language: str) -> Syntax:
    found = get(language).syntax
    assert found is not None
    return found


def imports(language: str) -> list[str]:
    return IMPORTS.get(language, PROMPTS[language].splitlines()[:1])


@pytest.mark.parametrize("language", PROMPTS)
def test_a_whole_answer_gets_the_imports_that_it_leaves_out(language: str) -> None:
    assert imports(language) == imports_of(PROMPTS[language], "total", syntax(language))
    assert "\n".join([*imports(language), "total"]) == with_imports(
        "total", PROMPTS[language], "total", syntax(language)
    )


@pytest.mark.parametrize("language", PROMPTS)
def test_an_answer_that_repeats_the_imports_is_left_as_it_is(language: str) -> None:
    answer = "\n".join(["", *imports(language), "total"])

    assert answer == with_imports(answer, PROMPTS[language], "total", syntax(language))


@pytest.mark.parametrize(
    ("language", "answer", "expected"),
    [
        ("csharp", "using System.Linq;\nx", "using System;\nusing System.Linq;\nx"),
        ("java", "package a;\nx", "package a;\nimport java.util.*;\nx"),
        ("javascript", 'const assert = require("assert");\nx', 'const assert = require("assert");\nx'),
        ("rust", "use std::collections::{HashMap, HashSet};\nx", "use std::collections::{HashMap, HashSet};\nx"),
        ("rust", "#![allow(unused)]\nx", "#![allow(unused)]\nuse std::collections::HashMap;\nx"),
    ],
)
def test_an_import_stands_where_it_may_and_binds_no_name_twice(language: str, answer: str, expected: str) -> None:
    assert expected == with_imports(answer, PROMPTS[language], "total", syntax(language))


def test_prose_is_no_import_and_code_in_a_fence_is() -> None:
    asked = f"Write total\nusing namespace wisely;\n```cpp\n{PROMPTS['cpp']}```\n"

    assert IMPORTS["cpp"] == imports_of(asked, "total", syntax("cpp"))
    assert [] == imports_of("Write a program,\nusing namespace std;\nIt adds.\n", "total", syntax("cpp"))


def test_what_a_prompt_defines_is_no_library() -> None:
    prompt = "mod shapes { pub struct P; }\nuse shapes::P;\nuse crate::shapes;\nuse rand::Rng;\nfn total(v: P) {\n"

    assert imports_program(prompt, "total", syntax("rust")) == "use rand::Rng;\n"
    assert imports_program("fn total(v: i64) {\n", "total", syntax("rust")) == ""


TESTS = "}\nint main() {\n    assert(total({1, 2, 3}) == 6);\n    return 0;\n}\n"
BODY = "    long s = 0;\n    for (long x : v) s += x;\n    return s;\n"
CPP = "#include <cassert>\n#include <vector>\nusing namespace std;\nlong total(vector<long> v) {\n"


def judged(need_toolchain: NeedToolchain, problem: ce.Problem, completion: str) -> ce.Execution:
    need_toolchain(problem.language)
    sample = ce.Sample(task_id=problem.task_id, completion=completion)
    (attempt,) = ce.evaluate([problem], ce.RecordedSampler([sample]), extract="codeeval", cache=False, progress=False)
    return attempt.executions["tests"]


@pytest.mark.parametrize("answer", [BODY + "}\n", f"```cpp\n{CPP.splitlines()[3]}\n{BODY}}}\nint main() {{}}\n```\n"])
def test_tests_that_close_the_function_judge_continuations_and_whole_answers(
    need_toolchain: NeedToolchain, answer: str
) -> None:
    problem = ce.Problem.from_source("total/0", CPP, TESTS, "cpp", entry_point="total")

    execution = judged(need_toolchain, problem, answer)

    assert execution.passed, execution


@pytest.mark.parametrize("style", ["completion", "chat"])
def test_the_extracted_code_of_a_whole_answer_begins_with_what_it_left_out(style: Style) -> None:
    problem = ce.Problem.from_source("total/0", CPP, TESTS[2:], "cpp", style=style, entry_point="total")
    answer = f"#include <vector>\nusing namespace std;\nlong total(vector<long> v) {{\n{BODY}}}\n"

    extraction = extract(ce.Sample(task_id="total/0", completion=f"```cpp\n{answer}```\n"), problem)

    assert extraction.code.lstrip() == "#include <cassert>\n" + answer


def libraries() -> Iterator[object]:
    yield pytest.param(
        "java",
        "import org.nosuchlibrary.*;\nclass Problem {\n    static long one() {\n",
        "        return 1;\n",
        "    }\n    public static void main(String[] args) {\n        assert(one() == 1);\n    }\n}\n",
        id="java",
    )
    yield pytest.param(
        "cpp",
        "#include <nosuchlibrary/all.h>\nint one() {\n",
        "    return 1;\n",
        "}\nint main() {\n    return one() - 1;\n}\n",
        id="cpp",
    )
    yield pytest.param(
        "ruby", "require 'nosuchlibrary'\ndef one()\n", "    1\nend\n", "raise 'wrong' unless one() == 1\n", id="ruby"
    )
    yield pytest.param(
        "javascript",
        "const all = require('nosuchlibrary');\nfunction one() {\n",
        "    return 1;\n}\n",
        "require('node:assert').equal(one(), 1);\n",
        id="javascript",
    )


@pytest.mark.parametrize(("language", "prompt", "answer", "tests"), list(libraries()))
def test_a_library_that_the_prompt_imports_and_nobody_has_is_an_infrastructure_error(
    need_toolchain: NeedToolchain, language: str, prompt: str, answer: str, tests: str
) -> None:
    problem = ce.Problem.from_source("one/0", prompt, tests, language, entry_point="one", stop=())

    execution = judged(need_toolchain, problem, answer)

    assert execution.status is ce.Status.SANDBOX_ERROR, execution
    assert "nosuchlibrary" in execution.message
    assert ce.languages.get(language).packages["apt"] in execution.message


@pytest.mark.parametrize(("language", "prompt", "answer", "tests"), list(libraries()))
def test_a_library_that_only_the_answer_imports_is_the_answers_failure(
    need_toolchain: NeedToolchain, language: str, prompt: str, answer: str, tests: str
) -> None:
    """The prompt imports something too, and the answer claims that it is missing."""
    missing, _, rest = prompt.partition("\n")
    there = {
        "java": "import java.util.*;",
        "cpp": "#include <cstdio>",
        "ruby": "require 'set'",
        "javascript": "const all = require('node:fs');",
    }[language]
    whole = {"java": answer + "    }\n}\n", "cpp": answer + "}\n"}.get(language, answer)
    problem = ce.Problem.from_source("one/0", f"{there}\n{rest}", tests, language, entry_point="one", stop=())

    execution = judged(need_toolchain, problem, f"```{language}\n{missing}\n{rest}{whole}```\n")

    assert execution.status in (ce.Status.COMPILE_ERROR, ce.Status.FAILED), execution
    assert "nosuchlibrary" in execution.message + execution.stderr
