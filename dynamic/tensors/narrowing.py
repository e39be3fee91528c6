"""What `autocast` does to the operands of an op: in narrow floats, or in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.default_dtype import BLOCKS
from staticgraph.compiler.core.dtypes import is_float, is_narrow
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import F32, F64, DType
from staticgraph.dynamic.tape.grad_mode import mode, paused

NARROWED: frozenset[Op] = frozenset({
    ops.matmul, ops.conv2d, ops.conv_transpose2d, ops.prod, eager_ops.add_bias, eager_ops.bmm,
    eager_ops.prod_dim,
})  # fmt: skip
"""The ops whose operands are cast: products, the bias that is added to one, and `prod`."""
_WIDENED = frozenset({ops.prod, eager_ops.prod_dim})


@contextmanager
def casting(dtype: Any) -> Iterator[None]:
    """Inside, this thread casts to a NumPy dtype; None: it casts nothing."""
    before, mode.autocast = mode.autocast, dtype
    paused.append(None)
    token = object()
    BLOCKS.append(token)
    try:
        yield
    finally:
        mode.autocast = before
        paused.pop()
        BLOCKS.remove(token)


def _narrow_dtype() -> object:
    return mode.autocast


provided.narrow_dtype.provide(_narrow_dtype)


def _cast(value: Any, dtype: Any) -> Any:
    """A tensor of floats, but for float64, in a dtype; a list with its tensors so; else itself."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)([_cast(one, dtype) for one in value])
    if isinstance(value, np.ndarray):  # what an op adds by itself, such as a bias of zeros
        return value.astype(dtype) if value.dtype == F32 else value
    if not isinstance(value, Operand) or not hasattr(value, "to"):
        return value
    own = value.dtype.dtype
    if not is_float(own) or own in (F64, dtype):
        return value
    return value.to(dtype)


def in_dtype(operands: Sequence[Any], dtype: Any) -> list[Any]:
    """What is handed over, with its tensors of floats in a dtype."""
    return [_cast(one, dtype) for one in operands]


def narrowed(op: Op, operands: Sequence[Any]) -> list[Any]:
    """The operands of an op in the dtype of the block; of `prod` in float32."""
    return in_dtype(operands, F32 if op in _WIDENED else mode.autocast)


def narrowing(function: Callable[..., Any], wide: Any = None) -> Callable[..., Any]:
    """A function that `autocast` computes in its dtype; in `wide`, if that is given."""

    @functools.wraps(function)
    def cast(*args: Any, **options: Any) -> Any:
        if not paused or mode.autocast is None:
            return function(*args, **options)
        dtype = mode.autocast if wide is None else wide
        values = in_dtype(args, dtype)
        named = {key: _cast(one, dtype) for key, one in options.items()}
        with casting(None):
            return function(*values, **named)

    return cast


def as_without(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that `autocast` leaves alone, though it is made of products."""

    @functools.wraps(function)
    def plain(*args: Any, **options: Any) -> Any:
        if not paused or mode.autocast is None:
            return function(*args, **options)
        with casting(None):
            return function(*args, **options)

    return plain


def widening(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that `autocast` computes in float32."""
    return narrowing(function, F32)


def as_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result has the dtype of its input, which may be narrower than the rest."""

    @functools.wraps(function)
    def cast(input: Any, *args: Any, **options: Any) -> Any:
        result = function(input, *args, **options)
        own = getattr(input, "dtype", None)
        if isinstance(own, DType) and is_narrow(own.dtype) and result.dtype != own:
            return result.to(own)
        return result

    return cast
