"""HumanEvalPack's five tasks: their prompts byte for byte, and what becomes of an answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.benchmarks._patches import NOTATIONS
from codeeval.benchmarks.humanevalpack import IMPORTS, describe
from codeeval.errors import MissingExtra
from codeeval.languages.go import go_program

HEAD = "\n\ndef area(r: float) -> float:\n"
DOCUMENTED = HEAD + '    """ Area of a circle.\n    """\n'
ROW = {
    "task_id": "Python/0",
    "prompt": DOCUMENTED,
    "declaration": HEAD,
    "canonical_solution": "    return round(math.pi * r ** 2, 2)\n",
    "buggy_solution": "    return round(math.pi * r, 2)\n",
    "docstring": "Area of a circle.",
    "instruction": "Write a Python function `area(r: float) -> float` that does this:\nArea of a circle.",
    "entry_point": "area",
    "test": "\n\ndef check(area):\n    assert area(2) == 12.57\n\ncheck(area)",
}


def load(tmp_path: Path, **options: Any) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return ce.load("humanevalpack-python", source=path, verify=False, **options)


PROMPTS = [
    ("synthesize", "continue", DOCUMENTED.strip()),
    ("synthesize", "instruct", f"{ROW['instruction']}\n\n{DOCUMENTED}".strip()),
    ("synthesize", "octocoder", f"Question: {ROW['instruction']}\n\nAnswer:\n{DOCUMENTED}".strip()),
    (
        "fix-tests",
        "instruct",
        f"{HEAD}{ROW['buggy_solution']}\n{ROW['test']}\nFix bugs in area.\n\n{HEAD}".strip(),
    ),
    (
        "fix-tests",
        "octocoder",
        f"Question: Fix bugs in area.\n{HEAD}{ROW['buggy_solution']}\n{ROW['test']}\n\nAnswer:\n{HEAD}".strip(),
    ),
    ("fix-docs", "instruct", f"{DOCUMENTED}{ROW['buggy_solution']}\nFix bugs in area.\n\n{DOCUMENTED}".strip()),
    (
        "fix-docs",
        "octocoder",
        f"Question: Fix bugs in area.\n{DOCUMENTED}{ROW['buggy_solution']}\n\nAnswer:\n{DOCUMENTED}".strip(),
    ),
]


@pytest.mark.parametrize(("task", "form", "prompt"), PROMPTS)
def test_prompts_are_those_of_the_bigcode_harness(tmp_path: Path, task: str, form: str, prompt: str) -> None:
    problem = load(tmp_path, task=task, form=form)[0]

    assert problem.prompt == prompt
    assert problem.stop == ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert", "<|endoftext|>")


@pytest.mark.parametrize(("form", "between"), [("wizardcoder", "\n"), ("instructcodet5p", "")])
def test_a_prompt_in_alpacas_form_has_an_instruction_and_a_response(tmp_path: Path, form: str, between: str) -> None:
    problem = load(tmp_path, form=form)[0]

    assert problem.prompt.endswith(
        f"\n\n### Instruction:\n{ROW['instruction']}\n\n### Response:{between}{DOCUMENTED}".rstrip()
    )


@pytest.mark.parametrize(("task", "head"), [("fix-tests", HEAD), ("fix-docs", DOCUMENTED)])
def test_a_fix_may_be_put_as_a_commit(tmp_path: Path, task: str, head: str) -> None:
    before = f"{head}{ROW['buggy_solution']}" + (f"\n{ROW['test']}" if task == "fix-tests" else "")
    commit = load(tmp_path, task=task, form="starcodercommit")[0]
    file = load(tmp_path, task=task, form="file")[0]

    assert commit.prompt == (f"<commit_before>{before}<commit_msg>Fix bugs in area.<commit_after>{head}".strip())
    parts = [
        "<file_name>",
        "area.py",
        "<commit_before>",
        before,
        "<commit_msg>",
        "Fix bugs in area.<commit_after>",
        head,
    ]
    assert file.prompt == "\n".join(parts).strip()
    assert commit.stop[-1] == file.stop[-1] == "<commit_before>"


def test_a_fix_may_be_put_as_an_issue(tmp_path: Path) -> None:
    problem = load(tmp_path, task="fix-docs", form="issue")[0]

    asked = f"<issue_start>username_0: Fix bugs in area.\n\n```{DOCUMENTED}{ROW['buggy_solution']}```\nUpvotes: 100"
    assert problem.prompt.startswith(f"{asked}<issue_comment>username_1: ")
    assert problem.prompt.endswith(f"\n\n```{DOCUMENTED}".rstrip())
    assert problem.stop[-1] == "```"


def test_deepseeks_form_has_its_system_prompt(tmp_path: Path) -> None:
    problem = load(tmp_path, form="deepseek")[0]

    assert problem.prompt.startswith("You are an AI programming assistant, utilizing the Deepseek Coder model, ")
    assert problem.prompt.endswith(
        f" refuse to answer\n### Instruction:\n{ROW['instruction']}\n### Response:\n{DOCUMENTED}".rstrip()
    )
    assert problem.stop[-1] == "<|EOT|>"


@pytest.mark.sandbox
@pytest.mark.parametrize(("task", "form"), [(task, form) for task, form, _ in PROMPTS])
def test_the_solution_passes_and_the_bug_fails(tmp_path: Path, task: str, form: str) -> None:
    """Neither imports math: the harness' imports stand before every program."""
    problems = load(tmp_path, task=task, form=form)
    bodies = ["\n" + ROW["canonical_solution"], "\n" + ROW["buggy_solution"]]
    samples = [ce.Sample(task_id="Python/0", completion=body, index=i) for i, body in enumerate(bodies)]

    results = ce.evaluate(problems, ce.RecordedSampler(samples), cache=False)

    assert [attempt.passed for attempt in results] == [True, False]
    head = DOCUMENTED if task != "fix-tests" else HEAD
    assert next(iter(results)).code == IMPORTS + head.rstrip() + bodies[0]


def test_the_bug_is_in_the_metadata(tmp_path: Path) -> None:
    assert load(tmp_path)[0].metadata["buggy_solution"] == ROW["buggy_solution"]


def test_a_description_is_asked_for_within_the_docstring_s_length(tmp_path: Path) -> None:
    problem = load(tmp_path, task="explain-describe")[0]

    assert "at most 17 characters" in problem.prompt
    assert problem.prompt.startswith(f"{HEAD}{ROW['canonical_solution']}".lstrip())
    assert problem.style == "chat"


@pytest.mark.sandbox
def test_judging_a_description_is_refused_with_what_to_do(tmp_path: Path) -> None:
    problems = load(tmp_path, task="explain-describe")
    sample = ce.Sample(task_id="Python/0", completion="It squares.")

    with pytest.raises(ValueError, match=r"aren't judged but written from.*explain-synthesize"):
        ce.evaluate(problems, ce.RecordedSampler([sample]), cache=False)


@pytest.mark.sandbox
def test_a_function_is_asked_for_from_its_description(tmp_path: Path) -> None:
    problems = load(tmp_path, task="explain-synthesize", descriptions={"Python/0": " Circle's area. And so on"})

    prompt = f"Circle's area. An\nWrite Python code that does what this description says.\n\n{HEAD}".strip()
    assert [(p.task_id, p.prompt) for p in problems] == [("Python/0", prompt)]
    assert ce.evaluate(problems, ce.CanonicalSampler(), cache=False)["pass@1"].value == 1.0


def test_a_description_loses_what_it_quotes_of_the_solution() -> None:
    row = ROW | {"docstring": "x" * 200}
    answer = "It gives:\n    return round(math.pi * r ** 2, 2)\nwhich is return round(math.pi * r ** 2, 2)."

    assert describe(answer, row) == "It gives:\n\nwhich is ."


def test_a_description_ends_where_code_begins() -> None:
    assert describe("Squares it.\nclass A: pass", ROW | {"docstring": "x" * 200}) == "Squares it."


@pytest.mark.parametrize(
    ("descriptions", "message"),
    [
        ("It squares.", r"must be \{task_id: answer\}, but got 'It squares.'"),
        ({"Python/1": "It squares."}, r"hold 'Python/1', which is no task here; did you mean 'Python/0'"),
        ({"Python/0": 1}, r"descriptions\['Python/0'\] must be an answer or a list of them, but got 1"),
        ({"Python/0": [None]}, r"must be an answer or a list of them"),
    ],
)
def test_descriptions_that_are_none_or_of_other_tasks_are_refused(
    tmp_path: Path, descriptions: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, task="explain-synthesize", descriptions=descriptions)


def test_a_part_of_the_tasks_described_is_told(tmp_path: Path) -> None:
    assert load(tmp_path, task="explain-synthesize", descriptions={}).name.endswith(", 0 described)")


def test_several_descriptions_are_problems_of_their_own(tmp_path: Path) -> None:
    problems = load(tmp_path, task="explain-synthesize", descriptions={"Python/0": ["One.", "Two."]})

    assert problems.task_ids == ("Python/0/0", "Python/0/1")
    assert "Two." in problems["Python/0/1"].prompt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "fix"}, "tasks .*'fix-tests'.*but got 'fix'"),
        ({"form": "chat"}, "forms .*'octocoder'.*but got 'chat'"),
        ({"task": "fix-docs", "form": "continue"}, "says nothing of 'fix-docs'"),
        ({"form": "file"}, "form='file'.*none of in 'synthesize'"),
        ({"form": "diff-carper"}, "form='diff-carper'.*none of in 'synthesize'"),
        ({"task": "explain-synthesize"}, "needs them; got 'explain-synthesize' without"),
        ({"descriptions": {}}, "belong to task='explain-synthesize'.*got 'synthesize' with"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, **options)


@pytest.mark.parametrize(
    ("form", "before", "between", "stop"),
    [
        ("octogeex", "Question: ", "\n\nAnswer:\n", ()),
        ("starchat", "<|system|>\n<|end|>\n<|user|>\n", "<|end|>\n<|assistant|>\n", ("<|end|>",)),
        ("starcodercommit", "<commit_before><commit_msg>", "<commit_after>", ("<commit_before>",)),
        ("codellama", "[INST] ", " [/INST] ", ()),
        ("codellama-70b", "Source: user\n\n ", " <step> Source: assistant\nDestination: user \n\n", ("<step>",)),
        ("tulu", "<|user|>\n", "\n<|assistant|>\n", ()),
        ("zephyr", "<|user|>\n", "</s>\n<|assistant|>\n", ("</s>",)),
        ("codegemma", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", ("<end_of_turn>",)),
        ("aurora-m", "### Instruction:\n", "\n### Response:\n", ()),
        ("chatml", "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", ("<|im_end|>",)),
    ],
)
def test_models_marks_surround_the_text(
    tmp_path: Path, form: str, before: str, between: str, stop: tuple[str, ...]
) -> None:
    problem = load(tmp_path, form=form)[0]

    assert problem.prompt == f"{before}{ROW['instruction']}{between}{DOCUMENTED}".strip()
    assert problem.stop[len(problem.stop) - len(stop) :] == stop
    assert problem.prefix == IMPORTS + DOCUMENTED.rstrip()


CPP = {
    "task_id": "CPP/0",
    "prompt": "/*\nTwice x.\n*/\n#include<stdio.h>\nusing namespace std;\nint twice(int x){\n",
    "declaration": "#include<stdio.h>\nusing namespace std;\nint twice(int x){\n",
    "canonical_solution": "    return 2*x;\n}\n",
    "buggy_solution": "    return 2+x;\n}\n",
    "docstring": "Twice x.",
    "instruction": "Write a C++ function `int twice(int x)` that gives twice x.",
    "entry_point": "twice",
    "test": "#undef NDEBUG\n#include<assert.h>\nint main(){\n    assert (twice(3)==6);\n}\n",
}
GO = {
    "task_id": "Go/0",
    "prompt": 'import (\n    "math"\n)\n\n// Twice x.\nfunc Twice(x float64) float64 {\n',
    "declaration": "\nfunc Twice(x float64) float64 {\n",
    "canonical_solution": "    return math.Abs(x) * 2\n}\n",
    "buggy_solution": "    return math.Abs(x) + 2\n}\n",
    "docstring": "Twice x.",
    "instruction": "Write a Go function.",
    "entry_point": "Twice",
    "test_setup": 'package main\n\nimport (\n    "testing"\n    "github.com/stretchr/testify/assert"\n)\n',
    "test": "func TestTwice(t *testing.T) {\n    assert := assert.New(t)\n    assert.Equal(6.0, Twice(3))\n}\n",
}
JAVA = {
    "task_id": "Java/0",
    "prompt": "import java.util.*;\n\nclass Solution {\n    /** Twice x. */\n    public int twice(int x) {\n",
    "declaration": "import java.util.*;\n\nclass Solution {\n    public int twice(int x) {\n",
    "canonical_solution": "        return 2 * x;\n    }\n}",
    "buggy_solution": "        return 2 + x;\n    }\n}",
    "docstring": "Twice x.",
    "instruction": "Write a Java function.",
    "entry_point": "twice",
    "test": "public class Main {\n    public static void main(String[] args) {}\n}\n",
}
RUST = {
    "task_id": "Rust/0",
    "prompt": "fn main(){}\n\nuse rand::Rng;\n\n/* Twice x. */\nfn twice(x:i32) -> i32{\n",
    "declaration": "\nuse rand::Rng;\n\nfn twice(x:i32) -> i32{\n",
    "canonical_solution": "\n    2 * x\n}\n",
    "buggy_solution": "\n    2 + x\n}\n",
    "docstring": "Twice x.",
    "instruction": "Write a Rust function.",
    "entry_point": "twice",
    "test": "#[cfg(test)]\nmod tests {\n    use super::*;\n}\n",
}


def other(tmp_path: Path, language: str, row: dict[str, Any], **options: Any) -> ce.Problem:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return ce.load("humanevalpack", language=language, source=path, verify=False, **options)[0]


def judged(problem: ce.Problem, completion: str) -> ce.Program:
    taken = ce.extract.default_extractor([problem])(ce.Sample(task_id=problem.task_id, completion=completion), problem)
    code = taken if isinstance(taken, str) else taken.code
    return problem.suites["tests"].program(code, problem=problem, limits=problem.limits)


def test_cpp_program_has_the_headers_and_ends_with_its_function(tmp_path: Path) -> None:
    problem = other(tmp_path, "c++", CPP, task="fix-tests")

    program = judged(problem, "\n    return 2*x; // }\n}\n\nint main(){ return 1; }\n")

    assert problem.language == "cpp"
    assert program.code.startswith("#include<stdlib.h>\n#include<algorithm>\n")
    assert program.code.endswith(f"int twice(int x){{\n    return 2*x; // }}\n}}\n{CPP['test']}")
    assert program.protocol == "humanevalpack"


def test_go_program_has_one_package_and_the_imports_that_it_uses(tmp_path: Path) -> None:
    documented = judged(other(tmp_path, "go", GO), "\n    return math.Abs(x) * 2\n}\n\nfunc main() {}\n")
    bare = judged(other(tmp_path, "go", GO, task="fix-tests"), "\n    return strings.Count(x)\n}\n")

    imports = '\t"testing"\n\t"github.com/stretchr/testify/assert"\n'
    assert documented.code.startswith(f'package main\n\nimport (\n{imports}\t"math"\n)\n\n')
    assert bare.code.startswith(f'package main\n\nimport (\n{imports}\t"strings"\n)\n\nfunc Twice(')
    assert "func main" not in documented.code


def test_an_import_that_the_prompt_of_a_go_problem_shows_is_no_mistake_of_the_answer(tmp_path: Path) -> None:
    program = judged(other(tmp_path, "go", GO), "\n    return 2 * x\n}\n")

    assert '"math"' not in program.code


def test_an_import_of_the_answers_own_that_nothing_uses_stays_its_mistake() -> None:
    header = 'package main\nimport "math"\n'

    assert '"os"' in go_program(header, 'import "os"\nfunc F() {}', "")
    assert '"math"' not in go_program(header, 'import "math"\nfunc F() {}', "")


@pytest.mark.parametrize(
    "completion",
    [
        "\n        return 2 * x;\n    }\n}\nclass Main {}\n",
        "\n        return 2 * x;\n    }\n",
        "\n        return 2 * x;\n    }\n    public static void main(String[] args) {\n        System.out",
    ],
)
def test_java_class_is_closed_once(tmp_path: Path, completion: str) -> None:
    program = judged(other(tmp_path, "java", JAVA), completion)

    assert program.main == "Main.java"
    assert program.code.endswith(f"        return 2 * x;\n    }}\n}}\n{JAVA['test']}")
    assert program.code.count("{") == program.code.count("}")


@pytest.mark.parametrize("task", ["synthesize", "fix-tests", "fix-docs"])
def test_rust_program_has_one_main(tmp_path: Path, task: str) -> None:
    program = judged(other(tmp_path, "rust", RUST, task=task), "\n    2 * x\n}\n\nfn main() {}\n")

    assert program.code.startswith("fn main(){}\n\nuse rand::Rng;\n")
    assert program.code.count("fn main") == 1
    assert program.code.endswith(f"    2 * x\n}}\n{RUST['test']}")


@pytest.mark.parametrize(("language", "row"), [("cpp", CPP), ("go", GO), ("java", JAVA), ("rust", RUST)])
def test_whole_function_in_a_fence_is_put_beside_the_tests(tmp_path: Path, language: str, row: dict[str, Any]) -> None:
    problem = other(tmp_path, language, row, task="fix-tests")
    answer = f"Fixed:\n```{language}\n{row['declaration'].strip()}\n{row['canonical_solution']}\n```\n"

    taken = ce.extract.extract(ce.Sample(task_id=problem.task_id, completion=answer), problem)
    program = problem.suites["tests"].program(taken.code, problem=problem, limits=problem.limits)

    assert taken.rule == "program, fenced"
    assert program.code.count("{") == program.code.count("}")
    assert program.code.count("(int x)") + program.code.count("(x:i32)") + program.code.count("(x float64)") == 1
    assert row["test"].strip() in program.code


def test_canonical_solution_is_never_cut(tmp_path: Path) -> None:
    helper = "    return math.Abs(x) * 2\n}\n\nfunc helper() {\n}\n"
    problem = other(tmp_path, "go", GO | {"canonical_solution": helper})

    assert "func helper" in judged(problem, problem.canonical_solution).code


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="humanevalpack is in python, cpp, go, java, js, rust, but got language='lua'"):
        ce.load("humanevalpack", language="lua")


def test_rust_tests_call_rand_as_it_is_today(tmp_path: Path) -> None:
    test = "let n = 2 * (1 + rng.gen_range(0, 4)); let c = rng.gen_range(b'a', b'z' + 1); f(0, 4);"
    program = judged(other(tmp_path, "rust", RUST | {"test": test}), "\n    2 * x\n}\n")

    assert program.code.endswith(
        "let n = 2 * (1 + rng.gen_range(0..4)); let c = rng.gen_range(b'a'..b'z' + 1); f(0, 4);"
    )


# ------------------------------------------------------------------------------------------ answers that are patches

NOTATION_FORMS = sorted(NOTATIONS)
#: By hand, in the notation of each form: `math.pi * r,` becomes `math.pi * r ** 2,`.
PATCHES = {
    "diff": "@@ -52,11 +52,16 @@\n  math.pi *\n  r\n+ ** 2\n , 2)%0A\n",
    "diff-carper": " @@ -4 +4 @@\n-    return round(math.pi * r, 2)\n+    return round(math.pi * r ** 2, 2)\n",
}


def patched(problems: ce.ProblemSet, *completions: str, **options: Any) -> ce.Results:
    samples = [ce.Sample(task_id="Python/0", completion=text, index=i) for i, text in enumerate(completions)]
    return ce.evaluate(problems, ce.RecordedSampler(samples), cache=False, **options)


@pytest.mark.parametrize("task", ["fix-tests", "fix-docs"])
def test_prompts_show_the_bug_and_end_where_a_patch_begins(tmp_path: Path, task: str) -> None:
    head = ROW["declaration"] if task == "fix-tests" else ROW["prompt"]
    shown = f"{head}{ROW['buggy_solution']}" + (f"\n{ROW['test']}" if task == "fix-tests" else "")
    characters = load(tmp_path, task=task, form="diff")[0]
    lines = load(tmp_path, task=task, form="diff-carper")[0]

    assert characters.prompt == f"<commit_before>{shown}<commit_msg>Fix bugs in area.<commit_after>"
    assert characters.stop == ("<commit_before>", "<commit_msg>", "<commit_after>", "<|endoftext|>")
    assert lines.prompt == f"<NME> area.py\n<BEF> {shown}\n<MSG> Fix bugs in area.\n<DFF>"
    assert lines.stop == ("<BEF>", "<MSG>", "<DFF>", "<NME>", "\\ No newline at end of file", "<|endoftext|>")


@pytest.mark.sandbox
@pytest.mark.parametrize("form", NOTATION_FORMS)
@pytest.mark.parametrize("task", ["fix-tests", "fix-docs"])
def test_a_patch_that_fixes_passes_and_one_that_does_not_fails(tmp_path: Path, task: str, form: str) -> None:
    problems = load(tmp_path, task=task, form=form)
    canonical = problems[0].canonical_solution

    results = patched(
        problems, PATCHES[form], canonical, canonical.replace("2", "3"), "", "@@ nothing @@", "return 12.57"
    )

    assert [attempt.passed for attempt in results] == [True, True, False, False, False, False]
    assert "import math\n" in next(iter(results)).code
    assert "round(math.pi * r ** 2, 2)" in next(iter(results)).code


@pytest.mark.sandbox
@pytest.mark.parametrize("form", NOTATION_FORMS)
def test_what_a_model_writes_after_its_patch_is_no_part_of_it(tmp_path: Path, form: str) -> None:
    problems = load(tmp_path, task="fix-tests", form=form)

    results = patched(problems, *(PATCHES[form] + stop + "\n@@ -1 +1 @@\n-x\n+y\n" for stop in problems[0].stop))

    assert all(attempt.passed for attempt in results)


@pytest.mark.sandbox
@pytest.mark.parametrize("form", NOTATION_FORMS)
@pytest.mark.parametrize(
    "around",
    [
        "Here is the fix:\n\n```diff\n--- a/area.py\n+++ b/area.py\n{}```\nIt squares the radius.",
        "```\ndiff --git a/area.py b/area.py\nindex 83db48f..bf269f4 100644\n--- a/area.py\n+++ b/area.py\n{}",
        "{}That is it.\n@@ -1 +1 @@\n-x\n+y\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_sentences_fences_and_names_of_files_around_a_patch_do_not_count(
    tmp_path: Path, form: str, around: str, newline: str
) -> None:
    problems = load(tmp_path, task="fix-tests", form=form)

    results = patched(problems, around.replace("{}", PATCHES[form].lstrip()).replace("\n", newline))

    assert results.attempts[0].passed


@pytest.mark.sandbox
@pytest.mark.parametrize("form", NOTATION_FORMS)
def test_an_answer_without_a_patch_is_told_as_such(tmp_path: Path, form: str) -> None:
    results = patched(load(tmp_path, task="fix-tests", form=form), "I would square the radius.")

    assert "the answer is no patch" in results.attempts[0].executions["tests"].message


@pytest.mark.parametrize("form", NOTATION_FORMS)
def test_a_patch_that_is_far_longer_than_the_code_is_none(tmp_path: Path, form: str) -> None:
    """Applying it would keep the caller busy for minutes."""
    problem = load(tmp_path, task="fix-tests", form=form)[0]
    code = problem.prompt + "@@ -1 +1 @@\n" + "-a\n+b\n" * 200_000

    program = problem.suites["tests"].program(code, problem=problem, limits=problem.limits)

    assert "the answer is no patch" in program.code
    assert len(program.code) < 1000


@pytest.mark.sandbox
@pytest.mark.parametrize("form", NOTATION_FORMS)
def test_a_whole_program_is_judged_as_one(tmp_path: Path, form: str) -> None:
    problems = load(tmp_path, task="fix-tests", form=form)
    rows = [
        {"task_id": "Python/0", "solution": f"import math\n{HEAD}{body}"}
        for body in (ROW["canonical_solution"], ROW["buggy_solution"])
    ]

    results = ce.evaluate(problems, ce.RecordedSampler(rows), cache=False)

    assert [attempt.passed for attempt in results] == [True, False]


@pytest.mark.parametrize("form", NOTATION_FORMS)
@pytest.mark.parametrize(("language", "row"), [("cpp", CPP), ("go", GO), ("java", JAVA), ("rust", RUST)])
@pytest.mark.parametrize("task", ["fix-tests", "fix-docs"])
def test_a_patched_function_makes_the_program_that_a_written_one_makes(
    tmp_path: Path, language: str, row: dict[str, Any], task: str, form: str
) -> None:
    def program(form: str) -> str:
        problem = other(tmp_path, language, row, task=task, form=form)
        sample = ce.Sample(task_id=problem.task_id, completion=problem.canonical_solution)
        taken = ce.extract.default_extractor([problem])(sample, problem)
        assert isinstance(taken, ce.extract.Extraction)
        return problem.suites["tests"].program(taken.code, problem=problem, limits=problem.limits).code

    assert [line for line in program(form).splitlines() if line] == [
        line for line in program("instruct").splitlines() if line
    ]


def test_patches_of_characters_without_what_applies_them_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "diff_match_patch", None)

    with pytest.raises(MissingExtra, match=r"form='diff'.*pip install 'codeeval\[diff\]'"):
        load(tmp_path, task="fix-docs", form="diff")
