"""The stream of random numbers that each thread has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dynamic.core.errors import ArgumentError, AutogradError
from dynamic.tape.grad_mode import mode


class _Random(threading.local):
    refusal: str | None = None

    def __init__(self) -> None:
        self.generator = np.random.default_rng()


_random = _Random()


def manual_seed(seed: int) -> None:
    """Start this thread's stream of random numbers anew; it is NumPy's, not PyTorch's."""
    if mode.capture is not None:
        mode.capture.refuse_random()
    _random.generator = np.random.default_rng(int(seed))


class _Captured:
    """The source of random numbers in a function that is captured: what draws at each call."""

    def __getattr__(self, name: str) -> Any:
        def draw(*args: Any, **options: Any) -> Any:
            """The numbers, of the shape that is the option `size` or the last argument."""
            if name == "permutation":
                return mode.capture.draw(name, (), args, options)
            if "size" in options:
                shape = options.pop("size")
            elif name in _TAKES_SIZE_FIRST:
                shape, *rest = args
                args = ()
                options.update(zip(("dtype",), rest, strict=False))
            else:
                *others, shape = args
                args = tuple(others)
            sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
            return mode.capture.draw(name, args, sizes, options)

        return draw


_captured: Any = _Captured()
_TAKES_SIZE_FIRST = ("random", "standard_normal")


def generator() -> np.random.Generator:
    """The source of random numbers of this thread; RuntimeError where it is refused."""
    if mode.capture is not None:
        captured: np.random.Generator = _captured
        return captured
    if _random.refusal is not None:
        raise AutogradError(_random.refusal)
    return _random.generator


def source_of(given: object) -> np.random.Generator:
    """The generator of a call, NumPy's, or else that of this thread; TypeError for another."""
    if given is None:
        return generator()
    if mode.capture is not None:
        mode.capture.refuse_random()
    if not isinstance(given, np.random.Generator):
        raise ArgumentError(
            f"generator: expected a numpy.random.Generator, got {type(given).__name__}"
        )
    return given


@contextmanager
def refusing_random_numbers(message: str | None) -> Iterator[None]:
    """Refuse random numbers to this thread with a message (None: allow them) for a block."""
    before, _random.refusal = _random.refusal, message
    try:
        yield
    finally:
        _random.refusal = before
