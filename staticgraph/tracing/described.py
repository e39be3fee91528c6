"""What `explain` says of a read: what it was, and what became of it, in words."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from staticgraph.compiler.runtime.unchanged import lasting_memory
from staticgraph.tracing.guards import Read, shown
from staticgraph.tracing.library_states import FrameState

_OF = {"shape": "the shape of ", "dtype": "the dtype of "}
_HELD = ("bytes", "memory", "text")
_SEVERAL = tuple(
    f"the {what} of " for what in ("keys", "attributes", "special methods", "bases", "results")
)
_CHANGING = list, dict, set, deque, bytearray
_BY_IDENTITY = ("item", "cell", "attribute")
LARGE = 1 << 14
"""Bytes: above, to compare an array takes more than 0.5 us."""


def line_of(read: Read) -> str:
    """What is checked, and where it is read."""
    if read.kind == "code":
        return f"{read.name}, at {read.place}"
    where = "" if read.place == "?" else f", read at {read.place}"
    if read.kind in _BY_IDENTITY and isinstance(read.value, _CHANGING):
        # its text is what it holds now, of which each trace has checks of its own
        return f"{named(read)} is the same {type(read.value).__name__}{where}"
    is_unset = read.kind == "context" and read.value is None
    verb = "are" if read.name.startswith(_SEVERAL) else "is"
    return f"{named(read)} {verb} {'unset' if is_unset else _short(read, read.was())}{where}"


def is_large(read: Read) -> bool:
    """Whether it is an array that takes longer to compare than all else of a call: from 16 KB."""
    if read.kind != "memory" or read.owner.nbytes < LARGE:
        return False
    return lasting_memory(read.owner) is None


def change_of(read: Read, now: object) -> str:
    """What a read was, and what it has become: of an array or a table the first place."""
    before = read.was()
    found = None
    if isinstance(before, FrameState) and isinstance(now, FrameState):
        with suppress(Exception):  # their elements may be anything
            found = _of_frames(before.frame(), now.frame())
    elif read.kind in ("bytes", "memory"):
        found = _of_arrays(_array(read, before), _array(read, now))
    if found is None:
        return f"{named(read)} ({read.place}): {_short(read, before)} became {_short(read, now)}"
    where, was, new, more = found
    others = f", and {more} more" if more else ""
    return f"{read.name}{where} ({read.place}): {was} became {new}{others}"


def values_of(read: Read, now: object) -> str:
    """What a number or text was and became, for a sentence; nothing of what is longer."""
    before = read.was()
    if isinstance(before, int | float | complex | str) and type(now) is type(before):
        return f" ({shown(before)}, then {shown(now)})"
    return ""


def named(read: Read) -> str:
    """What was read, in words."""
    if read.kind in _HELD and np.ndim(read.owner):
        return f"what {read.name} holds"
    if isinstance(read.value, FrameState):
        return f"what {read.name} holds"
    closing = "," if ", which is" in read.name else ""
    return f"{_OF.get(read.kind, '')}{read.name}{closing}"


def _short(read: Read, value: Any) -> str:
    array = _array(read, value)
    if array is None:
        return shown(value)
    return shown(array if array.ndim else array[()])


def _array(read: Read, value: Any) -> Any:
    """The array that a read of one has kept, as bytes or as it was; None of other reads."""
    if read.kind == "memory":
        return value
    if read.kind != "bytes" or not isinstance(value, bytes):
        return None
    owner = read.owner
    if len(value) != owner.nbytes:
        return None
    return np.frombuffer(value, owner.dtype).reshape(owner.shape)


def _of_arrays(before: Any, now: Any) -> tuple[str, str, str, int] | None:
    """Where two arrays first differ, what is there, and at how many other places they do."""
    if not (isinstance(before, np.ndarray) and isinstance(now, np.ndarray)):
        return None
    if (before.shape, before.dtype) != (now.shape, now.dtype) or before.dtype.hasobject:
        return None
    one, other = (np.ascontiguousarray(x).reshape(-1).view(f"V{x.itemsize}") for x in (before, now))
    places = np.flatnonzero(one != other)
    if not len(places):
        return None
    at = np.unravel_index(places[0], before.shape)
    where = f"[{', '.join([str(int(i)) for i in at])}]" if before.ndim else ""
    return where, str(before[at]), str(now[at]), len(places) - 1


def _of_frames(before: Any, now: Any) -> tuple[str, str, str, int] | None:
    """The same of two series or tables that have the same labels and types."""
    if type(before) is not type(now) or before.shape != now.shape:
        return None
    is_table = before.ndim > 1
    if not is_table:
        before, now = before.to_frame(), now.to_frame()
    if not (before.index.equals(now.index) and before.columns.equals(now.columns)):
        return None
    differs = (before.ne(now) & ~(before.isna() & now.isna())).to_numpy()
    places = np.argwhere(differs)
    if not len(places):
        return None
    i, j = map(int, places[0])
    labels = (before.index[i], before.columns[j]) if is_table else (before.index[i],)
    where = f"[{', '.join(map(repr, labels))}]"
    return where, str(before.iloc[i, j]), str(now.iloc[i, j]), len(places) - 1
