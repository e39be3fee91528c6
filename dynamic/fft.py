"""Discrete Fourier transforms of tensors in PyTorch's names: `torch.fft`."""

from __future__ import annotations

from typing import Any

from compiler.functions import fft as _shared
from compiler.functions.fft import (
    fft as fft,
    fft2 as fft2,
    fftn as fftn,
    fftshift as fftshift,
    hfft as hfft,
    ifft as ifft,
    ifft2 as ifft2,
    ifftn as ifftn,
    ifftshift as ifftshift,
    ihfft as ihfft,
    irfft as irfft,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft as rfft,
    rfft2 as rfft2,
    rfftn as rfftn,
)
from dynamic.core.dtypes import as_numpy_dtype, get_default_dtype
from dynamic.tensors.creation import as_tensor


def fftfreq(n: int, d: float = 1.0, *, dtype: object = None, requires_grad: bool = False) -> Any:
    """The frequencies of `fft` of n numbers that are d apart."""
    return _frequencies(_shared.fftfreq(n, d), dtype, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: object = None, requires_grad: bool = False) -> Any:
    """The frequencies of `rfft` of n numbers that are d apart."""
    return _frequencies(_shared.rfftfreq(n, d), dtype, requires_grad)


def _frequencies(values: Any, dtype: object, requires_grad: bool) -> Any:
    wanted = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
    return as_tensor(values.astype(wanted)).requires_grad_(requires_grad)
