"""A laid-out graph as SVG text: boxes with lines of monospaced text, and curves between them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Protocol

FONT_SIZE = 10.0
CHARACTER = 0.6 * FONT_SIZE  # the width of one, of a monospaced font
LINE_HEIGHT = 1.3 * FONT_SIZE
PADDING = (7.0, 4.0)
MARGIN = 8.0
ARROW = (3.0, 6.0)
FILLS = {
    "op": "#d3d3d3", "leaf": "#add8e6", "output": "#caff70", "base": "#a2cd5a", "saved": "#ffa500",
}  # fmt: skip

Point = tuple[float, float]


class Box(Protocol):
    """A node of the picture."""

    @property
    def lines(self) -> Sequence[str]:
        """Its text."""

    @property
    def kind(self) -> str:
        """What it is: a key of `FILLS`."""


class Line(Protocol):
    """An edge between boxes, which it names by their number."""

    @property
    def tail(self) -> int:
        """Where it begins."""

    @property
    def head(self) -> int:
        """Where it ends."""

    @property
    def arrow(self) -> bool:
        """Whether its end is drawn."""

    @property
    def dashed(self) -> bool:
        """Whether the line is."""


def svg(boxes: Sequence[Box], lines: Sequence[Line]) -> str:
    """The picture of boxes and edges; these lead downwards."""
    from staticgraph.compiler.viz.layout import Edge, layered

    texts = [[_visible(line) for line in box.lines] for box in boxes]
    sizes = {i: _size(text) for i, text in enumerate(texts)}
    counts: dict[int, int] = {}
    for line in lines:
        counts[line.head] = counts.get(line.head, 0) + 1
    taken: dict[int, int] = {}
    edges = []
    for line in lines:
        position = taken.get(line.head, 0)
        taken[line.head] = position + 1
        edges.append(Edge(line.tail, line.head, position, counts[line.head]))
    layout = layered(sizes, edges)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img">',
        "<title>recorded graph</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<g transform="translate({MARGIN} {MARGIN})" fill="none" stroke="#333">',
    ]
    for line, route in zip(lines, layout.routes, strict=True):
        rows += _edge(line, route)
    rows.append(
        f'</g>\n<g transform="translate({MARGIN} {MARGIN})" font-family="monospace" '
        f'font-size="{FONT_SIZE:g}" text-anchor="middle">'
    )
    for i, text in enumerate(texts):
        rows += _box(text, boxes[i].kind, layout.centres[i], sizes[i])
    return "\n".join([*rows, "</g>", "</svg>", ""])


def _visible(text: str) -> str:
    """Text without the characters that XML does not allow or that do not show."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def _size(text: Sequence[str]) -> Point:
    columns = max(
        (sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in line) for line in text),
        default=1,
    )
    height = max(len(text), 1) * LINE_HEIGHT
    return columns * CHARACTER + 2 * PADDING[0], height + 2 * PADDING[1]


def _box(text: Sequence[str], kind: str, centre: Point, size: Point) -> list[str]:
    (x, y), (width, height) = centre, size
    rows = [
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" fill="{FILLS[kind]}" stroke="#333"/>'
    ]
    top = y - len(text) * LINE_HEIGHT / 2
    for i, line in enumerate(text):
        baseline = top + i * LINE_HEIGHT + FONT_SIZE
        rows.append(
            f'<text xml:space="preserve" x="{x:.1f}" y="{baseline:.1f}">{escape(line)}</text>'
        )
    return rows


def _edge(line: Line, route: Sequence[Point]) -> list[str]:
    *points, (x, y) = route
    points.append((x, y - ARROW[1] if line.arrow else y))
    path = [f"M{_at(points[0])}"]
    for i, (start, end) in enumerate(pairwise(points)):
        middle = (start[1] + end[1]) / 2
        if i % 2:
            path.append(f"C{_at((start[0], middle))} {_at((end[0], middle))} {_at(end)}")
        else:
            path.append(f"L{_at(end)}")
    style = ' stroke-dasharray="2 3"' if line.dashed else ""
    rows = [f'<path d="{" ".join(path)}"{style}/>']
    if line.arrow:
        left, right = (x - ARROW[0], y - ARROW[1]), (x + ARROW[0], y - ARROW[1])
        rows.append(f'<path d="M{_at((x, y))} L{_at(left)} L{_at(right)} Z" fill="#333"/>')
    return rows


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
