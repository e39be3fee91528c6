"""Which part of the data a rank has: as equal as can be, in the order of the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.reference.ranks import current


class Share(Sequence[Any]):
    """A rank's part of a data set, which is read item by item when it is asked for.

    Example:
        >>> part = sg.distributed.Share("abc", 1, 3)
        >>> len(part), part[0], list(part)
        (2, 'b', ['b', 'c'])
    """

    def __init__(self, data: Value, begin: int, end: int) -> None:
        self.data, self.begin, self.end = data, begin, end

    def __len__(self) -> int:
        return self.end - self.begin

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(f"item {place} of a share of {len(self)}")
        return self.data[self.begin + place % len(self)]


def share(data: Value) -> Value:
    """The part of this rank of an array or data set; sizes differ by one at most.

    Args:
        data: an array, of which the part along the first axis is a view (of a memory-mapped file
            nothing else is read), a list or a tuple; or any data set with `len` and items.

    Returns:
        The part: a view, a list or tuple, or a `Share`, which has `len` and items. It may be empty.

    Raises:
        ShapeError: it has no axis.
        OptionError: it has no length, or is a dict.

    Example:
        >>> sg.distributed.share(np.arange(4))
        array([0, 1, 2, 3])
        >>> dist = sg.distributed
        >>> dist.simulate(lambda: dist.share([1, 2, 3, 4, 5]), size=2)
        [[1, 2], [3, 4, 5]]
    """
    if hasattr(data, "shape") and not data.shape:
        raise ShapeError("share: an array without an axis has no parts")
    if isinstance(data, Mapping) or not hasattr(data, "__len__"):
        raise OptionError(
            f"share: a {type(data).__name__} has no rows: an array, a list or a data set with "
            "`len` and items is taken, each of several by itself"
        )
    begin, end = _bounds(len(data))
    if isinstance(data, list | tuple) or hasattr(data, "shape"):
        return _rows(data, slice(begin, end))
    return Share(data, begin, end)


def _rows(data: Value, rows: Any) -> Value:
    """Rows by their places: those of pandas have labels, too."""
    data = getattr(data, "iloc", data)
    if isinstance(data, list | tuple) and not isinstance(rows, slice):
        return type(data)([data[place] for place in rows])
    return data[rows]


def _bounds(count: int) -> tuple[int, int]:
    ranks = current()
    return count * ranks.rank // ranks.size, count * (ranks.rank + 1) // ranks.size


def batches(
    *arrays: Array, size: int, seed: int | None = None, drop_last: bool = True
) -> Iterator[tuple[Array, ...]]:
    """The part of this rank of each batch of arrays: as many batches on each rank.

    All ranks together have the batches that one process has, so that a loss that is weighted by
    how many rows a rank has (`mean(loss, weight=...)`) is that of one process.

    Args:
        arrays: of one length along the first axis; lists and tables of pandas too.
        size: the rows of a batch, of all ranks together.
        seed: shuffles the rows, in the same way on all ranks; None: in their order.
        drop_last: whether rows that do not fill a batch are left out.

    Raises:
        OptionError: the size is no positive int, or there are no arrays.
        ShapeError: the arrays differ in length.

    Example:
        >>> dist = sg.distributed
        >>> rows = np.arange(8)
        >>> dist.simulate(lambda: [x.tolist() for x, in dist.batches(rows, size=4)], size=2)
        [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    """
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise OptionError(f"batches: the size is a positive int, not {size!r}")
    if not arrays:
        raise OptionError("batches: there are no arrays")
    lengths = [len(one) for one in arrays]
    if len(set(lengths)) > 1:
        raise ShapeError(f"batches: the arrays have {lengths} rows, not as many each")
    return _batches(arrays, lengths[0], size, seed, drop_last)


def _batches(
    arrays: Sequence[Array], count: int, size: int, seed: int | None, drop_last: bool
) -> Iterator[tuple[Array, ...]]:
    order = None if seed is None else np.random.default_rng(seed).permutation(count)
    for start in range(0, count - size + 1 if drop_last else count, size):
        begin, end = _bounds(min(size, count - start))
        places = slice(start + begin, start + end)
        rows = places if order is None else order[places]
        yield tuple([_rows(one, rows) for one in arrays])
