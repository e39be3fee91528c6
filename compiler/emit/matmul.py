"""Print a product of matrices: a call of the BLAS, in loops over the batch where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from compiler.dims import Size, product
from compiler.emit.chunks import Chunks, product_chunks
from compiler.emit.loops import INDENT
from compiler.emit.scalar import CONSTRUCTORS, literal
from compiler.graph.view import Node
from compiler.passes.demand import contiguous_strides
from compiler.passes.groups import MatmulGroup, View, blas_layout
from compiler.types import DType, Shape

BLAS_DTYPES = ("float32", "float64")
TILE = 16  # rows or columns that are not divided: the BLAS computes so many at once
LEAST_TILES = 12  # in a chunk, for which the BLAS copies the other operand once more


@dataclass(frozen=True, slots=True)
class _Matrix:
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


@dataclass(frozen=True, slots=True)
class Product:
    """One product: its operands, the sizes (m, k), (k, n) -> (m, n) and those of the batch.

    `cut` is what threads share: the first axis of the batch, or the rows or columns of the result.
    """

    left: _Matrix
    right: _Matrix
    sizes: tuple[Size, Size, Size]
    batch: Shape
    dtype: DType

    @property
    def cut(self) -> str:
        """batch, rows or columns; nothing if there are no chunks."""
        if self.chunks is None:
            return ""
        if self.batch:
            return "batch"
        return "rows" if self._by_rows() else "columns"

    @property
    def chunks(self) -> Chunks | None:
        """The chunks of the axis that is cut: of the batch, or of tiles of rows or columns."""
        if self.batch:
            return product_chunks(self.batch[0], product((*self.batch, *self.sizes)))
        if self.dtype.name not in BLAS_DTYPES:
            return None
        m, n, _ = self.sizes
        cut = _tiles(m if self._by_rows() else n)
        return product_chunks(cut, product(self.sizes), LEAST_TILES)

    def _by_rows(self) -> bool:
        """Whether rows are cut: columns are where they are known to be many, or more than rows."""
        m, n, _ = self.sizes
        if isinstance(m, int):
            return isinstance(n, int) and m >= n
        return not isinstance(n, int) or n < 2 * LEAST_TILES * TILE


def _tiles(size: Size) -> Size:
    return (size + TILE - 1) // TILE


def product_of(nodes: Mapping[int, Node], group: MatmulGroup) -> Product:
    """The product of a group; a batch of rows that meet one matrix is one tall matrix."""
    node = nodes[group.node]
    left_shape, right_shape = (nodes[operand].type.shape for operand in node.operands)
    batch = _batch_shape(node.type.shape, left_shape, right_shape)
    left = _matrix(group.left, left_shape, len(batch), row=True)
    right = _matrix(group.right, right_shape, len(batch), row=False)
    m: Size = left_shape[-2] if len(left_shape) > 1 else 1
    n: Size = right_shape[-1] if len(right_shape) > 1 else 1
    if _rows_join(left, right, batch, m):
        m = product((*batch, m))
        batch = ()
        left = replace(left, batch=(), row_stride=left.leading)
        right = replace(right, batch=())
    return Product(left, right, (m, n, left_shape[-1]), batch, node.type.dtype)


def print_matmul(
    node: Node,
    of: Product,
    size: Callable[[Size], str],
    pointer: Callable[[int, int], str],
    gemm: Callable[[str], str],
) -> Iterator[str]:
    """The lines that compute one product, or a chunk of a batch of them.

    `pointer(node, first)` names the address of element `first` of a node's memory, `gemm(dtype)`
    the BLAS.
    """
    left, right, batch, (m, n, k) = of.left, of.right, of.batch, of.sizes
    depth = 0
    for axis, extent in enumerate(batch):
        bounds = "first, last" if of.cut == "batch" and axis == 0 else size(extent)
        yield f"{INDENT * depth}for i{axis} in range({bounds}):"
        depth += 1
    steps = tuple(stride * (m * n) for stride in contiguous_strides(batch))
    c = _place(0, steps, size)
    a, b = _place(left.offset, left.batch, size), _place(right.offset, right.batch, size)
    if of.dtype.name in BLAS_DTYPES:
        yield from (
            INDENT * depth + line for line in _gemm(node, of, (a, b, c), size, pointer, gemm)
        )
        return
    lines = _loops(left, right, (a, b, c), (m, n, k), node, size, pointer)
    yield from (INDENT * depth + line for line in lines)


def _gemm(
    node: Node,
    of: Product,
    places: tuple[str, str, str],
    size: Callable[[Size], str],
    pointer: Callable[[int, int], str],
    gemm: Callable[[str], str],
) -> Iterator[str]:
    """The call of the BLAS, for all of the result, or for tiles `first` to `last` of it."""
    left, right = of.left, of.right
    (a, b, c), (m, n, k) = places, (size(one) for one in of.sizes)
    across = n
    if of.cut in ("rows", "columns"):
        end = m if of.cut == "rows" else n
        yield f"begin = first * {TILE}"
        yield f"count = min(last * {TILE}, {end}) - begin"
        if of.cut == "rows":
            m = "count"
            a = f"{a} + begin * {'1' if left.transposed else f'({size(left.leading)})'}"
            c = f"{c} + begin * ({across})"
        else:
            n = "count"
            b = f"{b} + begin * {f'({size(right.leading)})' if right.transposed else '1'}"
            c = f"{c} + begin"
    dtype = of.dtype
    yield (
        f"gemm_{CONSTRUCTORS[dtype.name]}({gemm(dtype.name)}, "
        f"{int(left.transposed)}, {int(right.transposed)}, {m}, {n}, {k}, "
        f"{literal(1, dtype)}, address({pointer(left.base, left.first)}, {a}), "
        f"{size(left.leading)}, address({pointer(right.base, right.first)}, {b}), "
        f"{size(right.leading)}, {literal(0, dtype)}, address({pointer(node.id, 0)}, {c}), "
        f"{across})"
    )


def _batch_shape(shape: Shape, left: Shape, right: Shape) -> Shape:
    return shape[: len(shape) - (len(left) > 1) - (len(right) > 1)]


def _matrix(view: View, shape: Shape, batch: int, row: bool) -> _Matrix:
    layout = blas_layout(view.strides[-2:], shape[-2:])
    assert layout is not None
    transposed, leading = layout
    down: Size
    across: Size
    if len(shape) == 1:
        # a vector is a row on the left and a column on the right: both read it as (k, 1)
        transposed = row
        down, across = (0, view.strides[0]) if row else (view.strides[0], 0)
    else:
        down, across = view.strides[-2:]
    steps = view.strides[:-2]
    aligned = (0,) * (batch - len(steps)) + tuple(
        0 if extent == 1 else step for step, extent in zip(steps, shape[:-2], strict=True)
    )
    first, offset = (view.offset, 0) if isinstance(view.offset, int) else (0, view.offset)
    return _Matrix(view.base, first, offset, transposed, leading, down, across, aligned)


def _rows_join(left: _Matrix, right: _Matrix, batch: Shape, m: Size) -> bool:
    """Whether the batch of the left operand is one tall matrix that meets a single right one."""
    if not batch or left.transposed or any(step != 0 for step in right.batch):
        return False
    expected = left.leading * m
    for step, extent in zip(reversed(left.batch), reversed(batch), strict=True):
        if step != expected:
            return False
        expected = step * extent
    return True


def _place(offset: Size, steps: tuple[Size, ...], size: Callable[[Size], str]) -> str:
    parts = [f"i{axis} * ({size(step)})" for axis, step in enumerate(steps) if step != 0]
    if offset != 0 or not parts:
        parts.insert(0, size(offset))
    return " + ".join(parts)


def _loops(
    left: _Matrix,
    right: _Matrix,
    places: tuple[str, str, str],
    sizes: tuple[Size, Size, Size],
    node: Node,
    size: Callable[[Size], str],
    pointer: Callable[[int, int], str],
) -> Iterator[str]:
    """Plain loops, for dtypes that the BLAS does not have."""
    a, b, c = places
    m, n, k = (size(extent) for extent in sizes)
    result = f"{pointer(node.id, 0)}[{c} + im * ({n}) + jn]"
    name = CONSTRUCTORS[node.type.dtype.name]
    one, other = (
        f"{pointer(matrix.base, matrix.first)}[{place} + {row} * ({size(matrix.row_stride)})"
        f" + {column} * ({size(matrix.column_stride)})]"
        for matrix, place, row, column in ((left, a, "im", "pk"), (right, b, "pk", "jn"))
    )
    yield f"for im in range({m}):"
    yield f"{INDENT}for jn in range({n}):"
    yield f"{INDENT * 2}{result} = {literal(0, node.type.dtype)}"
    yield f"{INDENT}for pk in range({k}):"
    yield f"{INDENT * 2}for jn in range({n}):"
    yield f"{INDENT * 3}{result} = {name}({result} + {one} * {other})"
