"""Print a group's statements as nested loops.

A group that is computed in chunks is printed in two parts: `work` does the iterations from `first`
to `last` of the outermost loop and leaves what it combined in memory of the chunk; `finish`
combines the chunks in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from compiler.codegen.chunks import ChunkPlan
from compiler.codegen.loops import INDENT, STRIP, Loop, Nest, statements_of
from compiler.codegen.scalar import (
    CONSTRUCTORS,
    cast,
    combine,
    from_memory,
    identity,
    literal,
    to_memory,
)
from compiler.codegen.statements import Body, Memory, Statement, Tile, Total
from compiler.core.affine import Affine
from compiler.core.dims import Dim, Size, product
from compiler.graph.view import Node

FLOAT64 = np.dtype(np.float64)
BLOCK = 1024  # elements whose sum is rounded to the dtype before it is added to the total


class Printer:
    """Prints one group.

    Args:
        slot: the number of a piece of memory; equal for values that share one.
        pointer: `(slot, first)`, the name of the address of its element `first`.
        size: the text of a size.
    """

    def __init__(
        self,
        nodes: Callable[[int], Node],
        body: Body,
        nest: Nest,
        plan: ChunkPlan | None,
        size: Callable[[Size], str],
        slot: Callable[[Memory], int],
        pointer: Callable[[int, int], str],
    ) -> None:
        self.nodes = nodes
        self.body = body
        self.nest = nest
        self.plan = plan
        self.size = size
        self.slot = slot
        self.pointer = pointer
        self.fixed: dict[int, int] = {}
        self.first = self._first_elements(statements_of(body))

    def work(self) -> Iterator[str]:
        """The lines of the loops, or of one chunk of them."""
        for line in self.body.before:
            yield self._text(line)
        yield from self._fills()
        if self.body.tile is not None:
            yield from self._tile(self.body.tile)
        else:
            yield from self._rows()
        if self.plan is None:
            for line in self.body.after:
                yield self._text(line)
            return
        for i, total in enumerate(self.plan.totals):
            yield to_memory(total.name, total.dtype).replace("{m}", self._own(("total", i)))

    def finish(self) -> Iterator[str]:
        """The lines that combine the chunks."""
        assert self.plan is not None
        for node in self.plan.gathered:
            yield from self._gather(node)
        if not self.plan.totals:
            return
        for line in self.body.before:
            yield self._text(line)
        if not self.nest.rows:
            for line in self.body.rows[0]:
                yield self._text(line)
        for i, total in enumerate(self.plan.totals):
            yield from self._combine(total, self._memory(("total", i)))
        if not self.nest.rows:
            for line in (line for row in self.body.rows[1:] for line in row):
                yield self._text(line)
        for line in self.body.after:
            yield self._text(line)

    # -- chunks ------------------------------------------------------------------------------

    def _memory(self, memory: Memory) -> str:
        return self.pointer(self.slot(memory), 0)

    def _own(self, memory: Memory, index: str = "") -> str:
        """An element of the chunk's own memory."""
        assert self.plan is not None
        size = self.plan.memory[memory]
        place = "chunk" if size == 1 else f"chunk * {self._factor(size)}"
        return f"{self._memory(memory)}[{place}{' + ' if index else ''}{index}]"

    def _fills(self) -> Iterator[str]:
        for node in self.plan.gathered if self.plan else ():
            dtype = self.nodes(node).type.dtype
            value = to_memory(identity(self.body.gathered[node], dtype), dtype)
            yield f"for i in range({self.size(self.nodes(node).type.size)}):"
            yield INDENT + value.replace("{m}", self._own(("partial", node), "i"))

    def _gather(self, node: int) -> Iterator[str]:
        """Combine what the chunks gathered for a node."""
        kind, type = self.body.gathered[node], self.nodes(node).type
        size, target = self.size(type.size), self._memory(("node", node))
        source, element = self._memory(("partial", node)), from_memory(type.dtype)
        assert self.plan is not None
        step = self._factor(self.plan.memory["partial", node])
        old, new = element.replace("{m}", f"{target}[i]"), f"{source}[c * {step} + i]"
        value = combine(kind, type.dtype, old, element.replace("{m}", new))
        assign = to_memory("{value}", type.dtype).replace("{m}", f"{target}[i]")
        yield f"for i in range({size}):"
        yield INDENT + assign.replace("{value}", identity(kind, type.dtype))
        yield "for c in range(chunks):"
        yield f"{INDENT}for i in range({size}):"
        yield INDENT * 2 + assign.replace("{value}", value)

    def _combine(self, total: Total, memory: str) -> Iterator[str]:
        """Combine what the chunks left of a total; float sums are added in float64."""
        element = from_memory(total.dtype).replace("{m}", f"{memory}[c]")
        wide = FLOAT64 if total.kind == "sum" and total.dtype.kind == "f" else total.dtype
        name = f"whole_{total.name}"
        yield f"{name} = {identity(total.kind, wide)}"
        yield "for c in range(chunks):"
        value = combine(total.kind, wide, name, cast(element, total.dtype, wide))
        yield f"{INDENT}{name} = {value}"
        yield f"{total.name} = {cast(name, wide, total.dtype)}"

    # -- loops -------------------------------------------------------------------------------

    def _rows(self) -> Iterator[str]:
        """The loops over rows, and inside, stage by stage, what is done with each."""
        depth = 0
        for loop in self.nest.rows:
            yield f"{INDENT * depth}{self._header(loop)}"
            depth += 1
        rows = self.body.rows
        if self.plan is not None and not self.nest.rows:
            rows = rows[:1]
        for stage, row in enumerate(rows):
            passes = self.body.passes[stage : stage + 1]
            yield from self._stage(row, passes[0] if passes else (), depth)

    def _stage(
        self, row: Sequence[Statement], over_columns: Sequence[Statement], depth: int
    ) -> Iterator[str]:
        for line in row:
            yield INDENT * depth + self._text(line)
        yield from self._pass(over_columns, depth)

    def _tile(self, tile: Tile) -> Iterator[str]:
        """The loops over rows, the innermost in tiles: a loop over the tile for each segment."""
        depth = 0
        for loop in self.nest.rows[:-1]:
            yield f"{INDENT * depth}{self._header(loop)}"
            depth += 1
        loop = self.nest.rows[-1]
        start, end = self._bounds(loop)
        rows = self.size(tile.rows)
        if isinstance(tile.rows, Dim):
            yield f"{INDENT * depth}rows = {rows}"
            rows = "rows"
        yield f"{INDENT * depth}for tile in range({start}, {end}, {rows}):"
        for segment in tile.segments:
            pad = INDENT * (depth + 2)
            bounds = f"tile, min(tile + {rows}, {end})"
            yield f"{INDENT * (depth + 1)}for {loop.variable} in range({bounds}):"
            for i in segment.read:
                code = from_memory(tile.spills[i].dtype).replace("{m}", self._spill(i))
                yield f"{pad}{tile.spills[i].name} = {code}"
            for row, over_columns in segment.stages:
                yield from self._stage(row, over_columns, depth + 2)
            for i in segment.left:
                code = to_memory(tile.spills[i].name, tile.spills[i].dtype)
                yield pad + code.replace("{m}", self._spill(i))

    def _spill(self, number: int) -> str:
        """What a tile keeps of a variable of the row."""
        return self._element(("spill", number), Affine())

    def _pass(self, statements: Sequence[Statement], depth: int) -> Iterator[str]:
        """A pass over the columns, each statement in the outermost loop where it can stand."""
        if not statements:
            return
        columns = self.nest.columns
        places = {axis: i for i, loop in enumerate(columns) for axis in loop.axes}
        by_depth: list[list[Statement]] = [[] for _ in range(len(columns) + 1)]
        for one in statements:
            inside = max((places[axis] + 1 for axis in one.axes if axis in places), default=0)
            by_depth[inside].append(one)
        sums = [one for one in statements if one.accumulator]
        wide = sums if not self.nest.rows and self._is_long(columns) else []
        for line in by_depth[0]:
            yield INDENT * depth + self._text(line)
        for one in wide:
            yield f"{INDENT * depth}wide_{one.accumulator} = f64(0.0)"
        if all(loop.extent != 0 for loop in columns):
            yield from self._nest(by_depth, 0, depth, wide)
        for one in wide:
            assert one.dtype is not None
            total = f"{CONSTRUCTORS[one.dtype.name]}(wide_{one.accumulator})"
            yield f"{INDENT * depth}{one.accumulator} = {total}"

    def _nest(
        self, by_depth: list[list[Statement]], level: int, depth: int, wide: Sequence[Statement]
    ) -> Iterator[str]:
        """The loops from `level` on: headers and bodies."""
        columns = self.nest.columns
        printed = self.nest.written_out
        if level == printed:
            yield from self._copies(by_depth, level, depth)
            return
        if level == printed - 1:
            yield from self._innermost(by_depth, depth, wide)
            return
        if level == printed - 2 and self.nest.strips:
            _, end = self._bounds(columns[level + 1])
            yield f"{INDENT * depth}for strip in range(0, {end}, {STRIP}):"
            depth += 1
        yield INDENT * depth + self._header(columns[level])
        for line in by_depth[level + 1]:
            yield INDENT * (depth + 1) + self._text(line)
        yield from self._nest(by_depth, level + 1, depth + 1, wide)

    def _innermost(
        self, by_depth: list[list[Statement]], depth: int, wide: Sequence[Statement]
    ) -> Iterator[str]:
        """The innermost loop; sums are added in float64 now and then: rounding does not pile up."""
        level = self.nest.written_out - 1
        loop = self.nest.columns[level]
        start, end = self._bounds(loop)
        if self.nest.strips:
            start, end = "strip", f"min(strip + {STRIP}, {end})"
        elif wide and self._is_long([loop]):
            yield f"{INDENT * depth}for block in range({start}, {end}, {BLOCK}):"
            start, end = "block", f"min(block + {BLOCK}, {end})"
            depth += 1
        for one in wide:
            assert one.dtype is not None
            yield f"{INDENT * depth}part_{one.accumulator} = {literal(0, one.dtype)}"
        prefix = "part_" if wide else ""
        yield INDENT * depth + _range(loop, start, end)
        for line in by_depth[level + 1]:
            yield INDENT * (depth + 1) + self._text(line, prefix)
        yield from self._copies(by_depth, level + 1, depth + 1, prefix)
        for one in wide:
            name = one.accumulator
            yield f"{INDENT * depth}wide_{name} = wide_{name} + f64(part_{name})"

    def _copies(
        self, by_depth: list[list[Statement]], level: int, depth: int, prefix: str = ""
    ) -> Iterator[str]:
        """The loops from `level` on, which are written out: a copy of the body per iteration."""
        if level == len(self.nest.columns):
            return
        loop = self.nest.columns[level]
        assert isinstance(loop.extent, int)
        for value in range(loop.extent):
            self.fixed[loop.axes[-1]] = value
            for line in by_depth[level + 1]:
                yield INDENT * depth + self._text(line, prefix)
            yield from self._copies(by_depth, level + 1, depth, prefix)
        del self.fixed[loop.axes[-1]]

    def _is_long(self, columns: Sequence[Loop]) -> bool:
        """Whether loops, of which one at least is printed, have many iterations."""
        extent = product([loop.extent for loop in columns])
        return self.nest.written_out > 0 and (isinstance(extent, Dim) or extent > BLOCK)

    def _header(self, loop: Loop) -> str:
        return _range(loop, *self._bounds(loop))

    def _bounds(self, loop: Loop) -> tuple[str, str]:
        if self.plan is not None and loop is self.nest.outermost:
            return "first", "last"
        return "0", self.size(loop.extent)

    # -- statements --------------------------------------------------------------------------

    def _first_elements(self, statements: Sequence[Statement]) -> dict[int, int]:
        """Per slot the constant part of all its places, if it is one: the pointer has it then.

        So the loops over different slices of one array are the same code.
        """
        found: dict[int, set[Size]] = {self.slot(("node", n)): {0} for n in self.body.gathered}
        for one in statements:
            if one.memory is not None:
                found.setdefault(self.slot(one.memory), set()).add(one.place.constant)
        alike = {slot: next(iter(places)) for slot, places in found.items() if len(places) == 1}
        return {slot: place for slot, place in alike.items() if isinstance(place, int)}

    def _text(self, line: Statement, prefix: str = "") -> str:
        memory = self._element(line.memory, line.place) if line.memory is not None else ""
        code = line.code.replace("{m}", memory).replace("{i}", self._affine(line.index))
        return code.replace("{a}", prefix + line.accumulator)

    def _element(self, memory: Memory, place: Affine) -> str:
        """The text of an element of memory."""
        if self.plan is not None:
            kind, node = memory
            own = ("partial", node) if kind == "node" and node in self.plan.gathered else memory
            if own in self.plan.memory:
                return self._own(own, self._affine(place) + self._row_of_tile(memory))
        slot = self.slot(memory)
        first = self.first.get(slot, 0)
        index = self._affine(place + -first) + self._row_of_tile(memory)
        return f"{self.pointer(slot, first)}[{index}]"

    def _row_of_tile(self, memory: Memory) -> str:
        """What is added to a place in memory of which each row of a tile has some."""
        kind, number = memory
        if self.body.tile is None or kind not in ("scratch", "spill"):
            return ""
        row = f"({self.nest.rows[-1].variable} - tile)"
        step = 1 if kind == "spill" else self.body.scratch[number]
        return f" + {row}" if step == 1 else f" + {row} * {self._factor(step)}"

    def _affine(self, form: Affine) -> str:
        loops = (*self.nest.rows, *self.nest.columns)
        merged = {axis for loop in loops for axis in loop.axes[:-1]}
        for axis, value in self.fixed.items():
            form = form + form.coefficient(axis) * value
        parts = [
            self._term(f"i{axis}", coefficient)
            for axis, coefficient in form.terms
            if axis not in merged and axis not in self.fixed
        ]
        parts += [self._term(name, coefficient) for name, coefficient in form.dynamic]
        if form.constant != 0 or not parts:
            parts.append(self.size(form.constant))
        return " + ".join(parts)

    def _term(self, name: str, coefficient: Size) -> str:
        return name if coefficient == 1 else f"{name} * {self._factor(coefficient)}"

    def _factor(self, size: Size) -> str:
        text = self.size(size)
        return f"({text})" if isinstance(size, Dim) else text


def _range(loop: Loop, start: str, end: str) -> str:
    return f"for {loop.variable} in range({end if start == '0' else f'{start}, {end}'}):"
