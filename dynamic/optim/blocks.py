"""How a step runs over the memory of a parameter: in parts that stay in the cache."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.dynamic.kernels.parallel import run

BLOCK = 65536
"""Elements per part: few enough for the cache, enough that the calls do not count."""
_TEMPORARIES = 3


class _Scratch(threading.local):
    """The memory of the temporaries, per dtype, and the views of it, which each thread reuses."""

    def __init__(self) -> None:
        self.memory: dict[Any, Any] = {}
        self.views: dict[Any, tuple[Any, ...]] = {}


_scratch = _Scratch()


def temporaries(count: int, shape: tuple[int, ...], dtype: object) -> tuple[Any, ...]:
    """`count` (at most 3) uninitialised arrays of at most BLOCK elements, valid until reused."""
    found = _scratch.views.get((count, shape, dtype))
    if found is not None:
        return found
    memory = _scratch.memory.get(dtype)
    if memory is None:
        memory = _scratch.memory[dtype] = np.empty((_TEMPORARIES, BLOCK), dtype)
    size = math.prod(shape)
    made = tuple([memory[i, :size].reshape(shape) for i in range(count)])
    if len(_scratch.views) >= 4096:
        _scratch.views.clear()
    _scratch.views[count, shape, dtype] = made
    return made


def in_blocks(change: Callable[..., None], count: int, *arrays: Any) -> None:
    """`change` the arrays, of one shape and dtype, in parts, each followed by `count` temporaries.

    Small arrays are one part. Large ones are flattened, unless their elements are not in order,
    and threads share the parts, which are the same whatever the number of threads.
    """
    first = arrays[0]
    if first.size <= BLOCK:
        change(*arrays, *temporaries(count, first.shape, first.dtype))
        return
    if not all(array.flags.c_contiguous for array in arrays):
        change(*arrays, *[np.empty_like(first) for _ in range(count)])
        return
    flat = [array.reshape(-1) for array in arrays]

    def task(i: int) -> None:
        parts = [array[i * BLOCK : (i + 1) * BLOCK] for array in flat]
        change(*parts, *temporaries(count, parts[0].shape, parts[0].dtype))

    run(task, -(-first.size // BLOCK))


@functools.lru_cache(maxsize=1024)
def scalar(value: float, dtype: Any) -> Any:
    """A number as a 0-d array, which a ufunc takes in half the time; not to be written."""
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


def descent(p: Any, g: Any, decay: float, maximize: bool, out: Any) -> Any:
    """The gradient to descend: g + decay * p, or -g + decay * p to maximize; in `out` if not g."""
    if decay:
        np.multiply(p, scalar(decay, p.dtype), out)
        return (np.subtract if maximize else np.add)(out, g, out)
    return np.negative(g, out) if maximize else g


def average(mean: Any, value: Any, weight: float, t: Any) -> None:
    """mean += weight * (value - mean), in place; `t` is a temporary."""
    np.subtract(value, mean, t)
    np.multiply(t, scalar(weight, t.dtype), t)
    np.add(mean, t, mean)


def average_square(mean: Any, value: Any, keep: float, t: Any) -> None:
    """mean = keep * mean + (1 - keep) * value², in place; `t` is a temporary."""
    np.multiply(mean, scalar(keep, t.dtype), mean)
    np.multiply(value, value, t)
    np.multiply(t, scalar(1 - keep, t.dtype), t)
    np.add(mean, t, mean)


def descend(p: Any, direction: Any, rate: float, t: Any) -> None:
    """p -= rate * direction, in place; `t` is a temporary, or the direction itself."""
    np.multiply(direction, scalar(rate, t.dtype), t)
    np.subtract(p, t, p)
