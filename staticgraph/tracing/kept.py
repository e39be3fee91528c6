"""Numbers and lists around a function of tensors that it changes: a total, a history of losses.

A function that sets a number (`total += loss.item()`) or appends to a list is traced once more with
what stands for them in their places. The number is an operand then, which each call reads, and what
it becomes is put there when the results are; what is appended is appended then. Where the function
needs the number itself, or does more with the list, it is refused as it was before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import CaptureError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import place_of, refuse
from staticgraph.tracing.guards import Read
from staticgraph.tracing.inspection import is_tensor
from staticgraph.tracing.live import Place, get_place, put_place, settable

_NUMBERS = (int, float)


class Appended:
    """Stands for a list to which a function appends.

    Attributes:
        values: what it appends.
    """

    def __init__(self, name: str) -> None:
        self._name, self.values = name, []  # type: ignore[var-annotated]

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told."""
        return list

    def append(self, value: object) -> None:
        """Note a value."""
        self.values.append(value)

    def extend(self, values: Any) -> None:
        """Note some values."""
        self.values.extend(values)

    def __iadd__(self, values: Any) -> Any:  # type: ignore[misc]
        self.values.extend(values)
        return self

    def _refuse(self, *args: object) -> NoReturn:
        refuse(
            f"reads {self._name}, to which it appends", "return the value, and append it outside"
        )

    __len__ = __bool__ = __iter__ = __getitem__ = __contains__ = __add__ = __radd__ = _refuse
    __repr__ = __str__ = __eq__ = __setitem__ = __delitem__ = __reversed__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        self._refuse()


@frozen(eq=False)
class Entry:
    """A number or a list that each call changes.

    Attributes:
        places: where it is; a number has one.
        name: what it is called.
        is_list: whether it is a list.
        put: puts a number there, or appends a value.
    """

    places: tuple[Place, ...]
    name: str
    is_list: bool
    put: Callable[[Any], None]


class Kept:
    """Those of one function; `NONE` if there are none."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.numbers = [one for one in entries if not one.is_list]
        self.lists = [one for one in entries if one.is_list]
        self._numbers = {_key(place) for one in self.numbers for place in one.places}
        self._lists = {id(get_place(one.places[0])) for one in self.lists}

    @property
    def names(self) -> list[str]:
        """What the numbers are called, which are operands."""
        return [one.name for one in self.numbers]

    @property
    def changed(self) -> list[str]:
        """What the numbers and lists are called."""
        return [one.name for one in (*self.numbers, *self.lists)]

    def current(self) -> list[Any]:
        """The numbers."""
        return [get_place(one.places[0]) for one in self.numbers]

    def holds(self) -> bool:
        """Whether what is in the places still are numbers."""
        try:
            return all(type(one) in _NUMBERS or is_tensor(one) for one in self.current())
        except (AttributeError, LookupError, ValueError):
            return False

    def without(self, reads: Sequence[Read]) -> list[Read]:
        """The reads but for those of the numbers, and of what the lists hold."""
        if not (self._numbers or self._lists):
            return [*reads]
        return [
            one
            for one in reads
            if _key((one.owner, one.key)) not in self._numbers and id(one.owner) not in self._lists
        ]

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """After the block, all is as it was before it."""
        values = self.current()
        lists = [(get_place(one.places[0]), [*get_place(one.places[0])]) for one in self.lists]
        try:
            yield
        finally:
            for entry, value in zip(self.numbers, values, strict=True):
                put_place(entry.places[0], value)
            for appended, before in lists:
                appended[:] = before

    @contextmanager
    def replaced(self, values: Sequence[Any], keep: Callable[..., None]) -> Iterator[None]:
        """Inside the block, values are in the places of the numbers, and lists note what they get.

        At its end each change is handed to `keep`, with what makes it.
        """
        lists = [Appended(one.name) for one in self.lists]
        before = [(place, get_place(place)) for one in self.numbers for place in one.places]
        before += [(place, get_place(place)) for one in self.lists for place in one.places]
        try:
            for number, value in zip(self.numbers, values, strict=True):
                put_place(number.places[0], value)
            for entry, appended in zip(self.lists, lists, strict=True):
                for place in entry.places:
                    put_place(place, appended)
            yield
            for number, value in zip(self.numbers, values, strict=True):
                now = get_place(number.places[0])
                if now is not value:
                    keep(number.put, now)
            for entry, appended in zip(self.lists, lists, strict=True):
                for one in appended.values:
                    keep(entry.put, one)
        except CaptureError:
            raise
        except Exception as error:
            numbers = zip(self.numbers, values, strict=True)
            set_now = [one.name for one, value in numbers if get_place(one.places[0]) is not value]
            grown = [entry.name for entry, one in zip(self.lists, lists, strict=True) if one.values]
            for name in (*set_now, *grown):
                refuse(
                    f"raises {type(error).__name__} after it has changed {name}, which a graph "
                    "does at its end",
                    "raise it before that, or outside",
                    place_of(error),
                )
            raise
        finally:
            for place, value in before:
                with suppress(AttributeError, LookupError, ValueError):
                    put_place(place, value)


NONE = Kept(())


def kept_of(before: Kept, changes: Sequence[Any], reads: Sequence[Read]) -> Kept | None:
    """What a function changes that can be kept; None if it changes something else, too.

    `before`: what is kept already, whose places `reads` has no more.
    """
    known = (*before.numbers, *before.lists)
    entries = {_key(one.places[0]): one for one in known}
    for read, now in changes:
        if type(read.owner) is list and read.kind in ("length", "each"):
            found = _grown(read, now, reads)
        else:
            found = _counted(read, now, reads)
        if found is None:
            return None
        entries.setdefault(_key(found.places[0]), found)
    return Kept([*entries.values()])


def _counted(read: Read, now: Any, reads: Sequence[Read]) -> Entry | None:
    """A number that is set, in a place that nothing reads as a whole."""
    place = settable(read)
    if place is None or not all(map(_is_value, (read.value, now))):
        return None
    whole = ("values", "pairs", "each", "members")
    if any(one.owner is read.owner and one.kind in whole for one in reads):
        return None
    return Entry((place,), read.name, False, functools.partial(put_place, place))


def _is_value(value: object) -> bool:
    """Whether it is a number, a size of an argument, or a tensor."""
    return type(value) in _NUMBERS or isinstance(value, Dim) or is_tensor(value)


def _grown(read: Read, now: Any, reads: Sequence[Read]) -> Entry | None:
    """A list that grows, whose places are known."""
    size = now if read.kind == "length" else len(now)
    if size <= (read.value if read.kind == "length" else len(read.value)):
        return None
    holders = [one for one in reads if one.value is read.owner]
    places = [settable(one) for one in holders]
    known = tuple([one for one in places if one is not None])
    if not known or len(known) != len(places):
        return None
    name = read.name.removeprefix("len(").removesuffix(")")
    return Entry(known, name, True, functools.partial(_append, known[0]))


def _append(place: Place, value: object) -> None:
    get_place(place).append(value)


def _key(place: tuple[Any, Any]) -> tuple[int, object]:
    owner, key = place
    return id(owner), key if isinstance(key, str | int) else id(key)
