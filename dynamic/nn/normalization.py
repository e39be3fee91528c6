"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from compiler.core.errors import OptionError
from compiler.core.refusals import refuse
from dynamic.core.dtypes import INT64
from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn import init
from dynamic.nn.declared import Declared
from dynamic.nn.module import Module
from dynamic.nn.parameter import Parameter
from dynamic.tensors.creation import ones, tensor, zeros
from dynamic.tensors.devices import check_device
from dynamic.tensors.tensor import has_values


def _parameter(wanted: bool, make: Any, shape: Any, dtype: Any) -> Parameter | None:
    return Parameter(make(shape, dtype=dtype)) if wanted else None


class _Affine(Module):
    """A weight that begins with ones and a bias that begins with zeros, or None; abstract."""

    weight: Any
    bias: Any

    def _register(self, shape: Any, weight: bool, bias: bool, dtype: Any) -> None:
        self.register_parameter("weight", _parameter(weight, ones, shape, dtype))
        self.register_parameter("bias", _parameter(bias, zeros, shape, dtype))

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """x scaled to mean 0 and variance 1 over its last axes (Ba, Kiros, Hinton 2016)."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_device(device)
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self._register(self.normalized_shape, affine, affine and bias, dtype)

    def forward(self, input: Any) -> Any:
        """The input, normalised."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """x / sqrt(mean(x**2) + eps) over its last axes, times weight (Zhang, Sennrich 2019)."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_device(device)
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = _parameter(elementwise_affine, ones, self.normalized_shape, dtype)
        self.register_parameter("weight", weight)

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Any) -> Any:
        """The input, normalised."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """x scaled to mean 0 and variance 1 over groups of channels: (n, c, ...) (Wu, He 2018)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        check_device(device)
        super().__init__()
        if num_channels % num_groups:
            raise OptionError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._register((num_channels,), affine, affine and bias, dtype)

    def forward(self, input: Any) -> Any:
        """The input, normalised."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The sizes and the options."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _BatchNorm(_Affine):
    """x scaled to mean 0 and variance 1 for each channel: (n, c, ...) (Ioffe, Szegedy 2015).

    In training by the statistics of the batch, towards which the running ones move by `momentum`
    (None: their plain average); in evaluation by the running ones, if they are tracked.
    """

    _ndims: tuple[int, ...]
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        check_device(device)
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._register((num_features,), affine, affine and bias, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=INT64) if tracked else None)

    def reset_running_stats(self) -> None:
        """Forget the batches seen so far."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the batches seen so far, and reset weight and bias."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Any) -> Any:
        """The input, normalised."""
        if input.ndim not in self._ndims:
            wanted = " or ".join(f"{ndim}D" for ndim in self._ndims)
            raise OptionError(f"expected {wanted} input (got {input.ndim}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            if not has_values(input):
                refuse(
                    f"{self._get_name()}: running statistics change in place, which a graph cannot",
                    "call eval() first, or make the layer with track_running_stats=False",
                )
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        """The number of channels and the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (n, c) or (n, c, length): see `_BatchNorm`."""

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (n, c, height, width): see `_BatchNorm`."""

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (n, c, depth, height, width): see `_BatchNorm`."""

    _ndims = (5,)


class _InstanceNorm(_BatchNorm):
    """x scaled to mean 0 and variance 1 per sample and channel; abstract.

    The running statistics, where they are tracked, are used in evaluation.
    """

    axes = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Any) -> Any:
        """The normalised input; the axis of the samples is optional."""
        if input.ndim not in (self.axes + 1, self.axes + 2):
            raise OptionError(
                f"expected {self.axes + 1}D or {self.axes + 2}D input (got {input.ndim}D input)"
            )
        if input.ndim == self.axes + 1:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        own = self.training or not self.track_running_stats
        parameters = (self.running_mean, self.running_var, self.weight, self.bias)
        return F.instance_norm(input, *parameters, own, self.momentum or 0.0, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (n, c, length) (Ulyanov, Vedaldi, Lempitsky 2016)."""

    axes = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (n, c, height, width): see InstanceNorm1d."""

    axes = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (n, c, depth, height, width): see InstanceNorm1d."""

    axes = 3


class LocalResponseNorm(Declared, functional=F.local_response_norm):
    """x / (k + alpha * the mean square of `size` channels around it) ** beta (Krizhevsky 2012)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    _shown = ("alpha", "beta", "k")

    def extra_repr(self) -> str:
        """The size and the options."""
        return f"{self.size}, {super().extra_repr()}"
