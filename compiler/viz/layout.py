"""A layered layout of a DAG: operands below what uses them, boxes that do not overlap.

The four steps of Sugiyama, Tagawa, Toda (1981): assign layers, split edges that skip layers, order
each layer by the barycentres of its neighbours, then place the boxes.
"""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.viz.positions import Link, positions

BOX_GAP = 16.0
LANE_GAP = 8.0  # between edges that run side by side
PORT_GAP = 12.0
LAYER_GAP = (26.0, 64.0)
SLOPE = 0.14  # of the flattest edge: its height by its width
ORDER_SWEEPS = 12
STRAIGHTNESS = (1, 4, 12)  # of a link between boxes, a box and a lane, lanes
UNITS = 10  # per unit of length, when positions are whole numbers
MAX_LANES = 2_000  # beyond, long edges run behind the boxes

Point = tuple[float, float]
Size = tuple[float, float]


@frozen
class Edge:
    """An edge from `tail` up to operand number `position` of `head`, which has `count` of them."""

    tail: int
    head: int
    position: int
    count: int

    @property
    def port(self) -> float:
        """Where the edge enters `head`, from the middle of its lower side."""
        return (self.position - (self.count - 1) / 2) * PORT_GAP


@frozen
class Layout:
    """Where everything goes, in the unit of the sizes; y grows upwards, from (0, 0).

    Attributes:
        centres: the centre of each box.
        routes: per edge, in the order given, the points from tail to head; the edge is vertical at
            each of them, and straight from the first to the second, the third to the fourth, ...
        width, height: of the whole.
    """

    centres: dict[int, Point]
    routes: list[list[Point]]
    width: float
    height: float


@mutable
class _Layers:
    """The layers from the bottom, and the links between vertices of neighbouring layers.

    Vertices are the boxes and, where edges pass through a layer, lanes (of which `sizes` is zero).
    Edges with the same tail share their lanes.
    """

    sizes: dict[int, Size]
    rank: dict[int, int]
    paths: list[list[int]]
    rows: list[list[int]] = field(default_factory=list)
    above: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    below: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))


def layered(sizes: Mapping[int, Size], edges: Sequence[Edge]) -> Layout:
    """The layout of boxes and the edges between them.

    Args:
        sizes: width and height of each box, both more than 0; boxes are numbered from 0.
        edges: in any order.
    """
    if not sizes:
        return Layout({}, [], 0.0, 0.0)
    layers = _split(sizes, edges)
    _order(layers)
    x = _columns(layers)
    return _place(layers, edges, x)


def _ranks(sizes: Mapping[int, Size], edges: Sequence[Edge]) -> dict[int, int]:
    """The number of each box's layer, so that the edges skip as few layers as can be."""
    rules = [Link(edge.tail, edge.head, 1, None) for edge in edges]
    wishes = [Link(edge.tail, edge.head, 1, 1) for edge in edges]
    return {box: least for box, (least, _) in positions(list(sizes), [*rules, *wishes]).items()}


def _split(sizes: Mapping[int, Size], edges: Sequence[Edge]) -> _Layers:
    rank = _ranks(sizes, edges)
    layers = _Layers(dict(sizes), rank, [])
    lanes: dict[tuple[int, int], int] = {}
    links: dict[tuple[int, int, float], None] = {}
    longest = _longest_routed([rank[edge.head] - rank[edge.tail] for edge in edges])
    for edge in edges:
        path = [edge.tail]
        if rank[edge.head] - rank[edge.tail] > longest:
            layers.paths.append([edge.tail, edge.head])
            continue
        for level in range(rank[edge.tail] + 1, rank[edge.head]):
            lane = lanes.setdefault((edge.tail, level), len(layers.sizes))
            layers.sizes.setdefault(lane, (0.0, 0.0))
            rank[lane] = level
            path.append(lane)
        path.append(edge.head)
        layers.paths.append(path)
        for low, high in pairwise(path):
            links[low, high, edge.port if high == edge.head else 0.0] = None
    for low, high, port in links:
        layers.above[low].append((high, port))
        layers.below[high].append((low, port))
    layers.rows = [[] for _ in range(max(rank.values()) + 1)]
    for vertex in _depth_first(layers):
        layers.rows[rank[vertex]].append(vertex)
    return layers


def _longest_routed(spans: Sequence[int]) -> int:
    """The number of layers up to which edges get lanes, so that there are not too many lanes."""
    total = 0
    for span in sorted(spans):
        total += span - 1
        if total > MAX_LANES:
            return span - 1
    return max(spans, default=1)


def _depth_first(layers: _Layers) -> Iterator[int]:
    """All vertices, each before its first operand and that before the second."""
    seen: set[int] = set()
    stack = [vertex for vertex in sorted(layers.sizes) if not layers.above[vertex]]
    while stack:
        vertex = stack.pop()
        if vertex not in seen:
            seen.add(vertex)
            yield vertex
            stack.extend(low for low, _ in sorted(layers.below[vertex], key=lambda link: -link[1]))


def _order(layers: _Layers) -> None:
    """Reorder the rows so that few edges cross."""
    best, fewest = [list(row) for row in layers.rows], _crossings(layers)
    along = {v: (i + 0.5) / len(row) for row in layers.rows for i, v in enumerate(row)}
    for sweep in range(ORDER_SWEEPS):
        upwards = sweep % 2 == 0
        for row in layers.rows if upwards else reversed(layers.rows):
            _sort_row(layers, row, along, upwards)
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(row) for row in layers.rows], crossings
        if not fewest:
            break
    layers.rows = best


def _sort_row(layers: _Layers, row: list[int], along: dict[int, float], upwards: bool) -> None:
    """Sort a row by the barycentres of its neighbours; `along`: how far along, from 0 to 1."""
    links = layers.below if upwards else layers.above
    keys = {}
    for vertex in row:
        near = [
            along[other] + (0.0 if upwards else port / (100 * PORT_GAP))
            for other, port in links[vertex]
        ]
        keys[vertex] = sum(near) / len(near) if near else along[vertex]
    row.sort(key=lambda vertex: keys[vertex])
    along.update((vertex, (i + 0.5) / len(row)) for i, vertex in enumerate(row))


def _crossings(layers: _Layers) -> int:
    """The number of pairs of edges that cross."""
    total = 0
    index = {v: i for row in layers.rows for i, v in enumerate(row)}
    for row in layers.rows:
        seen: list[tuple[int, float]] = []
        for vertex in row:
            heads = sorted((index[high], port) for high, port in layers.above[vertex])
            total += sum(len(seen) - bisect(seen, head) for head in heads)
            for head in heads:
                insort(seen, head)
    return total


def _columns(layers: _Layers) -> dict[int, float]:
    """The x coordinate of the middle of each vertex: edges are short, and long ones straight."""
    width = {vertex: size[0] for vertex, size in layers.sizes.items()}
    links = []
    for row in layers.rows:
        for left, right in pairwise(row):
            gap = BOX_GAP if width[left] and width[right] else LANE_GAP
            apart = (width[left] + width[right]) / 2 + gap
            links.append(Link(left, right, math.ceil(apart * UNITS), None))
    ports: dict[tuple[int, int], list[float]] = defaultdict(list)
    for low, above in layers.above.items():
        for high, port in above:
            ports[low, high].append(port)
    for (low, high), several in ports.items():
        weight = STRAIGHTNESS[(not width[low]) + (not width[high])] * len(several)
        links.append(Link(low, high, -round(sum(several) / len(several) * UNITS), weight))
    x = {vertex: sum(ends) / (2 * UNITS) for vertex, ends in positions(list(width), links).items()}
    leftmost = min(x[vertex] - width[vertex] / 2 for vertex in x)
    return {vertex: value - leftmost for vertex, value in x.items()}


def _place(layers: _Layers, edges: Sequence[Edge], x: Mapping[int, float]) -> Layout:
    floors: list[float] = []
    ceilings: list[float] = []
    for level, row in enumerate(layers.rows):
        floors.append(ceilings[-1] + _gap(layers, level, x) if level else 0.0)
        ceilings.append(floors[-1] + max(layers.sizes[vertex][1] for vertex in row))
    middle = [(low + high) / 2 for low, high in zip(floors, ceilings, strict=True)]
    centres = {v: (x[v], middle[layers.rank[v]]) for v, size in layers.sizes.items() if size[0]}
    routes = []
    for edge, path in zip(edges, layers.paths, strict=True):
        start = (x[edge.tail], middle[layers.rank[edge.tail]] + layers.sizes[edge.tail][1] / 2)
        points = [start]
        for vertex in path[:-1]:
            level = layers.rank[vertex]
            if vertex != edge.tail:
                points.append((x[vertex], floors[level]))
            points.append((x[vertex], ceilings[level]))
        level = layers.rank[edge.head]
        end = x[edge.head] + edge.port
        points.append((end, floors[level]))
        points.append((end, middle[level] - layers.sizes[edge.head][1] / 2))
        routes.append(points)
    width = max(x[vertex] + layers.sizes[vertex][0] / 2 for vertex in x)
    return Layout(centres, routes, width, ceilings[-1])


def _gap(layers: _Layers, level: int, x: Mapping[int, float]) -> float:
    """The height of the space below a layer: more where an edge has far to go sideways."""
    spans = [abs(x[v] + port - x[low]) for v in layers.rows[level] for low, port in layers.below[v]]
    return min(max(LAYER_GAP[0], SLOPE * max(spans, default=0.0)), LAYER_GAP[1])
