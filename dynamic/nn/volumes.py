"""Layers over three axes, adaptive maxima, and unpooling."""

from __future__ import annotations

from typing import Any

from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn.conv import _Forward, _Transposed
from dynamic.nn.functional.windows import per_axis
from dynamic.nn.module import Module
from dynamic.nn.pooling import _Adaptive, _AvgPool, _MaxPool


class Conv3d(_Forward):
    """Cross-correlation: (n, in_channels, d, h, w) -> (n, out_channels, ...); n is optional."""

    axes = 3

    def forward(self, input: Any) -> Any:
        """The input, convolved."""
        return self._convolve(F.conv3d, input)


class ConvTranspose3d(_Transposed):
    """The adjoint of Conv3d: (n, in_channels, d, h, w) -> (n, out_channels, ...)."""

    axes = 3

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """The input, convolved; `output_size` chooses among the sizes that a stride allows."""
        return self._adjoint(F.conv_transpose3d, input, output_size)


class MaxPool3d(_MaxPool):
    """The largest element of each window over three axes."""

    def forward(self, input: Any) -> Any:
        """The largest elements; with `return_indices` also their places."""
        return self._pool(F.max_pool3d, input)


class AvgPool3d(_AvgPool):
    """The mean of each window over three axes."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Any) -> Any:
        """The means."""
        options = (self.ceil_mode, self.count_include_pad, self.divisor_override)
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, *options)


class AdaptiveAvgPool3d(_Adaptive):
    """The means of parts of the last three axes."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    """The options of an adaptive maximum; abstract."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest elements of parts of the last axis."""

    def forward(self, input: Any) -> Any:
        """The largest elements; with `return_indices` also their places."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest elements of parts of the last two axes."""

    def forward(self, input: Any) -> Any:
        """The largest elements; with `return_indices` also their places."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest elements of parts of the last three axes."""

    def forward(self, input: Any) -> Any:
        """The largest elements; with `return_indices` also their places."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpool(Module):
    """The options of an unpooling; abstract."""

    axes = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = per_axis(kernel_size, self.axes)
        self.stride = self.kernel_size if stride is None else per_axis(stride, self.axes)
        self.padding = per_axis(padding, self.axes)

    def _unpool(self, function: Any, input: Any, indices: Any, output_size: Any) -> Any:
        options = (self.kernel_size, self.stride, self.padding, output_size)
        return function(input, indices, *options)

    def extra_repr(self) -> str:
        """The options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The elements at the places that MaxPool1d returned, zeros elsewhere."""

    axes = 1

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """The unpooled input."""
        return self._unpool(F.max_unpool1d, input, indices, output_size)


class MaxUnpool2d(_MaxUnpool):
    """The elements at the places that MaxPool2d returned, zeros elsewhere."""

    axes = 2

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """The unpooled input."""
        return self._unpool(F.max_unpool2d, input, indices, output_size)


class MaxUnpool3d(_MaxUnpool):
    """The elements at the places that MaxPool3d returned, zeros elsewhere."""

    axes = 3

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """The unpooled input."""
        return self._unpool(F.max_unpool3d, input, indices, output_size)
