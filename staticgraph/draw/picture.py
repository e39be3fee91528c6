"""Paint a laid-out graph on a matplotlib figure; lengths are points (1/72 inch)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.viz.layout import Edge, Point, layered
from staticgraph.draw.labels import Line, one_line

MARGIN = 16.0
PADDING = (8.0, 6.0)
LINE_HEIGHT = 1.35  # of the font size
ARROW = (3.2, 6.5)
CORNER = 4.0
INK, FRAME, EDGE, STRESS = "#1f2328", "#6e7781", "#8c959f", "#953800"
TITLE_SIZE = 12.0
LONGEST_TITLE = 100  # characters
KEY_SIZE = 8.0

FONTS = {  # style of a line -> size, weight, colour
    "title": (9.5, "bold", INK),
    "detail": (7.0, "normal", "#57606a"),
    "value": (8.0, "normal", "#116329"),
    "gradient": (8.0, "normal", "#0550ae"),
    "role": (7.0, "bold", STRESS),
}
FILLS = {
    "placeholder": "#fff1c2",
    "variable": "#d8e9ff",
    "constant": "#e6e8eb",
    "scope": "#e9f5ec",
    "op": "#ffffff",
    "output": "#ffdfcc",
}


@frozen
class Vertex:
    """A box: its lines, the op of its node, and whether it is an output or an update."""

    lines: tuple[Line, ...]
    op: str
    is_output: bool

    @property
    def kind(self) -> str:
        """What the box is coloured by."""
        if self.op in FILLS:
            return self.op
        return "output" if self.is_output else "op"


@frozen
class Picture:
    """The boxes and the edges between them, which name boxes by their number."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]


def paint(picture: Picture, title: str | None, shown: Sequence[bool]) -> Any:
    """A figure of the picture.

    Args:
        picture: what to paint.
        title: written above, or None.
        shown: whether values, and whether gradients, are to be explained in the key.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sizes = {i: _box_size(vertex) for i, vertex in enumerate(picture.vertices)}
    layout = layered(sizes, picture.edges)
    heading = one_line(title or ("" if sizes else "empty graph"), LONGEST_TITLE)
    entries = _key(picture, shown)
    key_width = sum(_entry_width(entry) for entry in entries)
    title_width = _text_width(heading, TITLE_SIZE, "bold")
    width = max(layout.width, key_width, title_width) + 2 * MARGIN
    top = MARGIN + (TITLE_SIZE + 10 if heading else 0) + (KEY_SIZE + 14 if entries else 0)
    height = layout.height + MARGIN + top
    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    shift = ((width - layout.width) / 2, MARGIN)
    _paint_edges(axes, [[_moved(p, shift) for p in route] for route in layout.routes])
    for i, centre in layout.centres.items():
        _paint_box(axes, picture.vertices[i], _moved(centre, shift), sizes[i])
    if heading:
        _write(axes, (MARGIN, height - MARGIN - 9), heading, TITLE_SIZE, "bold", INK)
    _paint_key(axes, entries, layout.height + MARGIN + 12)
    return figure


def _moved(point: Point, by: Point) -> Point:
    return point[0] + by[0], point[1] + by[1]


def _text_width(text: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    # a viewer takes wide characters that the font lacks from another font
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return float(width) + 0.5 * size * wide


def _box_size(vertex: Vertex) -> tuple[float, float]:
    fonts = [FONTS[line.style] for line in vertex.lines]
    widths = [
        _text_width(line.text, size, weight)
        for line, (size, weight, _) in zip(vertex.lines, fonts, strict=True)
    ]
    return (
        max(widths) + 2 * PADDING[0],
        sum(size for size, _, _ in fonts) * LINE_HEIGHT + 2 * PADDING[1],
    )


def _paint_box(axes: Any, vertex: Vertex, centre: Point, box: tuple[float, float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = box
    axes.add_patch(
        FancyBboxPatch(
            (centre[0] - width / 2, centre[1] - height / 2),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={CORNER}",
            facecolor=FILLS[vertex.kind],
            edgecolor=STRESS if vertex.is_output else FRAME,
            linewidth=1.8 if vertex.is_output else 0.8,
            zorder=2,
        )
    )
    y = centre[1] + height / 2 - PADDING[1]
    for line in vertex.lines:
        size, weight, colour = FONTS[line.style]
        y -= size * LINE_HEIGHT
        _write(axes, (centre[0], y + 0.3 * size), line.text, size, weight, colour, "center")


def _write(
    axes: Any, at: Point, text: str, size: float, weight: str, colour: str, align: str = "left"
) -> None:
    axes.text(
        *at, text, size=size, weight=weight, color=colour, ha=align, va="baseline",
        parse_math=False, zorder=3,
    )  # fmt: skip


def _paint_edges(axes: Any, routes: Sequence[Sequence[Point]]) -> None:
    """Smooth curves through the points of the routes, with an arrow head at the last."""
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path

    curves, heads = [], []
    for route in routes:
        *points, (x, y) = route
        points.append((x, y - ARROW[1]))
        vertices, codes = [points[0]], [Path.MOVETO]
        for i, (start, end) in enumerate(pairwise(points)):
            if i % 2:
                middle = (start[1] + end[1]) / 2
                vertices += [(start[0], middle), (end[0], middle), end]
                codes += [Path.CURVE4] * 3
            else:
                vertices.append(end)
                codes.append(Path.LINETO)
        curves.append(Path(vertices, codes))
        heads.append([(x, y), (x - ARROW[0], y - ARROW[1]), (x + ARROW[0], y - ARROW[1])])
    axes.add_collection(PathCollection(curves, facecolor="none", edgecolor=EDGE, linewidth=1.0))
    axes.add_collection(PolyCollection(heads, facecolor=EDGE, edgecolor="none"))


def _key(picture: Picture, shown: Sequence[bool]) -> list[tuple[str, str | None, str]]:
    """What the colours mean: word, colour of the swatch if there is one, colour of the word."""
    present = {vertex.kind for vertex in picture.vertices}
    entries: list[tuple[str, str | None, str]] = [
        (kind, fill, INK) for kind, fill in FILLS.items() if kind in present
    ]
    for style, wanted in zip(("value", "gradient"), shown, strict=True):
        if wanted:
            entries.append((style, None, FONTS[style][2]))
    return entries


def _entry_width(entry: tuple[str, str | None, str]) -> float:
    return _text_width(entry[0], KEY_SIZE, "normal") + (16.0 if entry[1] else 0.0) + 12.0


def _paint_key(axes: Any, entries: Sequence[tuple[str, str | None, str]], y: float) -> None:
    from matplotlib.patches import Rectangle

    x = MARGIN
    for entry in entries:
        word, swatch, colour = entry
        start = x
        if swatch:
            box = Rectangle(
                (x, y - 1.5), 11.0, KEY_SIZE + 1, facecolor=swatch, edgecolor=FRAME, linewidth=0.8
            )
            axes.add_patch(box)
            start += 16.0
        _write(axes, (start, y), word, KEY_SIZE, "normal", colour)
        x += _entry_width(entry)
