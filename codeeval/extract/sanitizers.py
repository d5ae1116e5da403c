"""The sanitizers of EvalPlus and BigCodeBench, reproduced byte for byte, on the standard library's parser.

Both take the longest run of lines that parses and put it together anew from its top level: imports, then the first
definition of every name that the entry point reaches. Where they differ, an `_Rules` says so.

The originals parse every run of lines, and cut with tree-sitter. Here a run that is broken beyond repair ends the
search for longer ones, which finds the same run, and the cuts follow tree-sitter's: a definition reaches over the
comments at the end of its body. A text without two lines that parse is the one case left open: its first line is
given, where tree-sitter might see a definition in broken code.

Source: evalplus/sanitize.py 0.3.1, bigcodebench/sanitize.py 0.2.5.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codeeval.extract.calibration import calibrated
from codeeval.extract.extraction import Extraction, is_whole
from codeeval.extract.syntax import Verdict, nodes_of, verdict_on
from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["bigcodebench", "evalplus"]


def evalplus(sample: Sample, problem: Problem) -> Extraction:
    """Sanitize as EvalPlus does: the completion after prompt and newline, the answer to a chat prompt alone."""
    return _sanitized(sample, problem, _EVALPLUS)


def bigcodebench(sample: Sample, problem: Problem) -> Extraction:
    """Sanitize as BigCodeBench does, `--calibrate` included: as `evalplus`, but functions may lack a return.

    In an answer that stands alone, a fence with a body alone gets the function's head in front; and lines at the end
    that only call the entry point go.
    """
    return _sanitized(sample, problem, _BIGCODEBENCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    name: str
    is_stripped_first: bool
    needs_return: bool
    drops_calls: bool
    calibrates: bool


_EVALPLUS = _Rules(name="evalplus", is_stripped_first=False, needs_return=True, drops_calls=False, calibrates=False)
_BIGCODEBENCH = _Rules(
    name="bigcodebench", is_stripped_first=True, needs_return=False, drops_calls=True, calibrates=True
)


def _sanitized(sample: Sample, problem: Problem, rules: _Rules) -> Extraction:
    if is_whole(sample):
        return Extraction(code=sample.completion, rule="solution")
    text = sample.completion
    if problem.style == "completion":
        text = f"{problem.prompt}\n{text}"
    elif rules.calibrates:
        text = calibrated(text, problem)
    stripped = text.strip() if rules.is_stripped_first else text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes: the candidate's business
        run, tree = _longest_run(stripped)
        code = _reassembled(run, tree, problem.entry_point, rules).strip() if tree is not None else ""
        if not code:
            if stripped != text:
                run, _ = _longest_run(text)
            return Extraction(code=run, rule=f"{rules.name}, longest run of lines")
    return Extraction(code=code, rule=rules.name)


def _longest_run(text: str) -> tuple[str, ast.Module | None]:
    """Return the run of two or more lines that parses and has most lines that aren't blank; of equals, the first.

    Where there is none, the first line. Beside it its syntax tree, where it has one.
    """
    runs = _Runs(text)
    filled = [0]  # filled[i]: lines that aren't blank among the first i
    for line in runs.lines:
        filled.append(filled[-1] + bool(line.strip()))
    begin, end, most = 0, 1, 0
    for i in range(len(runs.lines)):
        if filled[-1] - filled[i] <= most or runs.are_used_up:
            break
        j = runs.broken_at(i)
        for steps in itertools.count():
            if j <= i + 1 or filled[j] - filled[i] <= most:
                break
            if runs.verdict(i, j).state == "whole":
                most = filled[j] - filled[i]
                begin, end = i, runs.without_blank_end(i, j)
                break
            j = runs.opening(i, j) if steps >= _PATIENCE else j - 1
    return "\n".join(runs.lines[begin:end]), runs.verdict(begin, end).tree


#: How many lines are taken off an unfinished run one by one, before the parser is asked where the open thing began.
_PATIENCE = 2


class _Runs:
    """The runs of lines of a text, and what the parser says of each.

    Bounds how much is parsed, so that hostile text takes time in proportion; real answers stay far below.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._left = 60 * len(text) + 500_000
        self._verdicts: dict[tuple[int, int], Verdict] = {}
        self._indented = _indented_code(self.lines)
        # To Python, a line may also end at \r, and then it counts them in another way.
        self._are_counted_alike = "\r" not in text and "\f" not in text

    @property
    def are_used_up(self) -> bool:
        return self._left <= 0

    def verdict(self, i: int, j: int) -> Verdict:
        """Return what the parser says of lines[i:j]."""
        verdict = self._verdicts.get((i, j))
        if verdict is None:
            verdict = self._verdicts[i, j] = self._parsed(i, j)
        return verdict

    def _parsed(self, i: int, j: int, *, may_go_on: bool = True) -> Verdict:
        code = "\n".join(self.lines[i:j])
        self._left -= len(code) + 200
        return Verdict("broken") if self.are_used_up else verdict_on(code, may_go_on=may_go_on)

    def broken_at(self, i: int) -> int:
        """Return the largest j for which lines[i:j] isn't broken; what is broken stays so whatever follows."""
        code = self._indented[i]
        if code is not None:
            return code
        sound, step = i, 1
        if i == 0:
            line = self.verdict(0, len(self.lines))
            if line.state != "broken":
                return len(self.lines)  # mostly, the text is one program
            if self._breaks(0, line.line - 1):
                return line.line - 1
        while True:
            j = min(sound + step, len(self.lines))
            verdict = self.verdict(i, j)
            if verdict.state == "broken":
                break
            if j == len(self.lines):
                return j
            sound, step = j, 2 * step
        if self._breaks(i, i + verdict.line - 1):
            return i + verdict.line - 1
        broken = j
        while broken - sound > 1:
            middle = (sound + broken) // 2
            if self.verdict(i, middle).state == "broken":
                broken = middle
            else:
                sound = middle
        return sound

    def _breaks(self, i: int, j: int) -> bool:
        """Return whether it is line j, the one at which the parser gave up, that breaks lines[i:]."""
        if not self._are_counted_alike or not i <= j < len(self.lines):
            return False
        return (j == i or self.verdict(i, j).state != "broken") and self.verdict(i, j + 1).state == "broken"

    def opening(self, i: int, j: int) -> int:
        """Return the end of the next shorter run that lines[i:j], which is unfinished, leaves to be tried."""
        if self._are_counted_alike:
            verdict = self._parsed(i, j, may_go_on=False)
            # "'(' was never closed", "unterminated triple-quoted string": it stays open in all runs that hold it.
            if verdict.state == "unfinished" and i < i + verdict.line - 1 < j:
                return i + verdict.line - 1
        return j - 1

    def without_blank_end(self, i: int, j: int) -> int:
        """Return the smallest end with as many filled lines at which the run still parses."""
        shortest = j
        while shortest > i + 2 and not self.lines[shortest - 1].strip():
            shortest -= 1
        return next((end for end in range(shortest, j) if self.verdict(i, end).state == "whole"), j)


def _indented_code(lines: list[str]) -> list[int | None]:
    """Give, for each line, the first one from it on that is neither blank nor comment, if it is indented.

    No program begins so.
    """
    found: list[int | None] = [None] * (len(lines) + 1)
    for i in range(len(lines) - 1, -1, -1):
        line = lines[i]
        code = line.lstrip(" \t")
        is_code = code and code[0] not in "#\r\f\v\\" and not code.isspace()
        found[i] = (i if code != line else None) if is_code else found[i + 1]
    return found


def _reassembled(code: str, tree: ast.Module, entry_point: str, rules: _Rules) -> str:
    source = _Source(code)
    imports: list[str] = []
    definitions: dict[str | None, tuple[str, ast.stmt]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if getattr(statement, "module", None) != "__future__" or getattr(statement, "level", 0):
                imports.append(source.text(statement))
        elif _is_definition(statement, rules) and (name := _name(statement)) not in definitions:
            definitions[name] = (source.text(statement), statement)
    wanted = _reachable(definitions, entry_point)
    kept = [written for name, (written, _) in definitions.items() if not entry_point or name in wanted]
    joined = "\n".join(imports + kept)
    return _without_calls(joined, entry_point) if rules.drops_calls and entry_point else joined


def _is_definition(statement: ast.stmt, rules: _Rules) -> bool:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            is_plain = not statement.decorator_list
            return is_plain and (not rules.needs_return or _returns(statement))
        case ast.ClassDef():
            return not statement.decorator_list
        case ast.Assign() | ast.AnnAssign():
            return True
    return False


def _returns(statement: ast.AST) -> bool:
    """Whether there is a `return` in a statement or in one of those within it."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(statement, name, ()):
            if isinstance(inner, ast.Return) or _returns(inner):
                return True
    return False


def _name(statement: ast.stmt) -> str | None:
    """Return the name that a definition goes by: for an assignment, its first plain name on the way to the value."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name
        case ast.Assign(targets=[ast.Name(id=name), *_]):
            return name
        case ast.Assign(targets=[_], value=ast.Name(id=name)):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), simple=1):
            return name
        case ast.AnnAssign(value=ast.Name(id=name)):
            return name
    return None


def _reachable(definitions: Mapping[str | None, tuple[str, ast.stmt]], entry_point: str) -> set[str | None]:
    """Return the names of the definitions that the entry point reaches, directly or not, itself among them."""
    left = set(definitions) - {entry_point}
    reached: set[str | None] = {entry_point}
    pending: list[str | None] = [entry_point]
    while pending:
        written, statement = definitions.get(pending.pop(), ("", None))
        # Mostly, no other name stands in its text. Beyond ASCII, several letters may be one to Python.
        if statement is not None and (
            not written.isascii() or any(name is not None and name in written for name in left)
        ):
            new = left.intersection(_identifiers(statement))
            left -= new
            reached |= new
            pending += new
    return reached


def _identifiers(statement: ast.stmt) -> Iterator[str]:
    """Yield every identifier in a definition, attributes, parameters and keywords among them."""
    for node in nodes_of([statement]):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
            case ast.MatchClass(kwd_attrs=names) | ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.alias(name=dotted, asname=asname):
                yield from dotted.split(".")
                if asname:
                    yield asname
            case ast.ImportFrom(module=str(dotted)):
                yield from dotted.split(".")


class _Source:
    """Cuts statements out of a text as tree-sitter does."""

    def __init__(self, code: str) -> None:
        self._text = code.encode("utf-8")
        # Lines as CPython counts them: at \n, \r\n and \r.
        self._starts = [0, *(m.end() for m in re.finditer(rb"\r\n|\r|\n", self._text))]

    def text(self, statement: ast.stmt) -> str:
        """Return a statement as it is written; a definition with the comments that stand at its body's indentation."""
        begin = self._offset(statement.lineno, statement.col_offset)
        end = self._offset(statement.end_lineno or 0, statement.end_col_offset or 0)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            end = self._end_of_block(statement, end)
        return self._text[begin:end].decode("utf-8")

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _end_of_block(self, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, end: int) -> int:
        same_line = _REST_OF_LINE.match(self._text, end)
        if same_line is not None:
            end = same_line.end(same_line.lastgroup or 0) if same_line.lastgroup else end
        first = statement.body[0]
        header = self._starts[first.lineno - 1]
        if self._text[header : header + first.col_offset].strip():  # the body stands on the line of its header
            return end
        indent = _width(self._text[header : header + first.col_offset])
        for comment in _COMMENT_LINES.finditer(self._text, end):
            if comment.start() != end and self._text[end : comment.start()].strip():
                break
            if _width(comment["indent"]) < indent:
                break
            end = comment.end("comment")
        return end


_REST_OF_LINE = re.compile(rb"[ \t\f]*(?P<semicolon>;)?[ \t\f]*(?P<comment>#[^\n]*)?")
_COMMENT_LINES = re.compile(rb"\n(?:[ \t\f\r]*\n)*(?P<indent>[ \t\f]*)(?P<comment>#[^\n]*)")


def _width(indent: bytes) -> int:
    """Measure indentation as tree-sitter-python does: a tab counts eight, a form feed starts anew."""
    width = 0
    for character in indent:
        width = 0 if character == 0x0C else width + (8 if character == 0x09 else 1)
    return width


def _without_calls(code: str, entry_point: str) -> str:
    """Cut lines at the end that mention the entry point, up to the last indented line."""
    lines = code.splitlines()
    first_call: int | None = None
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].startswith(" "):
            break
        if entry_point in lines[number]:
            first_call = number
    return code if first_call is None else "\n".join(lines[:first_call])
