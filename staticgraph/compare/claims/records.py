"""A claim, and what was found."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LONGEST = 130  # characters of a message on the page
TRUE, PARTLY, FALSE = "true", "partly", "not here"


@dataclass(frozen=True, slots=True)
class Setup:
    """How to measure.

    Attributes:
        seconds: for each contender.
        torch: the interpreter with PyTorch, where there is one.
    """

    seconds: float
    torch: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim's measurement gave.

    Attributes:
        holds: TRUE, PARTLY or FALSE.
        figures: what was measured, and the value, as text.
        verdict: sentences.
    """

    holds: str
    figures: tuple[tuple[str, str], ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that is said of the two paradigms.

    Attributes:
        name: by which the command line asks for it.
        said: the claim, in the words in which it is usually made.
        measure: finds out.
    """

    name: str
    said: str
    measure: Callable[[Setup], Finding]


@dataclass(slots=True)
class Memory:
    """Bytes that arrays take: now, and at most since the beginning of the block."""

    held: int = 0
    peak: int = 0


@contextmanager
def memory() -> Iterator[Memory]:
    """Follow the arrays that are made in a block: NumPy tells tracemalloc of each."""
    found = Memory()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield found
        held, peak = tracemalloc.get_traced_memory()
        found.held, found.peak = held - before, peak - before
    finally:
        tracemalloc.stop()


def held() -> int:
    """The bytes that are held now, within `memory`."""
    return tracemalloc.get_traced_memory()[0]


def raised(act: Callable[[], object], whole: bool = False) -> str:
    """The first line of the error that something raises, or all in one; "" if it raises none."""
    try:
        act()
    except Exception as error:
        lines = str(error).splitlines()
        text = " ".join(" ".join(lines).split()) if whole else lines[0]
        return f"{type(error).__name__}: {text}"
    return ""


def shortened(text: str) -> str:
    """The beginning of a long message."""
    return text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."


def megabytes(size: float) -> str:
    """Bytes as MB."""
    return f"{size / 1e6:,.1f} MB"
