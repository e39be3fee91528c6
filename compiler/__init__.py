"""The compiler: op library, graph, passes, emission and runtime; imports neither frontend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.core import provided


def _by_kernel(op: str, arrays: Sequence[Any]) -> Any:
    from compiler.evaluation import by_kernel

    return by_kernel(op, arrays)


def _shuffle(words: Any) -> Any:
    from compiler.runtime.shuffle import shuffle

    return shuffle(words)


def _share(task: Callable[[int], None], count: int) -> None:
    from compiler.runtime.sharing import share

    share(task, count)


provided.by_kernel.provide(_by_kernel)
provided.shuffle.provide(_shuffle)
provided.share.provide(_share)
