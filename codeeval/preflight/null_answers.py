"""Null answers: programs that do nothing, to find tests that pass anything.

Whoever passes without solving anything shows a hole in the tests: a loop over no cases, a checker that accepts an
empty output, an expected answer that is None throughout. `ProblemSet.lint` lists what is found here.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from codeeval.errors import ToolchainMissing
from codeeval.executors import Executor, LocalExecutor, as_executor
from codeeval.problem import Problem
from codeeval.program import Program
from codeeval.suites import SourceSuite, StdioSuite, Suite

__all__ = ["null_answers"]


def null_answers(problems: Sequence[Problem], executor: Executor | None = None) -> dict[str, list[str]]:
    """Run answers that do nothing against every suite, and return remarks on the suites that pass one.

    Answers to problems in Python are `pass`, `return None`, `...`, the prompt alone, an empty program and two ways to
    leave the process with exit code 0; whole programs print nothing; other languages get their own forms of these. A
    suite whose expected answer is None in all tests is named too: it is a remark, no error. Some seven programs per
    problem are run.

    Args:
        problems: whose tests are tried.
        executor: runs and judges; by default a `LocalExecutor` that lives for this call.

    Returns:
        Task id → remarks, in the problems' order; only problems on which there is one.

    Raises:
        ExecutionError: programs can't be executed here.
    """
    if executor is None:
        with LocalExecutor() as own:
            return null_answers(problems, own)
    executor = as_executor(executor)
    missing = _missing(problems, executor)
    trials = [trial for p in problems if p.language not in missing for trial in _trials(p)]
    runs = [(trial, label) for trial in trials for label in trial.programs]
    for position, execution in executor.execute(trial.programs[label] for trial, label in runs):
        trial, label = runs[position]
        if execution.passed:
            trial.passing.add(label)
        elif not execution.judged:
            trial.unjudged = execution.message or "no verdict"
    found: dict[str, list[str]] = {}
    for problem in problems:
        if problem.language in missing:
            found[problem.task_id] = [f"null answers were not run: {missing[problem.language]}"]
    for trial in trials:
        for remark in trial.remarks():
            found.setdefault(trial.task_id, []).append(remark)
    return {p.task_id: found[p.task_id] for p in problems if p.task_id in found}


@dataclass(slots=True, kw_only=True)
class _Trial:
    """One suite with its null answers, and what became of them."""

    task_id: str
    suite: str
    programs: dict[str, Program]
    "What the answer is called → the program."
    passing: set[str] = field(default_factory=set)
    unjudged: str = ""
    "Why there was no verdict on one of them."

    def remarks(self) -> Iterator[str]:
        if self.passing:
            listed = ", ".join(label for label in self.programs if label in self.passing)
            yield f"suite {self.suite!r} passes an answer that does nothing: {listed}"
        if self.unjudged:
            yield f"suite {self.suite!r}: a null answer could not be judged: {self.unjudged}"


def _missing(problems: Sequence[Problem], executor: Executor) -> dict[str, str]:
    """Return the languages that can't be judged here, with the reasons."""
    found = {}
    for language in {problem.language for problem in problems} - {"python"}:
        try:
            executor.toolchains([language])
        except ToolchainMissing as error:
            found[language] = str(error)
    return found


def _trials(problem: Problem) -> Iterator[_Trial]:
    for name, suite in problem.suites.items():
        programs = {
            label: suite.program(code, problem=problem, limits=problem.limits)
            for label, code in _answers(problem, suite).items()
        }
        yield _Trial(task_id=problem.task_id, suite=name, programs=programs)


def _answers(problem: Problem, suite: Suite) -> dict[str, str]:
    """Return answers that do nothing: what each is called → its code, which is assembled like any other."""
    if isinstance(suite, StdioSuite):
        return _whole_programs(problem.language)
    if isinstance(suite, SourceSuite) or problem.language != "python":
        exits = {_called(code): code for code in _EXITS.get(problem.language, ())}
        return {"the prompt alone": problem.prompt, "an empty program": "", **exits}
    return _functions(problem)


def _whole_programs(language: str) -> dict[str, str]:
    """Return whole programs that print nothing."""
    if language == "python":
        return {"an empty program": "", **{f"`{label}`": f"{setup}{label}\n" for label, setup in _LEAVES.items()}}
    empty = _EMPTY_PROGRAMS.get(language, "")
    return {f"`{empty.strip()}`" if empty.strip() else "an empty program": empty}


def _functions(problem: Problem) -> dict[str, str]:
    """Return Python functions that do nothing: bodies for a prompt that ends in a function's head, else definitions."""
    entry_point = problem.entry_point
    indent = _indent_of(problem.prompt)
    answers = {"the prompt alone": problem.prompt} if problem.style == "completion" else {"an empty program": ""}
    for label, setup in {**dict.fromkeys(_BODIES, ""), **_LEAVES}.items():
        lines = [*setup.splitlines(), label]
        body = "".join(f"{indent}{line}\n" for line in lines)
        continued = _joined(problem.prompt, body)
        if problem.style == "completion" and _defines(problem.assemble(continued), entry_point):
            answers[f"`{label}`"] = continued
        elif entry_point.isidentifier():
            answers[f"`{label}`"] = f"def {entry_point}(*args, **kwargs):\n{body}"
    for label, setup in _LEAVES.items():
        answers[f"`{label}` at once"] = f"{setup}{label}\n"
    return answers


def _joined(prompt: str, body: str) -> str:
    """Put a body after a prompt, which may end within a line or in the indentation of the next one."""
    if prompt and not prompt.endswith("\n"):
        last = prompt.rpartition("\n")[2]
        return prompt + (body.lstrip(" \t") if last and not last.strip() else "\n" + body)
    return prompt + body


def _indent_of(prompt: str) -> str:
    """Return the indentation of a prompt's last line, or one level where it has none, as after `def f(x):`."""
    lines = [line for line in prompt.split("\n") if line.strip()]
    last = lines[-1] if lines else ""
    indent = last[: len(last) - len(last.lstrip())]
    return indent + "    " if last.rstrip().endswith(":") else indent or "    "


def _defines(code: str, name: str) -> bool:
    """Return whether a program is Python and defines a function or a class of this name, any where it is empty."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return any(isinstance(node, kinds) and name in ("", node.name) for node in ast.walk(tree))


def _called(code: str) -> str:
    return f"`{code.strip().splitlines()[-1]}`"


_BODIES = ("pass", "return None", "...")
#: Statements that end a Python process with exit code 0 → what they need before them.
_LEAVES = {"raise SystemExit(0)": "", "os._exit(0)": "import os\n"}
#: Language → code that leaves before the tests that follow it in the same file.
_EXITS: dict[str, tuple[str, ...]] = {
    "bash": ("exit 0\n",),
    "javascript": ("process.exit(0);\n",),
    "julia": ("exit(0)\n",),
    "lua": ("os.exit(0)\n",),
    "perl": ("exit 0;\n",),
    "php": ("<?php\nexit(0);\n",),
    "python": ("raise SystemExit(0)\n",),
    "r": ("quit(status = 0)\n",),
    "racket": ("#lang racket\n(exit 0)\n",),
    "ruby": ("exit 0\n",),
    "typescript": ("declare var process: any;\nprocess.exit(0);\n",),
}
#: Language → a whole program that does nothing, where an empty file is none.
_EMPTY_PROGRAMS = {
    "cpp": "int main() { return 0; }\n",
    "csharp": "public class Program { public static void Main() { } }\n",
    "d": "void main() { }\n",
    "go": "package main\n\nfunc main() { }\n",
    "java": "public class Main { public static void main(String[] arguments) { } }\n",
    "racket": "#lang racket\n",
    "rust": "fn main() { }\n",
    "scala": "object Main extends App { }\n",
}
