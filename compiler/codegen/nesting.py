"""A group's statements as nested loops.

A group that is computed in chunks is made in two parts: `work` does the iterations from `first`
to `last` of the outermost loop and leaves what it combined in memory of the chunk; `finish`
combines the chunks in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from staticgraph.compiler.codegen.chunks import ChunkPlan
from staticgraph.compiler.codegen.fills import pieces
from staticgraph.compiler.codegen.loops import STRIP, Nest, NestedLoop, statements_of
from staticgraph.compiler.codegen.scalar import (
    ACCUMULATOR,
    ELEMENT,
    INDEX,
    cast,
    combine,
    from_memory,
    identity,
    literal,
    to_memory,
)
from staticgraph.compiler.codegen.short_rows import whole_vectors
from staticgraph.compiler.codegen.statements import (
    INDICES,
    ORIGIN,
    Blocks,
    Body,
    Memory,
    Statement,
    Tile,
    Total,
)
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Dim, Size, product
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import (
    ZERO,
    Assign,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Load,
    Name,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.ir.walk import filled

FLOAT64 = np.dtype(np.float64)
BLOCK = 1024  # elements whose sum is rounded to the dtype before it is added to the total


class Nester:
    """Makes the loops of one group.

    Args:
        slot: the number of a piece of memory; equal for values that share one.
        pointer: `(slot, first)`, the address of its element `first`.
        size: the expression of a size.
    """

    def __init__(
        self,
        nodes: Callable[[int], Node],
        body: Body,
        nest: Nest,
        plan: ChunkPlan | None,
        size: Callable[[Size], Expr],
        slot: Callable[[Memory], int],
        pointer: Callable[[int, int], Name],
    ) -> None:
        self.nodes = nodes
        self.body = body
        self.nest = nest
        self.plan = plan
        self.size = size
        self.slot = slot
        self.pointer = pointer
        self.fixed: dict[int, int] = {}
        self.pieces = pieces(nodes, body, nest, plan)
        self.first = self._first_elements(statements_of(body))

    def work(self) -> list[Stmt]:
        """The loops, or one chunk of them."""
        found = [*self._straight(self.body.before), *self._fills()]
        found += self._rows() if self.body.tile is None else self._tiled(self.body.tile)
        if self.plan is None:
            return [*found, *self._straight(self.body.after)]
        for i, total in enumerate(self.plan.totals):
            value = to_memory(Name(total.name), total.dtype)
            found.append(_store(self._own(("total", i)), value, total.node))
        return found

    def finish(self) -> list[Stmt]:
        """What combines the chunks."""
        assert self.plan is not None
        found = [one for node in self.plan.gathered for one in self._gather(node)]
        if not self.plan.totals:
            return found
        rows = [] if self.nest.rows else self.body.rows
        found += self._straight(self.body.before)
        for row in rows[:1]:
            found += self._straight(row)
        for i, total in enumerate(self.plan.totals):
            found += self._combine(total, self._memory(("total", i)))
        for row in rows[1:]:
            found += self._straight(row)
        return [*found, *self._straight(self.body.after)]

    # -- chunks ------------------------------------------------------------------------------

    def _memory(self, memory: Memory) -> Name:
        return self.pointer(self.slot(memory), 0)

    def _own(self, memory: Memory, *place: Expr) -> Load:
        """The element of the chunk's own memory at the sum of some terms."""
        assert self.plan is not None
        start = times(Name("chunk"), self.size(self.plan.memory[memory]))
        return Load(self._memory(memory), total_of([start, *place]))

    def _fills(self) -> list[Stmt]:
        found: list[Stmt] = []
        for node in self.plan.gathered if self.plan else ():
            type = self.nodes(node).type
            value = to_memory(identity(self.body.gathered[node], type.dtype), type.dtype)
            store = _store(self._own(("partial", node), Name("i")), value, node)
            found.append(For("i", ZERO, self.size(type.size), (store,)))
        return found

    def _gather(self, node: int) -> list[Stmt]:
        """Combine what the chunks gathered for a node."""
        kind, type = self.body.gathered[node], self.nodes(node).type
        assert self.plan is not None
        step = self.size(self.plan.memory["partial", node])
        target = Load(self._memory(("node", node)), Name("i"))
        source = Load(self._memory(("partial", node)), Name("c") * step + Name("i"))
        old, new = (from_memory(type.dtype, one) for one in (target, source))
        start, value = identity(kind, type.dtype), combine(kind, type.dtype, old, new)

        def over_elements(value: Expr) -> Stmt:
            store = _store(target, to_memory(value, type.dtype), node)
            return For("i", ZERO, self.size(type.size), (store,))

        return [
            over_elements(start),
            For("c", ZERO, Name("chunks"), (over_elements(value),)),
        ]

    def _combine(self, total: Total, memory: Name) -> list[Stmt]:
        """Combine what the chunks left of a total; float sums are added in float64."""
        element = from_memory(total.dtype, Load(memory, Name("c")))
        wide = FLOAT64 if total.kind == "sum" and is_float(total.dtype) else total.dtype
        whole = Name(f"whole_{total.name}")
        value = combine(total.kind, wide, whole, cast(element, total.dtype, wide))
        return [
            Assign(whole.name, identity(total.kind, wide), node=total.node),
            For("c", ZERO, Name("chunks"), (Assign(whole.name, value, node=total.node),)),
            Assign(total.name, cast(whole, wide, total.dtype), node=total.node),
        ]

    # -- loops -------------------------------------------------------------------------------

    def _rows(self) -> list[Stmt]:
        """The loops over rows, and inside, pass by pass, what is done with each."""
        rows = self.body.rows
        if self.plan is not None and not self.nest.rows:
            rows = rows[:1]
        found: list[Stmt] = []
        for row_pass, row in enumerate(rows):
            passes = self.body.passes[row_pass : row_pass + 1]
            found += self._row_pass(row, passes[0] if passes else ())
        return self._inside(self.nest.rows, found)

    def _inside(self, loops: Sequence[NestedLoop], block: Sequence[Stmt]) -> list[Stmt]:
        """Statements inside loops, the first of which is the outermost."""
        found = list(block)
        for loop in reversed(loops):
            found = [self._loop(loop, found)]
        return found

    def _loop(self, loop: NestedLoop, block: Sequence[Stmt]) -> For:
        return For(loop.variable, *self._bounds(loop), tuple(block))

    def _row_pass(self, row: Sequence[Statement], over_columns: Sequence[Statement]) -> list[Stmt]:
        return [*self._straight(row), *self._pass(over_columns)]

    def _tiled(self, tile: Tile) -> list[Stmt]:
        """The loops over rows, the innermost in tiles: a loop over the tile for each segment."""
        loop = self.nest.rows[-1]
        start, end = self._bounds(loop)
        rows = self.size(tile.rows)
        known: list[Stmt] = []
        if isinstance(tile.rows, Dim):
            known.append(Assign("rows", rows))
            rows = Name("rows")
        first = Name("tile")
        last = Call("min", (first + rows, end))
        segments: list[Stmt] = []
        for segment in tile.segments:
            block: list[Stmt] = []
            for i in segment.read:
                spill = tile.spills[i]
                value = from_memory(spill.dtype, self._spill(i))
                block.append(Assign(spill.name, value, node=spill.node))
            for row, over_columns in segment.row_passes:
                block += self._row_pass(row, over_columns)
            for i in segment.left:
                spill = tile.spills[i]
                value = to_memory(Name(spill.name), spill.dtype)
                block.append(_store(self._spill(i), value, spill.node))
            segments.append(For(loop.variable, first, last, tuple(block)))
        tiles = For("tile", start, end, tuple(segments), rows)
        return self._inside(self.nest.rows[:-1], [*known, tiles])

    def _spill(self, number: int) -> Load:
        """What a tile keeps of a variable of the row."""
        return self._element(("spill", number), Affine())

    def _pass(self, statements: Sequence[Statement]) -> list[Stmt]:
        """A pass over the columns, each statement in the outermost loop where it can stand."""
        if not statements:
            return []
        columns = self.nest.columns
        places = {axis: i for i, loop in enumerate(columns) for axis in loop.axes}
        by_depth: list[list[Statement]] = [[] for _ in range(len(columns) + 1)]
        for one in statements:
            inside = max((places[axis] + 1 for axis in one.axes if axis in places), default=0)
            by_depth[inside].append(one)
        sums = [one for one in statements if one.accumulator]
        wide = sums if not self.nest.rows and self._is_long(columns) else []
        found = list(self._straight(by_depth[0]))
        for one in wide:
            found.append(Assign(f"wide_{one.accumulator}", literal(0, FLOAT64), node=one.node))
        if all(loop.extent != 0 for loop in columns):
            found += self._nest(by_depth, 0, wide)
        for one in wide:
            assert one.dtype is not None
            total = cast(Name(f"wide_{one.accumulator}"), FLOAT64, one.dtype)
            found.append(Assign(one.accumulator, total, node=one.node))
        return found

    def _nest(
        self, by_depth: list[list[Statement]], level: int, wide: Sequence[Statement]
    ) -> list[Stmt]:
        """The loops from `level` on."""
        columns = self.nest.columns
        made = self.nest.written_out
        if self.body.blocks is not None and level == self.body.blocks.level:
            return self._in_blocks(self.body.blocks, by_depth, wide)
        if level == made:
            return self._copies(by_depth, level)
        if level == made - 1:
            return self._innermost(by_depth, wide)
        block = [*self._straight(by_depth[level + 1]), *self._nest(by_depth, level + 1, wide)]
        if level == 0:
            block = [*self._filled_pieces(columns[0]), *block]
        loop = self._loop(columns[level], block)
        if level == made - 2 and self.nest.strips:
            _, end = self._bounds(columns[level + 1])
            return [For("strip", ZERO, end, (loop,), Const(STRIP))]
        return [loop]

    def _in_blocks(
        self, blocks: Blocks, by_depth: list[list[Statement]], wide: Sequence[Statement]
    ) -> list[Stmt]:
        """A loop in blocks: what finds the indices of a block, and then the rest."""
        level = blocks.level
        loop = self.nest.columns[level]
        start, end = self._bounds(loop)
        finding = self._straight(blocks.first)
        using: list[Stmt] = []
        for i, line in enumerate(blocks.indices):
            index = self._index_of_block(i, loop)
            finding.append(_store(index, Name(line.name), line.node))
            using.append(Assign(line.name, index, node=line.node))
        rest = [line for line in by_depth[level + 1] if line not in blocks.left_out]
        using += [*self._straight(rest), *self._nest(by_depth, level + 1, wide)]
        if level == 0:
            using = [*self._filled_pieces(loop), *using]
        first = Name("block")
        last = Call("min", (first + Const(INDICES), end))
        both = tuple(For(loop.variable, first, last, tuple(part)) for part in (finding, using))
        return [For("block", start, end, both, Const(INDICES))]

    def _index_of_block(self, number: int, loop: NestedLoop) -> Load:
        """What a block keeps of an index."""
        place = Name(loop.variable) - Name("block")
        if self.plan is not None:
            return self._own(("index", number), place)
        return Load(self._memory(("index", number)), place)

    def _filled_pieces(self, outer: NestedLoop) -> list[Stmt]:
        """What fills the pieces that an iteration of the outermost loop writes to."""
        found: list[Stmt] = []
        for node, value in dict.fromkeys(self.body.fills):
            if node not in self.pieces:
                continue
            size = self.pieces[node]
            place = Affine(0, ((outer.axes[-1], size),))
            element = self._element(("node", node), place)
            at = Load(element.pointer, total_of([element.index, Name("i")]))
            for first, last in whole_vectors(size, most=size):
                store = _store(at, value, node)
                found.append(For("i", self.size(first), self.size(last), (store,)))
        return found

    def _innermost(self, by_depth: list[list[Statement]], wide: Sequence[Statement]) -> list[Stmt]:
        """The innermost loop; sums are added in float64 now and then: rounding does not pile up."""
        level = self.nest.written_out - 1
        loop = self.nest.columns[level]
        start, end = self._bounds(loop)
        in_blocks = not self.nest.strips and bool(wide) and self._is_long([loop])
        part = Name("strip" if self.nest.strips else "block")
        first, last = start, end
        if self.nest.strips or in_blocks:
            length = Const(STRIP if self.nest.strips else BLOCK)
            first, last = part, Call("min", (part + length, end))
        prefix = "part_" if wide else ""
        block = [
            *self._straight(by_depth[level + 1], prefix),
            *self._copies(by_depth, level + 1, prefix),
        ]
        found: list[Stmt] = []
        for one in wide:
            assert one.dtype is not None
            found.append(Assign(f"part_{one.accumulator}", literal(0, one.dtype), node=one.node))
        spans = [(first, last)]
        if self.nest.overlaps:
            spans = [(self.size(a), self.size(b)) for a, b in whole_vectors(loop.extent)]
        found += [For(loop.variable, *span, tuple(block)) for span in spans]
        for one in wide:
            whole = f"wide_{one.accumulator}"
            added = Name(whole) + Cast("f64", Name(f"part_{one.accumulator}"))
            found.append(Assign(whole, added, node=one.node))
        return [For("block", start, end, tuple(found), Const(BLOCK))] if in_blocks else found

    def _copies(self, by_depth: list[list[Statement]], level: int, prefix: str = "") -> list[Stmt]:
        """The loops from `level` on, which are written out: a copy of the body per iteration."""
        if level == len(self.nest.columns):
            return []
        loop = self.nest.columns[level]
        assert isinstance(loop.extent, int)
        found: list[Stmt] = []
        for value in range(loop.extent):
            self.fixed[loop.axes[-1]] = value
            found += self._straight(by_depth[level + 1], prefix)
            found += self._copies(by_depth, level + 1, prefix)
        self.fixed.pop(loop.axes[-1], None)
        return found

    def _is_long(self, columns: Sequence[NestedLoop]) -> bool:
        """Whether loops, of which one at least is not written out, have many iterations."""
        extent = product([loop.extent for loop in columns])
        return self.nest.written_out > 0 and (isinstance(extent, Dim) or extent > BLOCK)

    def _bounds(self, loop: NestedLoop) -> tuple[Expr, Expr]:
        if self.plan is not None and loop is self.nest.outermost:
            return Name("first"), Name("last")
        return ZERO, self.size(loop.extent)

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

    def _straight(self, lines: Sequence[Statement], prefix: str = "") -> list[Stmt]:
        """Statements one after the other; `prefix` is that of the accumulators' names."""
        return [self._statement(line, prefix) for line in lines]

    def _statement(self, line: Statement, prefix: str) -> Stmt:
        node = line.node
        if line.memory is None:
            if line.accumulator:
                name = prefix + line.accumulator
                value = filled(line.value, {ACCUMULATOR.key: Name(name)})
                return Assign(name, value, node=node)
            if line.index is ORIGIN:
                return Assign(line.name, line.value, node=node)
            value = filled(line.value, {INDEX.key: total_of(self._terms(line.index))})
            return Assign(line.name, value, node=node)
        element = self._element(line.memory, line.place)
        value = filled(line.value, {ELEMENT.key: element})
        if line.name:
            return Assign(line.name, value, node=node)
        return _store(element, value, node)

    def _element(self, memory: Memory, place: Affine) -> Load:
        """An element of memory."""
        if self.plan is not None:
            kind, node = memory
            own = ("partial", node) if kind == "node" and node in self.plan.gathered else memory
            if own in self.plan.memory:
                return self._own(own, *self._terms(place), *self._row_of_tile(memory))
        slot = self.slot(memory)
        first = self.first.get(slot, 0)
        terms = [*self._terms(place + -first), *self._row_of_tile(memory)]
        return Load(self.pointer(slot, first), total_of(terms))

    def _row_of_tile(self, memory: Memory) -> list[Expr]:
        """What is added to a place in memory of which each row of a tile has some."""
        kind, number = memory
        if self.body.tile is None or kind not in ("scratch", "spill"):
            return []
        row = Name(self.nest.rows[-1].variable) - Name("tile")
        step = 1 if kind == "spill" else self.body.scratch[number]
        return [times(row, self.size(step))]

    def _terms(self, form: Affine) -> list[Expr]:
        """What an index is the sum of."""
        loops = (*self.nest.rows, *self.nest.columns)
        merged = {axis for loop in loops for axis in loop.axes[:-1]}
        for axis, value in self.fixed.items():
            form = form + form.coefficient(axis) * value
        terms = [
            times(Name(f"i{axis}"), self.size(coefficient))
            for axis, coefficient in form.terms
            if axis not in merged and axis not in self.fixed
        ]
        terms += [times(Name(name), self.size(step)) for name, step in form.dynamic]
        return [*terms, self.size(form.constant)]


def _store(element: Load, value: Expr, node: int) -> Store:
    return Store(element.pointer, element.index, value, node=node)
