"""Processes, those of Python: tensors are copied between them (torch.multiprocessing).

Example:
    >>> dynamic.multiprocessing.get_sharing_strategy()
    'file_descriptor'
"""

from __future__ import annotations

from multiprocessing import (
    Event,
    Lock,
    Manager,
    Pipe,
    Pool,
    Process,
    Queue,
    Value,
    cpu_count,
    get_context,
    set_start_method,
)
from typing import Any

__all__ = [
    "Event", "Lock", "Manager", "Pipe", "Pool", "Process", "Queue", "Value", "cpu_count",
    "get_context", "get_sharing_strategy", "set_sharing_strategy", "set_start_method", "spawn",
]  # fmt: skip


def spawn(
    fn: Any, args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> Any:  # fmt: skip
    """Run `fn(i, *args)` in so many new processes; their list, unless they are waited for.

    RuntimeError where one of them fails.

    Example:
        >>> dynamic.multiprocessing.spawn(abs, nprocs=1)
    """
    context = get_context(start_method)
    processes: list[Any] = [
        context.Process(target=fn, args=(i, *args), daemon=daemon)  # type: ignore[attr-defined]
        for i in range(nprocs)
    ]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    for i, process in enumerate(processes):
        if process.exitcode:
            raise RuntimeError(f"process {i} terminated with exit code {process.exitcode}")
    return None


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing to choose: tensors are copied.

    Example:
        >>> dynamic.multiprocessing.set_sharing_strategy("file_system")
    """


def get_sharing_strategy() -> str:
    """How tensors reach other processes.

    Example:
        >>> dynamic.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return "file_descriptor"
