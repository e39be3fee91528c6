"""From a group of fused nodes to statements over scalars, in passes over each row.

The result still has one loop per axis of the group's domain, and places in memory as affine forms
of the loops; `compiler.codegen.loops` merges loops and prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compiler.codegen.scalar import (
    cast,
    combine,
    from_memory,
    identity,
    literal,
    pointwise_code,
    to_memory,
)
from compiler.codegen.statements import Access, Body, Check, Memory, Statement, Total
from compiler.codegen.tiles import tile_of
from compiler.core.affine import Affine, run_time
from compiler.core.dims import Size, product
from compiler.core.lowering import (
    Gather,
    Index,
    IndexMap,
    Iota,
    Reduce,
    Scatter,
    SizeValue,
)
from compiler.core.types import DType
from compiler.graph.view import Node
from compiler.schedule.demand import (
    broadcast_index,
    canonical,
    contiguous_strides,
    offset_of,
)
from compiler.schedule.groups import (
    Fusion,
    LoopGroup,
    Store,
    is_row,
    totals_rows,
)
from compiler.schedule.stages import Stages, reduction_operand, stages_of

BEFORE, ROW, ELEMENT = range(3)  # how often a statement runs: once per group, row or element
NOTHING: frozenset[int] = frozenset()
INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar in the kernel: its text, the loops that it changes with, and how often it does."""

    text: str
    axes: frozenset[int] = NOTHING
    scope: int = BEFORE


class Names:
    """Fresh names of kernel variables, and the text of sizes."""

    def __init__(self, size: Callable[[Size], str]) -> None:
        self.size = size
        self.count = 0

    def fresh(self, prefix: str = "v") -> str:
        """A name that no other variable of the kernel has."""
        self.count += 1
        return f"{prefix}{self.count}"


def build_body(fusion: Fusion, group: LoopGroup, names: Names) -> Body:
    """The statements of one loop group."""
    return _Builder(fusion, group, stages_of(fusion, group), names).build()


class _Builder:
    def __init__(self, fusion: Fusion, group: LoopGroup, stages: Stages, names: Names) -> None:
        self.fusion = fusion
        self.nodes = fusion.nodes
        self.group = group
        self.stages = stages
        self.names = names
        self.split = group.split or 0
        self.body = Body(group, self.split)
        self.stage = 0
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
        for stage in range(self.stages.count):
            self._row_stage(stage)
            self.body.passes.append([])
            self.passing = {}
            self._pass(stage)
        self._row_stage(self.stages.count)
        self.body.tile = tile_of(self.nodes, self.body)
        return self.body

    def _row_stage(self, stage: int) -> None:
        """What is known of a row before pass `stage`: finished reductions and row members."""
        self.stage = stage
        self.body.rows.append([])
        for node_id in self.group.members:
            node, level = self.nodes[node_id], self.stages.level[node_id]
            if isinstance(node.op.lowering, Reduce):
                if self._totals_rows(node):
                    if level == stage:
                        self._add_row(node, node.op.lowering.kind)
                elif level == stage - 1:
                    self._finish(node, node.op.lowering.kind)
            elif is_row(self.group, node.type.shape) and level == stage:
                index = canonical(node.type.shape)
                self.lasting[node_id, index] = value = self._compute(node, index)
                if node_id in self.fusion.stored:
                    self._write(node_id, index, value, ROW)

    def _pass(self, stage: int) -> None:
        for node_id in self.group.members:
            node = self.nodes[node_id]
            if node_id in self.stages.computed[stage]:
                # in order, so that the recursion through operands stays short
                self._value(node_id, canonical(node.type.shape))
            if self.stages.level[node_id] != stage:
                continue
            if isinstance(node.op.lowering, Reduce):
                if not self._totals_rows(node):
                    self._accumulate(node, node.op.lowering.kind)
            elif not is_row(self.group, node.type.shape):
                self._keep(node_id)
        for store, level in zip(self.group.stores, self.stages.store_level, strict=True):
            if level == stage:
                self._store(store)
        # every element is read before any is written: an output may take the place of an input
        for lines in (self.body.rows[stage], self.body.passes[stage]):
            lines.sort(key=lambda line: line.code.startswith("{m}"))

    def _keep(self, node_id: int) -> None:
        index = canonical(self.nodes[node_id].type.shape)
        if node_id in self.fusion.stored:
            self._write(node_id, index, self._value(node_id, index), ELEMENT)
        elif node_id in self.stages.kept:
            value = self._value(node_id, index)
            self.body.scratch[node_id] = product(self.group.domain[self.split :])
            code = to_memory(value.text, self.nodes[node_id].type.dtype)
            place = self._column(index)
            self._line(Statement(code, self.loops, ("scratch", node_id), place), ELEMENT)

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
            (self.passing if found.scope == ELEMENT else self.lasting)[key] = found
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
            return self._affine_value(index[0])
        if isinstance(lowering, SizeValue):
            return Value(f"i64({self.names.size(node.attrs['size'])})")
        if node.op.name == "constant" and node.attrs["value"].array.size == 1:
            return Value(literal(node.attrs["value"].array.reshape(())[()], node.type.dtype))
        if node.id in self.fusion.virtual:
            return self._compute(node, index)
        if node.id in self.stages.level:
            return self._member(node, index)
        return self._load(node.id, index)

    def _member(self, node: Node, index: Index) -> Value:
        """An element of a value that this group computes."""
        if is_row(self.group, node.type.shape):  # one value, whatever the index in the row
            return self.lasting[node.id, canonical(node.type.shape)]
        if index != canonical(node.type.shape):
            return self._reload(node.id, index)
        earlier = self.stages.level[node.id] < self.stage
        if earlier and (node.id in self.fusion.stored or node.id in self.stages.kept):
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
        code = pointwise_code(node, [value.text for value in values], operands[0].type.dtype)
        return self._assign(code, node.type.dtype, *values)

    def _assign(self, code: str, dtype: DType, *values: Value) -> Value:
        axes = NOTHING.union(*(value.axes for value in values))
        scope = max((value.scope for value in values), default=BEFORE)
        name = self.names.fresh()
        self._line(Statement(f"{name} = {code}", axes, dtype=dtype), scope)
        return Value(name, axes, scope)

    def _affine_value(self, index: Affine) -> Value:
        axes, scope = self._extent(index)
        name = self.names.fresh()
        self._line(Statement(f"{name} = i64({{i}})", axes, index=index, dtype=INT64), scope)
        return Value(name, axes, scope)

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
        least, most = self.names.fresh("least"), self.names.fresh("most")
        for name, text in ((least, "9223372036854775807"), (most, "-9223372036854775807")):
            self.body.before.append(Statement(f"{name} = i64({text})", NOTHING))
        at = self._assign(f"i64({given.text})", INT64, given)
        for name, function in ((least, "minimum"), (most, "maximum")):
            self._line(Statement(f"{name} = {function}({name}, {at.text})", at.axes), at.scope)
        bound = self.names.size(size)
        if wrap:
            at = self._assign(f"select({at.text} < 0, {at.text} + {bound}, {at.text})", INT64, at)
        inside = f"({at.text} >= 0) & ({at.text} < {bound})"
        at = self._assign(f"select({inside}, {at.text}, i64(0))", INT64, at)
        self.body.checks.append(Check(node.id, least, most, size, wrap))
        self.dynamic[at.text] = at
        return run_time(at.text)

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
            scope = ELEMENT
        elif axes:
            scope = max(scope, ROW)
        return axes, scope

    def _place(self, node_id: int, index: Index) -> Affine:
        return offset_of(index, contiguous_strides(self.nodes[node_id].type.shape))

    def _load(self, node_id: int, index: Index, least: int = BEFORE) -> Value:
        place = self._place(node_id, index)
        self.body.accesses.append(Access(node_id, place, self.stage, write=False))
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
        dtype = self.nodes[memory[1]].type.dtype
        code = f"{name} = {from_memory(dtype)}"
        self._line(Statement(code, axes, memory, place, dtype=dtype), scope)
        return Value(name, axes, scope)

    def _write(self, node_id: int, index: Index, value: Value, scope: int) -> None:
        place = self._place(node_id, index)
        self.body.accesses.append(Access(node_id, place, self.stage, write=True))
        axes = self.loops if scope == ELEMENT else NOTHING
        code = to_memory(value.text, self.nodes[node_id].type.dtype)
        self._line(Statement(code, axes, ("node", node_id), place), scope)

    def _update(self, node_id: int, place: Affine, code: str, scope: int) -> None:
        """Replace an element of memory by `code`, in which `{o}` is its old value."""
        self.body.accesses.append(Access(node_id, place, self.stage, write=True, whole=False))
        axes = self.loops if scope == ELEMENT else NOTHING
        dtype = self.nodes[node_id].type.dtype
        code = to_memory(code.replace("{o}", from_memory(dtype)), dtype)
        self._line(Statement(code, axes, ("node", node_id), place), scope)

    def _fill(self, node_id: int, value: str) -> None:
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
        code = value.text
        if store.accumulates:
            self.body.placed.add(target.id)
            code = f"{{o}} + {code}"
        elif store.adds_zero and target.type.dtype.kind == "f":
            code = f"{code} + {literal(0, target.type.dtype)}"
        self._update(target.id, self._place(target.id, index), code, ELEMENT)

    # -- reductions ----------------------------------------------------------------------------

    def _accumulate(self, node: Node, kind: str) -> None:
        operand, index = reduction_operand(self.fusion, node.id)
        source, dtype = self.nodes[operand].type.dtype, node.type.dtype
        value = self._value(operand, index)
        text = cast(value.text, source, dtype)
        if self._across_rows(node):
            place = self._place(node.id, self._result_index(node))
            self._fill(node.id, identity(kind, dtype))
            self.body.gathered[node.id] = kind
            self._update(node.id, place, combine(kind, dtype, "{o}", text), ELEMENT)
            return
        name = self.names.fresh("acc")
        self.partial[node.id] = (name,)
        self.body.sums.append(Total(name, kind, dtype))
        self._line(Statement(f"{name} = {identity(kind, dtype)}", NOTHING, dtype=dtype), ROW)
        if kind == "sum" and dtype.kind == "f":
            code = f"{{a}} = {combine(kind, dtype, '{a}', text)}"
            self._line(Statement(code, self.loops, accumulator=name, dtype=dtype), ELEMENT)
        else:
            code = f"{name} = {combine(kind, dtype, name, text)}"
            self._line(Statement(code, self.loops), ELEMENT)

    def _totals_rows(self, node: Node) -> bool:
        return totals_rows(self.group, node, self.nodes[node.operands[0]].type.shape)

    def _add_row(self, node: Node, kind: str) -> None:
        """Add a row's value to the total over the rows."""
        operand, index = reduction_operand(self.fusion, node.id)
        value = self._value(operand, index)
        text = cast(value.text, self.nodes[operand].type.dtype, node.type.dtype)
        self._total(node, kind, text, self._place(node.id, self._result_index(node)))

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
            value = Value(name, rows, ROW)
            self.lasting[node.id, canonical(node.type.shape)] = value
            if node.id in self.fusion.stored:
                self._write(node.id, index, value, ROW)
            return
        place = self._place(node.id, index)
        if place.terms:
            self._fill(node.id, identity(kind, node.type.dtype))
            self.body.gathered[node.id] = kind
            self._update(node.id, place, combine(kind, node.type.dtype, "{o}", name), ROW)
        else:
            self._total(node, kind, name, place)

    def _total(self, node: Node, kind: str, name: str, place: Affine) -> None:
        """Sum the rows' partial results in float64: there may be many rows."""
        dtype = node.type.dtype
        wide = np.dtype(np.float64) if dtype.kind == "f" else dtype
        total = self.names.fresh("total")
        self.body.totals.append(Total(total, kind, wide))
        self.body.before.append(Statement(f"{total} = {identity(kind, wide)}", NOTHING))
        code = f"{total} = {combine(kind, wide, total, cast(name, dtype, wide))}"
        self._line(Statement(code, NOTHING), ROW)
        self.body.accesses.append(Access(node.id, place, self.stage, write=True, whole=False))
        code = to_memory(cast(total, wide, dtype), dtype)
        store = Statement(code, NOTHING, ("node", node.id), place)
        self.body.after.append(store)
