"""The graph that eager ops amount to, followed while they run, for the rules of the lint.

An expression per tensor that is alive stands beside it, with the user's line. When a number comes
out, such as a loss, the rules look at what it was made of: those of `compile(lint="warn")`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.op import Attrs, Op, is_registered
from staticgraph.compiler.core.types import TensorType, type_of
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression, at_line, constant, user_line
from staticgraph.compiler.inspect.lint.report import advise
from staticgraph.compiler.ops import leaves
from staticgraph.dynamic.tape.lint import tell


class _Inside(threading.local):
    """Whether this thread is looking, so that what it computes is not followed."""

    looks = False


_inside = _Inside()
_known: dict[int, tuple[weakref.ref[Any], int, Expression]] = {}
_looked: dict[str, int] = {}


def follow(op: Op, operands: Sequence[Any], attrs: Attrs, result: object) -> None:
    """Note what a tensor was made of; look at it if it is a number."""
    array = getattr(result, "_array", None)
    if not isinstance(array, np.ndarray) or _inside.looks:
        return
    _inside.looks = True
    try:
        if op.name in _WRAPS and array.dtype.kind in "iu":
            _look_at_integers(op, operands, attrs, array)
        made = _applied(op, tuple(map(_expression, operands)), attrs, type_of(array))
        if made is None:
            return
        _keep(result, made)
        if not array.ndim and is_float(array.dtype):
            _look(made)
    finally:
        _inside.looks = False


_WRAPS = frozenset((
    "add", "subtract", "multiply", "square", "negative", "power", "sum", "prod", "cumsum",
    "cumprod", "matmul", "dot", "outer",
))  # fmt: skip
"""Ops of integers whose results may not fit: they wrap around, as in PyTorch."""


def _look_at_integers(op: Op, operands: Sequence[Any], attrs: Attrs, array: Array) -> None:
    """Tell of integers that wrapped around: they are not what floats, rounded, give."""
    given = [np.asarray(getattr(one, "_array", one)) for one in operands]
    if any(np.may_share_memory(one, array) for one in given):
        return  # overwritten by the result
    with np.errstate(all="ignore"):  # of floats nobody has
        exact = np.asarray(op.evaluate(*[one.astype(np.float64) for one in given], **attrs))
    far = 2.0**62 if array.dtype == np.int64 else 0.5  # what wrapped is off by 2**64
    wrong = ~(np.abs(exact - array.astype(np.float64)) <= far)
    if exact.shape == array.shape and wrong.any():
        tell(
            "integer_overflow",
            user_line(),
            f"{op.name}: {array.dtype} overflow in {np.count_nonzero(wrong)} of {array.size} "
            f"elements, the first is {array[wrong].flat[0]} where {exact[wrong].flat[0]:.9g} is "
            "meant: use a wider dtype, or floats",
        )


def _applied(
    op: Op, operands: tuple[Expression, ...], attrs: Attrs, type: TensorType
) -> Expression | None:
    """An op of operands, or what one of this engine's own expands to; None if that is not told."""
    if is_registered(op):
        return Expression(op, operands, attrs, None, user_line(), type)
    if op.expand is None:
        return None
    with at_line(user_line()):
        made = op.expand(*operands, **attrs)
    return made if isinstance(made, Expression) else None


def _keep(tensor: object, made: Expression) -> None:
    key = id(tensor)
    gone = weakref.ref(tensor, lambda _: _known.pop(key, None))
    _known[key] = gone, _version(tensor), made


def _version(tensor: Any) -> int:
    cell = tensor._cell
    return int(cell[0]) if isinstance(cell, list) else 0  # an inference tensor has none


def _expression(operand: object) -> Expression:
    """What an operand was made of; a placeholder of what is not known, or was overwritten."""
    array = getattr(operand, "_array", None)
    if array is None:
        return constant(operand)
    known = _known.get(id(operand))
    if known is not None and known[0]() is operand and known[1] == _version(operand):
        return known[2]
    attrs = leaves.leaf_attrs(tuple(array.shape), array.dtype, leaves.next_key())
    made = Expression(leaves.placeholder, (), attrs)
    _keep(operand, made)
    return made


def _look(made: Expression) -> None:
    """Have the rules look at a number: the first of its line, and each that doubles their count."""
    times = _looked[made.source] = _looked.get(made.source, 0) + 1
    if times & (times - 1):
        return
    for one in advise(made):
        tell(one.rule, one.source, one.message)


def forget() -> None:
    """Forget all that was followed."""
    _known.clear()
    _looked.clear()
