"""What one call of a kernel works in at a time, and with how many threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.blas import limit_threads
from staticgraph.compiler.runtime.launch_plan import Layout
from staticgraph.compiler.runtime.trampoline import Trampoline


@mutable(eq=False)
class Workspace:
    """The table and the arena of one call at a time, set up for one layout.

    `call` and `fill` are the two ways to run the program on it (`Trampolines`); they limit the BLAS
    to the call's threads if it has to be told.
    """

    table: Array
    call: Trampoline
    fill: Trampoline
    arena: Array | None = None
    layout: Layout | None = None
    hosts: Sequence[Callable[[], None]] = ()


def limited(trampoline: Trampoline, count: int) -> Trampoline:
    """A trampoline for whose time the BLAS uses at most `count` threads."""

    def call(*arrays: object) -> Any:
        with limit_threads(count):
            return trampoline(*arrays)

    return call
