"""Activation functions that are composed of shared ops."""

from __future__ import annotations

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import normalise_axis, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import of_floats, shown
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "celu", "glu", "hardswish", "logsigmoid", "mish", "prelu", "relu6", "selu", "softmin",
    "softplus", "tanhshrink",
]  # fmt: skip

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def selu(x: Value) -> Value:
    """A multiple of elu that keeps mean 0 and variance 1 (Klambauer et al. 2017).

    Example:
        >>> sg.nn.selu(np.array([-1.0, 1.0])).round(4)
        array([-1.1113,  1.0507])
    """
    return _SELU_SCALE * ops.elu(of_floats("selu", x), _SELU_ALPHA)


def celu(x: Value, alpha: float = 1.0) -> Value:
    """x above 0, alpha * (exp(x / alpha) - 1) below (Barron 2017).

    Raises:
        OptionError: alpha is 0.

    Example:
        >>> sg.nn.celu(np.array([-1.0, 1.0]), 2.0).round(4)
        array([-0.7869,  1.    ])
    """
    if alpha == 0:
        raise OptionError("celu: alpha=0: a number that is not 0")
    return alpha * ops.elu(of_floats("celu", x) / alpha)


def mish(x: Value) -> Value:
    """x * tanh(softplus(x)) (Misra 2019).

    Example:
        >>> sg.nn.mish(np.array([-1.0, 1.0])).round(4)
        array([-0.3034,  0.8651])
    """
    x = of_floats("mish", x)
    return x * ops.tanh(ops.softplus(x))


def logsigmoid(x: Value) -> Value:
    """log(sigmoid(x)), without overflow.

    Example:
        >>> sg.nn.logsigmoid(np.array([-1000.0, 0.0])).round(4)
        array([-1.000e+03, -6.931e-01])
    """
    return -ops.softplus(-of_floats("logsigmoid", x))


def tanhshrink(x: Value) -> Value:
    """x - tanh(x).

    Example:
        >>> sg.nn.tanhshrink(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.2384])
    """
    x = of_floats("tanhshrink", x)
    return x - ops.tanh(x)


def relu6(x: Value) -> Value:
    """x limited to [0, 6]; the gradient at the limits is 0.

    Example:
        >>> sg.nn.relu6(np.array([-1.0, 3.0, 9.0]))
        array([0., 3., 6.])
    """
    return ops.hardtanh(of_floats("relu6", x), 0.0, 6.0)


def hardswish(x: Value) -> Value:
    """x * hardsigmoid(x) (Howard et al. 2019).

    Example:
        >>> sg.nn.hardswish(np.array([-4.0, 0.0, 1.5, 4.0]))
        array([-0.   ,  0.   ,  1.125,  4.   ])
    """
    x = of_floats("hardswish", x)
    return x * relu6(x + 3) / 6


def softplus(x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold.

    Raises:
        OptionError: beta is 0.

    Example:
        >>> sg.nn.softplus(np.array([0.0, 30.0]), beta=2.0).round(4)
        array([ 0.3466, 30.    ])
    """
    if beta == 0:
        raise OptionError("softplus: beta=0: a number that is not 0")
    return above(of_floats("softplus", x), beta, threshold)


def above(x: Value, beta: float, threshold: float) -> Value:
    """`softplus` of what fits."""
    scaled = x if beta == 1 else x * beta
    smooth = ops.softplus(scaled) if beta == 1 else ops.softplus(scaled) / beta
    return ops.where(ops.greater(scaled, threshold), x, smooth)


def prelu(x: Value, weight: Value) -> Value:
    """x above 0, weight * x below; one weight, or one for each index of axis 1 (He et al. 2015).

    Raises:
        ShapeError: another number of weights.

    Example:
        >>> sg.nn.prelu(np.array([[-1.0, -1.0]]), np.array([0.5, 0.25]))
        array([[-0.5 , -0.25]])
    """
    x, weight = of_floats("prelu", x), as_operand(weight)
    if weight.ndim > 1:
        raise ShapeError(f"prelu: weight {shown(weight)} has {weight.ndim} axes, of at most 1")
    if not weight.ndim or weight.shape[0] == 1:
        return ops.prelu(x, ops.reshape(weight, ()))
    channels = x.shape[1] if x.ndim > 1 else 1
    if unify(weight.shape[0], channels) is None:
        raise ShapeError(
            f"prelu: weight {shown(weight)} has not one number for each of the {channels} channels "
            f"of {shown(x)}"
        )
    return ops.prelu(x, ops.reshape(weight, (-1,) + (1,) * (x.ndim - 2)))


def softmin(x: Value, dim: int = -1) -> Value:
    """softmax(-x) along `dim`.

    Example:
        >>> sg.nn.softmin(np.array([0.0, np.log(3.0)]))
        array([0.75, 0.25])
    """
    return ops.softmax(-of_floats("softmin", x), dim)


def glu(x: Value, dim: int = -1) -> Value:
    """The first half along `dim` times the sigmoid of the second (Dauphin et al. 2016).

    Raises:
        ShapeError: the axis has no two halves.

    Example:
        >>> sg.nn.glu(np.array([2.0, 3.0, 0.0, 0.0]))
        array([1. , 1.5])
    """
    x = of_floats("glu", x)
    axis = normalise_axis("glu", dim, x.ndim)
    size = x.shape[axis]
    if not isinstance(size, Dim) and size % 2:
        raise ShapeError(f"glu: the {size} elements of axis {axis} of {shown(x)} have no halves")
    return gated(x, axis)


def gated(x: Value, axis: int) -> Value:
    """`glu` of what fits."""
    size = x.shape[axis]
    value, gate = (
        slice_axis(x, axis, start, stop)
        for start, stop in ((0, size // 2), (size // 2, size // 2 * 2))
    )
    return value * ops.sigmoid(gate)
