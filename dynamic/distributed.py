"""Training on several machines, which is not here (torch.distributed): asked of, and refused.

Example:
    >>> dynamic.distributed.is_available()
    False
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from staticgraph.dynamic.core.errors import AutogradError

__all__ = [
    "ReduceOp", "get_rank", "get_world_size", "init_process_group", "is_available",
    "is_initialized",
]  # fmt: skip


class ReduceOp(Enum):
    """How several processes would join their values: functions have it as a default.

    Example:
        >>> dynamic.distributed.ReduceOp.SUM.name
        'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


def is_available() -> bool:
    """Whether there is any: no.

    Example:
        >>> dynamic.distributed.is_available()
        False
    """
    return False


def is_initialized() -> bool:
    """Whether a group of processes has begun: no.

    Example:
        >>> dynamic.distributed.is_initialized()
        False
    """
    return False


def init_process_group(*args: object, **options: object) -> Any:
    """RuntimeError: there is one process.

    Example:
        >>> dynamic.distributed.init_process_group("gloo")
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.distributed: there is one ...
    """
    raise AutogradError("torch.distributed: there is one process here, and no group of them")


def get_rank(group: object = None) -> int:
    """RuntimeError: there is no group of processes.

    Example:
        >>> dynamic.distributed.get_rank()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.distributed: there is one ...
    """
    raise AutogradError("torch.distributed: there is one process here, and no group of them")


def get_world_size(group: object = None) -> int:
    """RuntimeError: there is no group of processes.

    Example:
        >>> dynamic.distributed.get_world_size()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.distributed: there is one ...
    """
    raise AutogradError("torch.distributed: there is one process here, and no group of them")
