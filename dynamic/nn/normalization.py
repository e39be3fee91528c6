"""Normalisation layers."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import Any, ClassVar

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.core.dtypes import INT64
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.declared import Declared
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.creation import ones, tensor, zeros
from staticgraph.dynamic.tensors.devices import check_device
from staticgraph.dynamic.tensors.tensor import has_values


class _Affine(Declared):
    """A weight that begins with ones and a bias that begins with zeros, or None; abstract."""

    _attributes: ClassVar[tuple[str, ...]] = ("weight", "bias")

    def _assign(self, values: dict[str, Any]) -> None:
        check_device(values.pop("device"))
        dtype, bias = values.pop("dtype"), values.pop("bias", True)
        super()._assign(values)
        shape, affine = self._sizes()
        wanted = {"weight": (ones, affine), "bias": (zeros, affine and bias)}
        for name in self._attributes:
            make, present = wanted[name]
            self.register_parameter(name, Parameter(make(shape, dtype=dtype)) if present else None)

    def _sizes(self) -> tuple[tuple[int, ...], bool]:
        """The shape of the parameters, and whether there are any."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = self._parameters.get(name)
            if parameter is not None:
                fill(parameter)


class _OfLastAxes(_Affine):
    """Over the last axes, of the shape `normalized_shape`; abstract."""

    def _sizes(self) -> tuple[tuple[int, ...], bool]:
        shape: Any = self.normalized_shape
        single = isinstance(shape, int | np.integer)
        self.normalized_shape: Any = (shape,) if single else tuple(shape)
        return self.normalized_shape, self.elementwise_affine

    def extra_repr(self) -> str:
        """The shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_OfLastAxes, functional=F.layer_norm):
    """x scaled to mean 0 and variance 1 over its last axes (Ba, Kiros, Hinton 2016).

    Example:
        >>> nn.LayerNorm(2, eps=0)(dynamic.tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
    """

    normalized_shape: Any
    eps: float = 1e-5
    elementwise_affine: bool = True
    bias: InitVar[bool] = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def extra_repr(self) -> str:
        """The shape and the options."""
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class RMSNorm(_OfLastAxes, functional=F.rms_norm):
    """x / sqrt(mean(x**2) + eps) over its last axes, times weight (Zhang, Sennrich 2019).

    Example:
        >>> nn.RMSNorm(2, eps=0)(dynamic.tensor([[1.0, 1.0]])).tolist()
        [[1.0, 1.0]]
    """

    normalized_shape: Any
    eps: float | None = None
    elementwise_affine: bool = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    _attributes = ("weight",)


class GroupNorm(_Affine, functional=F.group_norm):
    """x scaled to mean 0 and variance 1 over groups of channels: (n, c, ...) (Wu, He 2018).

    Example:
        >>> nn.GroupNorm(2, 4)(dynamic.ones(1, 4, 3)).shape
        torch.Size([1, 4, 3])
    """

    num_groups: int
    num_channels: int
    eps: float = 1e-5
    affine: bool = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    _: KW_ONLY
    bias: InitVar[bool] = True

    def _sizes(self) -> tuple[tuple[int, ...], bool]:
        if self.num_channels % self.num_groups:
            raise OptionError(
                f"num_channels ({self.num_channels}) must be divisible by num_groups "
                f"({self.num_groups})"
            )
        return (self.num_channels,), self.affine

    def extra_repr(self) -> str:
        """The sizes and the options."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _RunningStatistics(_Affine):
    """A weight, a bias, and running statistics if they are tracked, for each channel; abstract."""

    running_mean: ClassVar[Any]
    running_var: ClassVar[Any]
    num_batches_tracked: ClassVar[Any]

    def _assign(self, values: dict[str, Any]) -> None:
        dtype, sizes = values["dtype"], values["num_features"]
        super()._assign(values)
        tracked = self.track_running_stats
        self.register_buffer("running_mean", zeros(sizes, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(sizes, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=INT64) if tracked else None)

    def _sizes(self) -> tuple[tuple[int, ...], bool]:
        return (self.num_features,), self.affine

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

    def extra_repr(self) -> str:
        """The number of channels and the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_RunningStatistics):
    """x scaled to mean 0 and variance 1 for each channel: (n, c, ...) (Ioffe, Szegedy 2015).

    In training by the statistics of the batch, towards which the running ones move by `momentum`
    (None: their plain average); in evaluation by the running ones, if they are tracked.
    """

    _ndims: ClassVar[tuple[int, ...]]
    num_features: int
    eps: float = 1e-5
    momentum: float | None = 0.1
    affine: bool = True
    track_running_stats: bool = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    _: KW_ONLY
    bias: InitVar[bool] = True

    def forward(self, input: Any) -> Any:
        """The input, normalised."""
        if input.ndim not in self._ndims:
            wanted = " or ".join(f"{ndim}D" for ndim in self._ndims)
            raise OptionError(
                f"expected {wanted} input (got {input.ndim}D input): {type(self).__name__} of "
                f"{list(input.shape)}"
            )
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            if isinstance(input, Expression):
                refuse(
                    f"{self._get_name()}: running statistics change in place, which a graph cannot",
                    "call eval() first, or make the layer with track_running_stats=False",
                )
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                count = self.num_batches_tracked
                momentum = 1.0 / (count.item() if has_values(count) else count.double())
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


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (n, c) or (n, c, length): see `_BatchNorm`.

    Example:
        >>> nn.BatchNorm1d(1, eps=0)(dynamic.tensor([[1.0], [3.0]])).tolist()
        [[-1.0], [1.0]]
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (n, c, height, width): see `_BatchNorm`.

    Example:
        >>> norm = nn.BatchNorm2d(3)
        >>> norm(dynamic.ones(2, 3, 4, 4)).shape, norm.running_mean.shape
        (torch.Size([2, 3, 4, 4]), torch.Size([3]))
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (n, c, depth, height, width): see `_BatchNorm`.

    Example:
        >>> nn.BatchNorm3d(3)(dynamic.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _ndims = (5,)


class _InstanceNorm(_RunningStatistics):
    """x scaled to mean 0 and variance 1 per sample and channel; abstract.

    The running statistics, where they are tracked, are used in evaluation.
    """

    axes: ClassVar[int]
    num_features: int
    eps: float = 1e-5
    momentum: float = 0.1
    affine: bool = False
    track_running_stats: bool = False
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def forward(self, input: Any) -> Any:
        """The normalised input; the axis of the samples is optional."""
        if input.ndim not in (self.axes + 1, self.axes + 2):
            raise OptionError(
                f"expected {self.axes + 1}D or {self.axes + 2}D input (got {input.ndim}D input): "
                f"{type(self).__name__} of {list(input.shape)}"
            )
        if input.ndim == self.axes + 1:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        own = self.training or not self.track_running_stats
        parameters = (self.running_mean, self.running_var, self.weight, self.bias)
        return F.instance_norm(input, *parameters, own, self.momentum or 0.0, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (n, c, length) (Ulyanov, Vedaldi, Lempitsky 2016).

    Example:
        >>> nn.InstanceNorm1d(3)(dynamic.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    axes = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (n, c, height, width): see InstanceNorm1d.

    Example:
        >>> nn.InstanceNorm2d(3)(dynamic.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    axes = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (n, c, depth, height, width): see InstanceNorm1d.

    Example:
        >>> nn.InstanceNorm3d(3)(dynamic.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    axes = 3


class LocalResponseNorm(Declared, functional=F.local_response_norm):
    """x / (k + alpha * the mean square of `size` channels around it) ** beta (Krizhevsky 2012).

    Example:
        >>> nn.LocalResponseNorm(2)(dynamic.ones(1, 4, 3)).shape
        torch.Size([1, 4, 3])
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    _shown = ("alpha", "beta", "k")

    def extra_repr(self) -> str:
        """The size and the options."""
        return f"{self.size}, {super().extra_repr()}"
