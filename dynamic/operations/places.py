"""Elements and parts taken from, and put to, places of a tensor."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import AxisError, OptionError, OutOfRangeError
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.overrides import answer, asking
from staticgraph.compiler.core.passing import passed, passing
from staticgraph.dynamic.core.dtypes import promote_types, require_index
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, SizeError
from staticgraph.dynamic.core.no_tensors import refuse, refuse_kinds, refuse_others
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.operations.diagonals import as_view, diag_embed
from staticgraph.dynamic.tensors import strided
from staticgraph.dynamic.tensors.creation import as_tensor, linspace
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.outputs import put_out
from staticgraph.dynamic.tensors.short_ways import joining
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, strided_view, wrap
from staticgraph.dynamic.tensors.views import computed, writable

__all__ = [
    "atleast_3d", "broadcast_shapes", "combinations", "concat", "diagflat", "diagonal_scatter",
    "hsplit", "index_put", "logspace", "put", "row_stack", "select_scatter", "slice_scatter",
    "sliding_windows", "split_with_sizes", "vander", "vsplit",
]  # fmt: skip

_ALL = slice(None)


@called("Put")
def put(input: Any, index: Any, source: object, accumulate: bool = False) -> Any:
    """The input with the elements of `source` at places in the flat tensor, or added there.

    Example:
        >>> dynamic.put(
        ...     dynamic.tensor([1.0, 2.0, 3.0]),
        ...     dynamic.tensor([0, -1]),
        ...     dynamic.tensor([10.0, 30.0]),
        ... )
        tensor([10.,  2., 30.])
    """
    require_index(
        "put_(): Expected a long tensor for index, but got {0}", index, True, kind=OutOfRangeError
    )
    given, source = source, ops.reshape(source, tuple(index.shape))
    if not accumulate:
        return keep(ops.put.bound((input, source, index), {}), given)
    places = ops.reshape(index, (-1,))
    added = ops.take_add(ops.reshape(source, (-1,)), places, 0, input.numel())
    return input + ops.reshape(added, tuple(input.shape))


def index_put(input: Any, indices: object, values: object, accumulate: bool = False) -> Any:
    """The input with `input[indices] = values`, or with them added.

    Example:
        >>> dynamic.index_put(
        ...     dynamic.zeros((2, 2)), (dynamic.tensor([0, 1]), dynamic.tensor([1, 0])), 5.0
        ... )
        tensor([[0., 5.],
                [5., 0.]])
    """
    return _copy_for(values, input).index_put_(indices, values, accumulate)


def _copy_for(source: Any, input: Any) -> Any:
    """A copy of the input that the source can be written to: a tracer if the source is one."""
    plain = not isinstance(source, Operand) or type(source) in PLAIN
    if plain or type(input) not in PLAIN or source.dtype != input.dtype:
        return input.clone()
    return ops.where(False, ops.sum(source), input)


def _scatter_op(name: str, cut: Any) -> Op:
    """The op that replaces the part of a tensor that `cut(x, **attrs)` is a view of."""

    def scattered(x: object, src: object, **attrs: object) -> Any:
        result = np.array(x)
        writable(cut(result, **attrs))[...] = src
        return result

    def by_x(g: Any, o: object, a: object, b: Any, **attrs: object) -> Any:
        zeros = np.zeros(b.shape, np.dtype(g.dtype))
        return scattered(g, zeros, **attrs) if isinstance(g, np.ndarray) else g._apply(
            op, (g, g._constant(zeros)), attrs
        )  # fmt: skip

    def by_src(g: object, o: object, a: object, b: Any, **attrs: object) -> Any:
        part = cut(g, **attrs)
        return (
            part
            if part.dtype == b.dtype
            else ops.astype.bound((part,), {"dtype": np.dtype(b.dtype)})
        )

    op = Op(
        name=name, infer_type=lambda x, src, **attrs: x, evaluate=scattered, vjp=(by_x, by_src),
        saves=("", ""), complex="linear", doc="x with `src` in the place of a view.",
    )  # fmt: skip
    return op


_select_scatter = _scatter_op("select_scatter", lambda x, *, key: x[key])
_slice_scatter = _scatter_op("slice_scatter", lambda x, *, key: x[key])
_diagonal_scatter = _scatter_op("diagonal_scatter", lambda x, *, axes: x.diagonal(*axes))


def _scattered(op: Op, input: Any, src: Any, attrs: Attrs, part: Any) -> Any:
    """The op where both are plain tensors; else `src` written to the part of a copy."""
    _check_part(part, src)
    return input._apply(op, (input, src), attrs)


def _check_part(part: Any, src: Any) -> None:
    """RuntimeError unless a source has the shape of the part that it replaces."""
    if tuple(part.shape) != tuple(src.shape):
        raise AutogradError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )


def select_scatter(input: Any, src: object, dim: int, index: int) -> Any:
    """The input with `src`, of the shape that is left without the axis, at one index of an axis.

    Example:
        >>> dynamic.select_scatter(dynamic.zeros(2, 2), dynamic.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    if type(input) not in PLAIN or type(src) not in PLAIN:
        result = _copy_for(src, input)
        part = result.select(dim, index)
        _check_part(part, src)
        part.copy_(src)
        return result
    axis = axis_of("select_scatter", dim, input.ndim)
    part = input.detach().select(dim, index)
    return _scattered(_select_scatter, input, src, {"key": (_ALL,) * axis + (index,)}, part)


def slice_scatter(
    input: Any,
    src: object,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """The input with `src`, of the slice's shape, in a slice of an axis.

    Example:
        >>> dynamic.slice_scatter(dynamic.zeros(4), dynamic.ones(2), 0, 1, 3)
        tensor([0., 1., 1., 0.])
    """
    axis = axis_of("slice_scatter", dim, input.ndim, of_number=False)
    key = (_ALL,) * axis + (slice(start, end, step),)
    if type(input) not in PLAIN or type(src) not in PLAIN:
        result = _copy_for(src, input)
        _check_part(result[key], src)
        result[key] = src
        return result
    return _scattered(_slice_scatter, input, src, {"key": key}, input.detach()[key])


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The input with `src` on the diagonals of the planes of two axes.

    Example:
        >>> dynamic.diagonal_scatter(dynamic.zeros(2, 2), dynamic.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    dim1, dim2 = (axis_of("diagonal_scatter", dim, input.ndim) for dim in (dim1, dim2))
    if type(input) in PLAIN and type(src) in PLAIN:
        axes = (offset, dim1, dim2)
        part = input.detach().diagonal(*axes)
        return _scattered(_diagonal_scatter, input, src, {"axes": axes}, part)
    _check_part(input.diagonal(offset, dim1, dim2), src)
    mask = diag_embed(wrap(np.ones(src.shape, np.bool_)), offset, dim1, dim2)
    placed = diag_embed(src, offset, dim1, dim2)
    rows, columns = input.shape[dim1], input.shape[dim2]
    cut = [slice(None)] * input.ndim
    cut[dim1], cut[dim2] = slice(rows), slice(columns)
    grow = [(0, 0)] * input.ndim
    for dim, size in ((dim1, rows), (dim2, columns)):
        grow[dim] = (0, max(0, size - mask.shape[dim]))
    mask, placed = (ops.pad(one, grow)[tuple(cut)] for one in (mask, placed))
    placed = ops.astype(placed, np.dtype(input.dtype))
    return ops.where(ops.not_equal(mask, 0), placed, input)  # a diagonal of bools is of int64


@computed
def diagflat(input: object, offset: int = 0) -> Any:
    """The matrix with all elements on a diagonal.

    Example:
        >>> dynamic.diagflat(dynamic.tensor([[1.0], [2.0]]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    return diag_embed(ops.reshape(input, (-1,)), offset)


def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """A view of the windows of an axis, along a new last axis."""
    axis = axis_of("unfold", dimension, input.ndim)
    require_int("unfold", "size", 2, size)
    require_int("unfold", "step", 3, step)
    length = input.shape[axis] if input.ndim else 1
    if step <= 0:
        raise AutogradError(f"step is {step} but must be > 0")
    if size < 0:
        raise AutogradError(f"size is {size} but must be >= 0")
    if size > length:
        raise AutogradError(
            f"maximum size for tensor at dimension {axis} is {length} but size is {size}"
        )
    if not input.ndim:
        return ops.reshape(input, (1,)).narrow(0, 0, size)
    if type(input) in PLAIN:
        x = input._array
        apart = strided.told_apart(x)
        windows = _windows(x, axis, size, step)
        region = strided.Region(windows if apart is x else _windows(apart, axis, size, step), apart)
        return strided_view(strided.unfold, input, windows, region)
    moved = ops.sliding_windows(input.movedim(axis, -1), (size,), (step,), (1,))
    return as_view(moved.movedim(-2, axis), input)


def sliding_windows(
    x: object, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Any:
    """A copy of every window over the last axes: (..., n) -> (..., windows, window), for one axis.

    `unfold` gives a view.

    Example:
        >>> dynamic.sliding_windows(dynamic.tensor([1.0, 2.0, 3.0]), (2,), (1,), (1,))
        tensor([[1., 2.],
                [2., 3.]])
    """
    found = ops.sliding_windows(x, sizes, strides, dilations)
    return found.clone() if isinstance(found, Tensor) else found


def _windows(x: Any, axis: int, size: int, step: int) -> Any:
    count = (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    steps = [one // x.itemsize for one in (*x.strides, x.strides[axis])]
    steps[axis] *= step
    return strided.strided(x, shape, steps, strided.layout(x).start)


def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Views of the listed sizes along an axis.

    Example:
        >>> dynamic.split_with_sizes(dynamic.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    found: tuple[Any, ...] = input.split(list(split_sizes), dim)
    return found


def vsplit(input: Any, indices_or_sections: object) -> tuple[Any, ...]:
    """Views cut along the first axis: so many parts, or before each index.

    Example:
        >>> dynamic.vsplit(dynamic.tensor([[1.0], [2.0]]), 2)
        (tensor([[1.]]), tensor([[2.]]))
    """
    return equal_parts("vsplit", input, indices_or_sections, 0)


def hsplit(input: Any, indices_or_sections: object) -> tuple[Any, ...]:
    """Views cut along the second axis, of vectors along their only one: see `vsplit`.

    Example:
        >>> dynamic.hsplit(dynamic.tensor([1.0, 2.0]), 2)
        (tensor([1.]), tensor([2.]))
    """
    return equal_parts("hsplit", input, indices_or_sections, min(input.ndim - 1, 1))


def equal_parts(name: str, input: Any, sections: Any, axis: int) -> tuple[Any, ...]:
    """`tensor_split`; RuntimeError for a number of parts that does not divide the size."""
    size = input.shape[axis] if input.ndim else 0
    if isinstance(sections, int) and sections > 0 and isinstance(size, int) and size % sections:
        raise AutogradError(
            f"torch.{name} attempted to split along dimension {axis}, but the size of the "
            f"dimension {size} is not divisible by the split_size {sections}!"
        )
    found: tuple[Any, ...] = input.tensor_split(sections, axis)
    return found


@asking
def concat(tensors: Any, dim: int = 0, *, out: Any = None, axis: int | None = None) -> Any:
    """Tensors joined along an axis that they have; `axis` is another name of `dim`.

    Example:
        >>> dynamic.cat((dynamic.tensor([1, 2]), dynamic.tensor([3])))
        tensor([1, 2, 3])
    """
    dim = dim if axis is None else axis
    if (
        passing
        and (said := passed(concat, (tensors, dim), {} if out is None else {"out": out}))
        is not None
    ):
        return said[0]
    if out is not None:
        return put_out("cat", out, concat(tensors, dim), tuple(tensors))
    try:
        return _joining.function(tensors, dim)
    except Exception as error:
        if (found := answer(concat, (tensors, dim), {})) is not None:
            return found[0]
        refuse_kinds("cat", concat, (tensors, dim), {}, error)
        raise


def _concat(tensors: Any, dim: int) -> Any:
    refuse_one_tensor("cat", tensors)
    try:
        return ops.concatenate(tensors, dim)
    except OptionError:
        raise OptionError("torch.cat(): expected a non-empty list of Tensors") from None
    except (AxisError, SizeError) as error:
        if not all(hasattr(one, "shape") for one in tensors):
            refuse("cat", tensors, "tensors")
        filled = [one for one in tensors if tuple(one.shape) != (0,)]
        if 0 < len(filled) < len(tensors):  # vectors of nothing go with any shape
            dtype = functools.reduce(promote_types, [one.dtype for one in tensors])
            return _concat(filled, dim).to(dtype)
        for position, one in enumerate(tensors):
            if not one.ndim:
                raise SizeError(
                    f"zero-dimensional tensor (at position {position}) cannot be concatenated"
                ) from None
        axis = axis_of("cat", dim, tensors[0].ndim)
        raise SizeError(_unlike(tensors, axis) or str(error)) from None
    except (AttributeError, TypeError) as error:
        refuse_others("cat", concat, (tensors,), {}, error)
        raise


_joining = joining(_concat)


def _unlike(tensors: Any, axis: int) -> str:
    """What PyTorch says of the first tensor that does not go with the first of all."""
    wanted = tuple(tensors[0].shape)
    for position, one in enumerate(tensors):
        if one.ndim != len(wanted):
            return (
                "Tensors must have same number of dimensions: got "
                f"{len(wanted)} and {one.ndim}: cat"
            )
        for own, size in enumerate(wanted):
            if own != axis and one.shape[own] != size:
                return (
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {size} "
                    f"but got size {one.shape[own]} for tensor number {position} in the list: cat "
                    f"of shapes {[list(each.shape) for each in tensors]}"
                )
    return ""


def refuse_one_tensor(function: str, tensors: object) -> None:
    """TypeError where a tensor, or what can be read once only, stands for a sequence of them."""
    if isinstance(tensors, Tensor | Iterator | Mapping) or not isinstance(tensors, Iterable):
        given = type(tensors).__name__
        raise ArgumentError(
            f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not {given}"
        )


def row_stack(tensors: Any) -> Any:
    """Tensors joined along their first axis, vectors as rows.

    Example:
        >>> dynamic.row_stack((dynamic.tensor([1, 2]), dynamic.tensor([3, 4])))
        tensor([[1, 2],
                [3, 4]])
    """
    grown = [as_tensor(one) for one in tensors]
    return ops.concatenate([x if x.ndim > 1 else ops.reshape(x, (1, -1)) for x in grown], 0)


def atleast_3d(input: Any) -> Any:
    """The tensor with at least three axes.

    Example:
        >>> dynamic.atleast_3d(dynamic.tensor([1.0, 2.0])).shape
        torch.Size([1, 2, 1])
    """
    if input.ndim > 2:
        return input
    if input.ndim == 1:
        return ops.expand_dims(ops.expand_dims(input, 0), 2)
    return ops.expand_dims(input, 2) if input.ndim == 2 else ops.reshape(input, (1, 1, 1))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to.

    Example:
        >>> dynamic.broadcast_shapes((2, 1), (3,))
        torch.Size([2, 3])
    """
    return Size(np.broadcast_shapes(*shapes))


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a vector, in order, one per row.

    Example:
        >>> dynamic.combinations(dynamic.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.ndim != 1:
        raise AutogradError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(chosen(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    return ops.take(input, rows, 0)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the elements of a vector from 0 to N - 1, falling unless `increasing`.

    Those of integers are int64.

    Example:
        >>> dynamic.vander(dynamic.tensor([2.0, 3.0]), 3)
        tensor([[4., 2., 1.],
                [9., 3., 1.]])
    """
    if x.ndim != 1:
        raise AutogradError(f"vander: x must be a one-dimensional tensor, not of {x.ndim} axes")
    return powers_of(x, N, increasing)


def powers_of(x: Any, count: int | None, increasing: bool) -> Any:
    """The powers of each element along a new last axis: see `vander`."""
    size = x.shape[-1] if count is None else count
    require_int("vander", "N", 2, size, 0)
    x = x if is_inexact(x._array.dtype) else x.long()
    powers = np.arange(size)
    powers = powers if increasing else powers[::-1]
    return ops.expand_dims(x, -1) ** wrap(powers.astype(x._array.dtype))


def logspace(start: float, end: float, steps: int, base: float = 10.0, **options: Any) -> Any:
    """`steps` numbers from base**start to base**end, evenly spaced in their exponents.

    Example:
        >>> dynamic.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    return base ** linspace(start, end, steps, **options)
