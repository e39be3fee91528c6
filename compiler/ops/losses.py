"""Losses: composites of the other ops, with direct gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.types import TensorType, broadcast_shapes, unify
from staticgraph.compiler.ops.declare import as_operand, composite, count, unbroadcast, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import astype, maximum, square
from staticgraph.compiler.ops.elementwise.comparison import equal, where
from staticgraph.compiler.ops.elementwise.exponential import log, log1p, sigmoid, softplus
from staticgraph.compiler.ops.indexing.take import take_along_axis
from staticgraph.compiler.ops.nn import log_softmax, softmax
from staticgraph.compiler.ops.reductions.reduction import mean, positions, sum
from staticgraph.compiler.ops.shapes.shape import expand_dims, squeeze
from staticgraph.compiler.reference import classes, squares

__all__ = ["binary_cross_entropy_with_logits", "cross_entropy", "mse_loss"]

_LEAST_LOG = -100.0
_LEAST_SLOPE = float(np.float32(1e-12))  # PyTorch's, which it holds in float32


def _binary_cross_entropy(x: Any, target: Any) -> Any:
    """-(t log(x) + (1 - t) log(1 - x)) with logarithms of at least -100."""
    log_x, log_rest = maximum(log(x), _LEAST_LOG), maximum(log1p(-x), _LEAST_LOG)
    return (target - 1) * log_rest - target * log_x


def _entropies(x: object, target: object) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # logarithms of 0 are -100
        return _binary_cross_entropy(x, target)


binary_cross_entropy = composite(
    "binary_cross_entropy", _binary_cross_entropy, evaluate=_entropies,
    vjp=(
        lambda g, o, x, target: g * (x - target) / maximum(x * (1 - x), _LEAST_SLOPE),
        lambda g, o, x, target: g * (log1p(-x) - log(x)),
    ),
    saves=("ab", "a"), elementwise=True, promotes=slice(None), floating=True,
    smooth=False,
    doc="""The negative log-likelihood of targets in [0, 1] under probabilities, element by element.

    Its logarithms are at least -100, and its slopes by x at most 1e12, as PyTorch's; it is nan
    where x is outside of [0, 1].""",
)  # fmt: skip


REDUCTIONS = ("mean", "sum", "none")


def _reduction(name: str, reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise OptionError(f"{name}: reduction is one of {REDUCTIONS}, not {reduction!r}")
    return reduction


def _loss_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(x: object, target: object, reduction: str = "mean") -> tuple[Sequence[Any], Attrs]:
        return (as_operand(x), as_operand(target)), {"reduction": _reduction(name, reduction)}

    return bind


def _reduced(losses: object, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return mean(losses) if reduction == "mean" else sum(losses)


def _seed(g: object, shape_like: Any, reduction: str) -> Any:
    """The cotangent of each single loss, given that of the reduced one."""
    return g / count(shape_like, tuple(range(shape_like.ndim)), g) if reduction == "mean" else g


def _classes_check(name: str, x: TensorType, target: TensorType, *, reduction: str) -> None:
    if target.dtype.kind not in "iu":
        raise DTypeError(f"{name}: target {target} is not an integer tensor of class indices")
    if x.ndim == 0 or target.ndim != x.ndim - 1:
        raise ShapeError(f"{name}: {x} needs a target of {x.ndim - 1} axes, got {target}")
    sizes = x.shape[:1] + x.shape[2:] if x.ndim > 1 else ()
    for size, other in zip(sizes, target.shape, strict=True):
        if unify(size, other) is None:
            raise ShapeError(f"{name}: {x} and target {target} differ: {size} != {other}")


def _class_axis(x: Any) -> int:
    return 0 if x.ndim == 1 else 1


def _cross_entropy(x: object, target: object, *, reduction: str) -> Any:
    axis = _class_axis(x)
    index = expand_dims(target, axis)
    picked = take_along_axis(log_softmax(x, axis), index, axis=axis, wrap=False)
    return _reduced(-squeeze(picked, axis), reduction)


def _cross_entropy_vjp(g: object, o: object, x: object, target: object, *, reduction: str) -> Any:
    axis = _class_axis(x)
    g = _seed(g, target, reduction)
    if reduction == "none":
        g = expand_dims(g, axis)
    hot = equal(positions(x, axis), astype(expand_dims(target, axis), "int64"))
    p = softmax(x, axis)
    return where(hot, p - 1, p) * g


def _cross_entropy_numpy(x: Any, target: Any, *, reduction: str) -> Any:
    if x.ndim == 2:
        return classes.cross_entropy(x, target, reduction=reduction)
    return _cross_entropy(x, target, reduction=reduction)


def _cross_entropy_arrays(
    positions: Sequence[int], g: object, o: object, x: Any, target: object, *, reduction: str
) -> Sequence[Any]:
    if x.ndim == 2:
        return (classes.cross_entropy_vjp(g, x, target, reduction=reduction),)
    return (_cross_entropy_vjp(g, o, x, target, reduction=reduction),)


cross_entropy = composite(
    "cross_entropy", _cross_entropy, bind=_loss_bind("cross_entropy"), check=_classes_check,
    vjp=(_cross_entropy_vjp, None), saves=("ab", ""), evaluate=_cross_entropy_numpy,
    vjp_arrays=_cross_entropy_arrays,
    sweep="reduction",
    doc="-log(softmax(x))[target], x (n, c, ...) or (c,), target the class indices (n, ...); "
    "reduction 'mean', 'sum' or 'none'. OutOfRangeError for a target outside [0, c).",
    example='>>> sg.cross_entropy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1, 0]), "none")\n'
    "array([0.69314718, 0.31326169])",
)  # fmt: skip


def _pair_check(name: str, x: TensorType, target: TensorType, *, reduction: str) -> None:
    broadcast_shapes(name, x, target)


def _mse(x: object, target: Any, *, reduction: str) -> Any:
    return _reduced(square(x - target), reduction)


def _mse_by_x(g: object, o: object, x: object, target: Any, *, reduction: str) -> Any:
    difference = x - target
    return unbroadcast(_seed(g, difference, reduction) * (2 * difference), x)


def _mse_numpy(x: Any, target: Any, *, reduction: str) -> Any:
    if isinstance(x, np.ndarray) and isinstance(target, np.ndarray) and x.size and target.size:
        return squares.squared_error(x, target, reduction=reduction)
    return _mse(x, target, reduction=reduction)


def _mse_arrays(
    positions: Sequence[int], g: Any, o: object, x: Any, target: Any, *, reduction: str
) -> Sequence[Any]:
    found = squares.squared_error_vjp(positions, g, x, target, reduction)
    operands = x, target
    return [unbroadcast(one, operands[i]) for i, one in zip(positions, found, strict=True)]


def _mse_by_target(g: object, o: object, x: object, target: Any, *, reduction: str) -> Any:
    difference = target - x
    return unbroadcast(_seed(g, difference, reduction) * (2 * difference), target)


mse_loss = composite(
    "mse_loss", _mse, bind=_loss_bind("mse_loss"), check=_pair_check, promotes=slice(None),
    floating=True, vjp=(_mse_by_x, _mse_by_target), saves=("ab", "ab"),
    evaluate=_mse_numpy, vjp_arrays=_mse_arrays,
    sweep="reduction",
    doc="The squared difference; reduction 'mean', 'sum' or 'none'.",
    example=">>> sg.mse_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))\nnp.float64(2.5)",
)  # fmt: skip


def _bce(x: object, target: Any, *, reduction: str) -> Any:
    return _reduced(softplus(x) - x * target, reduction)


def _bce_by_x(g: object, o: object, x: object, target: object, *, reduction: str) -> Any:
    difference = sigmoid(x) - target
    return unbroadcast(_seed(g, difference, reduction) * difference, x)


def _bce_by_target(g: object, o: object, x: object, target: object, *, reduction: str) -> Any:
    logits = x + zeros_like(target)
    return unbroadcast(_seed(g, logits, reduction) * -logits, target)


binary_cross_entropy_with_logits = composite(
    "binary_cross_entropy_with_logits", _bce, bind=_loss_bind("binary_cross_entropy_with_logits"),
    check=_pair_check, promotes=slice(None), floating=True,
    vjp=(_bce_by_x, _bce_by_target), saves=("ab", "a"),
    sweep="reduction",
    doc="softplus(x) - x * target: the negative log-likelihood of targets in [0, 1] under "
    "sigmoid(x); reduction 'mean', 'sum' or 'none'.",
    example='>>> sg.binary_cross_entropy_with_logits(np.array([0.0, 2.0]), np.array([1.0, 1.0]), '
    '"none")\n'
    "array([0.69314718, 0.12692801])",
)  # fmt: skip
