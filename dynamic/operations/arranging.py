"""Shapes, order and repetition of elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tensors import strided
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.naming import called, labelled
from staticgraph.dynamic.tensors.shapes import common_shape
from staticgraph.dynamic.tensors.tensor import (
    Tensor,
    has_values,
    strided_view,
    wrap,
)
from staticgraph.dynamic.tensors.values import values_of
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "as_strided", "atleast_1d", "atleast_2d", "broadcast_tensors", "cartesian_prod", "column_stack",
    "dstack", "fliplr", "flipud", "hstack", "meshgrid", "moveaxis", "movedim", "ravel",
    "repeat_interleave", "roll", "rot90", "swapdims", "tensor_split", "tile", "unflatten", "vstack",
]  # fmt: skip


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """A view with axes moved to other places; the others keep their order.

    Example:
        >>> dynamic.movedim(dynamic.ones(2, 3, 4), 0, 2).shape
        torch.Size([3, 4, 2])
    """
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
    """A view with two axes exchanged.

    Example:
        >>> dynamic.swapdims(dynamic.ones(2, 3, 4), 0, 2).shape
        torch.Size([4, 3, 2])
    """
    return input.transpose(dim0, dim1)


def ravel(input: Any) -> Any:
    """All elements in one axis: a view of a tensor in row-major order, or of a copy that is.

    Example:
        >>> dynamic.ravel(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 2., 3., 4.])
    """
    return ops.reshape(input.contiguous(), (-1,))


def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One axis as several, of the given sizes, one of which may be -1.

    Example:
        >>> dynamic.unflatten(dynamic.ones(6, 2), 0, (2, 3)).shape
        torch.Size([2, 3, 2])
    """
    axis = axis_of("unflatten", dim, input.ndim, of_number=False)
    shape = tuple(input.shape)
    wanted = list(sizes_of((sizes,), "unflatten", "sizes"))
    if not wanted:
        raise AutogradError("unflatten: sizes must be non-empty")
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
    """The tensor with at least one axis.

    Example:
        >>> dynamic.atleast_1d(dynamic.tensor(1.0))
        tensor([1.])
    """
    return input if input.ndim else ops.reshape(input, (1,))


def atleast_2d(input: Any) -> Any:
    """The tensor with at least two axes, new ones first.

    Example:
        >>> dynamic.atleast_2d(dynamic.tensor([1.0, 2.0]))
        tensor([[1., 2.]])
    """
    return input if input.ndim > 1 else ops.reshape(input, (1, -1))


def hstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined along their second axis, vectors along their only one.

    Example:
        >>> dynamic.hstack([dynamic.tensor([1.0]), dynamic.tensor([2.0, 3.0])])
        tensor([1., 2., 3.])
    """
    tensors = [atleast_1d(as_tensor(one)) for one in tensors]
    return ops.concatenate(tensors, 1 if tensors and tensors[0].ndim > 1 else 0)


def vstack(tensors: Sequence[object]) -> Any:
    """Tensors joined along their first axis, vectors as rows.

    Example:
        >>> dynamic.vstack([dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0])])
        tensor([[1., 2.],
                [3., 4.]])
    """
    return ops.concatenate([atleast_2d(as_tensor(one)) for one in tensors], 0)


def dstack(tensors: Sequence[object]) -> Any:
    """Tensors joined along their third axis.

    Example:
        >>> dynamic.dstack([dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0])])
        tensor([[[1., 3.],
                 [2., 4.]]])
    """
    grown = [atleast_2d(as_tensor(one)) for one in tensors]
    return ops.concatenate([x if x.ndim > 2 else ops.expand_dims(x, 2) for x in grown], 2)


def column_stack(tensors: Sequence[object]) -> Any:
    """Tensors joined along their second axis, vectors as columns.

    Example:
        >>> dynamic.column_stack([dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0])])
        tensor([[1., 3.],
                [2., 4.]])
    """
    grown = [as_tensor(one) for one in tensors]
    return ops.concatenate([x if x.ndim > 1 else ops.reshape(x, (-1, 1)) for x in grown], 1)


def _listed(tensors: Any) -> list[Any]:
    """`f(a, b)` and `f([a, b])` alike."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tensors[0]
    return [as_tensor(one) for one in tensors]


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Views of all tensors in the shape that they broadcast to.

    Example:
        >>> a, b = dynamic.broadcast_tensors(dynamic.ones(2, 1), dynamic.ones(3))
        >>> a.shape, b.shape
        (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    shape = common_shape(*(one.shape for one in tensors))
    return tuple(ops.broadcast_to(one, shape) for one in tensors)


def meshgrid(*tensors: object, indexing: str = "ij") -> tuple[Any, ...]:
    """Per vector a view of it along an axis of its own, in the shape of all of them.

    With indexing="xy" the first two axes are exchanged.

    Example:
        >>> dynamic.meshgrid(dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0]))
        (tensor([[1.],
                [2.]]), tensor([[3.],
                [3.]]))
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
    """All combinations of the elements of vectors, one per row.

    Example:
        >>> dynamic.cartesian_prod(dynamic.tensor([1, 2]), dynamic.tensor([3]))
        tensor([[1, 3],
                [2, 3]])
    """
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([ravel(one) for one in meshgrid(*tensors)], 1)


def tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *,
    indices: Any = None, sections: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Views cut along an axis: so many parts, the first ones longer, or before each index.

    Example:
        >>> dynamic.tensor_split(dynamic.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if indices_or_sections is None:
        indices_or_sections = sections if indices is None else indices
    if not input.ndim:
        raise AutogradError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    size = input.shape[axis_of("tensor_split", dim, input.ndim)]
    if hasattr(indices_or_sections, "__index__") and not getattr(indices_or_sections, "ndim", 0):
        count = int(indices_or_sections)
        if count <= 0:
            raise AutogradError("number of sections must be larger than 0, got " + str(count))
        sizes = [size // count + (i < size % count) for i in range(count)]
        bounds = [0, *np.cumsum(sizes).tolist()]
    else:
        if hasattr(indices_or_sections, "ndim"):
            indices_or_sections = indices_or_sections.tolist()
        places = sizes_of((indices_or_sections,), "tensor_split", "indices_or_sections")
        for one in places:
            require_int("tensor_split", "indices_or_sections", 2, one)
        bounds = [0, *(min(int(one), size) for one in places), size]
    parts = itertools.pairwise(bounds)
    return tuple(input.narrow(dim, start, max(0, stop - start)) for start, stop in parts)


def fliplr(input: object) -> Any:
    """The columns in reverse order.

    Example:
        >>> dynamic.fliplr(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[2., 1.],
                [4., 3.]])
    """
    return ops.flip(input, 1)


def flipud(input: object) -> Any:
    """The rows in reverse order.

    Example:
        >>> dynamic.flipud(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [1., 2.]])
    """
    return ops.flip(input, 0)


@computed
@called("Rot90")
def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """The plane of two axes turned by k right angles, from the first towards the second.

    Example:
        >>> dynamic.rot90(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[2., 4.],
                [1., 3.]])
    """
    if len(dims) != 2:
        raise AutogradError(
            f"expected total rotation dims == 2, but got dims = {len(dims)}: rot90 of {list(dims)}"
        )
    require_int("rot90", "k", 2, k)
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
    """The elements moved along axes, or all of them in order; those past the end come first.

    Example:
        >>> dynamic.roll(dynamic.tensor([1.0, 2.0, 3.0]), 1)
        tensor([3., 1., 2.])
    """
    if dims is None:
        if not hasattr(shifts, "__index__"):
            if len(shifts) != 1:
                raise AutogradError(
                    f"roll: without dims one shift is taken, but got {len(shifts)}: {shifts}"
                )
            (shifts,) = shifts
        return ops.reshape(roll(ravel(input), shifts, 0), tuple(input.shape))
    moves, axes = ((one,) if hasattr(one, "__index__") else one for one in (shifts, dims))
    if len(moves) != len(axes):
        raise AutogradError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}"
        )
    places = tuple(axis_of("roll", axis, input.ndim, of_number=False) for axis in axes)
    return input._apply(eager_ops.roll, (input,), {"shifts": tuple(moves), "axes": places})


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
    return result._apply(eager_ops.contiguous, (result,), {})  # a view of what was expanded


def tile(input: Any, *sizes: object, dims: object = None) -> Any:
    """As `repeat`, with 1 for leading axes that are not given.

    Example:
        >>> dynamic.tile(dynamic.tensor([1.0, 2.0]), 2)
        tensor([1., 2., 1., 2.])
    """
    times = sizes_of(sizes if dims is None else (dims,), "tile", "dims")
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each element, or slice along `dim`, so many times in a row; per element if a tensor.

    A tensor alone gives the numbers from 0 on, each so many times.

    Example:
        >>> dynamic.repeat_interleave(dynamic.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if repeats is None:
        if dim is not None:
            raise ArgumentError(f"repeat_interleave(): dim={dim!r} is given without repeats")
        return wrap(np.repeat(np.arange(input.shape[0]), values_of(input)))
    if dim is None:
        input, dim = ravel(input), 0
    axis = axis_of("repeat_interleave", dim, input.ndim, of_number=False)
    times = values_of(repeats) if isinstance(repeats, Tensor) else repeats
    if np.asarray(times).dtype.kind not in "iu":
        if isinstance(repeats, Tensor):
            raise AutogradError(f"repeats has to be Long or Int tensor, not {repeats.dtype}")
        raise ArgumentError(
            "repeat_interleave(): argument 'repeats' (position 2) must be Tensor or int, not "
            f"{type(repeats).__name__}"
        )
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
    found = ops.take(input, np.repeat(np.arange(size), times), axis)
    return labelled(found, "IndexSelect")


def as_strided(
    input: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """The view of the memory with this shape and these steps, the first element where x has it.

    `storage_offset` counts from the memory's first element instead.

    Example:
        >>> dynamic.as_strided(dynamic.arange(3), (2, 2), (1, 1))
        tensor([[0, 1],
                [1, 2]])
    """
    of_tracer = getattr(input, "_strided", None)
    if of_tracer is not None:
        return of_tracer(size, stride, storage_offset)
    array = input._array
    start = strided.layout(array).start if storage_offset is None else storage_offset
    view = strided.strided(array, size, stride, start)
    region = strided.Region(view, array, beyond=True)
    return strided_view(strided.as_strided, input, view, region)
