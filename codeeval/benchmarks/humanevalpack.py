"""HumanEvalPack: write, repair, explain functions in six languages (Muennighoff et al. 2023, arXiv:2308.07124)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NoReturn

from codeeval import languages
from codeeval._arguments import similar_id
from codeeval._frozen import FrozenMapping
from codeeval.benchmarks._patches import NOTATIONS, patched
from codeeval.data import CachedFile, HubFile, Place, Row, Source, fetch
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Limits, Strength
from codeeval.suites import SourceSuite, Suite, Task

__all__ = ["describe", "humanevalpack", "humanevalpack_python"]

TASKS = ("synthesize", "fix-tests", "fix-docs", "explain-describe", "explain-synthesize")
#: Form → what surrounds the text and the head that the answer continues; all as the BigCode harness has them.
_ALPACA = (
    "Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{asked}\n\n### Response:"
)
_DEEPSEEK = (
    "You are an AI programming assistant, utilizing the Deepseek Coder model, developed by Deepseek Company, and you "
    "only answer questions related to computer science. For politically sensitive questions, security and privacy "
    "issues, and other non-computer science questions, you will refuse to answer\n"
    "### Instruction:\n{stripped}\n### Response:\n"
)
_TEMPLATES: Mapping[str, str] = {
    "octocoder": "Question: {asked}\n\nAnswer:\n{head}",
    "octogeex": "Question: {stripped}\n\nAnswer:\n{head}",
    "starchat": "<|system|>\n<|end|>\n<|user|>\n{asked}<|end|>\n<|assistant|>\n{head}",
    "starcodercommit": "<commit_before><commit_msg>{asked}<commit_after>{head}",
    "instructcodet5p": _ALPACA + "{head}",
    "wizardcoder": _ALPACA + "\n{head}",
    "codellama": "[INST] {stripped} [/INST] {head}",
    "deepseek": _DEEPSEEK + "{head}",
    "codellama-70b": "Source: user\n\n {stripped} <step> Source: assistant\nDestination: user \n\n{head}",
    "tulu": "<|user|>\n{stripped}\n<|assistant|>\n{head}",
    "zephyr": "<|user|>\n{asked}</s>\n<|assistant|>\n{head}",
    "codegemma": "<start_of_turn>user\n{stripped}<end_of_turn>\n<start_of_turn>model\n{head}",
    "aurora-m": "### Instruction:\n{stripped}\n### Response:\n{head}",
    "chatml": "<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n{head}",
}
#: Those in which a bug is fixed as a commit does it (what was there before, why it changes, what is there after), or an
#: answer to an issue.
_FIXES: Mapping[str, str] = {
    "starcodercommit": "<commit_before>{shown}<commit_msg>{instruction}<commit_after>{head}",
    "file": "<file_name>\n{file}\n<commit_before>\n{shown}\n<commit_msg>\n{instruction}<commit_after>\n{head}",
    "diff": "<commit_before>{shown}<commit_msg>{instruction}<commit_after>",
    "diff-carper": "<NME> {file}\n<BEF> {shown}\n<MSG> {instruction}\n<DFF>",
    "issue": (
        "<issue_start>username_0: {instruction}\n\n```{shown}```\nUpvotes: 100"
        "<issue_comment>username_1: Here it is without the bugs.\n\n```{head}"
    ),
}
FORMS = ("continue", "instruct", *dict.fromkeys((*_TEMPLATES, *_FIXES)))
#: What a model of this form says when it is through.
_FORM_STOPS = {
    "starchat": "<|end|>",
    "starcodercommit": "<commit_before>",
    "file": "<commit_before>",
    "issue": "```",
    "deepseek": "<|EOT|>",
    "codellama-70b": "<step>",
    "zephyr": "</s>",
    "codegemma": "<end_of_turn>",
    "chatml": "<|im_end|>",
}
PROTOCOL = "humanevalpack"
#: What the BigCode harness imports for every Python candidate, but for numpy, which the interpreter need not have.
IMPORTS = "".join(
    f"import {module}\n"
    for module in "math re sys copy datetime itertools collections heapq statistics functools hashlib string".split()
) + ("from typing import *\nfrom collections import *\n")
_CPP_HEADERS = (
    "stdlib.h algorithm cmath math.h numeric stdio.h vector set map queue stack list deque boost/any.hpp string "
    "climits cstring iostream sstream fstream"
).split()
#: Go packages that are imported where they are used, though nobody imports them.
_GO_PACKAGES = "bytes crypto/md5 fmt math math/rand regexp sort strconv strings time".split()
_END = "<|endoftext|>"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One language of the data set."""

    title: str
    sha256: str
    "Of the normalised rows."
    stop: tuple[str, ...] = ()
    "The BigCode harness' stop strings."
    header: str = ""
    "What stands before every program."
    before_declaration: str = ""
    "What a prompt has in front of the bare declaration."


#: The data set's own name of a language → its part.
_PARTS: Mapping[str, _Part] = {
    "python": _Part(
        title="Python",
        sha256="6bbbd3877b84fb5ff185ebe2d71bc71d50ac0783424b4774e7f6e53f40f6078e",
        stop=("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert", _END),
        header=IMPORTS,
    ),
    "cpp": _Part(
        title="C++",
        sha256="f0a332fafbd77157347edd1643f04f7165363c046ad939689c1d7adb6ccb92bc",
        stop=(_END,),
        header="".join(f"#include<{name}>\n" for name in _CPP_HEADERS) + "using namespace std;\n",
    ),
    "go": _Part(
        title="Go",
        sha256="ce462fea8c88d0994c6776dcfb1f445e3d24afd59964fba4b06c4d55395766e6",
        stop=("\n//", "\nfunc main(", "struct", "\nfunc", _END),
    ),
    "java": _Part(
        title="Java", sha256="d4ebd82131b6ef0caa4f2fbbb3b696a2f418254bc92831af3d55ae1279d73fcb", stop=(_END,)
    ),
    "js": _Part(
        title="JavaScript", sha256="06a3bdcb76fbd6dcde1b5cda36b5bbbc7295abeb806adaf5f359008b9c42cee4", stop=(_END,)
    ),
    "rust": _Part(
        title="Rust",
        sha256="f9adb2884cc0f7807765a77d1a02de6ede1419c4af8398f5463eec101ded840e",
        stop=(_END,),
        before_declaration="fn main(){}\n",
    ),
}
_FIELDS = (
    "task_id",
    "prompt",
    "declaration",
    "canonical_solution",
    "buggy_solution",
    "docstring",
    "instruction",
    "entry_point",
    "test",
)
_MORE_FIELDS = {"go": ("test_setup",)}
#: A line of the solution longer than this gives it away; it is taken out of a description.
_TELLTALE = 20


def humanevalpack(
    *,
    language: str = "python",
    task: str = "synthesize",
    form: str = "instruct",
    descriptions: Mapping[str, str | Iterable[str]] | None = None,
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load one task of HumanEvalPack in one language, 164 problems; its one suite is called "tests".

    An answer continues the function's head, which the prompt ends with, or is a patch, as the form has it.
    `Problem.metadata["buggy_solution"]` is the body with the bug. The sentences for the two explain tasks, and what
    answers an issue, are codeeval's own, in place of the harness'.

    Programs need more than a compiler: C++ Boost and OpenSSL, Go testify, Rust the crates rand, regex and md5,
    JavaScript js-md5. `codeeval.languages.build_libraries` builds those of Go and Rust beforehand.

    Args:
        language: `"python"`, `"cpp"`, `"go"`, `"java"`, `"js"` or `"rust"`, or another name of one of these.
        task: `"synthesize"` (from the docstring), `"fix-tests"` (the bug, given the tests), `"fix-docs"` (given the
            docstring), `"explain-describe"` (put the solution into words; not judged, see `descriptions`) or
            `"explain-synthesize"` (the function from these words).
        form: `"instruct"` (the text, an empty line, the head), `"octocoder"` (the same between `Question:` and
            `Answer:`) or, for synthesize only, `"continue"` (the head alone, as a base model wants it). Also
            `"octogeex"`, `"starchat"`, `"starcodercommit"`, `"instructcodet5p"`, `"wizardcoder"`, `"codellama"`,
            `"codellama-70b"`, `"deepseek"`, `"tulu"`, `"zephyr"`, `"codegemma"`, `"aurora-m"` and `"chatml"`, with
            these models' own marks, and for the two fix tasks `"file"` and `"issue"`; the answer then begins after the
            head as well. For the fix tasks there are `"diff"` and `"diff-carper"` too, whose answer is a patch of the
            function with the bug: as diff-match-patch writes it, or the hunks of a unified diff.
        descriptions: for explain-synthesize: task id → what a model answered in explain-describe, or several answers.
            They are cut to the docstring's length and lose what they quote of the solution. Several answers become
            problems of their own, `Python/0/0`, `Python/0/1` …; pass@1 over all is then the score.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        ValueError: there is no such language, task or form, they don't go together, or descriptions are missing or
            too many.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
        MissingExtra: `form="diff"` without what applies such patches.
    """
    short = _known(language)
    name = f"humanevalpack-{short}"
    _check_choice(name, task, form, descriptions)
    places: tuple[Place, ...] = (
        CachedFile(f"{name}.jsonl.gz"),
        HubFile(repo="bigcode/humanevalpack", path=f"data/{short}/data/humanevalpack.jsonl", revision="main"),
    )
    fields = _FIELDS + _MORE_FIELDS.get(short, ())
    known = {part.sha256: f"humanevalpack, language={other!r}" for other, part in _PARTS.items()}
    found = fetch(name, places, fields=fields, sha256=_PARTS[short].sha256, source=source, verify=verify, known=known)
    ask = _Ask(short=short, part=_PARTS[short], form=form)
    if descriptions is not None:
        _check_descriptions(descriptions, [row["task_id"] for row in found.rows])
    if task == "explain-describe":
        problems = [ask.describe(row) for row in found.rows]
    elif task == "explain-synthesize":
        problems = [p for row in found.rows for p in ask.from_words(row, (descriptions or {}).get(row["task_id"]))]
    else:
        problems = [_ASK[task](ask, row) for row in found.rows]
    part = "" if descriptions is None or len(descriptions) == len(found.rows) else f", {len(descriptions)} described"
    return found.problem_set(f"{name} ({task}, {form}{part})", problems)


def humanevalpack_python(
    *,
    task: str = "synthesize",
    form: str = "instruct",
    descriptions: Mapping[str, str | Iterable[str]] | None = None,
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load one task of HumanEvalPack's Python part; see `humanevalpack`.

    Args:
        task: see `humanevalpack`, as for all others.
        form: how the prompt is put.
        descriptions: for explain-synthesize.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows.

    Raises:
        ValueError: there is no such task or form, they don't go together, or descriptions are missing or too many.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    return humanevalpack(task=task, form=form, descriptions=descriptions, source=source, verify=verify)


def describe(answer: str, row: Mapping[str, Any], *, stop: tuple[str, ...] = _PARTS["python"].stop) -> str:
    """Make a description fit to be shown, as the BigCode harness does.

    It is cut to the docstring's length and at the first stop string, and loses long lines of the solution.

    Args:
        answer: what the model wrote.
        row: the task, with its `docstring` and `canonical_solution`.
        stop: the stop strings of the task's language.
    """
    text = answer.strip()[: len(row["docstring"])]
    text = text[: min((at for string in stop if (at := text.find(string)) >= 0), default=len(text))]
    for line in row["canonical_solution"].splitlines():
        if len(line.strip()) > _TELLTALE:
            text = text.replace(line, "").replace(line.strip(), "")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _NotJudged(Suite):
    """Stands where a suite must be: a description has no verdict of its own."""

    strength: Strength = Strength.SAME_BOX

    def program(self, code: str, *, problem: Task, limits: Limits) -> NoReturn:
        raise ValueError(
            f"{problem.task_id}: descriptions aren't judged but written from. Collect them with codeeval.generate, "
            "then load task='explain-synthesize' with descriptions={task_id: answer}"
        )


def _known(language: str) -> str:
    """Return the data set's name of a language."""
    record = languages.get(language)
    for short in _PARTS:
        if languages.get(short) == record:
            return short
    raise ValueError(f"humanevalpack is in {', '.join(_PARTS)}, but got language={language!r}")


def _check_choice(name: str, task: str, form: str, descriptions: object) -> None:
    if task not in TASKS:
        raise ValueError(f"{name} has the tasks {list(TASKS)}, but got {task!r}")
    if form not in FORMS:
        raise ValueError(f"{name} has the forms {list(FORMS)}, but got {form!r}")
    if form == "continue" and task != "synthesize":
        raise ValueError(f"form='continue' shows the function's head alone, which says nothing of {task!r}")
    if form in _FIXES and form not in _TEMPLATES and not task.startswith("fix-"):
        raise ValueError(f"form={form!r} shows code before it is fixed, which there is none of in {task!r}")
    if (task == "explain-synthesize") != (descriptions is not None):
        raise ValueError(
            f"descriptions={{task_id: answer}} belong to task='explain-synthesize', which needs them; got {task!r} "
            f"{'with' if descriptions is not None else 'without'} them"
        )


def _check_descriptions(descriptions: Mapping[str, str | Iterable[str]], task_ids: Sequence[str]) -> None:
    """Refuse descriptions that are none, or of other tasks.

    Raises:
        ValueError: says which.
    """
    if not isinstance(descriptions, Mapping):
        raise ValueError(f"descriptions must be {{task_id: answer}}, but got {descriptions!r:.80}")
    known = set(task_ids)
    for task_id, answers in descriptions.items():
        if task_id not in known:
            raise ValueError(
                f"descriptions hold {task_id!r:.80}, which is no task here; {similar_id(str(task_id), task_ids)}"
            )
        several = [answers] if isinstance(answers, str) else answers
        if not isinstance(several, Iterable) or not all(isinstance(answer, str) for answer in several):
            raise ValueError(f"descriptions[{task_id!r}] must be an answer or a list of them, but got {answers!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """Makes problems of rows."""

    short: str
    part: _Part
    form: str

    def synthesize(self, row: Row) -> Problem:
        prompt = _prompt(self.form, row["prompt"], row["instruction"], None)
        return self._problem(row, row["task_id"], row["prompt"], prompt)

    def fix_tests(self, row: Row) -> Problem:
        return self._fix(row, self._declared(row), f"\n{row['test']}")

    def fix_docs(self, row: Row) -> Problem:
        return self._fix(row, row["prompt"], "")

    def _fix(self, row: Row, head: str, tests: str) -> Problem:
        """Ask for a fix of what has a bug, of which the tests are shown too."""
        instruction = f"Fix bugs in {row['entry_point']}."
        buggy = head + row["buggy_solution"]
        if self.form in _FIXES:
            file = row["entry_point"] + PurePath(languages.get(self.short).main).suffix
            prompt = (
                _FIXES[self.form].format(shown=buggy + tests, instruction=instruction, head=head, file=file).strip()
            )
        else:
            prompt = _prompt(self.form, head, instruction, buggy + tests)
        problem = self._problem(row, row["task_id"], head, prompt)
        if self.form not in NOTATIONS:
            return problem
        new = head + row["canonical_solution"]
        return patched(problem, self.form, old=buggy, new=new, header=self.part.header)

    def describe(self, row: Row) -> Problem:
        size = len(row["docstring"])
        instruction = f"Say in plain, concise words what this code does, in at most {size} characters."
        return Problem(
            task_id=row["task_id"],
            prompt=_prompt(self.form, "", instruction, self._declared(row) + row["canonical_solution"]),
            suites={"tests": _NotJudged()},
            style="chat",
            language=languages.get(self.short).name,
            entry_point=row["entry_point"],
            metadata={"docstring": row["docstring"]},
        )

    def from_words(self, row: Row, answers: str | Iterable[str] | None) -> Iterable[Problem]:
        """Yield one problem for every description of a function."""
        if answers is None:
            return
        instruction = f"Write {self.part.title} code that does what this description says."
        for number, answer in enumerate([answers] if isinstance(answers, str) else answers):
            task_id = row["task_id"] if isinstance(answers, str) else f"{row['task_id']}/{number}"
            shown = describe(answer, row, stop=self.part.stop)
            head = self._declared(row)
            yield self._problem(row, task_id, head, _prompt(self.form, head, instruction, shown))

    def _declared(self, row: Row) -> str:
        declaration: str = row["declaration"]
        return self.part.before_declaration + declaration

    def _problem(self, row: Row, task_id: str, head: str, prompt: str) -> Problem:
        """Return a problem whose answer continues a function's head."""
        prefix = self.part.header + head.rstrip()
        stop = self.part.stop + ((_FORM_STOPS[self.form],) if self.form in _FORM_STOPS else ())
        canonical_solution = "\n" + row["canonical_solution"]
        metadata = {"buggy_solution": row["buggy_solution"]}
        if self.short == "python":
            return Problem.from_test(
                task_id,
                prompt,
                row["test"],
                row["entry_point"],
                canonical_solution=canonical_solution,
                stop=stop,
                prefix=prefix,
                metadata=metadata,
            )
        record = languages.get(self.short).under(PROTOCOL)
        suite = SourceSuite.of(
            _GEN_RANGE.sub(r"gen_range(\1..\2)", row["test"]),
            record,
            protocol=PROTOCOL,
            prompt=_go_header(row) if self.short == "go" else prefix,
            entry_point=row["entry_point"],
        )
        return Problem(
            task_id=task_id,
            prompt=prompt,
            suites=FrozenMapping({"tests": suite}),
            language=record.name,
            entry_point=row["entry_point"],
            canonical_solution=canonical_solution,
            stop=stop,
            prefix=prefix,
            limits=record.run_limits,
            metadata=metadata,
        )


_ASK = {"synthesize": _Ask.synthesize, "fix-tests": _Ask.fix_tests, "fix-docs": _Ask.fix_docs}


#: Two tests (Rust/32 and /50) call rand as it was before 0.8, which would fail every answer with the rand of today.
_GEN_RANGE = re.compile(r"\bgen_range\(([^(),]+), ([^(),]+)\)")


def _go_header(row: Row) -> str:
    """Return package and imports of a Go program, of which the unused ones go; no candidate begins with it."""
    packages = "".join(f'    "{package}"\n' for package in _GO_PACKAGES)
    return f"{row['test_setup']}\nimport (\n{packages})\n"


def _prompt(form: str, head: str, instruction: str, shown: str | None) -> str:
    """Put a prompt together as the BigCode harness does: what is shown precedes the instruction in instruct alone."""
    if form == "continue":
        return head.strip()
    if form in _TEMPLATES:
        asked = instruction if shown is None else f"{instruction}\n{shown}"
        return _TEMPLATES[form].format(asked=asked, stripped=asked.strip(), head=head).strip()
    asked = instruction if shown is None else f"{shown}\n{instruction}"
    return f"{asked}\n\n{head}".strip()
