"""Functions that are called when the reverse pass that is running has ended."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.grad_mode import mode

next_pass = itertools.count(1).__next__
"""The number of the next reverse pass."""


class ExecutionEngine:
    """PyTorch's `Variable._execution_engine`: of use for its callbacks."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call `callback()` when the running reverse pass has ended; RuntimeError outside of one.

        What callbacks queue is called after them.
        """
        if not mode.depth:
            raise AutogradError("Final callbacks can only be installed during backward pass.")
        if mode.callbacks is None:
            mode.callbacks = []
        mode.callbacks.append(callback)


def call(callbacks: list[Callable[[], object]]) -> None:
    """Call callbacks, and what they queue meanwhile."""
    for callback in callbacks:
        callback()
