"""Attention and its gradients: products with loops over rows between them, block by block.

A block is some queries: the weights of all keys that they see lie in memory of the chunk, which
stays in the cache. What lies behind the last key that any of them sees is never computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.codegen.chunks import ChunkPlan, padded
from staticgraph.compiler.codegen.matmul import Pointer, SizeOf
from staticgraph.compiler.codegen.scalar import CONSTRUCTORS, combine, identity, literal
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType, Shape
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    Load,
    Name,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.ops.attending import ROWS
from staticgraph.compiler.schedule.chunks import PRODUCT_GRAIN, Chunks
from staticgraph.compiler.schedule.groups import AttentionGroup

MOST = 8  # chunks, of which each has weights of its own
BLOCK = Const(ROWS)


@record
class AttentionOf(Record):
    """An attention or, with `gradients`, those of queries, keys and values that are read.

    Attributes:
        operands: queries, keys, values and, for the gradients, that by the result.
        heads: how many matrices of each there are.
        sizes: queries, keys, and the columns of queries and of values.
    """

    node: int
    operands: tuple[int, ...]
    gradients: tuple[int | None, int | None, int | None] | None
    heads: Size
    sizes: tuple[Size, Size, Size, Size]
    dtype: DType
    scale: float
    causal: bool

    @property
    def blocks(self) -> Size:
        """The blocks of a head."""
        return (self.sizes[0] + (ROWS - 1)) // ROWS

    @property
    def plan(self) -> ChunkPlan:
        """The chunks, of blocks or, for gradients, which add over blocks, of heads; and memory."""
        queries, keys, inner, outer = self.sizes
        products = product((self.heads, queries, keys, inner + outer))
        memory: dict[Memory, Size] = {("weights", self.operands[0]): padded(keys * ROWS)}
        if self.gradients is None:
            extent = self.heads * self.blocks
        else:
            extent = self.heads
            memory["slopes", self.operands[0]] = padded(keys * ROWS)
        return ChunkPlan(Chunks(extent, products, 1, PRODUCT_GRAIN, MOST), (), memory, ())


def attention_of(nodes: Mapping[int, Node], group: AttentionGroup) -> AttentionOf:
    """What a group computes."""
    node = nodes[group.node]
    shapes: list[Shape] = [nodes[one].type.shape for one in node.operands]
    gradients = None
    if len(node.operands) == 4:
        gradients = group.items.get(0), group.items.get(1), group.items.get(2)
    (*lead, queries, inner), (*_, keys, _), (*_, outer) = shapes[:3]
    return AttentionOf(
        node.id,
        node.operands,
        gradients,
        product(lead),
        (queries, keys, inner, outer),
        nodes[node.operands[0]].type.dtype,
        node.attrs["scale"],
        node.attrs["causal"],
    )


@record
class _Matrix(Record):
    """Rows of a matrix in memory: it begins at `start`, a row after each `leading` elements."""

    memory: Name
    start: Expr
    leading: Expr

    def element(self, row: Expr, column: Expr) -> Load:
        return Load(self.memory, total_of((self.start, times(row, self.leading), column)))

    def below(self, top: Expr) -> _Matrix:
        return _Matrix(self.memory, total_of((self.start, times(top, self.leading))), self.leading)


class AttentionWriter:
    """The statements of a chunk.

    `pointer(memory, first)` is the address of element `first` of a piece of memory, and `gemm` that
    of the product's function.
    """

    def __init__(self, of: AttentionOf, size: SizeOf, pointer: Pointer, gemm: Name) -> None:
        self.of = of
        self.size = size
        self.pointer = pointer
        self.gemm = gemm
        self.queries, self.keys, self.inner, self.outer = map(size, of.sizes)
        self.rows, self.seen, self.top = map(Name, ("rows", "seen", "top"))

    def statements(self) -> list[Stmt]:
        """The loops over blocks, or over heads and their blocks."""
        return self._values() if self.of.gradients is None else self._gradients()

    def _values(self) -> list[Stmt]:
        blocks = self.size(self.of.blocks)
        item = Name("item")
        v = self._of_head(self.of.operands[2], self.keys, self.outer)
        result = self._of_head(self.of.node, self.queries, self.outer).below(self.top)
        weights = self._scratch("weights")
        block: list[Stmt] = [
            Assign("head", item // blocks),
            Assign("top", times(item % blocks, BLOCK)),
            *self._weights(weights),
            self._product(self.rows, self.outer, self.seen, weights, v, result),
        ]
        return [For("item", Name("first"), Name("last"), tuple(block))]

    def _gradients(self) -> list[Stmt]:
        of = self.of
        assert of.gradients is not None
        by_q, by_k, by_v = of.gradients
        q = self._of_head(of.operands[0], self.queries, self.inner).below(self.top)
        k = self._of_head(of.operands[1], self.keys, self.inner)
        v = self._of_head(of.operands[2], self.keys, self.outer)
        g = self._of_head(of.operands[3], self.queries, self.outer).below(self.top)
        weights, slopes = self._scratch("weights"), self._scratch("slopes")
        rows, seen, scale = self.rows, self.seen, literal(of.scale, of.dtype)
        start: list[Stmt] = []
        block: list[Stmt] = [*self._weights(weights)]
        if by_v is not None:
            target = self._of_head(by_v, self.keys, self.outer)
            start.append(self._zeros(target, self.keys, self.outer))
            add = self._product(
                seen, self.outer, rows, weights, g, target, turned=(True, False), adds=True
            )
            block.append(add)
        if by_q is not None or by_k is not None:
            block.append(self._product(rows, seen, self.outer, g, v, slopes, turned=(False, True)))
            block += self._slopes(weights, slopes)
        if by_q is not None:
            target = self._of_head(by_q, self.queries, self.inner).below(self.top)
            block.append(self._product(rows, self.inner, seen, slopes, k, target, factor=scale))
        if by_k is not None:
            target = self._of_head(by_k, self.keys, self.inner)
            start.append(self._zeros(target, self.keys, self.inner))
            add = self._product(
                seen,
                self.inner,
                rows,
                slopes,
                q,
                target,
                turned=(True, False),
                factor=scale,
                adds=True,
            )
            block.append(add)
        over_blocks = For("top", ZERO, self.queries, tuple(block), BLOCK)
        return [For("head", Name("first"), Name("last"), (*start, over_blocks))]

    # -- parts ---------------------------------------------------------------------------------

    def _of_head(self, node: int, rows: Expr, columns: Expr) -> _Matrix:
        start = times(times(Name("head"), rows), columns)
        return _Matrix(self.pointer(("node", node), 0), start, columns)

    def _scratch(self, kind: str) -> _Matrix:
        memory = kind, self.of.operands[0]
        start = times(Name("chunk"), self.size(self.of.plan.memory[memory]))
        return _Matrix(self.pointer(memory, 0), start, self.keys)

    def _weights(self, weights: _Matrix) -> list[Stmt]:
        """The weights of the block's rows by the keys that any of them sees."""
        of, row, j = self.of, Name("row"), Name("j")
        q = self._of_head(of.operands[0], self.queries, self.inner).below(self.top)
        k = self._of_head(of.operands[1], self.keys, self.inner)
        scale = literal(of.scale, of.dtype)
        element = weights.element(row, j)
        seen, until = self._seen(row)
        most, sum_, share = map(Name, ("most", "sum", "share"))
        exponential = Call("exp", (element - most,))
        over_row: list[Stmt] = [
            *until,
            Assign("most", identity("max", of.dtype)),
            For("j", ZERO, seen, (Assign("most", combine("max", of.dtype, most, element)),)),
            Assign("sum", literal(0, of.dtype)),
            For(
                "j",
                ZERO,
                seen,
                (
                    Assign("e", exponential),
                    _into(element, Name("e")),
                    Assign("sum", combine("sum", of.dtype, sum_, Name("e"))),
                ),
            ),
            Assign("share", Binary("/", literal(1, of.dtype), sum_)),
            For("j", ZERO, seen, (_into(element, element * share),)),
        ]
        if of.causal:
            over_row.append(For("j", seen, self.seen, (_into(element, literal(0, of.dtype)),)))
        return [
            Assign("rows", _least(BLOCK, self.queries - self.top)),
            Assign("seen", _least(self.keys, self.top + self.rows) if of.causal else self.keys),
            self._product(
                self.rows, self.seen, self.inner, q, k, weights, turned=(False, True), factor=scale
            ),
            For("row", ZERO, self.rows, tuple(over_row)),
        ]

    def _slopes(self, weights: _Matrix, slopes: _Matrix) -> list[Stmt]:
        """The gradients by scores, of which the scale is left out, over those by weights."""
        of, row, j = self.of, Name("row"), Name("j")
        weight, slope = weights.element(row, j), slopes.element(row, j)
        seen, until = self._seen(row)
        mean = Name("mean")
        over_row: list[Stmt] = [
            *until,
            Assign("mean", literal(0, of.dtype)),
            For("j", ZERO, seen, (Assign("mean", combine("sum", of.dtype, mean, weight * slope)),)),
            For("j", ZERO, seen, (_into(slope, weight * (slope - mean)),)),
        ]
        if of.causal:
            over_row.append(For("j", seen, self.seen, (_into(slope, literal(0, of.dtype)),)))
        return [For("row", ZERO, self.rows, tuple(over_row))]

    def _seen(self, row: Expr) -> tuple[Expr, Sequence[Stmt]]:
        """How many keys a row sees, and what computes that."""
        if not self.of.causal:
            return self.seen, ()
        return Name("until"), (Assign("until", _least(self.seen, self.top + row + ONE)),)

    def _zeros(self, target: _Matrix, rows: Expr, columns: Expr) -> Stmt:
        place = total_of((target.start, Name("i")))
        store = Store(target.memory, place, literal(0, self.of.dtype), node=self.of.node)
        return For("i", ZERO, times(rows, columns), (store,))

    def _product(
        self,
        m: Expr,
        n: Expr,
        k: Expr,
        left: _Matrix,
        right: _Matrix,
        result: _Matrix,
        turned: tuple[bool, bool] = (False, False),
        factor: Expr | None = None,
        adds: bool = False,
    ) -> Stmt:
        """factor * left (m, k) @ right (k, n): the result (m, n), or added to what is there."""
        dtype = self.of.dtype
        zero, one = literal(0, dtype), literal(1, dtype)
        flags = (Const(int(flag)) for flag in turned)

        def matrix(of: _Matrix) -> tuple[Expr, Expr]:
            return Call("address", (of.memory, of.start)), of.leading

        given = (
            *(self.gemm, *flags, m, n, k, one if factor is None else factor),
            *matrix(left),
            *matrix(right),
            *(one if adds else zero, *matrix(result)),
        )
        return Evaluate(Call(f"gemm_{CONSTRUCTORS[dtype.name]}", given), node=self.of.node)


def _into(element: Load, value: Expr) -> Store:
    return Store(element.pointer, element.index, value)


def _least(one: Expr, other: Expr) -> Expr:
    return Call("min", (one, other))
