"""The compiler: op library, graph, passes, emission and runtime; imports neither frontend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core import fork, provided, short_names


def _by_kernel(op: str, arrays: Sequence[Any]) -> Any:
    from staticgraph.compiler.evaluation import by_kernel

    return by_kernel(op, arrays)


def _shuffle(words: Any) -> Any:
    from staticgraph.compiler.runtime.shuffle import shuffle

    return shuffle(words)


def _places(offsets: Any) -> Any:
    from staticgraph.compiler.runtime.shuffle import places

    return places(offsets)


def _running(out: Any, x: Any, axis: int, sign: str, back: bool) -> None:
    from staticgraph.compiler.runtime.running import running

    running(out, x, axis, sign, back)


def _sort(x: Any, axis: int) -> None:
    from staticgraph.compiler.runtime.sorting import sort

    sort(x, axis)


def _first_places(x: Any, count: int, axis: int, descending: bool) -> Any:
    from staticgraph.compiler.runtime.selecting import first_places

    return first_places(x, count, axis, descending)


def _over_windows(kind: str, windows: Any, out: Any, *given: Any) -> None:
    from staticgraph.compiler.runtime.pooling import over_windows

    provided.over_windows.provide(over_windows)  # called often: without this import from now on
    over_windows(kind, windows, out, *given)


def _gru(out: Any, *given: Any) -> None:
    from staticgraph.compiler.runtime.gates import gru

    provided.gru.provide(gru)  # called often: without this import from now on
    gru(out, *given)


def _padded_lines(out: Any, x: Any, places: Any, elements: Any, begin: int, back: bool) -> None:
    from staticgraph.compiler.runtime.padded_lines import padded_lines

    padded_lines(out, x, places, elements, begin, back)


def _copy_into(out: Any, x: Any) -> None:
    from staticgraph.compiler.runtime.copies import copy_into

    copy_into(out, x)


def _add_into(out: Any, x: Any) -> None:
    from staticgraph.compiler.runtime.copies import add_into

    add_into(out, x)


def _compile_scalar(function: Callable[..., Any], name: str, dtype: Any) -> Any:
    with fork.importing():
        from staticgraph.compiler.llvm.user_functions import compile_scalar

    return compile_scalar(function, name, dtype)


def _share(task: Callable[[int], None], count: int) -> None:
    from staticgraph.compiler.runtime.sharing import share

    share(task, count)


provided.compile_scalar.provide(_compile_scalar)
provided.by_kernel.provide(_by_kernel)
provided.shuffle.provide(_shuffle)
provided.places.provide(_places)
provided.running.provide(_running)
provided.sort.provide(_sort)
provided.first_places.provide(_first_places)
provided.over_windows.provide(_over_windows)
provided.gru.provide(_gru)
provided.padded_lines.provide(_padded_lines)
provided.copy_into.provide(_copy_into)
provided.add_into.provide(_add_into)
provided.share.provide(_share)

if __name__ == "compiler":
    short_names.lead("compiler")
