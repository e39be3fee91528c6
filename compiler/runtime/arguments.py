"""The arguments of a call, by position or by name, as one array per placeholder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.errors import FeedError
from compiler.runtime.sizes import Feed, as_input


def in_order(
    name: str, feeds: Sequence[Feed], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The values of a call that names some of them, in the order of the placeholders.

    Raises:
        FeedError: an unknown name, a value given twice, or none.
    """
    values = list(args)
    names = [feed.name for feed in feeds]
    extra = [key for key in kwargs if key not in names]
    if extra:
        raise FeedError(f"{name}: unknown feed {extra[0]!r}: known are {names}")
    twice = [key for key in names[: len(args)] if key in kwargs]
    if twice:
        raise FeedError(f"{name}: feed {twice[0]!r} given by position and by name")
    for feed in feeds[len(args) :]:
        if feed.name not in kwargs:
            raise _missing(name, feed)
        values.append(kwargs[feed.name])
    return tuple(values)


def as_inputs(name: str, feeds: Sequence[Feed], args: Sequence[Any]) -> list[Any]:
    """The values of a call as row-major arrays of the placeholders' dtypes and ranks.

    Raises:
        FeedError, DTypeError, ShapeError: too many or too few, or one that does not fit.
    """
    if len(args) > len(feeds):
        names = [feed.name for feed in feeds]
        raise FeedError(f"{name}: {len(args)} inputs given, {len(names)} expected: {names}")
    for feed in feeds[len(args) :]:
        raise _missing(name, feed)
    return [as_input(feed, value) for feed, value in zip(feeds, args, strict=True)]


def _missing(name: str, feed: Feed) -> FeedError:
    return FeedError(f"{name}: missing feed {feed.name!r}: {feed.type} ({feed.source})")
