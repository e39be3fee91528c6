"""Methods that reduce along `dim`, with PyTorch's arguments and errors."""

from __future__ import annotations

from typing import Any

from compiler import ops
from compiler.errors import AxisError
from compiler.op import Op, Operand
from compiler.types import normalise_axis
from dynamic.dtypes import BOOL, DTYPES
from dynamic.errors import AutogradError


def axis_of(name: str, dim: Any, ndim: int) -> int:
    """`dim` counted from the front; IndexError if it is out of range, TypeError if it is no int."""
    ndim = ndim or 1  # of a number, 0 and -1 are axes
    try:
        return normalise_axis(name, dim, ndim)
    except AxisError:
        raise _no_axis(dim, ndim) from None


def _no_axis(dim: Any, ndim: int) -> AxisError:
    ndim = ndim or 1
    dims = (dim,) if hasattr(dim, "__index__") else dim
    wrong = next(one for one in dims if not -ndim <= one < ndim)
    return AxisError(
        f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
        f"{wrong})"
    )


def _over(op: Op, x: Any, dim: Any, keepdim: bool, **attrs: Any) -> Any:
    """`op` along `dim`, with PyTorch's error where there is no such axis."""
    try:
        return op(x, dim, keepdim, **attrs)
    except AxisError:
        if not x._array.ndim and dim in (0, -1):  # of a number these are axes
            return op(x, None, keepdim, **attrs)
        raise _no_axis(dim, x._array.ndim) from None


def _with_numpy_names(method: Any) -> Any:
    """The method, which takes NumPy's names of `dim` and `keepdim` as well (as PyTorch's do)."""

    def named(self: Any, *args: Any, **options: Any) -> Any:
        if options:
            options = {_NAMES.get(name, name): value for name, value in options.items()}
        return method(self, *args, **options)

    named.__doc__ = method.__doc__
    return named


_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def total(op: Op, over_dims: Op) -> Any:
    """The method of a sum, mean or product; `over_dims` is the op where `dim` is given."""
    needs_float = op is ops.mean

    def method(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        x = self if dtype is None else self.to(dtype)
        if needs_float and x._array.dtype.kind != "f":
            raise AutogradError(
                "mean(): could not infer output dtype. Input dtype must be either a floating "
                f"point or complex dtype. Got: {DTYPES[x._array.dtype].legacy}"
            )
        if dim is None and not keepdim:
            attrs = {"axes": tuple(range(x._array.ndim)), "keepdims": False}
            return x.apply(op, (x,), attrs)
        return _over(over_dims, x, dim, keepdim)

    method.__doc__ = op.doc
    return _with_numpy_names(method)


def extremum(op: Op, position: Op, pairwise: Op, result: Any) -> Any:
    """The method of a maximum or minimum, of which `position` finds the index."""

    def method(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Operand):
            return pairwise(self, dim)
        if dim is None:
            return op(self)
        return result(_over(op, self, dim, keepdim), position(self, dim, keepdim))

    method.__doc__ = (
        f"{op.doc} With `dim`, a named tuple (values, indices); with a tensor, element by element."
    )
    return _with_numpy_names(method)


def spread(op: Op) -> Any:
    """The method of a variance or standard deviation."""

    def method(
        self: Any,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: int = 1,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        degrees = correction if unbiased is None else int(unbiased)
        return _over(op, self, dim, keepdim, correction=degrees)

    method.__doc__ = f"{op.doc} Divided by n - 1 unless told otherwise, as PyTorch's."
    return _with_numpy_names(method)


def truth(op: Op) -> Any:
    """The method of `all` or `any`, of numbers too."""

    def method(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x = self if self._array.dtype == BOOL else ops.not_equal(self, 0)
        return _over(op, x, dim, keepdim)

    method.__doc__ = op.doc
    return _with_numpy_names(method)
