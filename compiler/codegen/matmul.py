"""Print a product of matrices: a call of the BLAS, in loops over the batch where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from compiler.codegen.cells import Arguments, print_cell
from compiler.codegen.chunks import (
    MOST_GATHERED,
    ChunkPlan,
    padded,
    product_cells,
    product_chunks,
)
from compiler.codegen.loops import INDENT
from compiler.codegen.packing import Packed, packed_plan, print_packing
from compiler.codegen.scalar import CONSTRUCTORS, literal
from compiler.codegen.statements import Memory
from compiler.core.dims import Size, product
from compiler.core.types import DType, Shape
from compiler.graph.view import Node
from compiler.schedule.chunks import COPYING, TILE, Cells, Cut
from compiler.schedule.demand import contiguous_strides
from compiler.schedule.groups import MatmulGroup, View, blas_layout

BLAS_DTYPES = ("float32", "float64")
LEAST_DEPTH = 512  # in a chunk, which has a result of its own
SHORT = 383  # rows and columns, at most, of a product that is cut along its depth
# OpenBLAS copies no operand of products of up to so many multiplications. Measured on an Emerald
# Rapids, one thread: products with two short axes are 1.1 to 1.6 times as fast in such blocks, and
# products of rows with rows, of which each block is short along both, 1.1 to 3 times.
SMALL = 1_000_000
LEAST_BLOCK = 96  # of the long axis
ROWS_BY_ROWS = {"rows": 16, "columns": 64, "depth": 256}
_BLOCKED = {"rows": "im", "columns": "jn", "depth": "pk"}
DEEP = 256  # columns that are packed at least where the product sums over them
WIDE = 512  # columns that are packed at most where it does not, unless the BLAS copies nothing


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

    With `factors`, the result is the first of them times the product plus the second times what is
    in its memory: the product is computed first, and added while it is in the cache. The BLAS could
    add it itself, but in parts, each with a rounding of the sum: of the weights, say, which are
    large beside a step.
    `cut` is what threads share: the first axis of the batch, the cells of the result, or, where the
    result is small, the depth k: the chunks' results are then added. If the right operand
    is `packed`, it is the pieces of that.
    """

    node: int
    left: _Matrix
    right: _Matrix
    sizes: tuple[Size, Size, Size]
    batch: Shape
    dtype: DType
    factors: tuple[float, float] | None = None
    packed: Packed | None = None

    @property
    def cut(self) -> str:
        """batch, cells, depth or pieces; nothing if there are no chunks."""
        return "" if self.chunks is None else self._axis()

    @property
    def chunks(self) -> Cut | None:
        """The chunks of what is cut: of the batch, of the result, or of k."""
        if self.packed is not None and self.plan is not None:
            return self.plan.chunks
        _, _, k = self.sizes
        products = product((*self.batch, *self.sizes))
        match self._axis():
            case "batch":
                return product_chunks(self.batch[0], products)
            case "depth":
                return product_chunks(k, products, LEAST_DEPTH)
            case "cells":
                return product_cells(self.cells)
        return None

    @property
    def cells(self) -> Cells:
        """The result in cells."""
        return Cells(*self.sizes, COPYING[self.dtype.itemsize, self.right.transposed])

    def _axis(self) -> str:
        """What is cut if that is worthwhile."""
        if self.packed is not None:
            return "pieces"
        m, n, k = self.sizes
        if self.batch:
            return "batch"
        if self.dtype.name not in BLAS_DTYPES:
            return ""
        is_small = _fits(m, SHORT) and _fits(n, SHORT) and m * n <= MOST_GATHERED
        return "depth" if is_small and not _fits(k, 2 * LEAST_DEPTH - 1) else "cells"

    @property
    def blocks(self) -> dict[str, int]:
        """The axes along which the product is computed block by block."""
        m, n, k = self.sizes
        axes = dict(zip(ROWS_BY_ROWS, self.sizes, strict=True))
        if self.right.transposed and not self.left.transposed:
            few = isinstance(m, int) and isinstance(n, int) and m * n <= MOST_GATHERED
            blocks = ROWS_BY_ROWS if few and not _fits(k, LEAST_BLOCK) else {}
            if self.packed is not None and _fits(self.packed.block, 2 * DEEP):
                blocks = {axis: block for axis, block in blocks.items() if axis != "depth"}
            return {axis: block for axis, block in blocks.items() if not _fits(axes[axis], block)}
        known = [size for size in self.sizes if isinstance(size, int)]
        if len(known) < 2:
            return {}
        longest = max(known) if len(known) == 3 else next(s for s in self.sizes if s not in known)
        others = max(1, prod(sorted(known)[:2]))
        block = SMALL // others // TILE * TILE
        axis = next(axis for axis, size in axes.items() if size == longest)
        return {} if _fits(longest, block) or block < LEAST_BLOCK else {axis: block}

    @property
    def plan(self) -> ChunkPlan | None:
        """What memory the chunks need."""
        if self.packed is not None:
            return packed_plan(self.packed, self.node, self.sizes)
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


def product_of(nodes: Mapping[int, Node], group: MatmulGroup) -> Product:
    """The product of a group; a batch of rows that meet one matrix is one tall matrix."""
    node = nodes[group.node]
    left_shape, right_shape = (nodes[operand].type.shape for operand in node.operands[-2:])
    batch = _batch_shape(node.type.shape, left_shape, right_shape)
    left = _matrix(group.left, left_shape, len(batch), row=True)
    right = _matrix(group.right, right_shape, len(batch), row=False)
    m: Size = left_shape[-2] if len(left_shape) > 1 else 1
    n: Size = right_shape[-1] if len(right_shape) > 1 else 1
    kept = [axis for axis, extent in enumerate(batch) if extent != 1]
    batch = tuple(batch[axis] for axis in kept)
    left, right = (
        replace(one, batch=tuple(one.batch[axis] for axis in kept)) for one in (left, right)
    )
    if _rows_join(left, right, batch, m):
        m = product((*batch, m))
        batch = ()
        left = replace(left, batch=(), row_stride=left.leading)
        right = replace(right, batch=())
    of = Product(node.id, left, right, (m, n, left_shape[-1]), batch, node.type.dtype)
    if group.onto is not None:
        of = replace(of, factors=(node.attrs["alpha"], node.attrs["beta"]))
    if group.pack is not None:
        shape, base = (nodes[one].type.shape for one in (group.pack.source, group.pack.base))
        columns = DEEP if group.is_turned else _packed_columns(product((m, left_shape[-1])))
        packed = Packed(group.pack, shape, base, group.is_turned, columns)
        of = replace(of, right=replace(right, transposed=group.is_turned), packed=packed)
    return of


def _packed_columns(area: Size) -> int:
    """How many columns are packed at a time for a left operand of so many elements."""
    columns = SMALL // max(1, area) if isinstance(area, int) else 0
    return columns if columns >= LEAST_BLOCK else WIDE


def print_matmul(
    node: Node,
    of: Product,
    size: Callable[[Size], str],
    pointer: Callable[[Memory, int], str],
    gemm: Callable[[str], str],
    side: Callable[[Cells], str],
) -> Iterator[str]:
    """The lines that compute one product, or a chunk of it.

    `pointer(memory, first)` names the address of element `first` of a piece of memory,
    `gemm(dtype)` the BLAS, and `side(cells)` a number of cells.
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
        lines = _gemm(of, (a, b, c), size, pointer, gemm, side)
    else:
        lines = _loops(left, right, (a, b, c), (m, n, k), node, size, pointer)
    yield from (INDENT * depth + line for line in lines)


def _gemm(
    of: Product,
    places: tuple[str, str, str],
    size: Callable[[Size], str],
    pointer: Callable[[Memory, int], str],
    gemm: Callable[[str], str],
    side: Callable[[Cells], str],
) -> Iterator[str]:
    """The call of the BLAS, for all of the result, or for a chunk of what is cut."""
    left, right = of.left, of.right
    m, n, k = (size(one) for one in of.sizes)
    leading = size(left.leading), size(right.leading), n
    call = Arguments(m, n, k, *places, *leading, left.transposed, right.transposed)
    operands = pointer(("node", left.base), left.first), ""
    starts: list[str] = []
    depth = 0
    match of.cut:
        case "cells":
            yield from print_cell(of.cells, call, size, side)
        case "depth":
            call.depth("first", "(last - first)")
        case "pieces":
            yield from _packed(of, call, size, pointer)
            starts += ["piece == first", "line == 0"] if of.sums_chunks else []
            depth = 2
    if of.packed is None:
        operands = operands[0], pointer(("node", right.base), right.first)
    else:
        operands = operands[0], pointer(("packed", of.packed.pack.value), 0)
    for axis, block in of.blocks.items():
        variable = _BLOCKED[axis]
        extent = {"rows": call.m, "columns": call.n, "depth": f"max(1, {call.k})"}[axis]
        yield f"{INDENT * depth}for {variable} in range(0, {extent}, {block}):"
        # a product of depth 0 is zero as well
        starts += ["pk == 0"] if axis == "depth" else []
        whole = {"rows": call.m, "columns": call.n, "depth": call.k}[axis]
        getattr(call, axis)(variable, f"min({block}, {whole} - {variable})")
        depth += 1
    lines = _calls(of, call, operands, starts, size, pointer, gemm)
    yield from (INDENT * depth + line for line in lines)
    if of.is_added and of.cut != "depth":
        cells = of.cells if of.cut == "cells" else None
        rows = ("top", "top + rows") if cells and cells.divides_rows else ("0", m)
        columns = ("left", "left + columns") if cells and cells.divides_columns else ("0", n)
        yield from _addition(of, rows, columns, size, pointer)


def _addition(
    of: Product,
    rows: tuple[str, str],
    columns: tuple[str, str],
    size: Callable[[Size], str],
    pointer: Callable[[Memory, int], str],
) -> Iterator[str]:
    """The loops that add some rows and columns of the product to what is in the result's memory."""
    assert of.factors is not None
    alpha, beta = (literal(factor, of.dtype) for factor in of.factors)
    result, value = pointer(("node", of.node), 0), pointer(of.target, 0)
    place = f"im * ({size(of.sizes[1])}) + jn"
    old = f"{result}[{place}]" if of.factors[1] == 1 else f"{beta} * {result}[{place}]"
    yield f"for im in range({rows[0]}, {rows[1]}):"
    yield f"{INDENT}for jn in range({columns[0]}, {columns[1]}):"
    yield f"{INDENT * 2}{result}[{place}] = {old} + {alpha} * {value}[{place}]"


def _packed(
    of: Product,
    call: Arguments,
    size: Callable[[Size], str],
    pointer: Callable[[Memory, int], str],
) -> Iterator[str]:
    """The loops over pieces, up to where they are packed; `call` is narrowed to them."""
    assert of.packed is not None
    assert of.plan is not None
    packed = of.packed
    own = of.plan.memory["packed", packed.pack.value]
    yield from print_packing(packed, own, size, pointer)
    width, piece = (f"({size(one)})" for one in (packed.width, packed.lines * packed.width))
    narrow = call.depth if packed.is_turned else call.columns
    narrow(f"(piece * {piece} + line * {width})", f"(count * lines * {width})")
    call.b, call.ldb = f"chunk * {size(own)}", size(packed.block)


def _calls(
    of: Product,
    call: Arguments,
    operands: tuple[str, str],
    starts: Sequence[str],
    size: Callable[[Size], str],
    pointer: Callable[[Memory, int], str],
    gemm: Callable[[str], str],
) -> Iterator[str]:
    """The call into the result, or into the chunk's own one; where a sum `starts`, it is new."""
    dtype = of.dtype
    zero, one = (literal(factor, dtype) for factor in (0, 1))
    start = (
        f"gemm_{CONSTRUCTORS[dtype.name]}({gemm(dtype.name)}, "
        f"{int(call.left_transposed)}, {int(call.right_transposed)}, "
        f"{call.m}, {call.n}, {call.k}, {one}, "
        f"address({operands[0]}, {call.a}), {call.lda}, "
        f"address({operands[1]}, {call.b}), {call.ldb}, "
    )

    def into(memory: Memory, place: str) -> str:
        beta = zero
        if starts:
            beta = f"select({' & '.join(f'({test})' for test in starts)}, {zero}, {one})"
        return f"{start}{beta}, address({pointer(memory, 0)}, {place}), {call.ldc})"

    if not of.sums_chunks:
        yield into(of.target, call.c)
        return
    assert of.plan is not None
    part: Memory = ("partial", of.node)
    yield "if chunk == 0:"
    yield INDENT + into(of.target, call.c)
    yield "else:"
    place = f"{call.c} + chunk * {size(of.plan.memory[part])}"
    yield INDENT + into(part, place)


def print_sum(
    of: Product, size: Callable[[Size], str], pointer: Callable[[Memory, int], str]
) -> Iterator[str]:
    """The lines that add what the chunks of the depth gave to what the first one did."""
    assert of.plan is not None
    extent = size(of.sizes[0] * of.sizes[1])
    result, part = pointer(of.target, 0), pointer(("partial", of.node), 0)
    step = size(of.plan.memory["partial", of.node])
    yield "for c in range(1, chunks):"
    yield f"{INDENT}for i in range({extent}):"
    yield f"{INDENT * 2}{result}[i] = fsum({result}[i], {part}[c * {step} + i])"
    if of.is_added:
        rows, columns = (("0", size(one)) for one in of.sizes[:2])
        yield from _addition(of, rows, columns, size, pointer)


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
    pointer: Callable[[Memory, int], str],
) -> Iterator[str]:
    """Plain loops, for dtypes that the BLAS does not have."""
    a, b, c = places
    m, n, k = (size(extent) for extent in sizes)
    result = f"{pointer(('node', node.id), 0)}[{c} + im * ({n}) + jn]"
    name = CONSTRUCTORS[node.type.dtype.name]
    one, other = (
        f"{pointer(('node', matrix.base), matrix.first)}"
        f"[{place} + {row} * ({size(matrix.row_stride)})"
        f" + {column} * ({size(matrix.column_stride)})]"
        for matrix, place, row, column in ((left, a, "im", "pk"), (right, b, "pk", "jn"))
    )
    yield f"for im in range({m}):"
    yield f"{INDENT}for jn in range({n}):"
    yield f"{INDENT * 2}{result} = {literal(0, node.type.dtype)}"
    yield f"{INDENT}for pk in range({k}):"
    yield f"{INDENT * 2}for jn in range({n}):"
    yield f"{INDENT * 3}{result} = {name}({result} + {one} * {other})"
