"""From a group of fused nodes to statements over scalars, in passes over each row.

The result still has one loop per axis of the group's domain, and places in memory as affine forms
of the loops; `compiler.codegen.loops` merges loops and prints them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from staticgraph.compiler.codegen.scalar import (
    ACCUMULATOR,
    INDEX,
    cast,
    combine,
    from_memory,
    identity,
    literal,
    pointwise,
    to_memory,
)
from staticgraph.compiler.codegen.statements import (
    SIGN,
    Access,
    Body,
    Check,
    Memory,
    Statement,
    Total,
)
from staticgraph.compiler.codegen.tiles import tile_of
from staticgraph.compiler.core.affine import Affine, run_time
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.lowering import (
    Gather,
    Index,
    IndexMap,
    Iota,
    Reduce,
    Scatter,
    SizeValue,
)
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import Binary, Call, Cast, Const, Expr, Name, Select
from staticgraph.compiler.schedule.access import (
    broadcast_index,
    canonical,
    contiguous_strides,
    offset_of,
)
from staticgraph.compiler.schedule.groups import (
    Fusion,
    LoopGroup,
    Store,
    is_row,
    totals_rows,
)
from staticgraph.compiler.schedule.row_passes import RowPasses, reduction_operand, row_passes_of

BEFORE, ROW, EACH = range(3)  # how often a statement runs: once per group, row or element
NOTHING: frozenset[int] = frozenset()
INT64 = np.dtype(np.int64)


@record
class Value(Record):
    """A scalar in the kernel, the loops that it changes with, and how often it does."""

    value: Expr
    axes: frozenset[int] = NOTHING
    scope: int = BEFORE


class Names:
    """Fresh names of kernel variables, and the expressions of sizes."""

    def __init__(self, size: Callable[[Size], Expr]) -> None:
        self.size = size
        self.count = 0

    def fresh(self, prefix: str = "v") -> str:
        """A name that no other variable of the kernel has."""
        self.count += 1
        return f"{prefix}{self.count}"


def build_body(fusion: Fusion, group: LoopGroup, names: Names) -> Body:
    """The statements of one loop group."""
    return _Builder(fusion, group, row_passes_of(fusion, group), names).build()


class _Builder:
    def __init__(
        self, fusion: Fusion, group: LoopGroup, row_passes: RowPasses, names: Names
    ) -> None:
        self.fusion = fusion
        self.nodes = fusion.nodes
        self.group = group
        self.row_passes = row_passes
        self.names = names
        self.split = group.split or 0
        self.body = Body(group, self.split)
        self.row_pass = 0
        self.lasting: dict[tuple[int, Index], Value] = {}
        self.passing: dict[tuple[int, Index], Value] = {}
        self.partial: dict[int, tuple[str, ...]] = {}
        self.dynamic: dict[str, Value] = {}
        self.loops = frozenset(
            axis for axis, size in enumerate(group.domain) if size != 1 and axis >= self.split
        )

    def build(self) -> Body:
        for target, value in self.group.fills:
            self._fill(target, literal(value, self.nodes[target].type.dtype))
        for row_pass in range(self.row_passes.count):
            self._before_pass(row_pass)
            self.body.passes.append([])
            self.passing = {}
            self._pass(row_pass)
        self._before_pass(self.row_passes.count)
        self.body.tile = tile_of(self.nodes, self.body)
        return self.body

    def _before_pass(self, row_pass: int) -> None:
        """What is known of a row before pass `row_pass`: finished reductions and row members."""
        self.row_pass = row_pass
        self.body.rows.append([])
        for node_id in self.group.members:
            node, level = self.nodes[node_id], self.row_passes.level[node_id]
            if isinstance(node.op.lowering, Reduce):
                if self._totals_rows(node):
                    if level == row_pass:
                        self._add_row(node, node.op.lowering.kind)
                elif level == row_pass - 1:
                    self._finish(node, node.op.lowering.kind)
            elif is_row(self.group, node.type.shape) and level == row_pass:
                index = canonical(node.type.shape)
                self.lasting[node_id, index] = value = self._compute(node, index)
                if node_id in self.fusion.stored:
                    self._write(node_id, index, value, ROW)

    def _pass(self, row_pass: int) -> None:
        for node_id in self.group.members:
            node = self.nodes[node_id]
            if node_id in self.row_passes.computed[row_pass]:
                # in order, so that the recursion through operands stays short
                self._value(node_id, canonical(node.type.shape))
            if self.row_passes.level[node_id] != row_pass:
                continue
            if isinstance(node.op.lowering, Reduce):
                if not self._totals_rows(node):
                    self._accumulate(node, node.op.lowering.kind)
            elif not is_row(self.group, node.type.shape):
                self._keep(node_id)
        for store, level in zip(self.group.stores, self.row_passes.store_level, strict=True):
            if level == row_pass:
                self._store(store)
        # every element is read before any is written: an output may take the place of an input
        for lines in (self.body.rows[row_pass], self.body.passes[row_pass]):
            lines.sort(key=lambda line: line.writes)

    def _keep(self, node_id: int) -> None:
        index = canonical(self.nodes[node_id].type.shape)
        if node_id in self.fusion.stored:
            self._write(node_id, index, self._value(node_id, index), EACH)
        elif node_id in self.row_passes.kept:
            value = self._value(node_id, index)
            self.body.scratch[node_id] = product(self.group.domain[self.split :])
            kept = to_memory(value.value, self.nodes[node_id].type.dtype)
            place = self._column(index)
            line = Statement("", kept, self.loops, ("scratch", node_id), place, node=node_id)
            self._line(line, EACH)

    def _column(self, index: Index) -> Affine:
        """The place of an element in the memory of one row."""
        shape = self.group.domain[self.split :]
        return offset_of(index[self.split :], contiguous_strides(shape))

    # -- values ------------------------------------------------------------------------------

    def _value(self, node_id: int, index: Index) -> Value:
        key = (node_id, index)
        found = self.passing.get(key) or self.lasting.get(key)
        if found is None:
            found = self._evaluate(self.nodes[node_id], index)
            (self.passing if found.scope == EACH else self.lasting)[key] = found
        return found

    def _evaluate(self, node: Node, index: Index) -> Value:
        lowering = node.op.lowering
        if isinstance(lowering, IndexMap):
            while isinstance(node.op.lowering, IndexMap):
                operand = self.nodes[node.operands[0]]
                index = node.op.lowering.map(index, operand.type, node.type, **node.attrs)
                node = operand
            return self._value(node.id, index)
        if isinstance(lowering, Iota):
            return self._affine_value(node, offset_of(index, contiguous_strides(node.type.shape)))
        if isinstance(lowering, SizeValue):
            return Value(Cast("i64", self.names.size(node.attrs["size"])))
        if node.op.name == "constant" and node.attrs["value"].array.size == 1:
            return Value(literal(node.attrs["value"].array.reshape(())[()], node.type.dtype))
        if node.id in self.fusion.virtual:
            return self._compute(node, index)
        if node.id in self.row_passes.level:
            return self._member(node, index)
        return self._load(node.id, index)

    def _member(self, node: Node, index: Index) -> Value:
        """An element of a value that this group computes."""
        if is_row(self.group, node.type.shape):  # one value, whatever the index in the row
            return self.lasting[node.id, canonical(node.type.shape)]
        if index != canonical(node.type.shape):
            return self._reload(node.id, index)
        earlier = self.row_passes.level[node.id] < self.row_pass
        if earlier and (node.id in self.fusion.stored or node.id in self.row_passes.kept):
            return self._reload(node.id, index)
        return self._compute(node, index)

    def _compute(self, node: Node, index: Index) -> Value:
        if isinstance(node.op.lowering, Gather):
            return self._gather(node, node.op.lowering, index)
        operands = [self.nodes[operand] for operand in node.operands]
        values = [
            self._value(operand.id, broadcast_index(index, operand.type.shape))
            for operand in operands
        ]
        found = pointwise(node, [value.value for value in values], operands[0].type.dtype)
        return self._assign(node, found, node.type.dtype, *values)

    def _assign(self, node: Node, value: Expr, dtype: DType, *values: Value) -> Value:
        axes = NOTHING.union(*(value.axes for value in values))
        scope = max((value.scope for value in values), default=BEFORE)
        name = self.names.fresh()
        self._line(Statement(name, value, axes, dtype=dtype, node=node.id), scope)
        return Value(Name(name), axes, scope)

    def _affine_value(self, node: Node, index: Affine) -> Value:
        axes, scope = self._extent(index)
        name = self.names.fresh()
        value = Cast("i64", INDEX)
        line = Statement(name, value, axes, index=index, dtype=INT64, node=node.id)
        self._line(line, scope)
        return Value(Name(name), axes, scope)

    def _gather(self, node: Node, lowering: Gather, index: Index) -> Value:
        x, indices = (self.nodes[operand] for operand in node.operands)
        inner, outer = lowering.split(index, x.type, indices.type, **node.attrs)
        axis = node.attrs["axis"]
        at = self._checked_index(node, indices, inner, x.type.shape[axis])
        return self._value(x.id, (*outer[:axis], at, *outer[axis + 1 :]))

    def _checked_index(self, node: Node, indices: Node, inner: Index, size: Size) -> Affine:
        """The index that `indices` holds, counted from the front; 0 where it is out of range."""
        given = self._value(indices.id, broadcast_index(inner, indices.type.shape))
        wrap = node.attrs.get("wrap", True)
        most, sign = self.names.fresh("most"), Cast("i64", Const(SIGN))
        self.body.before.append(Statement(most, sign, NOTHING, node=node.id))
        at = self._assign(node, Cast("i64", given.value), INT64, given)
        bound, zero = self.names.size(size), Const(0)
        if wrap:
            value = Select(Binary("<", at.value, zero), at.value + bound, at.value)
            at = self._assign(node, value, INT64, at)
        # without its sign a negative index is a large one, so the largest tells whether all fit
        met = Call("maximum", (Name(most), Binary("^", at.value, sign)))
        self._line(Statement(most, met, at.axes, node=node.id), at.scope)
        inside = Binary("&", Binary(">=", at.value, zero), Binary("<", at.value, bound))
        at = self._assign(node, Select(inside, at.value, Cast("i64", zero)), INT64, at)
        self.body.checks.append(Check(node.id, most, size, wrap))
        assert isinstance(at.value, Name)
        self.dynamic[at.value.name] = at
        return run_time(at.value.name)

    # -- memory --------------------------------------------------------------------------------

    def _line(self, statement: Statement, scope: int) -> None:
        if scope == BEFORE:
            self.body.before.append(statement)
        else:
            (self.body.rows if scope == ROW else self.body.passes)[-1].append(statement)

    def _extent(self, place: Affine) -> tuple[frozenset[int], int]:
        """The loops that a place changes with, and how often it does."""
        axes = frozenset(axis for axis, _ in place.terms)
        scope = BEFORE
        for name, _ in place.dynamic:
            axes |= self.dynamic[name].axes
            scope = max(scope, self.dynamic[name].scope)
        if any(axis >= self.split for axis in axes):
            scope = EACH
        elif axes:
            scope = max(scope, ROW)
        return axes, scope

    def _place(self, node_id: int, index: Index) -> Affine:
        return offset_of(index, contiguous_strides(self.nodes[node_id].type.shape))

    def _load(self, node_id: int, index: Index, least: int = BEFORE) -> Value:
        place = self._place(node_id, index)
        self.body.accesses.append(Access(node_id, place, self.row_pass, write=False))
        return self._read(("node", node_id), place, least)

    def _reload(self, node_id: int, index: Index) -> Value:
        """An element of a member that an earlier pass has put into memory."""
        if node_id in self.fusion.stored:
            return self._load(node_id, index, ROW)
        return self._read(("scratch", node_id), self._column(index), ROW)

    def _read(self, memory: Memory, place: Affine, least: int) -> Value:
        axes, scope = self._extent(place)
        scope = max(scope, least)
        name = self.names.fresh()
        _, node_id = memory
        dtype = self.nodes[node_id].type.dtype
        value = from_memory(dtype)
        self._line(Statement(name, value, axes, memory, place, dtype=dtype, node=node_id), scope)
        return Value(Name(name), axes, scope)

    def _write(self, node_id: int, index: Index, value: Value, scope: int) -> None:
        place = self._place(node_id, index)
        self.body.accesses.append(Access(node_id, place, self.row_pass, write=True))
        self._put(node_id, place, value.value, scope)

    def _update(self, node_id: int, place: Affine, value: Expr, scope: int) -> None:
        """Replace an element of memory by `value`, which may read it."""
        self.body.accesses.append(Access(node_id, place, self.row_pass, write=True, whole=False))
        self._put(node_id, place, value, scope)

    def _put(self, node_id: int, place: Affine, value: Expr, scope: int) -> None:
        axes = self.loops if scope == EACH else NOTHING
        kept = to_memory(value, self.nodes[node_id].type.dtype)
        self._line(Statement("", kept, axes, ("node", node_id), place, node=node_id), scope)

    def _old(self, node_id: int) -> Expr:
        """The value of the element of memory that a statement replaces."""
        return from_memory(self.nodes[node_id].type.dtype)

    def _fill(self, node_id: int, value: Expr) -> None:
        self.body.fills.append((node_id, to_memory(value, self.nodes[node_id].type.dtype)))
        self.body.accesses.append(Access(node_id, Affine(), 0, write=True, whole=False))

    def _store(self, store: Store) -> None:
        source, target = self.nodes[store.value], self.nodes[store.target]
        value = self._value(store.value, canonical(source.type.shape))
        index, lowering = store.index, target.op.lowering
        if isinstance(lowering, Scatter):
            axis, indices = target.attrs["axis"], self.nodes[target.operands[1]]
            loops = canonical(source.type.shape)
            inner, _ = lowering.split(loops, source.type, indices.type, **target.attrs)
            at = self._checked_index(target, indices, inner, target.type.shape[axis])
            index = (*index[:axis], at, *index[axis + 1 :])
        given = value.value
        if store.accumulates:
            self.body.placed.add(target.id)
            given = _met(store.kind, target.type.dtype, self._old(target.id), given)
        elif store.adds_zero and is_float(target.type.dtype):
            given = given + literal(0, target.type.dtype)
        once = value.scope != EACH and is_row(self.group, source.type.shape)
        self._update(target.id, self._place(target.id, index), given, ROW if once else EACH)

    # -- reductions ----------------------------------------------------------------------------

    def _accumulate(self, node: Node, kind: str) -> None:
        operand, index = reduction_operand(self.fusion, node.id)
        source, dtype = self.nodes[operand].type.dtype, node.type.dtype
        value = cast(self._value(operand, index).value, source, dtype)
        if self._across_rows(node):
            place = self._place(node.id, self._result_index(node))
            self._fill(node.id, identity(kind, dtype))
            self.body.gathered[node.id] = kind
            total = combine(kind, dtype, self._old(node.id), value)
            self._update(node.id, place, total, EACH)
            return
        name = self.names.fresh("acc")
        self.partial[node.id] = (name,)
        self.body.sums.append(Total(name, kind, dtype, node.id))
        start = Statement(name, identity(kind, dtype), NOTHING, dtype=dtype, node=node.id)
        self._line(start, ROW)
        if kind == "sum" and is_float(dtype):
            total = combine(kind, dtype, ACCUMULATOR, value)
            line = Statement("", total, self.loops, accumulator=name, dtype=dtype, node=node.id)
        else:
            total = combine(kind, dtype, Name(name), value)
            line = Statement(name, total, self.loops, node=node.id)
        self._line(line, EACH)

    def _totals_rows(self, node: Node) -> bool:
        return totals_rows(self.group, node, self.nodes[node.operands[0]].type.shape)

    def _add_row(self, node: Node, kind: str) -> None:
        """Add a row's value to the total over the rows."""
        operand, index = reduction_operand(self.fusion, node.id)
        value = self._value(operand, index).value
        value = cast(value, self.nodes[operand].type.dtype, node.type.dtype)
        self._total(node, kind, value, self._place(node.id, self._result_index(node)))

    def _across_rows(self, node: Node) -> bool:
        """Whether a reduction keeps the columns, so that it accumulates in memory."""
        if node.id not in self.fusion.deferred:
            return False
        return self.group.split is None or not any(
            axis >= self.split for axis in node.attrs["axes"]
        )

    def _result_index(self, node: Node) -> Index:
        _, index = reduction_operand(self.fusion, node.id)
        axes = node.attrs["axes"]
        if node.attrs["keepdims"]:
            return tuple(Affine() if axis in axes else i for axis, i in enumerate(index))
        return tuple(i for axis, i in enumerate(index) if axis not in axes)

    def _finish(self, node: Node, kind: str) -> None:
        """Name the result of a reduction of a row, or add it to the total over the rows."""
        if self._across_rows(node):
            return
        (name,) = self.partial[node.id]
        index = self._result_index(node)
        rows = frozenset(range(self.split))
        if node.id not in self.fusion.deferred:
            value = Value(Name(name), rows, ROW)
            self.lasting[node.id, canonical(node.type.shape)] = value
            if node.id in self.fusion.stored:
                self._write(node.id, index, value, ROW)
            return
        place = self._place(node.id, index)
        if place.terms:
            self._fill(node.id, identity(kind, node.type.dtype))
            self.body.gathered[node.id] = kind
            total = combine(kind, node.type.dtype, self._old(node.id), Name(name))
            self._update(node.id, place, total, ROW)
        else:
            self._total(node, kind, Name(name), place)

    def _total(self, node: Node, kind: str, value: Expr, place: Affine) -> None:
        """Sum the rows' partial results in float64: there may be many rows."""
        dtype = node.type.dtype
        wide = np.dtype(np.float64) if is_float(dtype) else dtype
        total = self.names.fresh("total")
        self.body.totals.append(Total(total, kind, wide, node.id))
        self.body.before.append(Statement(total, identity(kind, wide), NOTHING, node=node.id))
        added = combine(kind, wide, Name(total), cast(value, dtype, wide))
        self._line(Statement(total, added, NOTHING, node=node.id), ROW)
        self.body.accesses.append(Access(node.id, place, self.row_pass, write=True, whole=False))
        whole = to_memory(cast(Name(total), wide, dtype), dtype)
        end = Statement("", whole, NOTHING, ("node", node.id), place, node=node.id)
        self.body.after.append(end)


def _met(kind: str, dtype: DType, old: Expr, given: Expr) -> Expr:
    """What an element becomes that a value falls on: in the order of the loops."""
    if kind == "sum":
        return old + given
    if kind == "prod":
        return old * given
    return combine(kind, dtype, old, given)
