"""Windows and discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.functions import fft, public as functions
from staticgraph.onnx.call import Call, reads
from staticgraph.onnx.package import dtype_of

_WINDOWS: dict[str, tuple[float, ...]] = {
    "BlackmanWindow": (0.42, -0.5, 0.08),
    "HammingWindow": (25 / 46, -21 / 46),
    "HannWindow": (0.5, -0.5),
}
"""The weights of the cosines of which windows are sums."""


@reads(*_WINDOWS)
def _window(call: Call) -> Any:
    (size,) = call.numbers(0, "size")
    dtype = dtype_of(call.attribute("output_datatype", 1))
    if size < 0 or dtype is None or dtype.kind != "f":
        raise call.refuse(f"a window of {size} elements of {dtype}")
    period = size if call.attribute("periodic", 1) else size - 1
    turns = 2 * np.pi * np.arange(size) / max(period, 1)
    weights = _WINDOWS[call.step.operator]
    cosines = np.cos(np.arange(len(weights))[:, None] * turns)
    return np.sum(np.array(weights)[:, None] * cosines, 0).astype(dtype)


@reads("DFT")
def _transform(call: Call) -> Any:
    x = call.value(0)
    if call.opset < 20:
        axis = call.attribute("axis", 1)
    else:
        axis = -2 if call.raw(2) is None else call.numbers(2, "axis")[0]
    axis %= x.ndim
    if axis == x.ndim - 1:
        raise call.refuse("the last axis has the parts of a number, and is not transformed")
    length = None if call.raw(1) is None else call.numbers(1, "length")[0]
    half, inverse = call.attribute("onesided", 0), call.attribute("inverse", 0)
    if half and inverse:
        return ops.expand_dims(fft.irfft(_numbers(x), length, axis), -1)
    transform: Callable[..., Any] = fft.rfft if half else fft.ifft if inverse else fft.fft
    if half and x.shape[-1] != 1:
        raise call.refuse("half of a transform is of real numbers")
    return _parts(transform(_numbers(x), length, axis))


@reads("STFT")
def _short_time(call: Call) -> Any:
    signal, window = call.value(0), call.optional(2)
    (step,) = call.numbers(1, "step between frames")
    size = signal.shape[1]
    if call.raw(3) is not None:
        (length,) = call.numbers(3, "length of a frame")
    else:
        length = size if window is None else window.shape[0]
    if not isinstance(size, int) or step < 1 or not 1 <= length <= size:
        raise call.refuse(f"frames of {length} by {step} of a signal of {size}")
    starts = np.arange(0, size - length + 1, step)
    frames = ops.take(_numbers(signal), starts[:, None] + np.arange(length), 1)
    frames = frames if window is None else frames * window
    is_half = call.attribute("onesided", 1) and signal.shape[-1] == 1
    return _parts((fft.rfft if is_half else fft.fft)(frames, axis=2))


def _numbers(x: Any) -> Any:
    """The numbers whose parts the last axis has: one, or the real and the imaginary one."""
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]


def _parts(x: Any) -> Any:
    return ops.stack((functions.real(x), functions.imag(x)), -1)
