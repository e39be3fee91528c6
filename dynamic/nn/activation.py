"""Layers that apply an activation function."""

from __future__ import annotations

from typing import Any

from compiler.core.errors import OptionError
from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn.module import Module
from dynamic.nn.parameter import Parameter
from dynamic.tensors.creation import full
from dynamic.tensors.devices import check_device


class _Activation(Module):
    """A function of one tensor with options, which the representation shows; abstract."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = tuple(name for name in options if name != "inplace")
        for name, value in options.items():
            setattr(self, name, value)

    def extra_repr(self) -> str:
        """The options, and `inplace` if it is set."""
        shown = [f"{name}={getattr(self, name)}" for name in self._options]
        return ", ".join([*shown, *(["inplace=True"] if getattr(self, "inplace", False) else [])])


class ReLU(_Activation):
    """`functional.relu` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Any) -> Any:
        """max(x, 0)."""
        return F.relu(input, self.inplace)


class ReLU6(_Activation):
    """`functional.relu6` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x limited to [0, 6]."""
        return F.relu6(input, self.inplace)


class SELU(_Activation):
    """`functional.selu` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Any) -> Any:
        """A multiple of elu."""
        return F.selu(input, self.inplace)


class SiLU(_Activation):
    """`functional.silu` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x * sigmoid(x)."""
        return F.silu(input, self.inplace)


class Mish(_Activation):
    """`functional.mish` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x * tanh(softplus(x))."""
        return F.mish(input, self.inplace)


class Hardsigmoid(_Activation):
    """`functional.hardsigmoid` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def extra_repr(self) -> str:
        """Nothing."""
        return ""

    def forward(self, input: Any) -> Any:
        """(x + 3) / 6 limited to [0, 1]."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_Activation):
    """`functional.hardswish` as a layer."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def extra_repr(self) -> str:
        """Nothing."""
        return ""

    def forward(self, input: Any) -> Any:
        """x * hardsigmoid(x)."""
        return F.hardswish(input, self.inplace)


class LeakyReLU(_Activation):
    """`functional.leaky_relu` as a layer."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x above 0, negative_slope * x below."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(_Activation):
    """`functional.rrelu` as a layer: random slopes in training (Xu et al. 2015)."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x above 0, a slope from [lower, upper] times x below."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class ELU(_Activation):
    """`functional.elu` as a layer."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x above 0, alpha * (exp(x) - 1) below."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Activation):
    """`functional.celu` as a layer."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x above 0, alpha * (exp(x / alpha) - 1) below."""
        return F.celu(input, self.alpha, self.inplace)


class GELU(_Activation):
    """`functional.gelu` as a layer."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)

    def extra_repr(self) -> str:
        """Which form it has."""
        return f"approximate={self.approximate!r}"

    def forward(self, input: Any) -> Any:
        """x times the normal distribution function of x."""
        return F.gelu(input, self.approximate)


class GLU(_Activation):
    """`functional.glu` as a layer."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Any) -> Any:
        """The first half along `dim` times the sigmoid of the second."""
        return F.glu(input, self.dim)


class Sigmoid(Module):
    """`functional.sigmoid` as a layer."""

    def forward(self, input: Any) -> Any:
        """1 / (1 + exp(-x))."""
        return F.sigmoid(input)


class Tanh(Module):
    """`functional.tanh` as a layer."""

    def forward(self, input: Any) -> Any:
        """The hyperbolic tangent."""
        return F.tanh(input)


class LogSigmoid(Module):
    """`functional.logsigmoid` as a layer."""

    def forward(self, input: Any) -> Any:
        """log(sigmoid(x))."""
        return F.logsigmoid(input)


class Softsign(Module):
    """`functional.softsign` as a layer."""

    def forward(self, input: Any) -> Any:
        """x / (1 + abs(x))."""
        return F.softsign(input)


class Tanhshrink(Module):
    """`functional.tanhshrink` as a layer."""

    def forward(self, input: Any) -> Any:
        """x - tanh(x)."""
        return F.tanhshrink(input)


class Softplus(_Activation):
    """`functional.softplus` as a layer."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)

    def forward(self, input: Any) -> Any:
        """log(1 + exp(beta * x)) / beta."""
        return F.softplus(input, self.beta, self.threshold)


class _Shrink(_Activation):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        """The distance."""
        return str(self.lambd)


class Softshrink(_Shrink):
    """`functional.softshrink` as a layer."""

    def forward(self, input: Any) -> Any:
        """x moved towards 0 by lambd."""
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """`functional.hardshrink` as a layer."""

    def forward(self, input: Any) -> Any:
        """x where abs(x) is above lambd, else 0."""
        return F.hardshrink(input, self.lambd)


class Threshold(_Activation):
    """`functional.threshold` as a layer."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input: Any) -> Any:
        """x above the threshold, else `value`."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class Hardtanh(_Activation):
    """`functional.hardtanh` as a layer; ValueError unless max_val is above min_val."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)
        if max_val <= min_val:
            raise OptionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input: Any) -> Any:
        """x limited to [min_val, max_val]."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class PReLU(_Activation):
    """`functional.prelu` as a layer, with the slope a parameter: one, or one per channel.

    (He et al. 2015.)
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        check_device(device)
        super().__init__(num_parameters=num_parameters)
        self.init = init
        self.weight = Parameter(full((num_parameters,), float(init), dtype=dtype))

    def forward(self, input: Any) -> Any:
        """x above 0, weight * x below."""
        return F.prelu(input, self.weight)


class Softmax(_Activation):
    """`functional.softmax` as a layer."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Any) -> Any:
        """exp(x) / sum(exp(x)) along `dim`."""
        return F.softmax(input, self.dim)


class LogSoftmax(_Activation):
    """`functional.log_softmax` as a layer."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Any) -> Any:
        """log(softmax(x)) along `dim`."""
        return F.log_softmax(input, self.dim)


class Softmin(_Activation):
    """`functional.softmin` as a layer."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Any) -> Any:
        """softmax(-x) along `dim`."""
        return F.softmin(input, self.dim)
