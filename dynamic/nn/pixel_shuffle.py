"""Layers that take channels for pixels, pixels for channels, or channels in another order."""

from __future__ import annotations

from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared


class PixelShuffle(Declared, functional=F.pixel_shuffle):
    """Channels as pixels (Shi et al. 2016): (..., c r r, h, w) -> (..., c, h r, w r).

    Example:
        >>> nn.PixelShuffle(2)(dynamic.ones(1, 4, 3, 3)).shape
        torch.Size([1, 1, 6, 6])
    """

    upscale_factor: int
    _shown = ("upscale_factor",)


class PixelUnshuffle(Declared, functional=F.pixel_unshuffle):
    """Pixels as channels: the inverse of PixelShuffle.

    Example:
        >>> nn.PixelUnshuffle(2)(dynamic.ones(1, 1, 6, 6)).shape
        torch.Size([1, 4, 3, 3])
    """

    downscale_factor: int
    _shown = ("downscale_factor",)


class ChannelShuffle(Declared, functional=F.channel_shuffle):
    """The channels dealt out over groups (Zhang et al. 2017).

    Example:
        >>> nn.ChannelShuffle(2)(dynamic.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    groups: int
    _shown = ("groups",)
