"""Fractional max pooling: windows at steps that are drawn (Graham 2014, "Fractional Max-Pooling").

The windows' places are PyTorch's for the same samples: see its `generate_intervals`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.layers.axes import flattened
from staticgraph.dynamic.core.eager_ops import picked
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import Sizes, per_axis
from staticgraph.dynamic.tensors.drawn import rand
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.tensor import has_values, wrap

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]

_AXES = ("time", "height", "width")


@called("FractionalMaxPool2DBackward0")
def fractional_max_pool2d(
    input: object, kernel_size: object, output_size: object = None, output_ratio: object = None,
    return_indices: bool = False, _random_samples: object = None,
) -> Any:  # fmt: skip
    """The largest element of each of `output_size` windows: (n, c, h, w) -> (n, c, *output_size).

    The windows begin at steps that are drawn per image and channel, so that they fill the input;
    n is optional. `output_ratio`, in (0, 1), says the sizes as parts of the input's. With
    `return_indices` also the places in the flat (h, w). `_random_samples` (n, c, 2) in [0, 1), for
    the width and then the height, stand for what is drawn.

    Raises:
        OptionError: neither the size nor the ratio is given; a ValueError.
        AutogradError: the windows do not fit into the input; a RuntimeError.

    Example:
        >>> x = dynamic.arange(9.0).reshape(1, 3, 3)
        >>> nn.functional.fractional_max_pool2d(x, 2, output_size=(2, 2))
        tensor([[[4., 5.],
                 [7., 8.]]])
    """
    given = (input, kernel_size, output_size, output_ratio, _random_samples)
    return _pooled(2, *given, return_indices=return_indices)


@called("FractionalMaxPool3DBackward0")
def fractional_max_pool3d(
    input: object, kernel_size: object, output_size: object = None, output_ratio: object = None,
    return_indices: bool = False, _random_samples: object = None,
) -> Any:  # fmt: skip
    """The largest element of each window over three axes: as `fractional_max_pool2d`.

    `_random_samples` (n, c, 3) are for the time, the height and the width.

    Example:
        >>> x = dynamic.arange(27.0).reshape(1, 3, 3, 3)
        >>> nn.functional.fractional_max_pool3d(x, 2, output_size=1)
        tensor([[[[26.]]]])
    """
    given = (input, kernel_size, output_size, output_ratio, _random_samples)
    return _pooled(3, *given, return_indices=return_indices)


def _pooled(
    axes: int, x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any,
    *, return_indices: bool,
) -> Any:  # fmt: skip
    name = f"fractional_max_pool{axes}d"
    if output_size is None and output_ratio is None:
        raise OptionError(f"{name} requires specifying either an output_size or an output_ratio")
    if not has_values(x):
        refuse(f"{name}: its windows are drawn, which a graph cannot", "pool outside")
    if x.ndim not in (axes + 1, axes + 2) or 0 in x.shape[-axes - 1 :]:
        raise AutogradError(
            f"{name}: expected a non-empty {axes + 1}D or {axes + 2}D tensor, but got "
            f"{list(x.shape)}"
        )
    sizes = tuple(x.shape[-axes:])
    window = per_axis(kernel_size, axes)
    if output_size is None:
        ratios = (
            tuple(output_ratio)
            if isinstance(output_ratio, list | tuple)
            else ((output_ratio,) * axes)
        )
        counts: Sizes = tuple(int(n * part) for n, part in zip(sizes, ratios, strict=True))
    else:
        counts = per_axis(output_size, axes)
    for axis, (n, k, count) in enumerate(zip(sizes, window, counts, strict=True)):
        if k + count - 1 > n - (axes == 3) or count < 1:  # PyTorch wants one more of three axes
            label = _AXES[axis - axes]
            raise AutogradError(
                f"{name}(): pool {label} {k} too large relative to input {label} {n} for "
                f"{count} windows"
            )
    images = x if x.ndim == axes + 2 else x[None]
    planes = tuple(images.shape[:2])
    if samples is None:
        samples = rand(*planes, axes, dtype=x.dtype)
    if tuple(samples.shape) != (*planes, axes) or samples.dtype != x.dtype:
        raise AutogradError(
            f"{name}: expected _random_samples of {x.dtype} and shape {[*planes, axes]}, but got "
            f"{samples.dtype} and {list(samples.shape)}"
        )
    indices = _places(images._array, samples._array, window, counts)
    given = wrap(indices.reshape(*x.shape[:-axes], *counts))
    first = x.ndim - axes
    flat = {"axis": first, "wrap": False}
    values = picked.bound((flattened(x, first), flattened(given, first)), flat)
    values = values.reshape(given.shape)
    return (values, given) if return_indices else values


def _places(x: Any, samples: Any, window: Sizes, counts: Sizes) -> Any:
    """Where the largest elements are in the flat last axes: the last of nan, else the first."""
    axes, planes = len(window), x.shape[:2]
    places: Any = np.zeros((*planes, *(1,) * (2 * axes)), np.int64)
    for axis, (n, k, count) in enumerate(zip(x.shape[2:], window, counts, strict=True)):
        # PyTorch has the sample of the width first where there are two
        sample = samples[..., axes - 1 - axis if axes == 2 else axis]
        starts = _starts(sample, n, k, count)
        along = starts[..., None] + np.arange(k)
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = count, k
        places = places * n + along.reshape(*planes, *shape)
    places = places.reshape(*planes, math.prod(counts), math.prod(window))
    flat = x.reshape(*planes, 1, math.prod(x.shape[2:]))
    found = np.take_along_axis(flat, places, -1)
    best = found.argmax(-1)
    unknown = np.isnan(found)
    if unknown.any():
        last = places.shape[-1] - 1 - unknown[..., ::-1].argmax(-1)
        best = np.where(unknown.any(-1), last, best)
    return np.take_along_axis(places, best[..., None], -1)


def _starts(sample: Any, size: int, window: int, count: int) -> Any:
    """Where the windows of each plane begin along an axis; the last one ends with it."""
    last = np.full((*sample.shape, 1), size - window, np.int64)
    if count == 1:
        return last
    step = sample.dtype.type(size - window) / sample.dtype.type(count - 1)
    steps = np.arange(count - 1, dtype=sample.dtype)
    part = sample[..., None]
    starts = ((steps + part) * step).astype(np.int64) - (part * step).astype(np.int64)
    return np.concatenate([starts, last], -1)
