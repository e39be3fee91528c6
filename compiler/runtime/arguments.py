"""The arguments of a call, by position or by name, as one array per placeholder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError, FeedError, ShapeError
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.core.values import Array as NdArray, Value
from staticgraph.compiler.runtime.launch_plan import Array
from staticgraph.compiler.runtime.sizes import Feed, as_input


def in_order(
    name: str, feeds: Sequence[Feed], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Value, ...]:
    """The values of a call that names some of them, in the order of the placeholders.

    Raises:
        FeedError: an unknown name, a value given twice, or none.
    """
    names = [feed.name for feed in feeds]
    if _is_by_column(feeds, args):
        table: Any = args[0]
        columns = {one: table[one] for one in names if one in table.columns and one not in kwargs}
        args, kwargs = (), {**columns, **kwargs}
    values = list(args)
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


def _is_by_column(feeds: Sequence[Feed], args: Sequence[object]) -> bool:
    """Whether a table, such as a DataFrame, is given alone, whose columns are to be the inputs.

    It is one input, a matrix, where a placeholder is one and there is no other.
    """
    if len(args) != 1 or isinstance(args[0], np.ndarray) or not hasattr(args[0], "columns"):
        return False
    return len(feeds) > 1 or (len(feeds) == 1 and feeds[0].type.ndim < 2)


def as_inputs(name: str, feeds: Sequence[Feed], args: Sequence[object]) -> list[NdArray]:
    """The values of a call as arrays of the placeholders' dtypes and ranks.

    Raises:
        FeedError, DTypeError, ShapeError: too many or too few, or one that does not fit.
    """
    if _is_by_column(feeds, args):
        args = in_order(name, feeds, args, {})
    if len(args) > len(feeds):
        names = [feed.name for feed in feeds]
        raise FeedError(f"{name}: {len(args)} inputs given, {len(names)} expected: {names}")
    for feed in feeds[len(args) :]:
        raise _missing(name, feed)
    return [as_input(feed, value) for feed, value in zip(feeds, args, strict=True)]


def is_fed_out(feeds: Sequence[Feed]) -> bool:
    """Whether a placeholder is named `out`: then calls take no arrays for their results."""
    return any(feed.name == "out" for feed in feeds)


def given_outputs(name: str, out: object) -> list[Any]:
    """What a call was given for its results, as a list.

    Raises:
        FeedError: it is no array, list or tuple.
    """
    if isinstance(out, np.ndarray):
        return [out]
    if isinstance(out, list | tuple):
        return list(out)
    raise FeedError(
        f"{name}: out: a {type(out).__name__} given, an array or a list or tuple of arrays expected"
    )


def check_outputs(
    name: str,
    given: Sequence[object],
    outputs: Sequence[Array | TensorType],
    shapes: Sequence[tuple[int, ...]],
    taken: Sequence[object],
) -> None:
    """Check arrays that results are to be written into; the arrays in `taken` keep what they have.

    Raises:
        FeedError, DTypeError, ShapeError: too many or too few, or one that does not fit.
    """
    if len(given) != len(outputs):
        raise FeedError(f"{name}: out: {len(given)} arrays given, {len(outputs)} expected")
    for i, (array, slot, shape) in enumerate(zip(given, outputs, shapes, strict=True)):
        place = f"{name}: out[{i}]"
        if type(array) is not np.ndarray:
            raise FeedError(f"{place}: a {type(array).__name__} given, a NumPy array expected")
        if array.dtype != slot.dtype:
            raise DTypeError(f"{place}: {array.dtype} given, {slot.dtype} expected")
        if array.shape != shape:
            raise ShapeError(f"{place}: shape {array.shape} given, {shape} expected")
        if not (array.flags.c_contiguous and array.flags.aligned and array.flags.writeable):
            raise FeedError(f"{place}: an array that is row-major, aligned and writable expected")
        for other in (*taken, *given[:i]):
            if isinstance(other, np.ndarray) and _share_memory(array, other):
                raise FeedError(
                    f"{place}: shares memory with an input, a variable, a constant or another array"
                )


def _share_memory(left: object, right: object) -> bool:
    """Whether an element of one is an element of the other, or that would take long to tell."""
    try:
        work: Any = 1 << 16  # candidates, of which NumPy's annotation knows only two numbers
        return bool(np.shares_memory(left, right, max_work=work))
    except np.exceptions.TooHardError:
        return True


def _missing(name: str, feed: Feed) -> FeedError:
    return FeedError(f"{name}: missing feed {feed.name!r}: {feed.type} ({feed.source})")
