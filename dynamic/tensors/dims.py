"""The argument `dim` of methods and functions: axes counted from the front, with PyTorch's errors.

Of a number, which has no axes, 0 and -1 are axes too: as if it were a vector of one element.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from staticgraph.compiler.core.errors import AxisError, DTypeError, OutOfRangeError
from staticgraph.compiler.core.types import normalise_axes, normalise_axis
from staticgraph.compiler.ops import reshape
from staticgraph.dynamic.core.errors import ArgumentError, SizeError
from staticgraph.dynamic.core.no_tensors import refuse_kinds
from staticgraph.dynamic.tensors.views import alone


def axis_of(name: str, dim: Any, ndim: int, of_number: bool = True) -> int:
    """`dim` counted from the front; IndexError if it is out of range, ValueError if it is no int.

    `of_number`: whether a number counts as a vector of one element.
    """
    if not ndim and not of_number:
        raise AxisError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not hasattr(dim, "__index__"):
        raise ArgumentError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    ndim = ndim or 1
    try:
        return normalise_axis(name, dim, ndim)
    except AxisError:
        raise AxisError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
            f"{dim})"
        ) from None


def axes_of(name: str, dim: Any, ndim: int) -> tuple[int, ...]:
    """One `dim`, several or all (None) in order, counted from the front; those of a number: ()."""
    if dim is None:
        return tuple(range(ndim))
    dims = (dim,) if hasattr(dim, "__index__") else dim
    if not isinstance(dims, Iterable) or isinstance(dims, dict):
        found = type(dim).__name__
        raise ArgumentError(f"{name}(): argument 'dim' must be tuple of ints, not {found}")
    axes = [axis_of(name, one, ndim) for one in dims]
    for one in axes:
        if axes.count(one) > 1:
            raise SizeError(f"dim {one} appears multiple times in the list of dims")
    return normalise_axes(name, axes, ndim) if ndim else ()


def exchanged(dim0: int, dim1: int, ndim: int) -> tuple[int, ...]:
    """All axes in order, two of them exchanged."""
    i, j = axis_of("transpose", dim0, ndim), axis_of("transpose", dim1, ndim)
    places = {i: j, j: i}
    return tuple([places.get(axis, axis) for axis in range(ndim)])


def along(function: Callable[..., Any], name: str = "") -> Any:
    """`function(input, dim, ...)` for numbers too, and with PyTorch's error for `dim`.

    A number is taken as a vector, and so are those among the other operands; what comes out as a
    vector of one element is a number again.
    """
    name = name or function.__name__

    @functools.wraps(function)
    def method(input: Any, *args: object, **options: object) -> Any:
        if not hasattr(input, "_array"):  # a symbolic expression, or an array
            try:
                return function(input, *args, **options)
            except (AxisError, DTypeError) as error:
                refuse_kinds(
                    name, getattr(function, "__self__", function), (input, *args), options, error
                )
                raise
        try:
            if input.ndim:
                return function(input, *args, **options)
            grown = [_as_vector(one) for one in args]
            named = {key: _as_vector(one) for key, one in options.items()}
            return _as_number(function(_as_vector(input), *grown, **named))
        except AxisError:
            axes_of(name, options.get("dim", options.get("axis", (args or (0,))[0])), input.ndim)
            raise

    return method


def _as_vector(value: Any) -> Any:
    """A tensor without axes as a vector; anything else as it is."""
    return value if getattr(value, "_array", None) is None or value.ndim else reshape(value, (1,))


def _as_number(result: Any) -> Any:
    """A vector of one element as a number, and so in a named tuple of results.

    Nobody else has the vector: the number is a view only if it was one.
    """
    if isinstance(result, tuple):
        return type(result)(*map(_as_number, result))
    if tuple(result.shape) != (1,):
        return result
    number = reshape(result, ())
    is_view = getattr(result, "_overwritten", True) is None and result._note is not None
    return number if is_view else alone(number)


def some_axes(x: Any, name: str, dim: Any) -> Any:
    """The axes of an extremum, one as a tuple: ties then share the gradient.

    IndexError for an axis without elements.
    """
    dims = (dim,) if hasattr(dim, "__index__") else dim
    if not x._array.size and dims:
        for one in dims:
            if not x._array.shape[axis_of(name, one, x.ndim)]:
                raise OutOfRangeError(
                    f"{name}(): Expected reduction dim {one} to have non-zero size."
                )
    return dims
