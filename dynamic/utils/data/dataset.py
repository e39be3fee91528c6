"""Data sets: what is read by an index, or from the front."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import MissingMethodError
from staticgraph.dynamic.tensors.drawn import randperm

Item_co = TypeVar("Item_co", covariant=True)


class SizesError(OptionError, AssertionError):
    """Sizes of data sets do not fit; PyTorch raises AssertionError."""


class Dataset(Generic[Item_co]):
    """Items by their indices: a subclass defines `__getitem__`, and `__len__` for most uses.

    Example:
        >>> class Squares(dynamic.utils.data.Dataset):
        ...     def __getitem__(self, i):
        ...         return i * i
        ...
        ...     def __len__(self):
        ...         return 4
        >>> next(iter(dynamic.utils.data.DataLoader(Squares(), batch_size=4)))
        tensor([0, 1, 4, 9])
    """

    def __getitem__(self, index: Any) -> Item_co:
        raise MissingMethodError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> ConcatDataset:
        """The items of both, those of the other one behind."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item_co]):
    """Items from the front: a subclass defines `__iter__`.

    With several workers each has a copy: `get_worker_info` says which one it is.

    Example:
        >>> class Ones(dynamic.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([1, 1])
        >>> next(iter(dynamic.utils.data.DataLoader(Ones(), batch_size=2)))
        tensor([1, 1])
    """

    def __iter__(self) -> Iterator[Any]:
        raise MissingMethodError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Any) -> Any:
        """The items of both, those of the other one behind."""
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Rows of tensors with first axes of one size: item i is the tuple of their i-th ones.

    Example:
        >>> dynamic.utils.data.TensorDataset(dynamic.tensor([1, 2]), dynamic.tensor([3, 4]))[1]
        (tensor(2), tensor(4))
    """

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != one.size(0) for one in tensors):
            raise SizesError(
                f"Size mismatch between tensors: first axes of {[one.size(0) for one in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([one[index] for one in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Data sets of one length side by side: an item is the tuple, or dict, of theirs.

    Example:
        >>> dynamic.utils.data.StackDataset([1, 2], ["a", "b"])[1]
        (2, 'b')
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise OptionError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given or none."
            )
        parts = list(args) or list(kwargs.values())
        self._length = len(parts[0])
        if any(len(one) != self._length for one in parts):
            raise OptionError("Size mismatch between datasets")
        self.datasets: Any = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: one[index] for name, one in self.datasets.items()}
        return tuple([one[index] for one in self.datasets])

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Data sets one after the other.

    Attributes:
        cumulative_sizes: where each of them ends.

    Example:
        >>> dynamic.utils.data.ConcatDataset([[1, 2], [3]])[2]
        3
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise SizesError("datasets should not be an empty iterable")
        if any(isinstance(one, IterableDataset) for one in self.datasets):
            raise SizesError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        place = idx + len(self) if idx < 0 else idx
        if place < 0:
            raise OptionError("absolute value of index should not exceed dataset length")
        which = bisect.bisect_right(self.cumulative_sizes, place)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][place - before]


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one after the other.

    Example:
        >>> class Ones(dynamic.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([1, 1])
        >>> list(dynamic.utils.data.ChainDataset([Ones(), Ones()]))
        [1, 1, 1, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for one in self.datasets:
            if not isinstance(one, IterableDataset):
                raise SizesError("ChainDataset only supports IterableDataset")
            yield from one

    def __len__(self) -> int:
        return sum(len(one) for one in self.datasets)


class Subset(Dataset[Any]):
    """The items of a data set at some indices.

    Example:
        >>> dynamic.utils.data.Subset([5, 6, 7], [2, 0])[0]
        7
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The items at several places."""
        places = [self.indices[i] for i in indices]
        several = getattr(self.dataset, "__getitems__", None)
        return several(places) if callable(several) else [self.dataset[i] for i in places]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: object = None
) -> list[Subset]:
    """Parts of a data set, of these lengths or shares, whose items are drawn without repetition.

    ValueError if the lengths do not sum up to that of the data set.

    Example:
        >>> [len(part) for part in dynamic.utils.data.random_split(range(10), [7, 3])]
        [7, 3]
    """
    size = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _of_shares(size, lengths)
    if sum(lengths) != size:
        raise OptionError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"{sum(lengths)} != {size}"
        )
    order = randperm(size, generator=generator).tolist()
    ends = itertools.accumulate(int(one) for one in lengths)
    return [
        Subset(dataset, order[end - int(length) : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def _of_shares(size: int, shares: Sequence[float]) -> list[int]:
    """Whole lengths of these shares; what is left goes to the first ones."""
    for i, share in enumerate(shares):
        if share < 0 or share > 1:
            raise OptionError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(size * share) for share in shares]
    for i in range(size - sum(lengths)):
        lengths[i % len(lengths)] += 1
    return lengths
