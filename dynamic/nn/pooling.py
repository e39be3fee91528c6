"""Pooling and padding layers."""

from __future__ import annotations

from typing import Any

from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn.functional.windows import per_axis
from dynamic.nn.module import Module


class _MaxPool(Module):
    """The options of a MaxPool layer; abstract."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pool(self, function: Any, input: Any) -> Any:
        options = (self.padding, self.dilation, self.ceil_mode, self.return_indices)
        return function(input, self.kernel_size, self.stride, *options)

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window: (n, c, l) -> (n, c, l')."""

    def forward(self, input: Any) -> Any:
        """The largest elements; with `return_indices` also their places."""
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPool):
    """The largest element of each window: (n, c, h, w) -> (n, c, h', w')."""

    def forward(self, input: Any) -> Any:
        """The largest elements; with `return_indices` also their places."""
        return self._pool(F.max_pool2d, input)


class _AvgPool(Module):
    """The options of an AvgPool layer; abstract."""

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """The options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window: (n, c, l) -> (n, c, l')."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = per_axis(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else per_axis(stride, 1)
        self.padding = per_axis(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Any) -> Any:
        """The means."""
        options = (self.padding, self.ceil_mode, self.count_include_pad)
        return F.avg_pool1d(input, self.kernel_size, self.stride, *options)


class AvgPool2d(_AvgPool):
    """The mean of each window: (n, c, h, w) -> (n, c, h', w')."""

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
        options = (self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
        return F.avg_pool2d(input, self.kernel_size, self.stride, *options)


class _Adaptive(Module):
    """The size of an adaptive layer's output; abstract."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of `output_size` parts of the last axis: (n, c, l) -> (n, c, output_size)."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of parts of the last two axes: (n, c, h, w) -> (n, c, *output_size)."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class _Pad(Module):
    """The widths of a padding layer over `axes` axes; abstract."""

    axes = 0
    mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = per_axis(padding, 2 * self.axes)

    def forward(self, input: Any) -> Any:
        """The input with elements around it."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class ZeroPad1d(_Pad):
    """Zeros before and after the last axis."""

    axes = 1


class ZeroPad2d(_Pad):
    """Zeros around the last two axes: widths (left, right, top, bottom), or one for all."""

    axes = 2


class ReflectionPad1d(_Pad):
    """The last axis mirrored at its first and last element."""

    axes, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The last two axes mirrored at their first and last elements."""

    axes, mode = 2, "reflect"


class ReplicationPad1d(_Pad):
    """The first and last element of the last axis repeated."""

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The first and last elements of the last two axes repeated."""

    axes, mode = 2, "replicate"
