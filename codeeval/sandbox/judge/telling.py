"""What went wrong, in words: one line of what failed, and what is known of each assert."""

from __future__ import annotations

from typing import Any, Dict, List, Set, Tuple

from codeeval.sandbox.judge.box import Box
from codeeval.sandbox.judge.candidate import VALUE_TEXT, bounded
from codeeval.sandbox.judge.texts import TESTS

__all__ = ["assert_rows", "explain"]


def explain(error: BaseException, check: Dict[str, Any], box: Box) -> str:
    """Say in one line what failed; what can't be told does not keep it from having failed."""
    box.is_telling = True
    try:
        return _tell(error, check, box)
    except Exception:
        return type(error).__name__


def _tell(error: BaseException, check: Dict[str, Any], box: Box) -> str:
    """Name the assertion, the exception, and the last call with its answer."""
    line = 0
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == TESTS:
            line = frame.tb_lineno
        frame = frame.tb_next
    statement = _statement_at(check["source"], line)
    what = type(error).__name__
    text = bounded(str, error)
    last = box.last
    parts = []
    if isinstance(error, AssertionError):
        parts.append(statement or "an assertion does not hold")
        if text:
            parts.append(text)
    else:
        parts.append("%s: %s" % (what, text) if text else what)
        if statement:
            parts.append("in `%s`" % statement)
    if last is not None:
        name, args, kwargs, answer = last
        shown = [bounded(repr, a) for a in args] + ["%s=%s" % (k, bounded(repr, v)) for k, v in kwargs.items()]
        call = "%s(%s)" % (name, ", ".join(shown))
        parts.append("%s gave %s" % (call[: 2 * VALUE_TEXT], bounded(repr, answer)))
    if box.uncarried:
        parts.append(
            "an answer of the type %s can't be carried to the tests; if it is right, give the problem "
            "strength='same box'" % box.uncarried
        )
    return "; ".join(parts)


def assert_rows(n_asserts: int, reached: Set[int], passed: bool, message: str) -> List[List[Any]]:
    """Return what is known of each top-level assert; of one that was not reached only where the tests failed."""
    rows: List[List[Any]] = []
    told = False
    for number in range(n_asserts):
        if number in reached:
            rows.append([str(number), True])
        elif not passed:
            rows.append([str(number), False, _NOT_REACHED if told else message] if message else [str(number), False])
            told = True
    return rows


_NOT_REACHED = "was not reached"


_asserts: Dict[str, List[Tuple[int, int, str]]] = {}


def _statement_at(source: str, line: int) -> str:
    """Return the test statement at a line; parsed once per text, since most failures share few tests."""
    if source not in _asserts:
        import ast  # as in `texts`

        if len(_asserts) > 4096:
            _asserts.clear()
        lines = source.splitlines()
        found = []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Assert, ast.Expr, ast.Assign, ast.Return)):
                end = getattr(node, "end_lineno", node.lineno) or node.lineno
                text = " ".join(part.strip() for part in lines[node.lineno - 1 : end])
                found.append((node.lineno, end, text))
        _asserts[source] = found
    inside = [(end - start, text) for start, end, text in _asserts[source] if start <= line <= end]
    return min(inside)[1][: 2 * VALUE_TEXT] if inside else ""
