"""Shapes, order and repetition of elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tensors import strided
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.tensor import (
    PLAIN,
    Tensor,
    as_one_node,
    has_values,
    strided_view,
    wrap,
)
from staticgraph.dynamic.tensors.values import values_of
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "as_strided", "atleast_1d", "atleast_2d", "block_diag", "broadcast_tensors", "cartesian_prod",
    "column_stack", "diag", "diag_embed", "diagonal", "dstack", "fliplr", "flipud", "hstack",
    "meshgrid", "moveaxis", "movedim", "ravel", "repeat_interleave", "roll", "rot90",
    "swapdims", "tensor_split", "tile", "trace", "tril", "tril_indices", "triu", "triu_indices",
    "unflatten", "vstack",
]  # fmt: skip


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """A view with axes moved to other places; the others keep their order."""
    sources, targets = (
        (one,) if hasattr(one, "__index__") else one for one in (source, destination)
    )
    ndim = input.ndim
    here = [axis_of("movedim", axis, ndim) for axis in sources]
    there = [axis_of("movedim", axis, ndim) for axis in targets]
    if len(here) != len(there):
        raise AutogradError(
            "movedim: Invalid source or destination dims: source "
            f"({list(sources)} dims) should contain the same number of dims as destination "
            f"({list(targets)} dims)"
        )
    if not ndim:
        return ops.transpose(input, ())
    order = [axis for axis in range(ndim) if axis not in here]
    for target, axis in sorted(zip(there, here, strict=True)):
        order.insert(target, axis)
    return ops.transpose(input, tuple(order))


moveaxis = movedim


def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """A view with two axes exchanged."""
    return input.transpose(dim0, dim1)


def ravel(input: Any) -> Any:
    """All elements in one axis: a view of a tensor in row-major order, or of a copy that is."""
    return ops.reshape(input.contiguous(), (-1,))


def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One axis as several, of the given sizes, one of which may be -1."""
    axis = axis_of("unflatten", dim, input.ndim, of_number=False)
    shape = tuple(input.shape)
    wanted = list(sizes)
    if wanted.count(-1) == 1:
        known = -math.prod(wanted)
        wanted[wanted.index(-1)] = shape[axis] // known if known else 0
    if math.prod(wanted) != shape[axis]:
        raise AutogradError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} "
            f"({shape[axis]}) in the input tensor"
        )
    return ops.reshape(input, (*shape[:axis], *wanted, *shape[axis + 1 :]))


def atleast_1d(input: Any) -> Any:
    """The tensor with at least one axis."""
    return input if input.ndim else ops.reshape(input, (1,))


def atleast_2d(input: Any) -> Any:
    """The tensor with at least two axes, new ones first."""
    return input if input.ndim > 1 else ops.reshape(input, (1, -1))


def hstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined along their second axis, vectors along their only one."""
    tensors = [atleast_1d(as_tensor(one)) for one in tensors]
    return ops.concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors: Sequence[object]) -> Any:
    """Tensors joined along their first axis, vectors as rows."""
    return ops.concatenate([atleast_2d(as_tensor(one)) for one in tensors], 0)


def dstack(tensors: Sequence[object]) -> Any:
    """Tensors joined along their third axis."""
    grown = [atleast_2d(as_tensor(one)) for one in tensors]
    return ops.concatenate([x if x.ndim > 2 else ops.expand_dims(x, 2) for x in grown], 2)


def column_stack(tensors: Sequence[object]) -> Any:
    """Tensors joined along their second axis, vectors as columns."""
    grown = [as_tensor(one) for one in tensors]
    return ops.concatenate([x if x.ndim > 1 else ops.reshape(x, (-1, 1)) for x in grown], 1)


def _listed(tensors: Any) -> list[Any]:
    """`f(a, b)` and `f([a, b])` alike."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tensors[0]
    return [as_tensor(one) for one in tensors]


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Views of all tensors in the shape that they broadcast to."""
    shape = np.broadcast_shapes(*(one.shape for one in tensors))
    return tuple(ops.broadcast_to(one, shape) for one in tensors)


def meshgrid(*tensors: object, indexing: str = "ij") -> tuple[Any, ...]:
    """Per vector a view of it along an axis of its own, in the shape of all of them.

    With indexing="xy" the first two axes are exchanged.
    """
    given = _listed(tensors)
    for one in given:
        if one.ndim > 1:
            raise AutogradError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{list(one.shape)}"
            )
    vectors = [ravel(one) for one in given]
    if indexing not in ("ij", "xy"):
        raise AutogradError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    count = len(vectors)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = 1, 0
    shape = [0] * count
    for place, vector in zip(places, vectors, strict=True):
        shape[place] = vector.shape[0]
    return tuple(
        ops.broadcast_to(ops.reshape(vector, (-1,) + (1,) * (count - place - 1)), tuple(shape))
        for place, vector in zip(places, vectors, strict=True)
    )


def cartesian_prod(*tensors: object) -> Any:
    """All combinations of the elements of vectors, one per row."""
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([ravel(one) for one in meshgrid(*tensors)], 1)


def tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *,
    indices: Any = None, sections: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Views cut along an axis: so many parts, the first ones longer, or before each index."""
    if indices_or_sections is None:
        indices_or_sections = sections if indices is None else indices
    if not input.ndim:
        raise AutogradError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    size = input.shape[axis_of("tensor_split", dim, input.ndim)]
    if hasattr(indices_or_sections, "__index__"):
        count = int(indices_or_sections)
        if count <= 0:
            raise AutogradError("number of sections must be larger than 0, got " + str(count))
        sizes = [size // count + (i < size % count) for i in range(count)]
        bounds = [0, *np.cumsum(sizes).tolist()]
    else:
        bounds = [0, *(min(int(one), size) for one in indices_or_sections), size]
    parts = itertools.pairwise(bounds)
    return tuple(input.narrow(dim, start, max(0, stop - start)) for start, stop in parts)


def fliplr(input: object) -> Any:
    """The columns in reverse order."""
    return ops.flip(input, 1)


def flipud(input: object) -> Any:
    """The rows in reverse order."""
    return ops.flip(input, 0)


@computed
def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """The plane of two axes turned by k right angles, from the first towards the second."""
    first, second = dims
    turns = k % 4
    if turns == 2:
        return ops.flip(input, (first, second))
    if turns == 1:
        return swapdims(ops.flip(input, second), first, second)
    return ops.flip(swapdims(input, first, second), second) if turns else input.clone()


@called("Roll")
@computed
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along axes, or all of them in order; those past the end come first."""
    if dims is None:
        if not hasattr(shifts, "__index__"):
            (shifts,) = shifts
        return ops.reshape(roll(ravel(input), shifts, 0), tuple(input.shape))
    moves, axes = ((one,) if hasattr(one, "__index__") else one for one in (shifts, dims))
    if len(moves) != len(axes):
        raise AutogradError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}"
        )
    places = tuple(axis_of("roll", axis, input.ndim, of_number=False) for axis in axes)
    return input.apply(eager_ops.roll, (input,), {"shifts": tuple(moves), "axes": places})


@called("Repeat")
def repeat(input: Any, *sizes: object, repeats: object = None) -> Any:
    """The tensor side by side so many times along each axis; new axes come first."""
    times = sizes_of(sizes if repeats is None else (repeats,), "repeat", "repeats")
    if len(times) < input.ndim:
        raise AutogradError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    shape = (1,) * (len(times) - input.ndim) + tuple(input.shape)
    apart = [size for pair in zip((1,) * len(times), shape, strict=True) for size in pair]
    grown = [size for pair in zip(times, shape, strict=True) for size in pair]
    whole = ops.broadcast_to(ops.reshape(input, tuple(apart)), tuple(grown))
    result = ops.reshape(whole, tuple(t * size for t, size in zip(times, shape, strict=True)))
    if not has_values(result):
        return result.clone()
    if result._array.flags.writeable:
        return result
    return result.apply(eager_ops.contiguous, (result,), {})  # a view of what was expanded


def tile(input: Any, *sizes: object, dims: object = None) -> Any:
    """As `repeat`, with 1 for leading axes that are not given."""
    times = sizes_of(sizes if dims is None else (dims,), "tile", "dims")
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each element, or slice along `dim`, so many times in a row; per element if a tensor.

    A tensor alone gives the numbers from 0 on, each so many times.
    """
    if repeats is None:
        return wrap(np.repeat(np.arange(input.shape[0]), values_of(input)))
    if dim is None:
        input, dim = ravel(input), 0
    axis = axis_of("repeat_interleave", dim, input.ndim, of_number=False)
    times = values_of(repeats) if isinstance(repeats, Tensor) else repeats
    size = input.shape[axis]
    if np.ndim(times) and np.size(times) not in (1, size):
        raise AutogradError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{np.size(times)} and input.size(0) = {size}"
        )
    if type(times) is int and times >= 0:  # as in PyTorch without indices that the tape would hold
        shape = tuple(input.shape)
        grown = (*shape[: axis + 1], times, *shape[axis + 1 :])
        repeated = ops.broadcast_to(ops.expand_dims(input, axis + 1), grown)
        return ops.reshape(repeated, (*shape[:axis], size * times, *shape[axis + 1 :]))
    return ops.take(input, np.repeat(np.arange(size), times), axis)


def _lower(x: Any, *, diagonal: int) -> Any:
    rows, columns = x.shape[-2:]
    return ops.where(np.tri(rows, columns, diagonal, dtype=np.bool_), x, _zero(x))


def _upper(x: Any, *, diagonal: int) -> Any:
    rows, columns = x.shape[-2:]
    return ops.where(np.tri(rows, columns, diagonal - 1, dtype=np.bool_), _zero(x), x)


def _zero(x: Any) -> int:
    """0 in the kind of a tensor: with the number 0 bools become integers."""
    return False if np.dtype(x.dtype).kind == "b" else 0


def _triangle_op(name: str, function: Any, doc: str) -> Op:
    """The op of a triangle, which is its own gradient and saves nothing."""

    def vjp(g: object, o: object, a: object, *, diagonal: int) -> Any:
        return as_one_node(op, g, diagonal=diagonal)

    op = Op(
        name=name, infer_type=lambda x, diagonal: x, evaluate=function, vjp=(vjp,), saves=("",),
        expand=function, complex="linear", doc=doc,
    )  # fmt: skip
    return op


_tril = _triangle_op("tril", _lower, "Matrices with zeros above a diagonal.")
_triu = _triangle_op("triu", _upper, "Matrices with zeros below a diagonal.")


def _triangle(op: Op, input: Any, diagonal: int) -> Any:
    if input.ndim < 2:
        raise AutogradError(f"{op.name}: input tensor must have at least 2 dimensions")
    return as_one_node(op, input, diagonal=diagonal)


def tril(input: object, diagonal: int = 0) -> Any:
    """Matrices with zeros above a diagonal."""
    return _triangle(_tril, input, diagonal)


def triu(input: object, diagonal: int = 0) -> Any:
    """Matrices with zeros below a diagonal."""
    return _triangle(_triu, input, diagonal)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: object = None, **options: Any
) -> Any:
    """The rows and columns of the elements on and below a diagonal: (2, n)."""
    check_options("tril_indices", options)
    return as_tensor(np.stack(np.tril_indices(row, offset, col)), dtype)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: object = None, **options: Any
) -> Any:
    """The rows and columns of the elements on and above a diagonal: (2, n)."""
    check_options("triu_indices", options)
    return as_tensor(np.stack(np.triu_indices(row, offset, col)), dtype)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A view of the diagonals of the planes of two axes, along a new last axis."""
    first, second = (axis_of("diagonal", dim, input.ndim) for dim in (dim1, dim2))
    if first == second:
        raise AutogradError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if type(input) in PLAIN:
        x = input._array
        apart = strided.told_apart(x)
        region = strided.Region(apart.diagonal(offset, first, second), apart)
        return strided_view(strided.diagonal, input, x.diagonal(offset, first, second), region)
    return as_view(_copied_diagonal(input, offset, first, second), input)


_diagonal = diagonal  # `diag` has an argument of that name


def as_view(result: object, input: object) -> Any:
    """What a tracer computed in place of a view; where it is written to, a capture refuses."""
    return result.as_view_of(input) if hasattr(result, "as_view_of") else result


def _copied_diagonal(input: object, offset: int, first: int = 0, second: int = 1) -> Any:
    planes = movedim(input, (first, second), (-2, -1))
    rows, columns = planes.shape[-2:]
    places = np.arange(rows * columns).reshape(rows, columns).diagonal(offset)
    return ops.take(ops.reshape(planes, (*planes.shape[:-2], rows * columns)), places, -1)


def as_strided(
    input: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """The view of the memory with this shape and these steps, the first element where x has it.

    `storage_offset` counts from the memory's first element instead.
    """
    array = input._array
    start = strided.layout(array).start if storage_offset is None else storage_offset
    return strided_view(strided.as_strided, input, strided.strided(array, size, stride, start))


def _planes(x: Any, *, offset: int) -> Any:
    size = x.shape[-1] + abs(offset)
    widths = [(0, 0)] * (x.ndim - 1) + [(max(-offset, 0), max(offset, 0))]
    rows = ops.expand_dims(ops.pad(x, widths), -1)
    return ops.where(np.eye(size, k=offset, dtype=np.bool_), rows, 0)


def _planes_type(x: TensorType, *, offset: int) -> TensorType:
    size = x.shape[-1] + abs(offset)
    return TensorType((*x.shape[:-1], size, size), x.dtype)


_diagonal_planes = Op(
    name="diag_embed",
    infer_type=_planes_type,
    evaluate=_planes,
    vjp=(lambda g, o, a, *, offset: g.diagonal(offset, -2, -1),),
    saves=("",),
    expand=_planes,
    complex="linear",
    doc="Planes of two new last axes with the last axis on a diagonal, zeros elsewhere.",
)


@computed
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Planes of two new axes with the elements of the last axis on a diagonal, zeros elsewhere."""
    axis_of("diag_embed", -1, input.ndim, of_number=False)
    planes = as_one_node(_diagonal_planes, input, offset=offset)
    return movedim(planes, (-2, -1), (dim1, dim2))


@computed
def diag(input: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix; of a vector the matrix with it on a diagonal."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise AutogradError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return _diagonal(input, diagonal)


@called("Trace")
def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise AutogradError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return ops.sum(diagonal(input))


@called("BlockDiag")
def block_diag(*tensors: object) -> Any:
    """Matrices on the diagonal of a larger one, zeros elsewhere; vectors are rows."""
    blocks = [atleast_2d(as_tensor(one)) for one in tensors]
    if any(block.ndim != 2 for block in blocks):
        raise OptionError("block_diag: expects tensors of at most 2 axes")
    width, at, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        after = width - at - block.shape[1]
        rows.append(ops.pad(block, [(0, 0), (at, after)]))
        at += block.shape[1]
    return ops.concatenate(rows, 0)
