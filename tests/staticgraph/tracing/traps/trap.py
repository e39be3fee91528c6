"""A trap: a small program that calls a function several times, and changes things in between.

It is a generator function that yields what it sees, and takes the `Paradigm` in which it runs: what
captures the function, arrays, and functions of arrays. The same program is run with the function as
it is (what the results have to be) and with the function captured. This module needs NumPy only, so
that the traps run in other frameworks' environments too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Verdict = Literal["right", "refused", "refused without a line", "silently wrong", "impossible"]


@dataclass(frozen=True)
class Paradigm:
    """In which a trap runs.

    Attributes:
        name: arrays, tensors, jax or torch.
        capture: the captured form of a function.
        array: an array of the paradigm from NumPy's.
        xp: functions of arrays.
        numpy: NumPy's array from one of the paradigm.
        nn: layers, where there are any.
    """

    name: str
    capture: Callable[..., Any]
    array: Callable[[Any], Any]
    xp: Any
    numpy: Callable[[Any], Any]
    nn: Any = None

    @property
    def x(self) -> Any:
        """Three numbers."""
        return self.array(np.array([1.0, -2.0, 3.0], "float32"))

    def eager(self) -> Paradigm:
        """The same without a capture."""
        return Paradigm(self.name, _as_it_is, self.array, self.xp, self.numpy, self.nn)


def _as_it_is(f: Any, **options: Any) -> Any:
    return f


Program = Callable[[Paradigm], Iterator[Any]]


@dataclass(frozen=True)
class Trap:
    """A program, and in which paradigms it can be stated."""

    subject: str
    name: str
    program: Program
    forms: tuple[str, ...]


TRAPS: list[Trap] = []
BOTH = ("arrays", "tensors", "jax", "torch")
ARRAYS = ("arrays", "jax")
TENSORS = ("tensors", "torch")


def trap(*forms: str) -> Callable[[Program], Program]:
    """A program as a trap, in these paradigms; in all of them if there are none."""

    def keep(program: Program) -> Program:
        subject = program.__module__.rpartition(".")[2]
        TRAPS.append(Trap(subject, program.__name__, program, forms or BOTH))
        return program

    return keep


@dataclass(frozen=True)
class Seen:
    """What a program yielded before it ended, and with which error it did."""

    values: list[Any]
    error: Exception | None


def seen(program: Program, paradigm: Paradigm) -> Seen:
    """Run a program."""
    values = []
    try:
        for value in program(paradigm):
            values.append(_plain(value, paradigm))
    except Exception as error:  # it is compared with that of the other run
        return Seen(values, error)
    return Seen(values, None)


def _plain(value: Any, paradigm: Paradigm) -> Any:
    """What is compared: the numbers, with dtype and structure."""
    if isinstance(value, tuple | list):
        return type(value).__name__, [_plain(one, paradigm) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one, paradigm) for key, one in value.items()}
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | np.ndarray | np.generic):
        array = np.asarray(value)
    else:
        array = np.asarray(paradigm.numpy(value))
    return (
        array.dtype.name,
        array.shape,
        array.tobytes() if array.dtype.kind != "f" else array.copy(),
    )


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.allclose(left, right, rtol=1e-5, atol=1e-6, equal_nan=True)
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)


def verdict(one: Trap, paradigm: Paradigm) -> tuple[Verdict, str]:
    """What capturing does to a program, and the message with which it is refused."""
    expected, found = seen(one.program, paradigm.eager()), seen(one.program, paradigm)
    if expected.error is not None and not expected.values:
        return "impossible", repr(expected.error)
    for left, right in zip(expected.values, found.values, strict=False):
        if not _same(left, right):
            return "silently wrong", f"{right} instead of {left}"
    if found.error is None or len(found.values) >= len(expected.values):
        if (found.error is None) is (expected.error is None) and len(expected.values) == len(
            found.values
        ):
            return "right", ""
        return "silently wrong", f"{found.error!r} instead of {expected.error!r}"
    message = "".join([str(found.error), *getattr(found.error, "__notes__", ())])
    return ("refused" if _has_line(message, one) else "refused without a line"), message


def _has_line(message: str, one: Trap) -> bool:
    """Whether a message names a line of the trap's file."""
    return re.search(rf"{one.subject}\.py[:\",]+ ?(line )?\d+", message) is not None
