"""Which way to compute a convolution is less work: counts of products and of elements moved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Attrs

MOVED = 16
"""Products that take as long as moving an element, such as packing one of a window."""
IMAGES = 2
"""Images that a weight is turned for once, at least: a batch of one is less usual."""
MOST_WRITTEN = 8
"""Elements of windows written out for one of the image or of the result."""


def goes_by_line(x: Any, weight: Any, attrs: Attrs) -> bool:
    """Whether lines are packed once for all lines of the windows, not once for each of these.

    Then results are read and added to as often as windows have lines, and the weight is turned: for
    all images, of which `IMAGES` are taken to be there, so that bits do not depend on how many
    there are. But lines of padding are not multiplied.
    """
    filters, channels, *window = weight.shape
    sizes = [*x.shape[2:], *window, filters, channels]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return False
    stride, padding, dilation = (attrs[key] for key in ("stride", "padding", "dilation"))
    axes = zip(x.shape[2:], window, stride, padding, dilation, strict=True)
    height, width = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes)
    rows, depth, places = filters // attrs["groups"], channels * math.prod(window), height * width
    if height < 1 or width < 1:
        return False
    starts = np.arange(window[0]) * dilation[0] - padding[0]
    first = -(np.minimum(starts, 0) // stride[0])
    last = np.minimum(height, -((starts - x.shape[2]) // stride[0]))
    inside = np.maximum(last - first, 0).mean() / height
    saved = depth * places * (1 - stride[0] / window[0])
    moved = saved - window[0] * rows * places - depth * rows / IMAGES
    skipped = (1 - inside) * depth * rows * places
    return bool(MOVED * moved + skipped > 0)


def is_added(g: Any, x: Any, weight: Any, attrs: Attrs) -> bool:
    """Whether the products of all windows, written out and added, are less work than convolving g.

    That multiplies the zeros around g where the windows leave few places, such as 9 x 9 of 21 x 21,
    and packs windows of g, which are many where there are more filters than channels.
    """
    sizes = (*x.shape[2:], *g.shape[2:], *weight.shape[:2])
    if not all(isinstance(size, int) for size in sizes) or 0 in sizes:
        return False
    filters, channels = weight.shape[0] // attrs["groups"], weight.shape[1]
    here, there = math.prod(x.shape[2:]), math.prod(g.shape[2:])
    written = channels * math.prod(weight.shape[2:]) * there
    if written > MOST_WRITTEN * (channels * here + filters * there):
        return False
    more = here / (there * math.prod(attrs["stride"]))
    # written, read, and added where it belongs
    return channels * (filters + 3 * MOVED) < more * filters * (channels + MOVED)
