"""Layers that apply an activation function."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.creation import full
from staticgraph.dynamic.tensors.devices import check_device


class _Activation(Declared):
    """A function of one tensor, of which all hyper-parameters are shown; abstract."""

    def extra_repr(self) -> str:
        """The hyper-parameters, `inplace` only if it is set."""
        names = [name for name in self._hyperparameters if name != "inplace"]
        shown = [f"{name}={getattr(self, name)}" for name in names]
        return ", ".join([*shown, *(["inplace=True"] if getattr(self, "inplace", False) else [])])


class ReLU(_Activation, functional=F.relu):
    """max(x, 0).

    Example:
        >>> nn.ReLU()(dynamic.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    inplace: bool = False


class ReLU6(_Activation, functional=F.relu6):
    """x limited to [0, 6].

    Example:
        >>> nn.ReLU6()(dynamic.tensor([-1.0, 8.0]))
        tensor([0., 6.])
    """

    inplace: bool = False


class SELU(_Activation, functional=F.selu):
    """A multiple of elu that keeps mean 0 and variance 1 (Klambauer et al. 2017).

    Example:
        >>> nn.SELU()(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 1.0507])
    """

    inplace: bool = False


class SiLU(_Activation, functional=F.silu):
    """x * sigmoid(x).

    Example:
        >>> nn.SiLU()(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7311])
    """

    inplace: bool = False


class Mish(_Activation, functional=F.mish):
    """x * tanh(softplus(x)).

    Example:
        >>> nn.Mish()(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8651])
    """

    inplace: bool = False


class Hardsigmoid(Declared, functional=F.hardsigmoid):
    """(x + 3) / 6 limited to [0, 1].

    Example:
        >>> nn.Hardsigmoid()(dynamic.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """

    inplace: bool = False


class Hardswish(Declared, functional=F.hardswish):
    """x * hardsigmoid(x).

    Example:
        >>> nn.Hardswish()(dynamic.tensor([-4.0, 0.0, 4.0]))
        tensor([-0., 0., 4.])
    """

    inplace: bool = False


class LeakyReLU(_Activation, functional=F.leaky_relu):
    """x above 0, negative_slope * x below.

    Example:
        >>> nn.LeakyReLU(0.1)(dynamic.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    negative_slope: float = 1e-2
    inplace: bool = False


class RReLU(_Activation, functional=F.rrelu):
    """x above 0, below a slope from [lower, upper] times x, in training random (Xu et al. 2015).

    Example:
        >>> nn.RReLU().eval()(dynamic.tensor([0.0, 2.0]))
        tensor([0., 2.])
    """

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False


class ELU(_Activation, functional=F.elu):
    """x above 0, alpha * (exp(x) - 1) below.

    Example:
        >>> nn.ELU()(dynamic.tensor([0.0, 2.0]))
        tensor([0., 2.])
    """

    alpha: float = 1.0
    inplace: bool = False


class CELU(_Activation, functional=F.celu):
    """x above 0, alpha * (exp(x / alpha) - 1) below.

    Example:
        >>> nn.CELU()(dynamic.tensor([0.0, 2.0]))
        tensor([0., 2.])
    """

    alpha: float = 1.0
    inplace: bool = False


class GELU(Declared, functional=F.gelu):
    """x times the normal distribution function of x, or its form with "tanh".

    Example:
        >>> nn.GELU()(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8413])
    """

    approximate: str = "none"

    def extra_repr(self) -> str:
        """Which form it has."""
        return f"approximate={self.approximate!r}"


class GLU(_Activation, functional=F.glu):
    """The first half along `dim` times the sigmoid of the second.

    Example:
        >>> nn.GLU()(dynamic.tensor([4.0, 0.0]))
        tensor([2.])
    """

    dim: int = -1


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    Example:
        >>> nn.Sigmoid()(dynamic.tensor([0.0]))
        tensor([0.5000])
    """

    def forward(self, input: Any) -> Any:
        """1 / (1 + exp(-x))."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    Example:
        >>> nn.Tanh()(dynamic.tensor([0.0]))
        tensor([0.])
    """

    def forward(self, input: Any) -> Any:
        """The hyperbolic tangent."""
        return F.tanh(input)


class LogSigmoid(Declared, functional=F.logsigmoid):
    """log(sigmoid(x)).

    Example:
        >>> nn.LogSigmoid()(dynamic.tensor([0.0]))
        tensor([-0.6931])
    """


class Softsign(Declared, functional=F.softsign):
    """x / (1 + abs(x)).

    Example:
        >>> nn.Softsign()(dynamic.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """


class Tanhshrink(Declared, functional=F.tanhshrink):
    """x - tanh(x).

    Example:
        >>> nn.Tanhshrink()(dynamic.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """


class Softplus(_Activation, functional=F.softplus):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold.

    Example:
        >>> nn.Softplus()(dynamic.tensor([0.0, 30.0]))
        tensor([ 0.6931, 30.0000])
    """

    beta: float = 1.0
    threshold: float = 20.0


class _Shrink(Declared):
    """Elements near 0 are 0; abstract."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        """The distance."""
        return str(self.lambd)


class Softshrink(_Shrink, functional=F.softshrink):
    """x moved towards 0 by lambd; 0 where it is not farther than that.

    Example:
        >>> nn.Softshrink()(dynamic.tensor([0.3, 2.0]))
        tensor([0.0000, 1.5000])
    """


class Hardshrink(_Shrink, functional=F.hardshrink):
    """x where abs(x) is above lambd, else 0.

    Example:
        >>> nn.Hardshrink()(dynamic.tensor([0.3, 2.0]))
        tensor([0., 2.])
    """


class Threshold(_Activation, functional=F.threshold):
    """x where it is above the threshold, else `value`.

    Example:
        >>> nn.Threshold(1.0, 9.0)(dynamic.tensor([0.5, 2.0]))
        tensor([9., 2.])
    """

    threshold: float
    value: float
    inplace: bool = False


class Hardtanh(_Activation, functional=F.hardtanh):
    """x limited to [min_val, max_val]; ValueError unless max_val is above min_val.

    Example:
        >>> nn.Hardtanh()(dynamic.tensor([-4.0, 0.5, 4.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def _assign(self, values: dict[str, Any]) -> None:
        super()._assign(values)
        if self.max_val <= self.min_val:
            raise OptionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )


class PReLU(Module):
    """x above 0, weight * x below: the slope is a parameter, one, or one per channel.

    (He et al. 2015.)

    Example:
        >>> nn.PReLU()(dynamic.tensor([-4.0, 4.0])).tolist()
        [-1.0, 4.0]
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), float(init), dtype=dtype))

    def forward(self, input: Any) -> Any:
        """x above 0, weight * x below."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


class _AlongAxis(_Activation):
    """Shares along an axis; abstract."""

    dim: int | None = None


class Softmax(_AlongAxis, functional=F.softmax):
    """exp(x) / sum(exp(x)) along `dim`.

    Example:
        >>> nn.Softmax(dim=0)(dynamic.tensor([1.0, 1.0]))
        tensor([0.5000, 0.5000])
    """


class LogSoftmax(_AlongAxis, functional=F.log_softmax):
    """log(softmax(x)) along `dim`.

    Example:
        >>> nn.LogSoftmax(dim=0)(dynamic.tensor([1.0, 1.0]))
        tensor([-0.6931, -0.6931])
    """


class Softmin(_AlongAxis, functional=F.softmin):
    """softmax(-x) along `dim`.

    Example:
        >>> nn.Softmin(dim=0)(dynamic.tensor([1.0, 1.0]))
        tensor([0.5000, 0.5000])
    """


class Softmax2d(Module):
    """Softmax over the channels of (n, c, h, w) or (c, h, w).

    Example:
        >>> nn.Softmax2d()(dynamic.zeros(1, 2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Any) -> Any:
        """The shares of the channels at each place."""
        if input.ndim not in (3, 4):
            raise OptionError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            )
        return F.softmax(input, -3)
