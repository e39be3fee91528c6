"""Charts as SVG text: lines over two axes, and bars. Nothing is loaded, so a page is one file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 14, 44
COLOURS = {
    "compiled": "#1f5fd0", "sg.function": "#6fa8f5", "eager": "#e07b00", "torch": "#c0392b",
    "torch.compile": "#7b241c", "jax": "#1e8449", "pytensor": "#7d3c98", "limit": "#777777",
    "compiled, cached": "#6c8ebf",
}  # fmt: skip
OTHER = "#444444"

Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Line:
    """Points that belong together.

    Attributes:
        label: what stands at its end, and what it is coloured by.
        dashed: whether it is no measurement of a contender.
        marks: whether each point has a dot.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False
    marks: bool = True


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it shows, how its figures are written, and whether it is logarithmic."""

    title: str
    write: Format
    logarithmic: bool = True


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-300))
        share = 0.5 if high == low else (at - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values, at most about eight."""
        if not self.logarithmic:
            return _even(self.low, self.high)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        factors = (1,) if len(decades) > 3 else (1, 2, 5)
        step = max(1, len(decades) // 8)
        found = [f * 10.0**d for d in decades if d % step == 0 for f in factors]
        return [x for x in found if self.low * 0.999 <= x <= self.high * 1.001]


def _even(low: float, high: float) -> list[float]:
    span = (high - low) or 1.0
    step = 10.0 ** math.floor(math.log10(span / 5))
    step *= next((f for f in (1, 2, 5) if span / (step * f) <= 6), 10)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _scale(values: Sequence[float], start: float, end: float, axis: Axis) -> _Scale:
    used = [x for x in values if math.isfinite(x) and (x > 0 or not axis.logarithmic)]
    low, high = min(used, default=1.0), max(used, default=1.0)
    if axis.logarithmic:
        if low == high:
            low, high = low / 2, high * 2
        return _Scale(low / 1.15, high * 1.15, start, end, True)
    low = min(low, 0.0)
    return _Scale(low, high if high > low else low + 1, start, end, False)


def lines(
    series: Sequence[Line],
    x: Axis,
    y: Axis,
    points: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """A chart of lines; `points` are marked with rings and their texts."""
    every = [point for one in series for point in one.points]
    across = _scale([a for a, _ in every], LEFT, WIDTH - RIGHT, x)
    up = _scale([b for _, b in every], HEIGHT - BOTTOM, TOP, y)
    parts = [_frame(across, up, x, y)]
    for one in series:
        parts.append(_line(one, across, up))
    for text, (a, b) in (points or {}).items():
        left = across(a) > WIDTH / 2
        place = f'x="{across(a) + (-4 if left else 4):.1f}" y="{up(b) - 11:.1f}"'
        parts.append(
            f'<circle cx="{across(a):.1f}" cy="{up(b):.1f}" r="6" class="ring"/>'
            f'<text {place} class="note" text-anchor="{"end" if left else "start"}">'
            f"{escape(text)}</text>"
        )
    body = "".join(parts)
    title = escape(f"{y.title} against {x.title}")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">{body}</svg>'
        f"{_legend(series)}</figure>"
    )


def _frame(across: _Scale, up: _Scale, x: Axis, y: Axis) -> str:
    bottom = HEIGHT - BOTTOM
    parts = []
    for value in across.ticks():
        at = f"{across(value):.1f}"
        parts.append(f'<line x1="{at}" x2="{at}" y1="{TOP}" y2="{bottom}" class="grid"/>')
        parts.append(f'<text x="{at}" y="{bottom + 15}" class="tick" text-anchor="middle">'
                     f"{escape(x.write(value))}</text>")  # fmt: skip
    for value in up.ticks():
        at = f"{up(value):.1f}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{float(at) + 4:.1f}" class="tick" '
                     f'text-anchor="end">{escape(y.write(value))}</text>')  # fmt: skip
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" class="axis" text-anchor="middle">'
                 f"{escape(x.title)}</text>")  # fmt: skip
    parts.append(f'<text transform="translate(13 {(TOP + bottom) / 2}) rotate(-90)" class="axis" '
                 f'text-anchor="middle">{escape(y.title)}</text>')  # fmt: skip
    return "".join(parts)


def _line(one: Line, across: _Scale, up: _Scale) -> str:
    places = [(across(a), up(b)) for a, b in one.points if math.isfinite(b)]
    if not places:
        return ""
    colour = colour_of(one.label)
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dashes = ' stroke-dasharray="5 4"' if one.dashed else ""
    width = 2.6 if one.label == "compiled" else 1.7
    drawn = (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>'
    )
    if one.marks and not one.dashed:
        drawn += "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.8" fill="{colour}"/>' for a, b in places
        )
    return drawn


def _legend(series: Iterable[Line]) -> str:
    items = "".join(
        f'<span><i style="background:{colour_of(one.label)}"></i>{escape(one.label)}</span>'
        for one in series
        if one.points
    )
    return f'<figcaption class="legend">{items}</figcaption>'


def colour_of(label: str) -> str:
    """The colour of a contender: the same in every chart."""
    return COLOURS.get(label) or COLOURS.get(label.partition(",")[0], OTHER)


def bars(rows: Sequence[tuple[str, float, str]], colour: str | None = None) -> str:
    """A table with a bar in each row: label, value, and the value as text.

    Without a colour, each has that of the contender that its label names.
    """
    longest = max((value for _, value, _ in rows), default=0.0) or 1.0
    made = "".join(
        f"<tr><td>{escape(label)}</td><td class='bar'><i style=\"width:"
        f'{100 * value / longest:.1f}%;background:{colour or colour_of(label)}"></i></td>'
        f"<td class='n'>{escape(text)}</td></tr>"
        for label, value, text in rows
    )
    return f"<table class='bars'>{made}</table>"
