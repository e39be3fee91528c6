"""Channels as pixels and pixels as channels, and channels in another order."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels as pixels: (..., c r r, h, w) -> (..., c, h r, w r)."""
    r, (channels, height, width) = upscale_factor, input.shape[-3:]
    if channels % (r * r):
        raise AutogradError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    lead = tuple(input.shape[:-3])
    x = ops.reshape(input, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    x = ops.transpose(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(x, (*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Pixels as channels, the inverse of `pixel_shuffle`."""
    r, (channels, height, width) = downscale_factor, input.shape[-3:]
    lead = tuple(input.shape[:-3])
    x = ops.reshape(input, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    x = ops.transpose(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(x, (*lead, channels * r * r, height // r, width // r))


def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels of (n, c, ...) dealt out over groups."""
    batch, channels, *rest = input.shape
    x = ops.reshape(input, (batch, groups, channels // groups, *rest))
    return ops.reshape(ops.swapaxes(x, 1, 2), tuple(input.shape))
