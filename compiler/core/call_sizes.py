"""The sizes of the call that a function is traced for, which the trace leaves unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from staticgraph.compiler.core.dims import Dim, Unknown, evaluate

_of_call: ContextVar[Mapping[Unknown, int] | None] = ContextVar("of_call", default=None)


@contextmanager
def known_in_call(sizes: Mapping[Unknown, int]) -> Iterator[None]:
    """Inside the block a function is traced for a call that has these sizes."""
    token = _of_call.set(sizes)
    try:
        yield
    finally:
        _of_call.reset(token)


def require_place(size: Dim, place: int) -> None:
    """Refuse a place beyond an axis of unknown size in the call that a function is traced for.

    The trace that knows the size raises IndexError, by which a loop over elements ends.
    """
    sizes = _of_call.get()
    if sizes and all(atom in sizes for atom in size.atoms()):
        now = evaluate(size, sizes)
        if not -now <= place < now:
            size._refuse(f"asked for the place {place}, beyond the {now} of this call")
