"""A product of matrices: a call of gemm, in loops over the batch where it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

from staticgraph.compiler.codegen.cells import Arguments, find_cell
from staticgraph.compiler.codegen.lines import Lines, lines_of, lines_product
from staticgraph.compiler.codegen.packing import Packed, Pieces, over_pieces
from staticgraph.compiler.codegen.product import Matrix, Product
from staticgraph.compiler.codegen.scalar import CONSTRUCTORS, literal
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.codegen.tap_products import taps_product
from staticgraph.compiler.codegen.taps import taps_of
from staticgraph.compiler.codegen.windows import Windows, windows_product
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Binary,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Load,
    Name,
    Select,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.schedule.access import contiguous_strides
from staticgraph.compiler.schedule.chunks import Cells
from staticgraph.compiler.schedule.groups import MatmulGroup, View, blas_layout
from staticgraph.compiler.schedule.products import BLAS_DTYPES

SizeOf: TypeAlias = "Callable[[Size], Expr]"
Pointer: TypeAlias = "Callable[[Memory, int], Name]"


def product_of(nodes: Mapping[int, Node], group: MatmulGroup) -> Product:
    """The product of a group; a batch of rows that meet one matrix is one tall matrix."""
    node = nodes[group.node]
    left_shape, right_shape = (nodes[operand].type.shape for operand in node.operands[-2:])
    shape = node.type.shape if group.by_piece is None else (*left_shape[:-1], 1)
    batch = _batch_shape(shape, left_shape, right_shape)
    if group.apart is not None:
        right_shape = (*right_shape[:-2], *_piece_shape(nodes, group, right_shape))
    left = _matrix(group.left, left_shape, len(batch), row=True)
    right = _matrix(group.right, right_shape, len(batch), row=False)
    m: Size = left_shape[-2] if len(left_shape) > 1 else 1
    n: Size = right_shape[-1] if len(right_shape) > 1 else 1
    kept = [axis for axis, extent in enumerate(batch) if extent != 1]
    batch = tuple(batch[axis] for axis in kept)
    left, right = (
        replace(one, batch=tuple(one.batch[axis] for axis in kept)) for one in (left, right)
    )
    if _rows_join(left, right, batch, m, left_shape[-1]):
        m = product((*batch, m))
        batch = ()
        left = replace(left, batch=(), row_stride=left.leading)
        right = replace(right, batch=())
    of = Product(node.id, left, right, (m, n, left_shape[-1]), batch, node.type.dtype)
    if group.onto is not None:
        of = replace(of, factors=(node.attrs["alpha"], node.attrs["beta"]))
    if group.pack is not None:
        shape, base = (nodes[one].type.shape for one in (group.pack.source, group.pack.base))
        given = group.pack, shape, base, of.dtype
        if group.pack.beside:
            of = replace(of, taps=taps_of(Pieces(*given), group.is_turned, m))
        elif group.is_turned:
            packed = Packed(*given)
            of = replace(of, right=replace(right, transposed=True), packed=packed)
        elif group.is_left:
            of = replace(of, windows=Windows(*given, True, n, False, group.apart))
        else:
            windows = Windows(*given, False, m, group.by_piece is not None, None)
            of = replace(of, windows=lines_of(windows, _is_whole(left, m, left_shape[-1])))
    return of


def matmul(
    node: Node,
    of: Product,
    size: SizeOf,
    pointer: Pointer,
    gemm: Callable[[str], Name],
    side: Callable[[Cells], Name],
) -> list[Stmt]:
    """What computes one product, or a chunk of it.

    `pointer(memory, first)` is the address of element `first` of a piece of memory,
    `gemm(dtype)` what multiplies, and `side(cells)` a number of cells.
    """
    left, right, batch, (m, n, _) = of.left, of.right, of.batch, of.sizes
    steps = tuple(stride * (m * n) for stride in contiguous_strides(batch))
    c = _place(0, steps, size)
    a, b = _place(left.offset, left.batch, size), _place(right.offset, right.batch, size)
    if of.dtype.name in BLAS_DTYPES:
        found = _gemm(of, (a, b, c), size, pointer, gemm, side)
    else:
        found = _loops(of, (a, b, c), node, size, pointer)
    if of.windows is not None:
        return found
    for axis, extent in reversed(list(enumerate(batch))):
        bounds: tuple[Expr, Expr] = ZERO, size(extent)
        if of.cut == "batch" and axis == 0:
            bounds = Name("first"), Name("last")
        found = [For(f"i{axis}", *bounds, tuple(found))]
    return found


def _gemm(
    of: Product,
    places: tuple[Expr, Expr, Expr],
    size: SizeOf,
    pointer: Pointer,
    gemm: Callable[[str], Name],
    side: Callable[[Cells], Name],
) -> list[Stmt]:
    """The call of gemm, for all of the result, or for a chunk of what is cut."""
    left, right = of.left, of.right
    m, n, k = (size(one) for one in of.sizes)
    leading = size(left.leading), size(right.leading), n
    call = Arguments(m, n, k, *places, *leading, left.transposed, right.transposed)
    if isinstance(of.windows, Lines):
        return lines_product(of, of.windows, call, size, pointer, gemm)
    if of.taps is not None:
        return taps_product(of, of.taps, call, size, pointer, gemm)
    if of.windows is not None:
        return windows_product(of, call, size, pointer, gemm)
    one = pointer(("node", left.base), left.first)
    before: list[Stmt] = []
    starts: list[Expr] = []
    around: Callable[[Sequence[Stmt]], Stmt] | None = None
    match of.cut:
        case "cells":
            before = find_cell(of.cells, call, size, side)
        case "depth":
            call.depth(Name("first"), Name("last") - Name("first"))
        case "pieces":
            around = _packed(of, call, size, pointer)
            if of.sums_chunks:
                starts += [_is(Name("piece"), Name("first")), _is(Name("line"), ZERO)]
    if of.packed is None:
        other = pointer(("node", right.base), right.first)
    else:
        other = pointer(("packed", of.packed.pack.value), 0)
    found = _calls(of, call, (one, other), starts, size, pointer, gemm)
    found = [*before, around(found)] if around else [*before, *found]
    if of.is_added and of.cut != "depth":
        found.append(_addition(of, size, pointer, of.cells if of.cut == "cells" else None))
    return found


def _is(one: Expr, other: Expr) -> Expr:
    return Binary("==", one, other)


def _addition(of: Product, size: SizeOf, pointer: Pointer, cells: Cells | None = None) -> Stmt:
    """The loops that add the product, or a cell of it, to what is in the result's memory."""
    assert of.factors is not None
    alpha, beta = (literal(factor, of.dtype) for factor in of.factors)
    keeps_all = of.factors[1] == 1
    m, n, _ = of.sizes

    def add(place: Expr) -> Stmt:
        result, value = (Load(pointer(one, 0), place) for one in (("node", of.node), of.target))
        old = result if keeps_all else beta * result
        return Store(result.pointer, place, old + alpha * value)

    top, bottom = Name("top"), Name("top") + Name("rows")
    if cells and cells.divides_columns:
        rows = (top, bottom) if cells.divides_rows else (ZERO, size(m))
        place = times(Name("im"), size(n)) + Name("jn")
        across = For("jn", Name("left"), Name("left") + Name("columns"), (add(place),))
        return For("im", rows[0], rows[1], (across,))
    # whole rows lie behind each other
    first: Expr = ZERO
    last = size(product((m, n)))
    if cells and cells.divides_rows:
        first, last = times(top, size(n)), times(bottom, size(n))
    return For("i", first, last, (add(Name("i")),))


def _packed(
    of: Product, call: Arguments, size: SizeOf, pointer: Pointer
) -> Callable[[Sequence[Stmt]], Stmt]:
    """The loops over pieces, around what uses one; `call` is narrowed to them."""
    assert of.packed is not None
    assert of.plan is not None
    packed = of.packed
    own = of.plan.memory["packed", packed.pack.value]
    around = over_pieces(packed, own, size, pointer)
    width, piece = size(packed.width), size(packed.lines * packed.width)
    start = times(Name("piece"), piece) + times(Name("line"), width)
    call.depth(start, times(Name("count") * Name("lines"), width))
    call.b, call.ldb = times(Name("chunk"), size(own)), size(packed.block)
    return around


def _calls(
    of: Product,
    call: Arguments,
    operands: tuple[Name, Name],
    starts: Sequence[Expr],
    size: SizeOf,
    pointer: Pointer,
    gemm: Callable[[str], Name],
) -> list[Stmt]:
    """The call into the result, or into the chunk's own one; where a sum `starts`, it is new."""
    dtype = of.dtype
    zero, one = (literal(factor, dtype) for factor in (0, 1))
    flags = (Const(int(flag)) for flag in (call.left_transposed, call.right_transposed))
    given = (
        *(gemm(dtype.name), *flags, call.m, call.n, call.k, one),
        *(Call("address", (operands[0], call.a)), call.lda),
        *(Call("address", (operands[1], call.b)), call.ldb),
    )

    def into(memory: Memory, place: Expr) -> Stmt:
        beta = Select(reduce(_and, starts), zero, one) if starts else zero
        result = Call("address", (pointer(memory, 0), place))
        return Evaluate(Call(f"gemm_{CONSTRUCTORS[dtype.name]}", (*given, beta, result, call.ldc)))

    if not of.sums_chunks:
        return [into(of.target, call.c)]
    assert of.plan is not None
    chunk, part = Name("chunk"), ("partial", of.node)
    first = into(of.target, call.c)
    place = total_of((call.c, times(chunk, size(of.plan.memory[part]))))
    return [If(_is(chunk, ZERO), (first,), (into(part, place),))]


def _and(one: Expr, other: Expr) -> Expr:
    return Binary("&", one, other)


def sum_of_chunks(of: Product, size: SizeOf, pointer: Pointer) -> list[Stmt]:
    """What adds the results of the chunks of the depth to that of the first one."""
    assert of.plan is not None
    c, i = Name("c"), Name("i")
    result, part = (pointer(one, 0) for one in (of.target, ("partial", of.node)))
    other = Load(part, times(c, size(of.plan.memory["partial", of.node])) + i)
    store = Store(result, i, Call("fsum", (Load(result, i), other)))
    over_elements = For("i", ZERO, size(product((*of.batch, *of.sizes[:2]))), (store,))
    found: list[Stmt] = [For("c", ONE, Name("chunks"), (over_elements,))]
    if of.is_added:
        found.append(_addition(of, size, pointer))
    return found


def _batch_shape(shape: Shape, left: Shape, right: Shape) -> Shape:
    return shape[: len(shape) - (len(left) > 1) - (len(right) > 1)]


def _matrix(view: View, shape: Shape, batch: int, row: bool) -> Matrix:
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
    return Matrix(view.base, first, offset, transposed, leading, down, across, aligned)


def _piece_shape(nodes: Mapping[int, Node], group: MatmulGroup, shape: Shape) -> Shape:
    """That of a piece of the right operand."""
    assert group.pack is not None
    return product(nodes[group.pack.source].type.shape[group.pack.split + 1 :]), shape[-1]


def _rows_join(left: Matrix, right: Matrix, batch: Shape, m: Size, depth: Size) -> bool:
    """Whether the batch of the left operand is one tall matrix that meets a single right one."""
    if not batch or left.transposed or any(step != 0 for step in right.batch):
        return False
    if depth == 0:  # matrices without elements are no single one
        return False
    expected = left.leading * m
    for step, extent in zip(reversed(left.batch), reversed(batch), strict=True):
        if step != expected:
            return False
        expected = step * extent
    return True


def _is_whole(matrix: Matrix, rows: Size, columns: Size) -> bool:
    """Whether matrices lie one behind the other, row by row."""
    steps = matrix.batch or (rows * columns,)
    return not matrix.transposed and matrix.leading == columns and steps == (rows * columns,)


def _place(offset: Size, steps: tuple[Size, ...], size: SizeOf) -> Expr:
    """Where a matrix of the batch begins."""
    moves = [times(Name(f"i{axis}"), size(step)) for axis, step in enumerate(steps) if step != 0]
    return total_of([size(offset), *moves])


def _loops(
    of: Product,
    places: tuple[Expr, Expr, Expr],
    node: Node,
    size: SizeOf,
    pointer: Pointer,
) -> list[Stmt]:
    """Plain loops, for dtypes that gemm does not have."""
    a, b, c = places
    m, n, k = (size(extent) for extent in of.sizes)
    im, jn, pk = map(Name, ("im", "jn", "pk"))
    result = Load(pointer(("node", node.id), 0), total_of((c, times(im, n), jn)))

    def element(matrix: Matrix, place: Expr, row: Expr, column: Expr) -> Load:
        steps = times(row, size(matrix.row_stride)), times(column, size(matrix.column_stride))
        return Load(pointer(("node", matrix.base), matrix.first), total_of((place, *steps)))

    one, other = element(of.left, a, im, pk), element(of.right, b, pk, jn)
    start = Store(result.pointer, result.index, literal(0, node.type.dtype))
    added = Cast(CONSTRUCTORS[node.type.dtype.name], result + one * other)
    over_depth = For(
        "pk", ZERO, k, (For("jn", ZERO, n, (Store(result.pointer, result.index, added),)),)
    )
    return [For("im", ZERO, m, (For("jn", ZERO, n, (start,)), over_depth))]
