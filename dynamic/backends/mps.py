"""Whether Apple's GPUs can be used: no (torch.backends.mps)."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether there is one that can be used: no.

    Example:
        >>> dynamic.backends.mps.is_available()
        False
    """
    return False


def is_built() -> bool:
    """Whether they can be used: no.

    Example:
        >>> dynamic.backends.mps.is_built()
        False
    """
    return False
