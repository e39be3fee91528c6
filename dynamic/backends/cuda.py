"""Switches of computation on GPUs, of which there are none (torch.backends.cuda)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_built", "matmul", "sdp_kernel"]


class _Switches:
    """Attributes that are set and read back."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    fp32_precision = "none"


matmul = _Switches()
_kernels = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def is_built() -> bool:
    """Whether GPUs can be used: no.

    Example:
        >>> dynamic.backends.cuda.is_built()
        False
    """
    return False


def flash_sdp_enabled() -> bool:
    """Whether this way of attention is switched on."""
    return _kernels["flash"]


def math_sdp_enabled() -> bool:
    """Whether this way of attention is switched on."""
    return _kernels["math"]


def mem_efficient_sdp_enabled() -> bool:
    """Whether this way of attention is switched on."""
    return _kernels["mem_efficient"]


def enable_flash_sdp(enabled: bool) -> None:
    """Switch a way of attention; there is one here, whatever is switched on."""
    _kernels["flash"] = enabled


def enable_math_sdp(enabled: bool) -> None:
    """Switch a way of attention; there is one here, whatever is switched on."""
    _kernels["math"] = enabled


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Switch a way of attention; there is one here, whatever is switched on."""
    _kernels["mem_efficient"] = enabled


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Switch ways of attention for a block.

    Example:
        >>> with dynamic.backends.cuda.sdp_kernel():
        ...     pass
    """
    before = dict(_kernels)
    _kernels.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield
    finally:
        _kernels.update(before)
