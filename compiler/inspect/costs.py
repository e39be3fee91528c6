"""What a group has to do at least: operations and bytes of each node, for given sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from staticgraph.compiler.codegen.attention import attention_of
from staticgraph.compiler.codegen.matmul import product_of
from staticgraph.compiler.codegen.region import Region
from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.codegen.statements import Body, Statement
from staticgraph.compiler.core.dims import Size, Unknown, evaluate
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType, TupleType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import NOWHERE, Binary, Call, Expr, Unary
from staticgraph.compiler.ir.walk import parts
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    Group,
    HostGroup,
    LoopGroup,
    MatmulGroup,
    computed,
)

FUNCTION = 8  # statements that take as long as one function such as exp
_ARITHMETIC = frozenset("+-*/")


@frozen
class Cost:
    """What a group does for a node.

    Attributes:
        node: its number in the kernel.
        work: how many statements it runs, reads and writes of memory too; a function such as exp
            counts as `FUNCTION`.
        flops: the operations on floats, a function being one; None of what NumPy does.
        bytes: what it reads of other groups' values and what it leaves in memory, each element once
            for the group.
        reads: whether the group computes nothing of it, but reads it.
    """

    node: int
    work: int
    flops: int | None
    bytes: int
    reads: bool = False


def costs(region: Region, sizes: Mapping[Unknown, int]) -> Iterator[tuple[Group, list[Cost]]]:
    """The costs of the nodes of each group of a region, but for loops and branches."""
    for i, group in enumerate(region.fusion.groups):
        if isinstance(group, LoopGroup):
            yield group, _Loops(region, region.loops[i].body, sizes).costs()
        elif isinstance(group, MatmulGroup):
            yield group, [_product(region, group, sizes)]
        elif isinstance(group, AttentionGroup):
            yield group, [_attention(region, group, sizes)]
        elif isinstance(group, HostGroup):
            yield group, [_call(region, group, sizes)]


class _Loops:
    def __init__(self, region: Region, body: Body, sizes: Mapping[Unknown, int]) -> None:
        self.region = region
        self.nodes = region.fusion.nodes
        self.body = body
        self.domain = [evaluate(size, sizes) for size in body.group.domain]
        self.sizes = sizes
        self.moved: dict[tuple[int, bool], int] = {}
        self.found: dict[int, list[int]] = {}

    def costs(self) -> list[Cost]:
        rows = prod(self.domain[: self.body.split])
        for line in (*self.body.before, *self.body.after):
            self._add(line, 1)
        for part in self.body.rows:
            for line in part:
                self._add(line, rows)
        for part in self.body.passes:
            for line in part:
                columns = [axis for axis in line.axes if axis >= self.body.split]
                self._add(line, rows * prod([self.domain[axis] for axis in columns]))
        first = self.region.first
        own = {*computed(self.body.group), *self.region.fusion.virtual}
        return [
            Cost(first + node, work, flops, moved, node not in own and not flops)
            for node, (work, flops, moved) in sorted(self.found.items())
        ]

    def _add(self, line: Statement, times: int) -> None:
        node = computed(self.body.group)[0] if line.node == NOWHERE else line.node
        found = self.found.setdefault(node, [0, 0, 0])
        found[0] += times * (1 + line.accesses + FUNCTION * expensive_calls(line.value))
        dtype = line.dtype or self.nodes[node].type.dtype
        if is_float(dtype):
            found[1] += times * _operations(line.value)
        if line.memory is not None and line.memory[0] == "node":
            for written in {line.writes, line.accesses <= line.writes}:
                found[2] += self._moved(line.memory[1], written, times)

    def _moved(self, node: int, written: bool, times: int) -> int:
        """The bytes of a value that are read or written here and were not before."""
        type = self.nodes[node].type
        most = evaluate(type.size, self.sizes)
        before = self.moved.get((node, written), 0)
        after = self.moved[node, written] = min(most, before + times)
        return (after - before) * type.dtype.itemsize


def _operations(value: Expr) -> int:
    """How many operations and functions an expression has."""
    return sum(
        isinstance(one, Call | Unary) or (isinstance(one, Binary) and one.sign in _ARITHMETIC)
        for one in parts(value)
    )


def _product(region: Region, group: MatmulGroup, sizes: Mapping[Unknown, int]) -> Cost:
    nodes = region.fusion.nodes
    one = product_of(nodes, group)
    m, k, n = (evaluate(size, sizes) for size in one.sizes)
    batch = prod([evaluate(size, sizes) for size in one.batch])
    left, right = group.read
    count = _counter(sizes)
    taken = min(count(nodes[left].type.size), batch * m * k)
    taken += min(count(nodes[right].type.size), batch * k * n)
    result = count(nodes[group.node].type.size)
    taken += result if group.onto is None else 2 * result
    flops = 2 * batch * m * n * k
    return Cost(region.first + computed(group)[0], flops, flops, taken * one.dtype.itemsize)


def _attention(region: Region, group: AttentionGroup, sizes: Mapping[Unknown, int]) -> Cost:
    """Two products of all pairs and a softmax; for the gradients, one of these and four more."""
    of = attention_of(region.fusion.nodes, group)
    queries, keys, inner, outer = (evaluate(size, sizes) for size in of.sizes)
    pairs = evaluate(of.heads, sizes) * queries * keys // (2 if of.causal else 1)
    products = inner + outer if of.gradients is None else 3 * inner + 2 * outer
    node = region.fusion.nodes[group.node]
    types = [region.fusion.nodes[operand].type for operand in node.operands]
    moved = sum(_bytes(type, sizes) for type in [*types, *_types(node)])
    flops = pairs * (2 * products + 5)
    return Cost(region.first + group.node, pairs * (2 * products + FUNCTION), flops, moved)


def _call(region: Region, group: HostGroup, sizes: Mapping[Unknown, int]) -> Cost:
    node = region.fusion.nodes[group.node]
    types = [region.fusion.nodes[operand].type for operand in node.operands]
    moved = sum(_bytes(type, sizes) for type in [*types, *_types(node)])
    return Cost(region.first + group.node, 1, None, moved)


def _types(node: Node) -> list[TensorType]:
    return list(node.type.items) if isinstance(node.type, TupleType) else [node.type]


def _bytes(type: TensorType, sizes: Mapping[Unknown, int]) -> int:
    return evaluate(type.size, sizes) * type.dtype.itemsize


def _counter(sizes: Mapping[Unknown, int]) -> Callable[[Size], int]:
    return lambda size: evaluate(size, sizes)
