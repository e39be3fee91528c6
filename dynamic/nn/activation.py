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
    """max(x, 0)."""

    inplace: bool = False


class ReLU6(_Activation, functional=F.relu6):
    """x limited to [0, 6]."""

    inplace: bool = False


class SELU(_Activation, functional=F.selu):
    """A multiple of elu that keeps mean 0 and variance 1 (Klambauer et al. 2017)."""

    inplace: bool = False


class SiLU(_Activation, functional=F.silu):
    """x * sigmoid(x)."""

    inplace: bool = False


class Mish(_Activation, functional=F.mish):
    """x * tanh(softplus(x))."""

    inplace: bool = False


class Hardsigmoid(Declared, functional=F.hardsigmoid):
    """(x + 3) / 6 limited to [0, 1]."""

    inplace: bool = False


class Hardswish(Declared, functional=F.hardswish):
    """x * hardsigmoid(x)."""

    inplace: bool = False


class LeakyReLU(_Activation, functional=F.leaky_relu):
    """x above 0, negative_slope * x below."""

    negative_slope: float = 1e-2
    inplace: bool = False


class RReLU(_Activation, functional=F.rrelu):
    """x above 0, below a slope from [lower, upper] times x, in training random (Xu et al. 2015)."""

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False


class ELU(_Activation, functional=F.elu):
    """x above 0, alpha * (exp(x) - 1) below."""

    alpha: float = 1.0
    inplace: bool = False


class CELU(_Activation, functional=F.celu):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""

    alpha: float = 1.0
    inplace: bool = False


class GELU(Declared, functional=F.gelu):
    """x times the normal distribution function of x, or its form with "tanh"."""

    approximate: str = "none"

    def extra_repr(self) -> str:
        """Which form it has."""
        return f"approximate={self.approximate!r}"


class GLU(_Activation, functional=F.glu):
    """The first half along `dim` times the sigmoid of the second."""

    dim: int = -1


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Any) -> Any:
        """1 / (1 + exp(-x))."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Any) -> Any:
        """The hyperbolic tangent."""
        return F.tanh(input)


class LogSigmoid(Declared, functional=F.logsigmoid):
    """log(sigmoid(x))."""


class Softsign(Declared, functional=F.softsign):
    """x / (1 + abs(x))."""


class Tanhshrink(Declared, functional=F.tanhshrink):
    """x - tanh(x)."""


class Softplus(_Activation, functional=F.softplus):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold."""

    beta: float = 1.0
    threshold: float = 20.0


class _Shrink(Declared):
    """Elements near 0 are 0; abstract."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        """The distance."""
        return str(self.lambd)


class Softshrink(_Shrink, functional=F.softshrink):
    """x moved towards 0 by lambd; 0 where it is not farther than that."""


class Hardshrink(_Shrink, functional=F.hardshrink):
    """x where abs(x) is above lambd, else 0."""


class Threshold(_Activation, functional=F.threshold):
    """x where it is above the threshold, else `value`."""

    threshold: float
    value: float
    inplace: bool = False


class Hardtanh(_Activation, functional=F.hardtanh):
    """x limited to [min_val, max_val]; ValueError unless max_val is above min_val."""

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
    """exp(x) / sum(exp(x)) along `dim`."""


class LogSoftmax(_AlongAxis, functional=F.log_softmax):
    """log(softmax(x)) along `dim`."""


class Softmin(_AlongAxis, functional=F.softmin):
    """softmax(-x) along `dim`."""


class Softmax2d(Module):
    """Softmax over the channels of (n, c, h, w) or (c, h, w)."""

    def forward(self, input: Any) -> Any:
        """The shares of the channels at each place."""
        if input.ndim not in (3, 4):
            raise OptionError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            )
        return F.softmax(input, -3)
