"""Division that rounds: its values are the shared ops', its errors PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.transforms.effects import raise_unless
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import F32
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.nodes import NAMESPACE, Failing


def floor_divide(x: object, y: object) -> Any:
    """`x // y`, rounded down; differentiating it is a RuntimeError, as is 0 among integer y.

    Example:
        >>> dynamic.floor_divide(dynamic.tensor([7, -7]), 2)
        tensor([ 3, -4])
    """
    return floored(x, y, "floor_divide")


def floored(x: object, y: object, name: str) -> Any:
    """`x // y`; who differentiates it is told that the op of this name has no derivative."""
    _refuse_bools("div_floor", x, y)
    refuse_zero(x, y)
    result = ops.floor_divide(x, y)
    if not is_differentiated(x, y):
        return result
    what = f"derivative for aten::{name} is not implemented"
    if mode.capture is not None:
        instead = "use torch.floor(x / y), which is flat, or detach() the operands"
        if not isinstance(result, Handle):
            refuse(what, instead)
        return mode.capture.gradients.failing(result, (x, y), f"{user_place()}: {what}: {instead}")
    edges = tuple([getattr(one, "_node", None) for one in (x, y) if hasattr(one, "_node")])
    result._node = Failing(result._array, AutogradError(what), f"{NAMESPACE}NotImplemented", edges)
    return result


def is_differentiated(*operands: object) -> bool:
    """Whether what is computed of operands is recorded: one of them requires grad."""
    if not mode.enabled or not any(map(_requires_grad, operands)):
        return False
    return mode.capture is None or bool(mode.capture.records())


def quotient_of(x: object, y: object, *, rounding_mode: str | None) -> Any:
    """`x / y`, or that rounded down ("floor") or toward 0 ("trunc").

    What is rounded is flat, and then 0 among integer y is a RuntimeError.
    """
    if rounding_mode is None:
        return ops.divide(x, y)
    if rounding_mode not in ("floor", "trunc"):
        raise AutogradError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    refuse_zero(x, y)
    quotient = ops.floor_divide(x, y)
    floating = is_float(quotient.dtype)
    if not floating:
        whole = rounding_mode == "floor"
        return quotient if whole else ops.floor_divide(x - ops.fmod(x, y), y)
    if rounding_mode == "trunc":
        quotient = ops.trunc(ops.divide(x, y)).detach()
    # flat whatever the operands are, as PyTorch's: x / y has no slope where y is 0
    return eager_ops.tied(quotient, ops.trunc(ops.add(x, y)))


def remainder(x: object, y: object) -> Any:
    """`x - y * floor(x / y)`: it has the sign of y; 0 among integer y is a RuntimeError.

    Example:
        >>> dynamic.remainder(dynamic.tensor([5.0, -5.0]), 3.0)
        tensor([2., 1.])
    """
    _refuse_bools("remainder", x, y)
    refuse_zero(x, y)
    return ops.remainder(x, y)


def fmod(x: object, y: object) -> Any:
    """`x - y * trunc(x / y)`: it has the sign of x; 0 among integer y is a RuntimeError.

    Example:
        >>> dynamic.fmod(dynamic.tensor([5.0, -5.0]), 3.0)
        tensor([ 2., -2.])
    """
    _refuse_bools("fmod", x, y)
    refuse_zero(x, y)
    return ops.fmod(x, y)


class Division:
    """The methods of a tensor that divide integers."""

    __slots__ = ()

    floor_divide = floor_divide
    __floordiv__ = floor_divide
    remainder = remainder
    __mod__ = remainder
    fmod = fmod

    def __rfloordiv__(self, other: object) -> Any:
        return floor_divide(other, self)

    def __rmod__(self, other: object) -> Any:
        return remainder(other, self)


def _refuse_bools(name: str, x: object, y: object) -> None:
    """Raise as PyTorch does where both operands are truths."""
    if all(type(one) is bool or getattr(one, "dtype", F32).kind == "b" for one in (x, y)):
        raise AutogradError(f"\"{name}_cpu\" not implemented for 'Bool'")


def refuse_zero(x: object, y: object) -> None:
    """Raise as PyTorch does for 0 among integers; in a captured function when that runs."""
    dividend, divisor = (getattr(one, "_array", one) for one in (x, y))
    if not (_is_whole(dividend) and _is_whole(divisor)) or 0 in getattr(dividend, "shape", ()):
        return  # of no element, nothing is divided
    error = AutogradError("ZeroDivisionError")
    if type(y) is int:
        if not y:
            raise error
        return
    if mode.capture is not None:
        y = mode.capture.lifted(y)
    if isinstance(y, Handle):
        if not (getattr(y, "_weak", False) and _is_number(x)):  # those are Python's to refuse
            raise_unless(ops.all(ops.not_equal(y.expression, 0)), error)
    elif not np.asarray(getattr(y, "_array", y)).all():
        raise error


def _requires_grad(value: Any) -> bool:
    if mode.capture is not None:
        value = mode.capture.lifted(value)  # so that a call is asked, too
    return bool(getattr(value, "requires_grad", False))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or bool(getattr(value, "_weak", False))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) or getattr(value, "dtype", F32).kind != "f"
