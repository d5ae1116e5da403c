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
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codeeval.extract.calibration import calibrated
from codeeval.extract.extraction import Extraction, is_whole
from codeeval.extract.syntax import parse, state_of
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
    code = _reassembled(text.strip() if rules.is_stripped_first else text, problem.entry_point, rules).strip()
    if not code:
        return Extraction(code=_longest_run(text), rule=f"{rules.name}, longest run of lines")
    return Extraction(code=code, rule=rules.name)


def _longest_run(text: str) -> str:
    """Give the run of two or more lines that parses and has most lines that aren't blank; of equals, the first.

    Where there is none, the first line.
    """
    lines = text.split("\n")
    filled = [0]  # filled[i]: lines that aren't blank among the first i
    for line in lines:
        filled.append(filled[-1] + bool(line.strip()))
    begin, end, most = 0, 1, 0
    attempts = _Attempts(len(text))
    for i in range(len(lines)):
        if filled[-1] - filled[i] <= most or attempts.are_used_up:
            break
        for j in range(_broken_at(lines, i, attempts), i + 1, -1):  # lines[i:j]
            if filled[j] - filled[i] <= most:
                break
            if attempts.state("\n".join(lines[i:j])) == "whole":
                most = filled[j] - filled[i]
                begin, end = i, _without_blank_end(lines, i, j, attempts)
                break
    return "\n".join(lines[begin:end])


class _Attempts:
    """Bounds how much is parsed, so that hostile text takes time in proportion; real answers stay far below."""

    def __init__(self, n_chars: int) -> None:
        self._left = 60 * n_chars + 500_000

    @property
    def are_used_up(self) -> bool:
        return self._left <= 0

    def state(self, code: str) -> str:
        self._left -= len(code) + 200
        return "broken" if self.are_used_up else state_of(code)


def _broken_at(lines: list[str], i: int, attempts: _Attempts) -> int:
    """Give the largest j for which lines[i:j] isn't broken; what is broken stays so whatever follows."""
    if i == 0 and attempts.state("\n".join(lines)) != "broken":
        return len(lines)  # mostly, the text is one program
    sound, step = i, 1
    while True:
        j = min(sound + step, len(lines))
        if attempts.state("\n".join(lines[i:j])) == "broken":
            break
        if j == len(lines):
            return j
        sound, step = j, 2 * step
    broken = j
    while broken - sound > 1:
        middle = (sound + broken) // 2
        if attempts.state("\n".join(lines[i:middle])) == "broken":
            broken = middle
        else:
            sound = middle
    return sound


def _without_blank_end(lines: list[str], i: int, j: int, attempts: _Attempts) -> int:
    """Give the smallest end with as many filled lines at which the run still parses."""
    shortest = j
    while shortest > i + 2 and not lines[shortest - 1].strip():
        shortest -= 1
    whole = (end for end in range(shortest, j) if attempts.state("\n".join(lines[i:end])) == "whole")
    return next(whole, j)


def _reassembled(text: str, entry_point: str, rules: _Rules) -> str:
    code = _longest_run(text)
    tree = parse(code)
    if tree is None:
        return ""
    source = _Source(code)
    imports: list[str] = []
    definitions: dict[str | None, tuple[str, ast.stmt]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if getattr(statement, "module", None) != "__future__" or getattr(statement, "level", 0):
                imports.append(source.text(statement))
        elif _is_definition(statement, rules) and (name := _name(statement)) not in definitions:
            definitions[name] = (source.text(statement), statement)
    wanted = _reachable({name: statement for name, (_, statement) in definitions.items()}, entry_point)
    kept = [written for name, (written, _) in definitions.items() if not entry_point or name in wanted]
    joined = "\n".join(imports + kept)
    return _without_calls(joined, entry_point) if rules.drops_calls and entry_point else joined


def _is_definition(statement: ast.stmt, rules: _Rules) -> bool:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            is_plain = not statement.decorator_list
            return is_plain and (not rules.needs_return or any(isinstance(n, ast.Return) for n in ast.walk(statement)))
        case ast.ClassDef():
            return not statement.decorator_list
        case ast.Assign() | ast.AnnAssign():
            return True
    return False


def _name(statement: ast.stmt) -> str | None:
    """Give the name that a definition goes by: for an assignment, its first plain name on the way to the value."""
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


def _reachable(definitions: Mapping[str | None, ast.stmt], entry_point: str) -> set[str]:
    reached = {entry_point}
    pending = [entry_point]
    while pending:
        statement = definitions.get(pending.pop())
        new = set(_identifiers(statement)) - reached if statement is not None else set()
        reached |= new
        pending += new
    return reached


def _identifiers(statement: ast.stmt) -> Iterator[str]:
    """Give every identifier in a definition, attributes, parameters and keywords among them."""
    for node in ast.walk(statement):
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
        """Give a statement as it is written; a definition with the comments that stand at its body's indentation."""
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
