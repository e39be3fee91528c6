"""Samplers: the indices of a data set's items in the order in which they are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import ArgumentError, MissingMethodError
from staticgraph.dynamic.operations.sampling import multinomial
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.drawn import randint, randperm
from staticgraph.dynamic.tensors.random_numbers import Generator

Index_co = TypeVar("Index_co", covariant=True)
_AT_ONCE = 32


class Sampler(Generic[Index_co]):
    """Indices in an order: a subclass defines `__iter__`, and `__len__` where it is known.

    Example:
        >>> class Last(dynamic.utils.data.Sampler):
        ...     def __iter__(self):
        ...         return iter([2])
        >>> list(dynamic.utils.data.DataLoader([5, 6, 7], sampler=Last()))
        [tensor([7])]
    """

    def __init__(self, data_source: object = None) -> None:
        """Nothing is kept."""

    def __iter__(self) -> Iterator[Index_co]:
        raise MissingMethodError(f"{type(self).__name__} has no __iter__")


class SequentialSampler(Sampler[int]):
    """The indices from 0 on.

    Example:
        >>> list(dynamic.utils.data.SequentialSampler([5, 6, 7]))
        [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order, or drawn with `replacement`; `num_samples` of them.

    Example:
        >>> sorted(dynamic.utils.data.RandomSampler(range(3)))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: object = None,
    ) -> None:
        _require_bool("replacement", replacement)
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        _require_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices there are: as many as items, unless it is given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, left = len(self.data_source), self.num_samples
        source = drawn_from(self.generator)
        while left > 0:
            if self.replacement:
                numbers = randint(size, (min(left, _AT_ONCE),), generator=source).tolist()
            else:
                numbers = randperm(size, generator=source).tolist()[:left]
            yield from numbers
            left -= len(numbers)

    def __len__(self) -> int:
        return self.num_samples


def drawn_from(generator: object) -> object:
    """The generator, or a new one that this thread's stream starts."""
    if generator is not None:
        return generator
    return Generator().manual_seed(int(randint(2**63 - 1, ()).item()))


def _require_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ArgumentError(f"{name} should be a boolean value, but got {name}={value}")


def _require_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise OptionError(f"{name} should be a positive integer value, but got {name}={value}")


class SubsetRandomSampler(Sampler[int]):
    """Some indices in random order.

    Example:
        >>> sorted(dynamic.utils.data.SubsetRandomSampler([4, 7]))
        [4, 7]
    """

    def __init__(self, indices: Sequence[int], generator: object = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """So many indices from 0 on, drawn with these weights.

    Example:
        >>> list(dynamic.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: object = None,
    ) -> None:
        _require_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise OptionError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights: Any = as_tensor(weights, dtype=float).double()
        if self.weights.ndim != 1:
            raise OptionError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of a sampler; the last one may be shorter, or is left out.

    Example:
        >>> data = dynamic.utils.data
        >>> list(data.BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _require_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise OptionError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)
