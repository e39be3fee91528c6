"""Methods that reduce along `dim`, with PyTorch's arguments and errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.dynamic.core.dtypes import BOOL, DTYPES
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.dims import axes_of


def over(op: Op, x: Any, dim: object, keepdim: bool, **attrs: object) -> Any:
    """`op` along `dim`, with PyTorch's error where there is no such axis; of a number itself.

    No axis means all of them, as in PyTorch, except to `all` and `any`.
    """
    if isinstance(dim, list | tuple) and not dim and op is not ops.all and op is not ops.any:
        dim = None
    try:
        return op(x, dim, keepdim, **attrs)
    except ShapeError:
        axes_of(op.name, dim, x.ndim)
        return op(x, None, keepdim, **attrs)


def with_numpy_names(method: Any) -> Any:
    """The method, which takes NumPy's names of `dim` and `keepdim` as well (as PyTorch's do)."""

    @functools.wraps(method)
    def named(self: object, *args: object, **options: object) -> Any:
        if options:
            options = {_NAMES.get(key, key): value for key, value in options.items()}
        return method(self, *args, **options)

    return named


def _named(name: str, method: Any) -> Any:
    method.__name__ = method.__qualname__ = name  # Python's errors name it
    return with_numpy_names(method)


_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def total(op: Op, over_dims: Op) -> Any:
    """The method of a sum, mean or product; `over_dims` is the op where `dim` is given."""
    needs_float = op is ops.mean

    def method(
        self: Any, dim: object = None, keepdim: bool = False, *, dtype: object = None
    ) -> Any:
        x = self if dtype is None else self.to(dtype=dtype)
        if needs_float and not is_inexact(x._array.dtype):
            raise AutogradError(
                "mean(): could not infer output dtype. Input dtype must be either a floating "
                f"point or complex dtype. Got: {DTYPES[x._array.dtype].legacy}"
            )
        if op is ops.prod and isinstance(dim, list | tuple):
            raise ArgumentError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
        if dim is None and keepdim is False:
            attrs = {"axes": tuple(range(x._array.ndim)), "keepdims": False}
            found = x._apply(op, (x,), attrs)
        else:
            found = over(over_dims, x, dim, keepdim)
        return found if dtype is None else found.to(dtype=dtype)  # integers are summed in 64 bits

    method.__doc__ = op.doc
    return _named(op.name, method)


def extremum(op: Op, position: Op, at: Op, pairwise: Op, result: Any) -> Any:
    """The method of a maximum or minimum, of which `position` finds the index.

    `at` is the op of the element at that index, whose node keeps nothing else.
    """

    def method(self: Any, dim: object = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Operand):
            return pairwise(self, dim)
        if dim is None and keepdim is False:
            axes = tuple(range(self._array.ndim))
            return self._apply(op, (self,), {"axes": axes, "keepdims": False, "ties": "all"})
        if dim is None:
            raise ArgumentError(f"{op.name}(): keepdim={keepdim!r} without a dim")
        if not isinstance(keepdim, bool | np.bool_):
            kind = type(keepdim).__name__
            raise ArgumentError(f"{op.name}(): argument 'keepdim' must be bool, not {kind}")
        axes = axes_of(op.name, dim, self.ndim)
        if not self.ndim and not (paused and mode.capture is not None):
            return result(self.clone(), self._constant(np.zeros((), np.int64)))
        if len(axes) != 1 or (paused and mode.capture is not None):
            return result(over(op, self, dim, keepdim), over(position, self, dim, keepdim))
        places = over(position, self, dim, keepdim)
        attrs = {"axes": axes, "keepdims": bool(keepdim)}
        return result(self._apply(at, (self, places), attrs), places)

    method.__doc__ = (
        f"{op.doc} With `dim`, a named tuple (values, indices); with a tensor, element by element."
    )
    return _named(op.name, method)


def spread(op: Op) -> Any:
    """The method of a variance or standard deviation."""

    def method(
        self: object,
        dim: object = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Any = 1,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1
        if getattr(correction, "ndim", None) == 0:  # a tensor, or a scalar of NumPy's
            correction = correction.item()
        degrees = correction if unbiased is None else int(unbiased)
        return over(op, self, dim, keepdim, correction=degrees)

    method.__doc__ = f"{op.doc} Divided by n - 1 unless told otherwise, as PyTorch's."
    return _named(op.name, method)


def truth(op: Op) -> Any:
    """The method of `all` or `any`, of numbers too."""

    def method(self: Any, dim: object = None, keepdim: bool = False) -> Any:
        x = self if self._array.dtype == BOOL else ops.not_equal(self, 0)
        return over(op, x, dim, keepdim)

    method.__doc__ = op.doc
    return _named(op.name, method)
