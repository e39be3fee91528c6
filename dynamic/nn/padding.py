"""Padding layers: each kind over the last one, two or three axes."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.functional.windows import per_axis
from staticgraph.dynamic.nn.module import Module


class _Pad(Module):
    """Elements around the last `axes` axes, by a mode of `functional.pad`; abstract.

    The widths are (before, after) of the last axis, then of the one before it, ...: (left, right,
    top, bottom) for two axes; or one number for all.
    """

    _axes = 0
    _mode = "constant"

    def __init_subclass__(cls, axes: int | None = None, mode: str | None = None) -> None:
        cls._axes = cls._axes if axes is None else axes
        cls._mode = cls._mode if mode is None else mode
        super().__init_subclass__()

    def __init__(self, padding: object) -> None:
        super().__init__()
        self.padding = per_axis(padding, 2 * self._axes)

    def forward(self, input: Any) -> Any:
        """The input with elements around it."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """One number around the last axes; abstract."""

    def __init__(self, padding: object, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        """The input with numbers around it."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The widths and the number."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad, axes=1):
    """One number before and after the last axis.

    Example:
        >>> nn.ConstantPad1d(1, 9.0)(dynamic.tensor([[1.0, 2.0]]))
        tensor([[9., 1., 2., 9.]])
    """


class ConstantPad2d(_ConstantPad, axes=2):
    """One number around the last two axes.

    Example:
        >>> nn.ConstantPad2d(1, 9.0)(dynamic.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ConstantPad3d(_ConstantPad, axes=3):
    """One number around the last three axes.

    Example:
        >>> nn.ConstantPad3d(1, 9.0)(dynamic.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class ZeroPad1d(_Pad, axes=1):
    """Zeros before and after the last axis.

    Example:
        >>> nn.ZeroPad1d(1)(dynamic.tensor([[1.0, 2.0]]))
        tensor([[0., 1., 2., 0.]])
    """


class ZeroPad2d(_Pad, axes=2):
    """Zeros around the last two axes.

    Example:
        >>> nn.ZeroPad2d(1)(dynamic.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ZeroPad3d(_Pad, axes=3):
    """Zeros around the last three axes.

    Example:
        >>> nn.ZeroPad3d(1)(dynamic.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class ReflectionPad1d(_Pad, axes=1, mode="reflect"):
    """The last axis mirrored at its first and last element.

    Example:
        >>> nn.ReflectionPad1d(1)(dynamic.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 1., 2., 3., 2.]])
    """


class ReflectionPad2d(_Pad, axes=2, mode="reflect"):
    """The last two axes mirrored at their first and last elements.

    Example:
        >>> nn.ReflectionPad2d(1)(dynamic.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ReflectionPad3d(_Pad, axes=3, mode="reflect"):
    """The last three axes mirrored at their first and last elements.

    Example:
        >>> nn.ReflectionPad3d(1)(dynamic.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class ReplicationPad1d(_Pad, axes=1, mode="replicate"):
    """The first and last element of the last axis repeated.

    Example:
        >>> nn.ReplicationPad1d(1)(dynamic.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3.]])
    """


class ReplicationPad2d(_Pad, axes=2, mode="replicate"):
    """The first and last elements of the last two axes repeated.

    Example:
        >>> nn.ReplicationPad2d(1)(dynamic.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ReplicationPad3d(_Pad, axes=3, mode="replicate"):
    """The first and last elements of the last three axes repeated.

    Example:
        >>> nn.ReplicationPad3d(1)(dynamic.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class CircularPad1d(_Pad, axes=1, mode="circular"):
    """The elements of the other side around the last axis.

    Example:
        >>> nn.CircularPad1d(1)(dynamic.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """


class CircularPad2d(_Pad, axes=2, mode="circular"):
    """The elements of the other side around the last two axes.

    Example:
        >>> nn.CircularPad2d(1)(dynamic.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class CircularPad3d(_Pad, axes=3, mode="circular"):
    """The elements of the other side around the last three axes.

    Example:
        >>> nn.CircularPad3d(1)(dynamic.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """
