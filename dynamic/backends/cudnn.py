"""Switches of NVIDIA's library, which is not here: set and read back (torch.backends.cudnn)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "allow_tf32",
    "benchmark",
    "deterministic",
    "enabled",
    "flags",
    "is_available",
    "version",
]

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit, fastest = 10, False


def is_available() -> bool:
    """Whether the library is here: no.

    Example:
        >>> dynamic.backends.cudnn.is_available()
        False
    """
    return False


def version() -> None:
    """Its version: None.

    Example:
        >>> dynamic.backends.cudnn.version()
    """


def is_acceptable(tensor: object) -> bool:
    """Whether it would compute with a tensor: no."""
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Switches for a block.

    Example:
        >>> with dynamic.backends.cudnn.flags(enabled=False):
        ...     pass
    """
    names = ("enabled", "benchmark", "deterministic", "allow_tf32")
    before = {name: globals()[name] for name in names}
    given = (enabled, benchmark, deterministic, allow_tf32)
    try:
        for name, value in zip(names, given, strict=True):
            globals()[name] = value
        yield
    finally:
        for name, value in before.items():
            globals()[name] = value
