"""What a product of matrices is: its operands, its sizes, and what threads share of it."""

from __future__ import annotations

from staticgraph.compiler.codegen.chunks import (
    MOST_GATHERED,
    ChunkPlan,
    padded,
    product_cells,
    product_chunks,
)
from staticgraph.compiler.codegen.packing import Packed, packed_plan
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.codegen.taps import Taps
from staticgraph.compiler.codegen.windows import Windows
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType, Shape
from staticgraph.compiler.schedule.chunks import Cells, Cut
from staticgraph.compiler.schedule.products import BLAS_DTYPES

LEAST_DEPTH = 512  # in a chunk, which has a result of its own
SHORT = 383  # rows and columns, at most, of a product that is cut along its depth


@record
class Matrix(Record):
    """An operand of one product: its address, flag and leading dimension, and batch strides.

    It starts `offset` places after element `first` of the memory of `base`.
    """

    base: int
    first: int
    offset: Size
    transposed: bool
    leading: Size
    row_stride: Size
    column_stride: Size
    batch: tuple[Size, ...]


@record
class Product(Record):
    """One product: its operands, the sizes (m, k), (k, n) -> (m, n) and those of the batch.

    With `factors`, the result is the first of them times the product plus the second times what is
    in its memory: the product is computed first, and added while it is in the cache. gemm could
    add it itself, but in parts, each with a rounding of the sum: of the weights, say, which are
    large beside a step.
    `cut` is what threads share: the first axis of the batch, the cells of the result, or, where the
    result is small, the depth k: the chunks' results are then added. If the right operand
    is `packed`, it is the pieces of that; if an operand is a matrix of `windows`, the blocks of it;
    if it is one of windows of images side by side, what its `taps` say.
    """

    node: int
    left: Matrix
    right: Matrix
    sizes: tuple[Size, Size, Size]
    batch: Shape
    dtype: DType
    factors: tuple[float, float] | None = None
    packed: Packed | None = None
    windows: Windows | None = None
    taps: Taps | None = None

    @property
    def cut(self) -> str:
        """batch, cells, depth, pieces, windows or taps; nothing if there are no chunks."""
        return "" if self.chunks is None else self._axis()

    @property
    def chunks(self) -> Cut | None:
        """The chunks of what is cut: of the batch, of the result, or of k."""
        if self._axis() in ("pieces", "windows", "taps") and self.plan is not None:
            return self.plan.chunks
        _, _, k = self.sizes
        products = product((*self.batch, *self.sizes))
        match self._axis():
            case "batch":
                return product_chunks(self.batch[0], products)
            case "depth":
                return product_chunks(k, self.cells.products, LEAST_DEPTH)
            case "cells":
                return product_cells(self.cells)
        return None

    @property
    def cells(self) -> Cells:
        """The result in cells."""
        return Cells(*self.sizes)

    def _axis(self) -> str:
        """What is cut if that is worthwhile."""
        if self.packed is not None:
            return "pieces"
        if self.windows is not None:
            return "windows"
        if self.taps is not None:
            return "taps"
        m, n, k = self.sizes
        if self.batch:
            return "batch"
        if self.dtype.name not in BLAS_DTYPES:
            return ""
        is_small = _fits(m, SHORT) and _fits(n, SHORT) and m * n <= MOST_GATHERED
        return "depth" if is_small and not _fits(k, 2 * LEAST_DEPTH - 1) else "cells"

    @property
    def plan(self) -> ChunkPlan | None:
        """What memory the chunks need."""
        if self.packed is not None:
            return packed_plan(self.packed, self.node, self.sizes)
        if self.windows is not None:
            return self.windows.plan(self.node, product((*self.batch, *self.sizes)))
        if self.taps is not None:
            return self.taps.plan(product(self.sizes))
        m, n, _ = self.sizes
        is_deep = self.cut == "depth"
        memory: dict[Memory, Size] = {("partial", self.node): padded(m * n)} if is_deep else {}
        if self.is_added:
            memory["product", self.node] = padded(m * n)
        return (
            ChunkPlan(self.chunks, (), memory, (self.node,) if is_deep else ()) if memory else None
        )

    @property
    def is_added(self) -> bool:
        """Whether the product is computed in memory of its own first."""
        return self.factors is not None

    @property
    def target(self) -> Memory:
        """What the product is computed in."""
        return ("product" if self.is_added else "node", self.node)

    @property
    def sums_chunks(self) -> bool:
        """Whether the chunks' results are added."""
        return self.plan is not None and bool(self.plan.gathered)


def _fits(size: Size, block: int) -> bool:
    return isinstance(size, int) and size <= block
