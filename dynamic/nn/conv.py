"""Convolutional layers over one, two or three axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.functional.windows import Sizes, per_axis
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.constructors import copy_method
from staticgraph.dynamic.tensors.creation import empty
from staticgraph.dynamic.tensors.devices import check_device

_MODES = ("zeros", "replicate", "circular", "reflect")


class _Convolution(Module):
    """Weight, bias and options of a convolution over `axes` axes; abstract.

    Weight and bias begin uniform within 1 / sqrt(fan_in).
    """

    weight: Any
    bias: Any

    axes = 0
    transposed = False
    _functional: Callable[..., Any]

    def __init_subclass__(
        cls, axes: int | None = None, functional: Callable[..., object] | None = None
    ) -> None:
        if axes is not None and functional is not None:
            cls.axes = axes
            cls._functional = staticmethod(functional)
            copy_method(cls, "forward")
        super().__init_subclass__()

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: object, stride: object,
        padding: object, dilation: object, groups: int, bias: bool, padding_mode: str,
        output_padding: object, device: object, dtype: object,
    ) -> None:  # fmt: skip
        check_device(device)
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = per_axis(kernel_size, self.axes)
        self.stride = per_axis(stride, self.axes)
        self.padding = padding if isinstance(padding, str) else per_axis(padding, self.axes)
        self.dilation = per_axis(dilation, self.axes)
        self.output_padding = per_axis(output_padding, self.axes)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_padding()
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty(out_channels, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise OptionError(
                    f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}"
                )
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise OptionError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            raise OptionError(
                "padding_mode must be one of {'zeros', 'replicate', 'circular', 'reflect'}, but "
                f"got padding_mode='{self.padding_mode}'"
            )

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        if self.weight.numel():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = init.fans(self.weight)[0]
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the default."""
        zeros, ones = (0,) * self.axes, (1,) * self.axes
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        options = (
            ("padding", self.padding, zeros),
            ("dilation", self.dilation, ones),
            ("output_padding", self.output_padding, zeros),
            ("groups", self.groups, 1),
            ("bias", self.bias is not None, True),
            ("padding_mode", self.padding_mode, "zeros"),
        )
        parts += [f"{name}={value}" for name, value, usual in options if value != usual]
        return ", ".join(parts)


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise OptionError("groups must be a positive integer")
    if in_channels % groups:
        raise OptionError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise OptionError("out_channels must be divisible by groups")


class _Conv(_Convolution):
    """A convolution with PyTorch's arguments; abstract."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: object, stride: object = 1,
        padding: object = 0, dilation: object = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: object = None, dtype: object = None,
    ) -> None:  # fmt: skip
        options = (stride, padding, dilation, groups, bias, padding_mode, 0, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *options)

    def forward(self, input: Any) -> Any:
        """The input, convolved."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        """The input, convolved with another weight and bias: what derived layers call."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._widths(), self.padding_mode), 0
        options = (self.stride, padding, self.dilation, self.groups)
        return self._functional(input, weight, bias, *options)

    def _widths(self) -> list[int]:
        """The padding as `F.pad` takes it, for the modes that are not zeros."""
        widths: list[int] = []
        for axis in reversed(range(self.axes)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                widths += [total // 2, total - total // 2]
            else:
                widths += [0 if isinstance(self.padding, str) else self.padding[axis]] * 2
        return widths


class Conv1d(_Conv, axes=1, functional=F.conv1d):
    """Cross-correlation: (n, in_channels, l) -> (n, out_channels, l'); n is optional.

    Example:
        >>> nn.Conv1d(3, 8, 5, padding=2)(dynamic.ones(1, 3, 20)).shape
        torch.Size([1, 8, 20])
    """


class Conv2d(_Conv, axes=2, functional=F.conv2d):
    """Cross-correlation: (n, in_channels, h, w) -> (n, out_channels, h', w'); n is optional.

    Example:
        >>> nn.Conv2d(3, 8, 3, stride=2)(dynamic.ones(1, 3, 9, 9)).shape
        torch.Size([1, 8, 4, 4])
    """


class Conv3d(_Conv, axes=3, functional=F.conv3d):
    """Cross-correlation: (n, in_channels, d, h, w) -> (n, out_channels, ...); n is optional.

    Example:
        >>> nn.Conv3d(3, 8, 3)(dynamic.ones(1, 3, 5, 5, 5)).shape
        torch.Size([1, 8, 3, 3, 3])
    """


class _ConvTranspose(_Convolution):
    """The adjoint of a convolution with PyTorch's arguments; abstract."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: object, stride: object = 1,
        padding: object = 0, output_padding: object = 0, groups: int = 1, bias: bool = True,
        dilation: object = 1, padding_mode: str = "zeros", device: object = None,
        dtype: object = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            name = type(self).__name__
            raise OptionError(f'Only "zeros" padding mode is supported for {name}')
        options = (stride, padding, dilation, groups, bias, padding_mode, output_padding)
        super().__init__(in_channels, out_channels, kernel_size, *options, device, dtype)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """The input, convolved; `output_size` chooses among the sizes that a stride allows."""
        extra = self.output_padding
        if output_size is not None:
            extra = self._extra(input, output_size)
        options = (self.stride, self.padding, extra, self.groups, self.dilation)
        return self._functional(input, self.weight, self.bias, *options)

    def _extra(self, input: Any, output_size: Any) -> Sizes:
        """The output padding that gives an output of the wanted size."""
        wanted = tuple(output_size)
        if len(wanted) == input.ndim:
            wanted = wanted[input.ndim - self.axes :]
        if len(wanted) != self.axes:
            raise OptionError(
                f"{type(self).__name__}: for {input.ndim}D input, output_size must have "
                f"{self.axes} or {input.ndim} elements (got {len(wanted)})"
            )
        sizes = Size(input.shape[input.ndim - self.axes :])
        spans = [d * (k - 1) + 1 for k, d in zip(self.kernel_size, self.dilation, strict=True)]
        padding: Any = self.padding
        least = [
            (size - 1) * step - 2 * edge + span
            for size, step, edge, span in zip(sizes, self.stride, padding, spans, strict=True)
        ]
        most = [low + step - 1 for low, step in zip(least, self.stride, strict=True)]
        inside = (low <= one <= high for low, one, high in zip(least, wanted, most, strict=True))
        if not all(inside):
            raise OptionError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to "
                f"{most} (for an input of {sizes!r})"
            )
        return tuple(one - low for one, low in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTranspose, axes=1, functional=F.conv_transpose1d):
    """The adjoint of Conv1d: (n, in_channels, l) -> (n, out_channels, l'); n is optional.

    Example:
        >>> nn.ConvTranspose1d(3, 8, 2, stride=2)(dynamic.ones(1, 3, 5)).shape
        torch.Size([1, 8, 10])
    """


class ConvTranspose2d(_ConvTranspose, axes=2, functional=F.conv_transpose2d):
    """The adjoint of Conv2d: (n, in_channels, h, w) -> (n, out_channels, h', w').

    Example:
        >>> nn.ConvTranspose2d(3, 8, 2, stride=2)(dynamic.ones(1, 3, 5, 5)).shape
        torch.Size([1, 8, 10, 10])
    """


class ConvTranspose3d(_ConvTranspose, axes=3, functional=F.conv_transpose3d):
    """The adjoint of Conv3d: (n, in_channels, d, h, w) -> (n, out_channels, ...).

    Example:
        >>> nn.ConvTranspose3d(3, 8, 2, stride=2)(dynamic.ones(1, 3, 2, 2, 2)).shape
        torch.Size([1, 8, 4, 4, 4])
    """
