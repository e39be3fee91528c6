"""Functions of whole slices of a tensor: cut apart, reduced into others, scaled to a norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.functions.elements import nextafter as _nextafter
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, NoKernelError
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.tensor import wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = [
    "bitwise_left_shift", "bitwise_right_shift", "index_reduce", "narrow_copy", "nextafter",
    "renorm", "sum_to_size", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes",
]  # fmt: skip


def unsafe_split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Copies of parts of so many elements along an axis: see `split`.

    Example:
        >>> dynamic.unsafe_split(dynamic.arange(4), 3)
        (tensor([0, 1, 2]), tensor([3]))
    """
    return tuple([one.clone() for one in tensor.split(split_size_or_sections, dim)])


def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Copies of at most `chunks` parts along an axis: see `chunk`.

    Example:
        >>> dynamic.unsafe_chunk(dynamic.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    return tuple([one.clone() for one in input.chunk(chunks, dim)])


def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Copies of parts of the listed sizes along an axis.

    Example:
        >>> dynamic.unsafe_split_with_sizes(dynamic.arange(4), [1, 3])
        (tensor([0]), tensor([1, 2, 3]))
    """
    return tuple([one.clone() for one in input.split(list(split_sizes), dim)])


def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:
    """A copy of `length` elements from `start` along an axis: see `narrow`.

    Example:
        >>> dynamic.narrow_copy(dynamic.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    return input.narrow(dim, start, length).clone()


def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """The slices of `source` at `index` along an axis, reduced with those of the input.

    `reduce` is "prod", "mean", "amax" or "amin": see `scatter_reduce`.

    Example:
        >>> dynamic.index_reduce(
        ...     dynamic.ones(2), 0, dynamic.tensor([1, 1]), dynamic.tensor([2.0, 3.0]), "prod"
        ... )
        tensor([1., 6.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise AutogradError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    if index.ndim > 1:
        raise AutogradError(
            f"index_reduce(): Index is supposed to be a vector, but got dim: {index.ndim} with type"
            f": {index.type()[6:-6]} and size: {list(index.shape)}"
        )
    axis = axis_of("index_reduce", dim, input.ndim)
    places = index.reshape([-1 if i == axis else 1 for i in range(source.ndim)])
    return input.scatter_reduce(
        axis, places.expand(source.shape), source, reduce, include_self=include_self
    )


@called("Renorm")
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """The slices along an axis, scaled down to the norm `maxnorm` where their p-norm is larger.

    Example:
        >>> dynamic.renorm(dynamic.tensor([[3.0, 4.0]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000]])
    """
    if p <= 0:
        raise AutogradError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise AutogradError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise AutogradError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    axis = axis_of("renorm", dim, input.ndim)
    others = [i for i in range(input.ndim) if i != axis]
    norms = input.norm(p, others, True)
    return input * ops.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def sum_to_size(input: Any, *size: Any) -> Any:
    """The sum over axes, to a shape that broadcasts to the tensor's.

    Example:
        >>> dynamic.sum_to_size(dynamic.ones(2, 3), 1, 3)
        tensor([[2., 2., 2.]])
    """
    shape = sizes_of(size, "sum_to_size")
    lead = input.ndim - len(shape)
    own = tuple(input.shape)
    fits = lead >= 0 and all(n in (1, m) for n, m in zip(shape, own[lead:], strict=True))
    if not fits:
        raise AutogradError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    axes = [*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1 != own[lead + i]]]
    return input.sum(axes, keepdim=True).reshape(shape) if axes else input


def nextafter(input: Any, other: Any) -> Any:
    """The next number of the dtype from each element towards that of another tensor.

    Example:
        >>> dynamic.nextafter(dynamic.tensor([1.0]), dynamic.tensor([2.0])) > 1
        tensor([True])
    """
    return _nextafter(input, other)


def _shifted(name: str, function: Any) -> Any:
    op = getattr(ops, function.__name__)

    def shift(input: Any, other: Any) -> Any:
        if isinstance(input, int) and isinstance(other, int):
            raise ArgumentError(f"{name}: one of both must be a tensor: {input}, {other}")
        if mode.capture is not None:
            return op(mode.capture.lifted(input), mode.capture.lifted(other))
        a, b = (values_of(one) if hasattr(one, "_array") else one for one in (input, other))
        for one in (a, b):
            if not isinstance(one, int | np.ndarray | np.integer | np.bool_):
                said = f"{name}: takes a tensor or an int, not {type(one).__name__}"
                raise ArgumentError(said)
        try:
            return wrap(np.asarray(function(a, b)))
        except TypeError:
            raise NoKernelError(f"{name}: takes tensors of integers") from None

    shift.__name__ = shift.__qualname__ = name
    shifted = int(function(6, 1))
    shift.__doc__ = (
        f"NumPy's {function.__name__}: the bits of integers moved.\n\nExample:\n"
        f"    >>> dynamic.{name}(dynamic.tensor([6]), 1)\n    tensor([{shifted}])\n"
    )
    return shift


bitwise_left_shift = _shifted("bitwise_left_shift", np.left_shift)
bitwise_right_shift = _shifted("bitwise_right_shift", np.right_shift)
