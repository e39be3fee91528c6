"""Functions that PyTorch has a node for, and the shared library composes of ops.

As one op they are one node, of large arrays one kernel, and of small ones one builtin function.
What they compute is that of `staticgraph.compiler.layers`, with the same bits on plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.layers import activations
from staticgraph.compiler.layers.reduction import reduced
from staticgraph.compiler.layers.regression import huber, smooth
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import count


def _same_type(x: TensorType, *others: TensorType, **attrs: object) -> TensorType:
    return x


def _hardswish_vjp(g: object, o: object, a: Any) -> Any:
    inside = ops.where(a >= 3.0, g, g * (a / 3.0 + 0.5))
    return ops.where(a <= -3.0, 0.0, inside)


hardswish = Op(
    name="hardswish", infer_type=_same_type, evaluate=activations.hardswish,
    vjp=(_hardswish_vjp,), saves=("a",), elementwise=True, linearity="diagonal",
    expand=activations.hardswish, batching=aligned, floating=True,
    doc="x * hardsigmoid(x).",
)  # fmt: skip

logsigmoid = Op(
    name="logsigmoid", infer_type=_same_type, evaluate=activations.logsigmoid,
    vjp=(lambda g, o, a: g * ops.sigmoid(-a),), saves=("a",), elementwise=True,
    linearity="diagonal", expand=activations.logsigmoid, batching=aligned, floating=True,
    doc="log(sigmoid(x)).",
)  # fmt: skip


def _halves(x: Any, axis: int) -> Any:
    return ops.split(x, 2, axis)


def _glu(x: Any, *, axis: int) -> Any:
    value, gate = _halves(x, axis)
    return value * ops.sigmoid(gate)


def _glu_vjp(g: Any, o: object, a: Any, *, axis: int) -> Any:
    value, gate = _halves(a, axis)
    open_ = ops.sigmoid(gate)
    return ops.concatenate([g * open_, g * value * (open_ * (1 - open_))], axis)


def _glu_type(x: TensorType, *, axis: int) -> TensorType:
    return TensorType((*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :]), x.dtype)


glu = Op(
    name="glu", infer_type=_glu_type, evaluate=_glu, vjp=(_glu_vjp,), saves=("a",),
    expand=_glu, sweep="rows", floating=True,
    doc="The first half along an axis times the sigmoid of the second.",
)  # fmt: skip


def _loss_type(x: TensorType, target: TensorType, *, reduction: str, **attrs: Any) -> TensorType:
    return x if reduction == "none" else TensorType((), x.dtype)


def _slopes(slope: Callable[[Any, float], Any], sign: int) -> Callable[..., Any]:
    """The rule of an operand of a loss of differences, given the derivative of a single one."""

    def rule(g: Any, o: object, x: Any, target: Any, *, limit: float, reduction: str) -> Any:
        difference = x - target
        if reduction == "mean":
            g = g / count(difference, tuple(range(difference.ndim)), g)
        return g * slope(difference if sign > 0 else -difference, limit)

    return rule


def _slope_of_huber(difference: Any, limit: float) -> Any:
    far = limit * ops.sign(difference)
    return ops.where(ops.absolute(difference) < limit, difference, far)


def _slope_of_smooth(difference: Any, limit: float) -> Any:
    return _slope_of_huber(difference, limit) / limit if limit else ops.sign(difference)


def _huber_numpy(difference: Any, limit: float) -> Any:
    distance = np.absolute(difference)
    far = limit * (distance - 0.5 * limit)
    return np.where(distance < limit, 0.5 * np.square(difference), far)


def _smooth_numpy(difference: Any, limit: float) -> Any:
    return _huber_numpy(difference, limit) / limit if limit else np.absolute(difference)


def _loss(
    name: str,
    single: Callable[..., Any],
    by_numpy: Callable[[Any, float], Any],
    slope: Callable[[Any, float], Any],
) -> Op:
    def expand(x: Any, target: Any, *, limit: float, reduction: str) -> Any:
        return reduced(single(x - target, limit), reduction)

    def evaluate(x: Any, target: Any, *, limit: float, reduction: str) -> Any:
        return reduced(by_numpy(x - target, limit), reduction)

    return Op(
        name=name, infer_type=_loss_type, evaluate=evaluate, expand=expand,
        vjp=(_slopes(slope, 1), _slopes(slope, -1)), saves=("ab", "ab"), sweep="reduction",
        floating=True, doc="The loss of two operands of one shape, as `nn.functional` has it.",
    )  # fmt: skip


smooth_l1_loss = _loss("smooth_l1_loss", smooth, _smooth_numpy, _slope_of_smooth)
huber_loss = _loss("huber_loss", huber, _huber_numpy, _slope_of_huber)
