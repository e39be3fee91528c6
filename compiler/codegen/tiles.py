"""Rows in tiles: what is expensive and computed once per row is computed for many rows in one loop.

The native compiler vectorises such a loop, as it cannot vectorise what stands between two passes
over one row. The rows of a tile, and what is kept of them from loop to loop, stay in the first
level of the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from staticgraph.compiler.codegen.loops import most_copies
from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.codegen.statements import Body, Memory, Segment, Spill, Statement, Tile
from staticgraph.compiler.core.dims import Size, floor_divide, maximum, minimum, product
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.walk import names

MOST_ROWS = 64
LEAST_ROWS = 8  # a vector of float64, of which there should be whole ones
MOST_BYTES = 24 * 1024  # of what the rows of a tile read and write: half of the first level
Part: TypeAlias = "list[tuple[list[Statement], list[Statement]]]"


def tile_of(nodes: Mapping[int, Node], body: Body) -> Tile | None:
    """How many rows are computed together, and in which loops; None if that does not pay."""
    rows, columns = (
        product(part) for part in (body.group.domain[: body.split], body.group.domain[body.split :])
    )
    if not any(expensive_calls(line.value) for lines in body.rows for line in lines):
        return None
    if rows == 1:
        return None
    if isinstance(columns, int) and columns <= most_copies(body) and not body.scratch:
        return None  # then the loop over rows is the innermost one
    # how many columns the fewest rows may have to fit into the cache
    fitting = MOST_BYTES // LEAST_ROWS // max(1, _bytes_of_an_element(nodes, body))
    count: Size
    if isinstance(columns, int):
        if columns > fitting:
            return None
        count = _rows_of_vectors(fitting // max(1, columns))
    else:
        count = _rows_of_vectors(floor_divide(fitting, maximum(columns, 1)))
    spills = tuple(_spills(body))
    room = LEAST_ROWS * (columns + fitting)
    return Tile(count, MOST_ROWS, room, tuple(_segments(body, spills)), spills)


def _rows_of_vectors(vectors: Size) -> Size:
    """The rows of a tile into which so many times the fewest fit.

    A vectorised loop takes twice the fewest at once: of an odd number it would leave the last
    to a loop over single rows, which takes as long as all the others.
    """
    pairs = floor_divide(minimum(MOST_ROWS // LEAST_ROWS, vectors), 2)
    return LEAST_ROWS * maximum(1, 2 * pairs)


def _bytes_of_an_element(nodes: Mapping[int, Node], body: Body) -> int:
    """How much memory the passes over one row touch, per column, that the next row does not."""
    touched: dict[Memory, int] = {}
    for line in (line for lines in body.passes for line in lines):
        if line.memory is not None and _moves_with_rows(line, body.split):
            touched[line.memory] = nodes[line.memory[1]].type.dtype.itemsize
    return sum(touched.values())


def _moves_with_rows(line: Statement, split: int) -> bool:
    kind, _ = line.memory or ("", 0)
    return kind == "scratch" or any(axis < split for axis, _ in line.place.terms)


def _parts(body: Body) -> list[Part]:
    """The passes of each loop: a cut before and behind what is expensive for each row."""
    parts: list[Part] = [[]]
    for row_pass, row in enumerate(body.rows):
        over_columns = body.passes[row_pass] if row_pass < len(body.passes) else []
        if any(expensive_calls(line.value) for line in row):
            parts += [[(row, [])], [([], over_columns)]]
        else:
            parts[-1].append((row, over_columns))
    return [part for part in parts if any(row or over_columns for row, over_columns in part)]


def _spills(body: Body) -> Iterator[Spill]:
    """What one loop assigns for a row and a later one reads."""
    parts = _parts(body)
    used = [_names(part) for part in parts]
    before = {line.name for line in body.before}
    for i, part in enumerate(parts):
        for line in (line for row, _ in part for line in row):
            if not line.name or line.name in before:
                continue
            if any(line.name in later for later in used[i + 1 :]):
                assert line.dtype is not None
                yield Spill(line.name, line.dtype, line.node)


def _segments(body: Body, spills: tuple[Spill, ...]) -> Iterator[Segment]:
    known: set[int] = set()
    for part in _parts(body):
        row_passes = tuple((tuple(row), tuple(over_columns)) for row, over_columns in part)
        mentioned, assigned = _names(part), _assigned(part)
        read = tuple(i for i in sorted(known) if spills[i].name in mentioned)
        left = tuple(i for i, one in enumerate(spills) if one.name in assigned)
        known |= set(left)
        yield Segment(row_passes, read, left)


def _lines(part: Part) -> Iterator[Statement]:
    return (line for row_pass in part for lines in row_pass for line in lines)


def _names(part: Part) -> set[str]:
    """The variables that the lines mention."""
    found = _assigned(part)
    for line in _lines(part):
        found |= names(line.value)
        found |= {name for form in (line.place, line.index) for name, _ in form.dynamic}
    return found


def _assigned(part: Part) -> set[str]:
    """What the lines assign, accumulators included."""
    return {line.name or line.accumulator for line in _lines(part)}
