"""Channels as pixels and pixels as channels, and channels in another order."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.layers.folding import dealt, shuffled, unshuffled
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.naming import called

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


@called("PixelShuffle")
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels as pixels: (..., c r r, h, w) -> (..., c, h r, w r).

    Example:
        >>> nn.functional.pixel_shuffle(dynamic.arange(4.0).reshape(4, 1, 1), 2)
        tensor([[[0., 1.],
                 [2., 3.]]])
    """
    if input.ndim < 3:
        raise AutogradError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    r, channels = upscale_factor, input.shape[-3]
    if isinstance(channels, int) and channels % (r * r):
        raise AutogradError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    return shuffled(input, r)


@called("PixelUnshuffle")
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Pixels as channels, the inverse of `pixel_shuffle`.

    Example:
        >>> nn.functional.pixel_unshuffle(dynamic.arange(4.0).reshape(1, 2, 2), 2).ravel()
        tensor([0., 1., 2., 3.])
    """
    if input.ndim < 3:
        raise AutogradError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    for name, size in zip(("height", "width"), input.shape[-2:], strict=True):
        if isinstance(size, int) and size % downscale_factor:
            raise AutogradError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({-2 if name == 'height' else -1})={size} is not divisible by "
                f"{downscale_factor}"
            )
    return unshuffled(input, downscale_factor)


@called("ChannelShuffle")
def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels of (n, c, ...) dealt out over groups.

    Example:
        >>> nn.functional.channel_shuffle(dynamic.arange(4.0).reshape(1, 4, 1), 2).ravel()
        tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise AutogradError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    return dealt(input, groups)
