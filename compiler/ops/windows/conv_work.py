"""Which way to compute a convolution is less work: counts of products and of elements moved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.lowering import Alias, IndexMap
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.record import Record, record

MOVED = 16
"""Products that take as long as moving an element, such as packing one of a window."""
TURNED = 48
"""Products that take as long as moving an element where the order of the axes changes."""
ADDED = 4
"""Products that take as long as adding one to a result in a tile."""
CROSSED = 24
"""Products that take as long as moving an element into rows of a tile, from columns."""
VECTOR = 16
"""Elements of the widest vector."""
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
    sizes = _sizes(x, weight, attrs)
    return sizes is not None and _by_line(sizes) < _by_window(sizes)


def goes_by_tap(x: Any, weight: Any, attrs: Attrs) -> bool:
    """Whether no window is packed, but images are put side by side, and results are added to for
    each place of a window: then nothing of the padding is multiplied.

    The weight is turned. That is no more work where it is computed itself: for the cotangent of an
    image it is the flipped one.
    """
    sizes = _sizes(x, weight, attrs)
    if sizes is None or attrs["groups"] > 1 or math.prod(sizes.inside) == 1:
        return False
    if sizes.stride[1] > 1:  # places of a line would be computed one by one
        return False
    result = sizes.rows * sizes.places
    moved = TURNED * (sizes.image + result) + ADDED * math.prod(sizes.window) * result
    met = MOVED * sizes.met  # by gemm, into tiles
    turned = TURNED * sizes.depth * sizes.rows / IMAGES
    if is_moved(weight) or goes_by_line(x, weight, attrs):
        turned = 0.0
    most = min(_by_line(sizes), _by_window(sizes))
    return sizes.products * math.prod(sizes.inside) + moved + met + turned < most


def weight_goes_by_tap(x: Any, weight: Any, attrs: Attrs) -> bool:
    """The same of the weight's cotangent, which is a product for each place of a window."""
    sizes = _sizes(x, weight, attrs)
    if sizes is None or attrs["groups"] > 1 or math.prod(sizes.inside) == 1:
        return False
    channels = weight.shape[1]  # columns of the result, of which whole vectors are computed
    whole = -(-channels // VECTOR) * VECTOR / channels
    moved = TURNED * (sizes.image + sizes.rows * sizes.places) + CROSSED * sizes.met
    return sizes.products * math.prod(sizes.inside) * whole + moved < _by_window(sizes)


def is_moved(value: Any) -> bool:
    """Whether a value is another one with its elements elsewhere: it is written out anyway."""
    lowering = getattr(getattr(value, "op", None), "lowering", None)
    return isinstance(lowering, IndexMap | Alias)


@record
class _Sizes(Record):
    """Of a convolution of an image: the rows of the result, what each of its elements sums, how
    many it has; the window, its strides, and the share of its places that are no padding, along
    both axes; and the elements of the image.
    """

    rows: int
    depth: int
    places: int
    window: tuple[int, int]
    stride: tuple[int, int]
    inside: tuple[float, float]
    image: int

    @property
    def products(self) -> int:
        """Those of padding too."""
        return self.rows * self.depth * self.places

    @property
    def met(self) -> float:
        """The elements of windows that are no padding."""
        return self.depth * self.places * math.prod(self.inside)


def _sizes(x: Any, weight: Any, attrs: Attrs) -> _Sizes | None:
    """What is known; None if that is too little."""
    filters, channels, *window = weight.shape
    sizes = [*x.shape[2:], *window, filters, channels]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return None
    stride, padding, dilation = (attrs[key] for key in ("stride", "padding", "dilation"))
    axes = list(zip(x.shape[2:], window, stride, padding, dilation, strict=True))
    height, width = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes)
    if height < 1 or width < 1:
        return None
    down, across = (
        _inside(*axis, places) for axis, places in zip(axes, (height, width), strict=True)
    )
    rows, depth = filters // attrs["groups"], channels * math.prod(window)
    image = channels * math.prod(x.shape[2:])
    return _Sizes(rows, depth, height * width, tuple(window), stride, (down, across), image)


def _inside(size: int, window: int, stride: int, padding: int, dilation: int, places: int) -> float:
    """The share of what windows meet along an axis that is no padding."""
    starts = np.arange(window) * dilation - padding
    first = -(np.minimum(starts, 0) // stride)
    last = np.minimum(places, -((starts - size) // stride))
    return float(np.maximum(last - first, 0).mean() / places)


def _by_window(sizes: _Sizes) -> float:
    """Products, and as many as take as long as what is moved, where windows are packed."""
    return sizes.products + MOVED * sizes.depth * sizes.places


def _by_line(sizes: _Sizes) -> float:
    """The same where lines are: results are added to, and the weight is turned."""
    packed = sizes.depth * sizes.places * sizes.stride[0] / sizes.window[0]
    moved = packed + sizes.window[0] * sizes.rows * sizes.places
    moved += sizes.depth * sizes.rows / IMAGES
    return sizes.products * sizes.inside[0] + MOVED * moved


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
