"""Captures: what a thread is in while a function is called to learn what it computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from compiler.core.refusals import refuse
from compiler.graph.scope import scope
from dynamic.capture.traced import Traced
from dynamic.func.tracer import Level
from dynamic.tape.grad_mode import copying, mode, paused, record_if


class Capture:
    """A function that is being captured.

    Attributes:
        level: the level of its tensors, outside of those of any transform in it.
        body: what stands for the innermost function that becomes a graph of its own.
        modules: those that are being called, the innermost last.
    """

    def __init__(self) -> None:
        self.level = Level(None)
        self.level.number = 0
        self.body = object()
        self.modules: list[Any] = []

    @contextmanager
    def inside(self, module: Any) -> Iterator[None]:
        """Inside the block a module is called: what it makes is in the scope of its name.

        That is what the module around it calls it, or its class.
        """
        around = self.modules[-1].named_modules() if self.modules else ()
        name = next((one for one, part in around if part is module and one), "")
        self.modules.append(module)
        try:
            with scope(name or type(module).__name__):
                yield
        finally:
            self.modules.pop()

    def made(self, value: object) -> Any:
        """The traced tensor of a value: an expression, or an array that is known."""
        return Traced.made(value)

    def known(self, array: object) -> Any:
        """A tensor that is made inside, of this value."""
        return Traced.made(np.asarray(array))

    def refuse_random(self) -> NoReturn:
        """Refuse random numbers."""
        refuse(
            "a graph would repeat its random numbers",
            "draw them outside and pass them as an argument",
        )

    def refuse_write(self) -> NoReturn:
        """Refuse to change a tensor that is not traced."""
        refuse(
            "changes a tensor of the surroundings, once and not at each call",
            "return the new value, and assign it outside",
        )

    def refuse_mode(self, what: str) -> NoReturn:
        """Refuse to tell a mode of the call."""
        refuse(f"{what} asks for the mode of each call", "ask outside, and pass it by keyword")


@contextmanager
def capturing() -> Iterator[None]:
    """Inside the block this thread captures: whatever its modes were, it records."""
    before = mode.capture, mode.inference, record_if(True)
    mode.capture, mode.inference = Capture(), False
    paused.append(None)
    copying.append(None)  # no in-place operation takes a short way
    try:
        yield
    finally:
        mode.capture.level.open = False
        copying.pop()
        paused.pop()
        mode.capture, mode.inference, _ = before
        record_if(before[2])
