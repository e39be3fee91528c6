"""Instance and response normalisation, further padding, power means and margins as layers."""

from __future__ import annotations

from typing import Any

from compiler.core.errors import OptionError
from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn.functional.windows import per_axis
from dynamic.nn.loss import _Loss
from dynamic.nn.module import Module
from dynamic.nn.normalization import _BatchNorm
from dynamic.nn.pooling import _Pad


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


class LocalResponseNorm(Module):
    """`functional.local_response_norm` as a layer."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Any) -> Any:
        """The normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _ConstantPad(Module):
    """One number around the last axes; abstract."""

    axes = 0

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.padding = per_axis(padding, 2 * self.axes)
        self.value = value

    def forward(self, input: Any) -> Any:
        """The input with numbers around it."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The widths and the number."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """One number before and after the last axis."""

    axes = 1


class ConstantPad2d(_ConstantPad):
    """One number around the last two axes."""

    axes = 2


class ConstantPad3d(_ConstantPad):
    """One number around the last three axes."""

    axes = 3


class CircularPad1d(_Pad):
    """The elements of the other side around the last axis."""

    axes, mode = 1, "circular"


class CircularPad2d(_Pad):
    """The elements of the other side around the last two axes."""

    axes, mode = 2, "circular"


class CircularPad3d(_Pad):
    """The elements of the other side around the last three axes."""

    axes, mode = 3, "circular"


class ZeroPad3d(_Pad):
    """Zeros around the last three axes."""

    axes = 3


class ReflectionPad3d(_Pad):
    """The last three axes mirrored at their first and last elements."""

    axes, mode = 3, "reflect"


class ReplicationPad3d(_Pad):
    """The first and last elements of the last three axes repeated."""

    axes, mode = 3, "replicate"


class _LPPool(Module):
    """The options of a power mean; abstract."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, function: Any, input: Any) -> Any:
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window of the last axis."""

    def forward(self, input: Any) -> Any:
        """The norms."""
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPool):
    """The p-norm of each window of the last two axes."""

    def forward(self, input: Any) -> Any:
        """The norms."""
        return self._pool(F.lp_pool2d, input)


class MultiMarginLoss(_Loss):
    """`functional.multi_margin_loss` as a layer."""

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        self.p = p
        self.margin = margin
        self.register_buffer("weight", weight)

    def forward(self, input: Any, target: Any) -> Any:
        """The loss."""
        options = (self.p, self.margin, self.weight)
        return F.multi_margin_loss(input, target, *options, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """`functional.multilabel_margin_loss` as a layer."""

    def forward(self, input: Any, target: Any) -> Any:
        """The loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_Loss):
    """`functional.multilabel_soft_margin_loss` as a layer."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Any, target: Any) -> Any:
        """The loss."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """`functional.triplet_margin_with_distance_loss` as a layer."""

    def __init__(
        self,
        *,
        distance_function: Any = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        """The loss."""
        options = {"distance_function": self.distance_function, "margin": self.margin}
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, swap=self.swap, reduction=self.reduction, **options
        )


class Softmax2d(Module):
    """Softmax over the channels of (n, c, h, w) or (c, h, w)."""

    def forward(self, input: Any) -> Any:
        """The shares of the channels at each place."""
        if input.ndim not in (3, 4):
            raise OptionError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            )
        return F.softmax(input, -3)
