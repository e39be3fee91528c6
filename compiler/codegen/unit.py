"""Groups as bodies of functions, with what they take as parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.attention import AttentionOf, AttentionWriter, attention_of
from staticgraph.compiler.codegen.chunks import ChunkPlan, flat_chunks
from staticgraph.compiler.codegen.fills import pieces
from staticgraph.compiler.codegen.finite import (
    keep_before,
    look,
    look_on_the_way,
    look_over,
    noted,
)
from staticgraph.compiler.codegen.loops import Nest
from staticgraph.compiler.codegen.matmul import matmul, product_of, sum_of_chunks
from staticgraph.compiler.codegen.memory import MemoryPlan
from staticgraph.compiler.codegen.nesting import Nester
from staticgraph.compiler.codegen.product import Product
from staticgraph.compiler.codegen.scalar import pointer_type
from staticgraph.compiler.codegen.statements import SIGN, Body, Check, Memory
from staticgraph.compiler.core.dims import Dim, Size, Unknown
from staticgraph.compiler.core.record import Record, frozen, record
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Binary,
    Block,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Name,
    Return,
    Select,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import size_expression, times
from staticgraph.compiler.ir.walk import block_names, stored
from staticgraph.compiler.schedule.chunks import Cells, Cut
from staticgraph.compiler.schedule.groups import AttentionGroup, MatmulGroup, computed

MOST_TERMS = 8  # of a size that a unit computes itself


@frozen(eq=False)
class GroupLoops:
    """What is known of the loops of a group: statements, nesting, and chunks if there are any."""

    body: Body
    nest: Nest
    plan: ChunkPlan | None


@record
class Parameter(Record):
    """What a unit takes: `role` is slot, unknown, size, gemm, failed, lost, node, entry, or chunks,
    down or across: a number of chunks.

    A slot's pointer is that of its element `first`; an entry is one of the table, for an address.
    """

    name: str
    type: str
    role: str
    key: int | str | Unknown | Dim | Cut
    first: int = 0


@record
class Unit(Record):
    """The statements of a unit's body, its parameters, and the node of statements that have none.

    With `chunks` it does one chunk, from `first` to `last`, of a loop.
    """

    body: Block
    parameters: tuple[Parameter, ...]
    node: int
    chunks: Cut | None = None


def loop_units(
    nodes: Mapping[int, Node],
    memory: MemoryPlan,
    labels: Mapping[Unknown, str],
    index: int,
    part: GroupLoops,
    checked: Sequence[tuple[int, Size]] = (),
) -> Iterator[Unit]:
    """The units that compute the loops of a group, the `index`-th, one after the other.

    `checked`: the values that are checked for inf and nan, see `compiler.codegen.finite`.
    """
    body, plan = part.body, part.plan
    inside = pieces(nodes.__getitem__, body, part.nest, plan)
    for node, value in dict.fromkeys(body.fills):
        if node not in inside and (plan is None or node not in plan.gathered):
            yield UnitBuilder(nodes, memory, labels).fill(node, value)
    yield UnitBuilder(nodes, memory, labels).work(index, part, checked)
    if plan is not None and (plan.totals or plan.gathered):
        yield UnitBuilder(nodes, memory, labels).finish(index, part)


def product_units(
    nodes: Mapping[int, Node],
    memory: MemoryPlan,
    labels: Mapping[Unknown, str],
    index: int,
    group: MatmulGroup,
    checks: bool = False,
) -> Iterator[Unit]:
    """The units that compute a product, the `index`-th group.

    `checks`: it is checked for inf and nan where it is added to what is there.
    """
    product = product_of(nodes, group)
    if group.onto is not None and memory.place[group.node] != memory.place[group.onto]:
        yield UnitBuilder(nodes, memory, labels).copy(group.node, group.onto)
        memory = replace(memory, kept={})
    yield UnitBuilder(nodes, memory, labels).matmul(index, product, computed(group)[0], checks)
    if product.sums_chunks:
        yield UnitBuilder(nodes, memory, labels).add_depths(index, product, checks)


def attention_unit(
    nodes: Mapping[int, Node],
    memory: MemoryPlan,
    labels: Mapping[Unknown, str],
    index: int,
    group: AttentionGroup,
) -> Unit:
    """The unit that computes an attention or its gradients, the `index`-th group."""
    return UnitBuilder(nodes, memory, labels).attention(index, attention_of(nodes, group))


class UnitBuilder:
    """Makes one unit; names are given in the order of use, so that equal loops have one text."""

    def __init__(
        self, nodes: Mapping[int, Node], memory: MemoryPlan, labels: Mapping[Unknown, str]
    ) -> None:
        self.nodes = nodes
        self.memory = memory
        self.labels = labels
        self.parameters: dict[tuple[str, object, int], Parameter] = {}
        self.pointers = 0
        self.sizes = 0

    def matmul(self, index: int, product: Product, node: int, checks: bool) -> Unit:
        """The unit of a product, or of a chunk of it; the `index`-th group, named after `node`."""
        parts = self.size, self._memory_pointer(index)
        block = matmul(self.nodes[product.node], product, *parts, self._gemm, self._side)
        return self._made(self._added(block, product, checks), node, product.chunks)

    def add_depths(self, index: int, product: Product, checks: bool) -> Unit:
        """The unit that adds what the chunks of a product gave."""
        assert product.chunks is not None
        block = sum_of_chunks(product, self.size, self._memory_pointer(index))
        self._parameter("chunks", product.chunks, "i64")
        return self._made(self._added(block, product, checks), product.node)

    def _added(self, block: list[Stmt], product: Product, checks: bool) -> list[Stmt]:
        """Statements that may add a product to what is there: they keep that, and check the sum."""
        result = self.pointer(self.memory.place[product.node], 0)
        if checks and result in stored(block):
            block = self._noted(look(block, result, product.dtype), [product.node])
        return self._keeping(block)

    def attention(self, index: int, of: AttentionOf) -> Unit:
        """The unit of a chunk of an attention, the `index`-th group."""
        gemm = self._gemm(of.dtype.name)
        writer = AttentionWriter(of, self.size, self._memory_pointer(index), gemm)
        return self._made(writer.statements(), of.node, of.plan.chunks)

    def _side(self, cells: Cells) -> Name:
        return self._parameter(cells.counted, cells, "i64")

    def _memory_pointer(self, index: int) -> Callable[[Memory, int], Name]:
        return lambda memory, first: self.pointer(self._slot(index, memory), first)

    def work(self, index: int, part: GroupLoops, checked: Sequence[tuple[int, Size]] = ()) -> Unit:
        """The loops of a group, or one chunk of them."""
        checks = part.body.checks
        block = self._keeping([*self._nester(index, part).work(), *map(self._check, checks)])
        for node, count in checked:
            bounds: tuple[Expr, Expr] = ZERO, self.size(self.nodes[node].type.size)
            if count != 0:
                first, last = (times(Name(one), self.size(count)) for one in ("first", "last"))
                bounds = first, last
            block = self._looking(block, node, bounds)
        if checked:
            block = self._noted(block, [node for node, _ in checked])
        chunks = part.plan.chunks if part.plan else None
        return self._made(block, computed(part.body.group)[0], chunks)

    def _keeping(self, block: list[Stmt]) -> list[Stmt]:
        """Statements that put by what variables were before, where that is kept."""
        written = stored(block)
        for one in tuple(self.parameters.values()):
            if one.role == "slot" and one.key in self.memory.kept and Name(one.name) in written:
                assert isinstance(one.key, int)
                kept = self.pointer(self.memory.kept[one.key], one.first)
                block = keep_before(block, Name(one.name), kept)
        return block

    def _looking(self, block: list[Stmt], node: int, bounds: tuple[Expr, Expr]) -> list[Stmt]:
        """Statements that check a value that they write: on the way, or once more over it all."""
        slot, dtype = self.memory.place[node], self.nodes[node].type.dtype
        pointer = self.pointer(slot, 0)
        found = look_on_the_way(block, pointer, dtype)
        return found or [*block, look_over(pointer, dtype, *bounds)]

    def _noted(self, block: Sequence[Stmt], nodes: Sequence[int]) -> list[Stmt]:
        flag = self._parameter("lost", 0, "p_i64")
        return noted(block, [self.nodes[node].type.dtype for node in nodes], flag)

    def finish(self, index: int, part: GroupLoops) -> Unit:
        """What combines the chunks of a group."""
        assert part.plan is not None
        assert part.plan.chunks is not None
        block = self._keeping(self._nester(index, part).finish())
        self._parameter("chunks", part.plan.chunks, "i64")
        return self._made(block, computed(part.body.group)[0])

    def fill(self, node: int, value: Expr) -> Unit:
        """The unit that gives every element of a node a value."""
        return self._flat(self.nodes[node].type.size, self._node_pointer(node), value, node)

    def check(self, node: int) -> Unit:
        """The unit that checks a value for inf and nan."""
        size = self.nodes[node].type.size
        chunks = flat_chunks(size)
        start, stop = (Name("first"), Name("last")) if chunks else (ZERO, self.size(size))
        looking = look_over(self._node_pointer(node), self.nodes[node].type.dtype, start, stop)
        return self._made(self._noted([looking], [node]), node, chunks)

    def copy_slot(self, target: int, source: int, node: int) -> Unit:
        """The unit that copies a piece of memory, of the value of a node, over another one."""
        to, value = self.pointer(target, 0), Load(self.pointer(source, 0), Name("i"))
        return self._flat(self.nodes[node].type.size, to, value, node)

    def copy(self, target: int, source: int) -> Unit:
        """The unit that copies the value of one node over that of another."""
        to, value = self._node_pointer(target), Load(self._node_pointer(source), Name("i"))
        return self._flat(self.nodes[source].type.size, to, value, target, keeps=True)

    def _flat(self, size: Size, target: Name, value: Expr, node: int, keeps: bool = False) -> Unit:
        """The unit that puts a value, which may depend on `i`, at each place `i`."""
        chunks = flat_chunks(size)
        start, stop = (Name("first"), Name("last")) if chunks else (ZERO, self.size(size))
        block: list[Stmt] = [For("i", start, stop, (Store(target, Name("i"), value),))]
        return self._made(self._keeping(block) if keeps else block, node, chunks)

    def _nester(self, index: int, part: GroupLoops) -> Nester:
        return Nester(
            self.nodes.__getitem__,
            part.body,
            part.nest,
            part.plan,
            self.size,
            lambda memory: self._slot(index, memory),
            self.pointer,
        )

    def copy_entry(self, target: int, source: int, type: TensorType, node: int) -> Unit:
        """The unit that copies an array, of which entries of the table hold the addresses."""
        kind = pointer_type(type.dtype)
        to, start = (self._parameter("entry", entry, kind) for entry in (target, source))
        return self._flat(type.size, to, Load(start, Name("i")), node)

    def size(self, value: Size) -> Expr:
        """The expression of a size; one of many terms is computed before the call, and given.

        So what is put after many arrays of unknown sizes is the same code for all of them.
        """
        if isinstance(value, Dim) and len(value.terms) > MOST_TERMS:
            return self._parameter("size", value, "i64")
        return size_expression(value, self.labels)

    def pointer(self, slot: int, first: int) -> Name:
        """The address of element `first` of a piece of memory."""
        type = pointer_type(self.memory.slots[slot].dtype)
        return self._parameter("slot", slot, type, first)

    def _made(self, block: Sequence[Stmt], node: int, chunks: Cut | None = None) -> Unit:
        names = block_names(block)
        for atom, label in self.labels.items():
            if label in names:
                key = ("unknown", atom, 0)
                self.parameters[key] = Parameter(label, "i64", "unknown", atom)
        return Unit((*block, Return(ZERO)), tuple(self.parameters.values()), node, chunks)

    def _parameter(self, role: str, key: int | str | Dim | Cut, type: str, first: int = 0) -> Name:
        found = self.parameters.get((role, key, first))
        if found is None:
            name = role
            if role == "size":
                name = f"size{self.sizes}"
                self.sizes += 1
            if role in ("slot", "node", "entry"):
                name = f"{'node' if role == 'node' else 'b'}{self.pointers}"
                self.pointers += 1
            found = Parameter(name, type, role, key, first)
            self.parameters[role, key, first] = found
        return Name(found.name)

    def _slot(self, index: int, memory: Memory) -> int:
        kind, node = memory
        return self.memory.place[node] if kind == "node" else self.memory.own[index, memory]

    def _node_pointer(self, node: int) -> Name:
        return self.pointer(self.memory.place[node], 0)

    def _gemm(self, dtype: str) -> Name:
        return self._parameter("gemm", dtype, "i64")

    def _check(self, check: Check) -> Stmt:
        """The end of the unit, if an index was out of range."""
        bound, sign = self.size(check.size), Cast("i64", Const(SIGN))
        failed = self._parameter("failed", 0, "p_i64")
        node = self._parameter("node", check.node, "i64")
        met: Expr = Binary("^", Name(check.most), sign)
        if check.wrap:
            met = Select(Binary("<", met, ZERO), met - bound, met)
        report = Store(failed, ZERO, met, node=check.node)
        outside = Binary(">=", Name(check.most), Binary("^", bound, sign))
        if not isinstance(check.size, int) or not check.size:
            # types let no index into an axis of size 0, but `most` begins there
            outside = Binary("&", outside, Binary("<", ZERO, bound))
        return If(outside, (report, Return(node + ONE)))
