"""Window functions of signals (torch.hann_window and the like)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.dynamic.core.dtypes import as_numpy_dtype, get_default_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.no_tensors import of_kinds
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.devices import check_device

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _made(name: str, length: int, periodic: bool, options: dict[str, Any], shape: Any) -> Any:
    """A window of `shape`, a function of places from 0 to 1; one place less if it is periodic."""
    if length < 0:
        raise AutogradError(f"{name} requires non-negative window_length, got {length}")
    dtype, requires_grad = options.get("dtype"), options.get("requires_grad", False)
    check_device(options.get("device"))
    for option in options.keys() - {"dtype", "device", "layout", "requires_grad", "pin_memory"}:
        raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")
    count = length + 1 if periodic else length
    places = np.arange(count) / max(count - 1, 1)
    values = np.ones(length) if length <= 1 else shape(places)[:length]
    wanted = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
    return as_tensor(values.astype(wanted)).requires_grad_(requires_grad)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
    **options: Any,
) -> Any:  # fmt: skip
    """alpha - beta cos(2 pi n / N).

    Example:
        >>> dynamic.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _made(
        "hamming_window", window_length, periodic, options,
        lambda places: alpha - beta * np.cos(2 * math.pi * places),
    )  # fmt: skip


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """sin(pi n / N) squared.

    Example:
        >>> dynamic.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _made(
        "hann_window", window_length, periodic, options,
        lambda places: np.sin(math.pi * places) ** 2,
    )  # fmt: skip


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    Example:
        >>> dynamic.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return _made(
        "blackman_window", window_length, periodic, options,
        lambda x: 0.42 - 0.5 * np.cos(2 * math.pi * x) + 0.08 * np.cos(4 * math.pi * x),
    )  # fmt: skip


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """A triangle.

    Example:
        >>> dynamic.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _made(
        "bartlett_window", window_length, periodic, options,
        lambda places: 1 - np.abs(2 * places - 1),
    )  # fmt: skip


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Any:
    """Kaiser's window, made of the Bessel function I0.

    Example:
        >>> dynamic.kaiser_window(4, beta=2.0)
        tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """
    return _made(
        "kaiser_window", window_length, periodic, options,
        lambda x: np.i0(beta * np.sqrt(np.maximum(1 - (2 * x - 1) ** 2, 0))) / np.i0(beta),
    )  # fmt: skip


for _name in __all__:
    globals()[_name] = of_kinds(globals()[_name])
