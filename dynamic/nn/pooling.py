"""Pooling layers: each kind over the last one, two or three axes."""

from __future__ import annotations

from typing import Any, ClassVar

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared
from staticgraph.dynamic.nn.functional.windows import per_axis


class _MaxPool(Declared):
    """The largest element of each window; with `return_indices` also their places; abstract."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def _assign(self, values: dict[str, Any]) -> None:
        super()._assign(values)
        self.stride = self.kernel_size if self.stride is None else self.stride


class MaxPool1d(_MaxPool, functional=F.max_pool1d):
    """The largest element of each window: (n, c, l) -> (n, c, l').

    Example:
        >>> nn.MaxPool1d(2)(dynamic.tensor([[1.0, 3.0, 5.0, 7.0]]))
        tensor([[3., 7.]])
    """


class MaxPool2d(_MaxPool, functional=F.max_pool2d):
    """The largest element of each window: (n, c, h, w) -> (n, c, h', w').

    Example:
        >>> nn.MaxPool2d(2)(dynamic.ones(1, 4, 6, 6)).shape
        torch.Size([1, 4, 3, 3])
    """


class MaxPool3d(_MaxPool, functional=F.max_pool3d):
    """The largest element of each window: (n, c, d, h, w) -> (n, c, d', h', w').

    Example:
        >>> nn.MaxPool3d(2)(dynamic.ones(1, 4, 6, 6, 6)).shape
        torch.Size([1, 4, 3, 3, 3])
    """


class _AvgPool(Declared):
    """The mean of each window; abstract."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    _shown = ("kernel_size", "stride", "padding")

    def _assign(self, values: dict[str, Any]) -> None:
        super()._assign(values)
        self.stride = self.kernel_size if self.stride is None else self.stride


class AvgPool1d(_AvgPool, functional=F.avg_pool1d):
    """The mean of each window: (n, c, l) -> (n, c, l').

    Example:
        >>> nn.AvgPool1d(2)(dynamic.tensor([[1.0, 3.0, 5.0, 7.0]]))
        tensor([[2., 6.]])
    """

    def _assign(self, values: dict[str, Any]) -> None:
        super()._assign(values)
        for name in self._shown:
            setattr(self, name, per_axis(getattr(self, name), 1))


class _DivisiblePool(_AvgPool):
    """The sum of each window, divided by a given number or by that of its elements; abstract."""

    divisor_override: int | None = None


class AvgPool2d(_DivisiblePool, functional=F.avg_pool2d):
    """The mean of each window: (n, c, h, w) -> (n, c, h', w').

    Example:
        >>> nn.AvgPool2d(2)(dynamic.ones(1, 4, 6, 6)).shape
        torch.Size([1, 4, 3, 3])
    """


class AvgPool3d(_DivisiblePool, functional=F.avg_pool3d):
    """The mean of each window: (n, c, d, h, w) -> (n, c, d', h', w').

    Example:
        >>> nn.AvgPool3d(2)(dynamic.ones(1, 4, 6, 6, 6)).shape
        torch.Size([1, 4, 3, 3, 3])
    """


class _LPPool(Declared):
    """The p-norm of each window; abstract."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False
    _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")


class LPPool1d(_LPPool, functional=F.lp_pool1d):
    """The p-norm of each window of the last axis.

    Example:
        >>> nn.LPPool1d(2, 2)(dynamic.tensor([[3.0, 4.0]]))
        tensor([[5.]])
    """


class LPPool2d(_LPPool, functional=F.lp_pool2d):
    """The p-norm of each window of the last two axes.

    Example:
        >>> nn.LPPool2d(2, 2)(dynamic.ones(1, 1, 4, 4)).shape
        torch.Size([1, 1, 2, 2])
    """


class LPPool3d(_LPPool, functional=F.lp_pool3d):
    """The p-norm of each window of the last three axes.

    Example:
        >>> nn.LPPool3d(2, 2)(dynamic.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 1, 2, 2, 2])
    """


class _Adaptive(Declared):
    """A number for each of the parts of the last axes, whose counts are given; abstract."""

    output_size: Any
    _shown = ("output_size",)


class _AdaptiveAvg(_Adaptive):
    """Means of windows."""


class AdaptiveAvgPool1d(_AdaptiveAvg, functional=F.adaptive_avg_pool1d):
    """The means of `output_size` parts of the last axis: (n, c, l) -> (n, c, output_size).

    Example:
        >>> nn.AdaptiveAvgPool1d(2)(dynamic.tensor([[1.0, 3.0, 5.0, 7.0]]))
        tensor([[2., 6.]])
    """


class AdaptiveAvgPool2d(_AdaptiveAvg, functional=F.adaptive_avg_pool2d):
    """The means of parts of the last two axes: (n, c, h, w) -> (n, c, *output_size).

    Example:
        >>> nn.AdaptiveAvgPool2d(1)(dynamic.ones(1, 4, 6, 6)).shape
        torch.Size([1, 4, 1, 1])
    """


class AdaptiveAvgPool3d(_AdaptiveAvg, functional=F.adaptive_avg_pool3d):
    """The means of parts of the last three axes: (n, c, d, h, w) -> (n, c, *output_size).

    Example:
        >>> nn.AdaptiveAvgPool3d(1)(dynamic.ones(1, 4, 6, 6, 6)).shape
        torch.Size([1, 4, 1, 1, 1])
    """


class _AdaptiveMax(_Adaptive):
    """The largest elements of parts; with `return_indices` also their places; abstract."""

    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMax, functional=F.adaptive_max_pool1d):
    """The largest elements of parts of the last axis.

    Example:
        >>> nn.AdaptiveMaxPool1d(2)(dynamic.tensor([[1.0, 3.0, 5.0, 7.0]]))
        tensor([[3., 7.]])
    """


class AdaptiveMaxPool2d(_AdaptiveMax, functional=F.adaptive_max_pool2d):
    """The largest elements of parts of the last two axes.

    Example:
        >>> nn.AdaptiveMaxPool2d(1)(dynamic.ones(1, 4, 6, 6)).shape
        torch.Size([1, 4, 1, 1])
    """


class AdaptiveMaxPool3d(_AdaptiveMax, functional=F.adaptive_max_pool3d):
    """The largest elements of parts of the last three axes.

    Example:
        >>> nn.AdaptiveMaxPool3d(1)(dynamic.ones(1, 4, 6, 6, 6)).shape
        torch.Size([1, 4, 1, 1, 1])
    """


class _FractionalMax(Declared):
    """The largest elements of windows at steps that are drawn; abstract."""

    axes: ClassVar[int]
    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Any = None

    def _assign(self, values: dict[str, Any]) -> None:
        super()._assign(values)
        self.kernel_size = per_axis(self.kernel_size, self.axes)
        name = type(self).__name__
        if self.output_size is None and self.output_ratio is None:
            raise OptionError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if self.output_size is not None and self.output_ratio is not None:
            raise OptionError("only one of output_size and output_ratio may be specified")
        if self.output_size is not None:
            self.output_size = per_axis(self.output_size, self.axes)
            return
        ratio = self.output_ratio
        self.output_ratio = (
            tuple(ratio) if isinstance(ratio, list | tuple) else (ratio,) * self.axes
        )
        if not all(0 < one < 1 for one in self.output_ratio):
            raise OptionError(f"output_ratio must be between 0 and 1 (got {ratio})")


class FractionalMaxPool2d(_FractionalMax, functional=F.fractional_max_pool2d):
    """The largest elements of windows at steps that are drawn: (n, c, h, w) -> (n, c, *sizes).

    See `functional.fractional_max_pool2d`.

    Example:
        >>> nn.FractionalMaxPool2d(2, output_ratio=0.5)(dynamic.ones(1, 4, 6, 6)).shape
        torch.Size([1, 4, 3, 3])
    """

    axes = 2


class FractionalMaxPool3d(_FractionalMax, functional=F.fractional_max_pool3d):
    """The largest elements of windows over three axes: see FractionalMaxPool2d.

    Example:
        >>> nn.FractionalMaxPool3d(2, output_size=3)(dynamic.ones(1, 4, 6, 6, 6)).shape
        torch.Size([1, 4, 3, 3, 3])
    """

    axes = 3


class _MaxUnpool(Declared):
    """The elements at the places that a max pooling returned, zeros elsewhere; abstract."""

    axes: ClassVar[int]
    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    _shown = ("kernel_size", "stride", "padding")
    _optional = ("output_size",)

    def _assign(self, values: dict[str, Any]) -> None:
        super()._assign(values)
        self.stride = self.kernel_size if self.stride is None else self.stride
        for name in self._shown:
            setattr(self, name, per_axis(getattr(self, name), self.axes))


class MaxUnpool1d(_MaxUnpool, functional=F.max_unpool1d):
    """The elements at the places that MaxPool1d returned, zeros elsewhere.

    Example:
        >>> y, places = nn.MaxPool1d(2, return_indices=True)(dynamic.tensor([[1.0, 3.0]]))
        >>> nn.MaxUnpool1d(2)(y, places)
        tensor([[0., 3.]])
    """

    axes = 1


class MaxUnpool2d(_MaxUnpool, functional=F.max_unpool2d):
    """The elements at the places that MaxPool2d returned, zeros elsewhere.

    Example:
        >>> y, places = nn.MaxPool2d(2, return_indices=True)(dynamic.ones(1, 1, 4, 4))
        >>> nn.MaxUnpool2d(2)(y, places).shape
        torch.Size([1, 1, 4, 4])
    """

    axes = 2


class MaxUnpool3d(_MaxUnpool, functional=F.max_unpool3d):
    """The elements at the places that MaxPool3d returned, zeros elsewhere.

    Example:
        >>> y, places = nn.MaxPool3d(2, return_indices=True)(dynamic.ones(1, 1, 4, 4, 4))
        >>> nn.MaxUnpool3d(2)(y, places).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    axes = 3
