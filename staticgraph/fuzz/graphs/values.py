"""The values of leaves, and how inputs lie in memory."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, limits
from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.graphs.program import Step

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")
EXTREME = 0.2  # of the values where extremes are wanted


def array(step: Step, case: Mapping[str, int], seed: int) -> Array:
    """The value of a leaf in a case; the same for the same arguments."""
    shape = tuple(case[size] if isinstance(size, str) else size for size in step["shape"])
    name = f"{seed}/{step['name']}/{sorted(case.items())}"
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    dtype = np.dtype(step["dtype"])
    match step["values"]:
        case "ones":
            return np.ones(shape, dtype)
        case "count":
            return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        case "extreme":
            return _extreme(rng, shape, dtype)
        case "index":
            return np.asarray(rng.integers(0, 2, shape), dtype)
    return _plain(rng, shape, dtype)


def _plain(rng: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> Array:
    """Of moderate size; among floats ties and zeros of both signs."""
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(0 if dtype.kind == "u" else -4, 5, shape), dtype)
    smooth = rng.normal(size=shape)
    coarse = np.round(2 * smooth) / 2
    return np.asarray(np.where(rng.random(shape) < 0.7, smooth, coarse), dtype)


def _extreme(rng: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> Array:
    plain = _plain(rng, shape, dtype)
    if dtype.kind == "b":
        return plain
    if dtype.kind in "iu":
        whole = np.iinfo(dtype)
        odd = np.array([whole.min, whole.max, whole.min + 1, whole.max - 1, 0], dtype)
    else:
        info = limits(dtype)
        huge = float(info.max) ** 0.5 / 16  # a sum of larger ones may overflow in one order only
        odd = np.array(
            [np.inf, -np.inf, np.nan, -0.0, 0.0, huge, -huge, info.tiny, -info.tiny / 4,
             info.smallest_subnormal, info.eps, 1e4, -1e4, 88.5, -104.0],
            dtype,
        )  # fmt: skip
    return np.asarray(np.where(rng.random(shape) < EXTREME, rng.choice(odd, shape), plain), dtype)


def laid_out(values: Array, layout: int) -> Array:
    """An array of the same shape and dtype that lies in memory in another way; 0: row by row.

    It has the same values, except where axes share memory: broadcast, or windows that overlap.
    """
    if not layout or not values.ndim:
        return np.ascontiguousarray(values).reshape(values.shape)
    choose = random.Random(layout)
    kind = choose.random()
    if kind < 0.1:
        return _shared(values, choose)
    axes = choose.sample(range(values.ndim), values.ndim)
    steps = [choose.choice((1, 1, 1, 2, 3, -1, -2)) for _ in axes]
    fill = np.nan if is_float(values.dtype) else 77
    memory = np.full([values.shape[a] * abs(steps[a]) for a in axes], fill).astype(values.dtype)
    view = memory[tuple(slice(None, None, steps[a]) for a in axes)]
    view = view.transpose([axes.index(a) for a in range(values.ndim)])
    view[...] = values
    return view


def _shared(values: Array, choose: random.Random) -> Array:
    axis = choose.randrange(values.ndim)
    size = values.shape[axis]
    if choose.random() < 0.5 or values.ndim == 1 or not values.size:
        one = np.take(values, [0] if size else [], axis)
        return np.broadcast_to(one, values.shape)
    flat = np.ascontiguousarray(values).reshape(-1)
    strides = (flat.itemsize,) * values.ndim  # element (i, j, ...) is the (i + j + ...)th
    return np.lib.stride_tricks.as_strided(flat, values.shape, strides)
