"""Small pictures as inline SVG: intervals, shares, curves.

They need no script and no file, take the colour of the text around them for axes, and their own colours can be told
apart by the colour-blind on white and on black. What they show stands beside them as a number too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from codeeval._render.parts import Axes, Curve
from codeeval._render.untrusted import escaped, line

_Name = TypeVar("_Name", bound=str)

__all__ = ["BAND", "SERIES", "STATUS_COLORS", "Axes", "Curve", "curves", "interval", "shares", "swatch", "ticks"]

#: By the name of a status. After Okabe and Ito 2008, changed until each has a contrast of 2 on white and on #111.
STATUS_COLORS: Mapping[str, str] = {
    "passed": "#009e73",
    "failed": "#d55e00",
    "compile_error": "#cc79a7",
    "timed_out": "#e69f00",
    "memory_exceeded": "#56b4e9",
    "output_exceeded": "#0072b2",
    "crashed": "#8c6bb1",
    "early_exit": "#b0a000",
    "tampered": "#a6761d",
    "sandbox_error": "#808080",
}

#: Colours of several series, in the order in which they are taken.
SERIES = ("#2b83d6", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#808080")
BAND = SERIES[0]


def interval(
    value: float, low: float, high: float, *, axis: tuple[float, float], wide: int = 120, zero: bool = False
) -> str:
    """Draw a value and its interval on an axis; what is undefined is left out.

    Args:
        value: the dot.
        low: where the bar begins; NaN for no bar.
        high: where it ends.
        axis: what the left and the right edge stand for.
        wide: pixels.
        zero: marks 0, for differences.
    """
    if math.isnan(value) or not axis[0] < axis[1]:
        return ""

    def x(at: float) -> float:
        share = (min(max(at, axis[0]), axis[1]) - axis[0]) / (axis[1] - axis[0])
        return round(4 + share * (wide - 8), 1)

    bar = ""
    if not (math.isnan(low) or math.isnan(high)):
        size = max(1.0, x(high) - x(low))
        bar = f'<rect x="{x(low)}" y="4" width="{size:.1f}" height="8" rx="2" fill="{BAND}" fill-opacity=".45"/>'
    mark = f'<path d="M{x(0)} 1V15" stroke="currentColor" stroke-opacity=".7"/>' if zero else ""
    return (
        f'<svg width="{wide}" height="16" viewBox="0 0 {wide} 16" aria-hidden="true" style="vertical-align:middle">'
        f'<path d="M4 8H{wide - 4}M4 5V11M{wide - 4} 5V11" stroke="currentColor" stroke-opacity=".3"/>{mark}{bar}'
        f'<circle cx="{x(value)}" cy="8" r="3.2" fill="{BAND}"/></svg>'
    )


def shares(counts: Mapping[_Name, int], *, height: int = 14, width: str = "100%") -> str:
    """Draw how a whole divides among statuses, as one bar."""
    total = sum(counts.values())
    if not total:
        return ""
    rects, x = [], 0.0
    for status, count in counts.items():
        size = 1000 * count / total
        rects.append(f'<rect x="{x:.1f}" width="{size:.1f}" height="10" fill="{STATUS_COLORS[status]}"/>')
        x += size
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" '
        f'style="display:block;border-radius:3px">{"".join(rects)}</svg>'
    )


def swatch(color: str) -> str:
    """Draw the square that names a colour in a legend."""
    return (
        '<svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">'
        f'<rect width="10" height="10" rx="2" fill="{color}"/></svg>'
    )


def curves(drawn: Sequence[Curve], axes: Axes) -> str:
    """Draw curves with their bands; nothing where no point is defined."""
    xs = [x for c in drawn for x in c.x if math.isfinite(x)]
    ys = [y for c in drawn for y in (*c.y, *c.low, *c.high) if math.isfinite(y)]
    if not xs or not ys:
        return ""
    left, right = _padded(min(xs), max(xs))
    low, high = min(ys), max(ys)
    y_ticks = ticks(0.0 if axes.from_0 or 0 <= low < (high - low) else low, high)
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])
    log_x = axes.log_x and left > 0

    def px(x: float) -> float:
        a, b, at = (math.log(v) for v in (left, right, x)) if log_x else (left, right, x)
        return round(_LEFT + (at - a) / (b - a) * (_PLOT_WIDE - _LEFT - _RIGHT), 1)

    def py(y: float) -> float:
        return round(_TOP + (high - y) / (high - low) * (_PLOT_HIGH - _TOP - _BOTTOM), 1)

    base = _PLOT_HIGH - _BOTTOM
    x_ticks = _log_ticks(xs) if log_x else _x_ticks(xs, left, right, whole=axes.whole_x)
    parts = [
        f'<path d="M{_LEFT} {py(y)}H{_PLOT_WIDE - _RIGHT}" stroke="currentColor" stroke-opacity=".15"/>'
        f'<text x="{_LEFT - 6}" y="{py(y) + 4}" text-anchor="end">{_short(y)}</text>'
        for y in y_ticks
    ]
    parts += [f'<text x="{px(x)}" y="{base + 16}" text-anchor="middle">{_short(x)}</text>' for x in x_ticks]
    parts += [_curve(curve, px, py) for curve in drawn]
    parts.append(
        f'<path d="M{_LEFT} {base}H{_PLOT_WIDE - _RIGHT}" stroke="currentColor" stroke-opacity=".6"/>'
        f'<text x="{(_LEFT + _PLOT_WIDE - _RIGHT) / 2}" y="{_PLOT_HIGH - 4}" text-anchor="middle">'
        f"{escaped(line(axes.x_label, 60))}</text>"
        f'<text x="4" y="12">{escaped(line(axes.y_label, 60))}</text>'
    )
    return (
        f'<svg viewBox="0 0 {_PLOT_WIDE} {_PLOT_HIGH}" width="100%" role="img" '
        f'style="max-width:{_PLOT_WIDE * 1.2:.0f}px;height:auto;display:block" '
        f'font-size="11" font-family="sans-serif" fill="currentColor">{"".join(parts)}</svg>'
    )


def ticks(low: float, high: float, count: int = 5, *, whole: bool = False) -> list[float]:
    """Return round numbers from at or below `low` to at or above `high`, about `count` of them."""
    span = high - low or abs(high) or 1.0
    raw = max(span / max(1, count - 1), float(whole))
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in ((1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def _padded(low: float, high: float) -> tuple[float, float]:
    return (low, high) if low < high else (low - 0.5 * (abs(low) or 1), low + 0.5 * (abs(low) or 1))


def _x_ticks(xs: Sequence[float], left: float, right: float, *, whole: bool) -> list[float]:
    within = [t for t in ticks(left, right, whole=whole) if left <= t <= right]
    if not whole:
        return within
    first = min(xs)  # k = 1 is on no round step, and the number that most readers look for
    return [first, *(t for t in within if t - first > (right - left) / 20)]


def _log_ticks(xs: Iterable[float]) -> list[float]:
    low, high = min(xs), max(xs)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [t for t in (m * 10.0**d for d in decades for m in (1, 2, 5)) if low <= t <= high]


def _short(value: float) -> str:
    return f"{value:,.10g}"


def _curve(curve: Curve, px: Callable[[float], float], py: Callable[[float], float]) -> str:
    parts = []
    color = curve.color or BAND
    for points in _runs(curve.x, curve.low, curve.high):
        there = [f"{px(x)} {py(high)}" for x, _, high in points]
        back = [f"{px(x)} {py(low)}" for x, low, _ in reversed(points)]
        parts.append(f'<path d="M{"L".join(there + back)}Z" fill="{color}" fill-opacity=".25"/>')
    for points in _runs(curve.x, curve.y):
        through = "L".join(f"{px(x)} {py(y)}" for x, y in points)
        parts.append(f'<path d="M{through}" fill="none" stroke="{color}" stroke-width="2" stroke-linejoin="round"/>')
        if len(curve.x) <= _DOTS:
            parts += [f'<circle cx="{px(x)}" cy="{py(y)}" r="3" fill="{color}"/>' for x, y in points]
    if curve.marked is not None and math.isfinite(curve.y[curve.marked]):
        cx, cy = px(curve.x[curve.marked]), py(curve.y[curve.marked])
        parts.append(f'<circle cx="{cx}" cy="{cy}" r="6" fill="none" stroke="currentColor" stroke-width="1.5"/>')
    return "".join(parts)


def _runs(*columns: Sequence[float]) -> list[list[tuple[float, ...]]]:
    """Return the stretches in which every column is defined."""
    stretches: list[list[tuple[float, ...]]] = [[]]
    for row in zip(*columns, strict=False):
        if all(map(math.isfinite, row)):
            stretches[-1].append(row)
        elif stretches[-1]:
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


_PLOT_WIDE, _PLOT_HIGH = 400, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 22, 24, 38
_DOTS = 40
