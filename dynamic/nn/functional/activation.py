"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.overrides import answer, asking
from staticgraph.compiler.core.passing import passed, passing
from staticgraph.compiler.layers import activations
from staticgraph.compiler.layers.dropping import relaxed
from staticgraph.compiler.ops import sigmoid, tanh
from staticgraph.dynamic.core import composed_ops
from staticgraph.dynamic.core.dtypes import DTYPES, as_numpy_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.fast_paths.options import as_one_node
from staticgraph.dynamic.operations import elements
from staticgraph.dynamic.operations.elements import prelu, sloped
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.random_numbers import generator
from staticgraph.dynamic.tensors.rewriting import rewrite
from staticgraph.dynamic.tensors.tensor import as_one_node as one_node

__all__ = [
    "celu", "elu", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "leaky_relu", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6",
    "rrelu", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign",
    "tanh", "tanhshrink", "threshold",
]  # fmt: skip


def _applied(
    function: Callable[[Any], object], input: Any, inplace: bool, label: str, series: int = 0
) -> Any:
    """`function(input)`, written over the input if `inplace`, by PyTorch's node of that name."""
    if inplace:
        return rewrite(input, function, f"{label}Backward{series}")
    return function(input)


@asking
def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0).

    Example:
        >>> nn.functional.relu(dynamic.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    if passing and (said := passed(relu, (input,), {"inplace": inplace})) is not None:
        return said[0]
    try:
        return input.relu_() if inplace else ops.relu(input)
    except Exception:
        if (found := answer(relu, (input,), {"inplace": inplace})) is not None:
            return found[0]
        raise


def leaky_relu(input: object, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x above 0, negative_slope * x below.

    Example:
        >>> nn.functional.leaky_relu(dynamic.tensor([-1.0, 2.0]))
        tensor([-0.0100,  2.0000])
    """
    return _applied(lambda x: ops.leaky_relu(x, negative_slope), input, inplace, "LeakyRelu", 1)


@called("RreluWithNoise")
def rrelu(
    input: Any,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """x above 0, a random slope from [lower, upper] times x below; else their mean (Xu 2015).

    Example:
        >>> nn.functional.rrelu(dynamic.tensor([-1.0, 1.0]), 0.25, 0.75)
        tensor([-0.5000,  1.0000])
    """
    if lower > upper:
        raise AutogradError(
            "Lower bound should be less than or equal to the upper bound: rrelu of "
            f"{lower} and {upper}"
        )
    if training:
        drawn = generator().uniform(lower, upper, tuple(input.shape))
        slope = ops.astype(input._constant(drawn), input.dtype)
    else:
        slope = (lower + upper) / 2
    return _applied(lambda x: sloped(x, slope), input, inplace, "RreluWithNoise", 1)


def elu(input: object, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x above 0, alpha * (exp(x) - 1) below (Clevert, Unterthiner, Hochreiter 2015).

    Example:
        >>> nn.functional.elu(dynamic.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return _applied(lambda x: ops.elu(x, alpha), input, inplace, "Elu", 1)


@called("Elu")
def selu(input: object, inplace: bool = False) -> Any:
    """A multiple of elu that keeps mean 0 and variance 1 (Klambauer et al. 2017).

    Example:
        >>> nn.functional.selu(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 1.0507])
    """
    return _applied(activations.selu, input, inplace, "Elu", 1)


@called("Celu", "input")
def celu(input: object, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x above 0, alpha * (exp(x / alpha) - 1) below (Barron 2017).

    Example:
        >>> nn.functional.celu(dynamic.tensor([0.0, 2.0]))
        tensor([0., 2.])
    """
    return _applied(lambda x: activations.celu(x, alpha), input, inplace, "Celu", 1)


@asking
def gelu(input: object, approximate: str = "none") -> Any:
    """x times the normal distribution function of x, or its tanh form (Hendrycks, Gimpel 2016).

    Example:
        >>> nn.functional.gelu(dynamic.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    if passing and (said := passed(gelu, (input,), {"approximate": approximate})) is not None:
        return said[0]
    if approximate not in ("none", "tanh"):
        raise AutogradError("approximate argument must be either none or tanh.")
    try:
        return ops.gelu(input) if approximate == "none" else ops.gelu(input, approximate)
    except Exception:
        if (found := answer(gelu, (input,), {"approximate": approximate})) is not None:
            return found[0]
        raise


def silu(input: object, inplace: bool = False) -> Any:
    """x * sigmoid(x) (Elfwing, Uchibe, Doya 2017).

    Example:
        >>> nn.functional.silu(dynamic.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return _applied(ops.silu, input, inplace, "Silu")


@called("Mish")
def mish(input: object, inplace: bool = False) -> Any:
    """x * tanh(softplus(x)) (Misra 2019).

    Example:
        >>> nn.functional.mish(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8651])
    """
    return _applied(activations.mish, input, inplace, "Mish")


@called("Softplus")
def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold.

    Example:
        >>> nn.functional.softplus(dynamic.tensor([0.0, 30.0]))
        tensor([ 0.6931, 30.0000])
    """
    return activations.above(input, beta, threshold)


def softsign(input: object) -> Any:
    """x / (1 + abs(x)).

    Example:
        >>> nn.functional.softsign(dynamic.tensor([3.0, -1.0, 0.0]))
        tensor([ 0.7500, -0.5000,  0.0000])
    """
    return input / (1 + ops.absolute(input))


@called("LogSigmoid", "input")
def logsigmoid(input: Any) -> Any:
    """log(sigmoid(x)), without overflow.

    Example:
        >>> nn.functional.logsigmoid(dynamic.tensor([0.0]))
        tensor([-0.6931])
    """
    return as_one_node(composed_ops.logsigmoid, input)


def tanhshrink(input: object) -> Any:
    """x - tanh(x).

    Example:
        >>> nn.functional.tanhshrink(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """
    return activations.tanhshrink(input)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by lambd; 0 where it is not farther than that.

    Example:
        >>> nn.functional.softshrink(dynamic.tensor([-2.0, 0.25, 1.0]))
        tensor([-1.5000,  0.0000,  0.5000])
    """
    if lambd < 0:
        dtype = np.dtype(input.dtype)
        raise AutogradError(
            f"lambda must be in range [0, {limits(dtype).max:g}] for input dtype "
            f"{DTYPES[dtype].legacy}, but found {lambd:g}"
        )
    return as_one_node(ops.softshrink, input, lambd=lambd)


def hardshrink(input: object, lambd: float = 0.5) -> Any:
    """x where abs(x) is above lambd, 0 elsewhere.

    Example:
        >>> nn.functional.hardshrink(dynamic.tensor([-2.0, 0.25, 1.0]))
        tensor([-2.,  0.,  1.])
    """
    return as_one_node(ops.hardshrink, input, lambd=lambd)


def threshold(input: object, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it is above the threshold, `value` elsewhere.

    Example:
        >>> nn.functional.threshold(dynamic.tensor([-1.0, 0.5, 2.0]), 0.5, 9.0)
        tensor([9., 9., 2.])
    """
    return _applied(
        lambda x: elements.threshold(x, threshold, value), input, inplace, "Threshold", 1
    )


def hardtanh(
    input: object, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    """x limited to [min_val, max_val]; the gradient at the limits is 0.

    Example:
        >>> nn.functional.hardtanh(dynamic.tensor([-3.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise OptionError("min_val cannot be greater than max_val")

    attrs = {"min_val": min_val, "max_val": max_val}
    return _applied(lambda x: as_one_node(ops.hardtanh, x, **attrs), input, inplace, "Hardtanh")


def relu6(input: object, inplace: bool = False) -> Any:
    """x limited to [0, 6].

    Example:
        >>> nn.functional.relu6(dynamic.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: object, inplace: bool = False) -> Any:
    """(x + 3) / 6 limited to [0, 1] (Howard et al. 2019).

    Example:
        >>> nn.functional.hardsigmoid(dynamic.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return _applied(lambda x: as_one_node(ops.hardsigmoid, x), input, inplace, "Hardsigmoid")


@called("Hardswish")
def hardswish(input: object, inplace: bool = False) -> Any:
    """x * hardsigmoid(x) (Howard et al. 2019).

    Example:
        >>> nn.functional.hardswish(dynamic.tensor([-4.0, 0.0, 1.5, 4.0]))
        tensor([-0.0000, 0.0000, 1.1250, 4.0000])
    """
    return _applied(lambda x: as_one_node(composed_ops.hardswish, x), input, inplace, "Hardswish")


@called("Glu")
def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim` times the sigmoid of the second (Dauphin et al. 2016).

    Example:
        >>> nn.functional.glu(dynamic.tensor([2.0, 3.0, 0.0, 0.0]))
        tensor([1.0000, 1.5000])
    """
    if not input.ndim:
        raise AutogradError("glu does not support scalars because halving size must be even")
    size = input.shape[dim]
    if isinstance(size, int) and size % 2:
        axis = dim % input.ndim
        raise AutogradError(f"Halving dimension must be even, but dimension {axis} is size {size}")
    return one_node(composed_ops.glu, input, axis=dim % input.ndim)


def _implicit_axis(name: str, input: Any, dim: int | None) -> int:
    """`dim`, or with a warning the axis that PyTorch used to choose."""
    if dim is not None:
        return dim
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def _cast(input: object, dtype: object) -> Any:
    return input if dtype is None else ops.astype(input, as_numpy_dtype(dtype))


def softmax(
    input: object, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Any:
    """exp(x) / sum(exp(x)) along `dim`.

    Example:
        >>> nn.functional.softmax(dynamic.tensor([1.0, 1.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is not None and dtype is None:
        return ops.softmax(input, dim)
    return ops.softmax(_cast(input, dtype), _implicit_axis("softmax", input, dim))


def log_softmax(
    input: object, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Any:
    """log(softmax(x)) along `dim`, without overflow or log of 0.

    Example:
        >>> nn.functional.log_softmax(dynamic.tensor([1.0, 1.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    if dim is not None and dtype is None:
        return ops.log_softmax(input, dim)
    return ops.log_softmax(_cast(input, dtype), _implicit_axis("log_softmax", input, dim))


def softmin(
    input: object, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Any:
    """softmax(-x) along `dim`.

    Example:
        >>> nn.functional.softmin(dynamic.tensor([1.0, 1.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    dim = _implicit_axis("softmin", input, dim)
    return ops.softmax(-_cast(input, dtype), dim)


def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """Samples of the relaxed categorical distribution (Jang, Gu, Poole 2017).

    With `hard` they are one-hot, with the gradient of those that are not.

    Example:
        >>> nn.functional.gumbel_softmax(dynamic.tensor([0.0, 100.0]), hard=True)
        tensor([0., 1.])
    """
    noise = logits._constant(generator().gumbel(size=tuple(logits.shape)))
    return relaxed(logits, ops.astype(noise, logits.dtype), tau, hard, dim)
