"""Layers between images and the columns of their windows."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared


class Unfold(Declared, functional=F.unfold):
    """The windows of images as columns: (n, c, h, w) -> (n, c kh kw, places).

    Example:
        >>> nn.Unfold(2)(dynamic.ones(1, 1, 4, 4)).shape
        torch.Size([1, 4, 9])
    """

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    _shown = ("kernel_size", "dilation", "padding", "stride")


class Fold(Declared, functional=F.fold):
    """Columns added back into images, the adjoint of Unfold.

    Example:
        >>> nn.Fold((4, 4), 2)(dynamic.ones(1, 4, 9)).shape
        torch.Size([1, 1, 4, 4])
    """

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    _shown = ("output_size", "kernel_size", "dilation", "padding", "stride")
