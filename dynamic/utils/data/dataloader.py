"""DataLoader: the batches of a data set, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tensors.drawn import randint
from staticgraph.dynamic.utils.data.collate import default_collate, default_convert
from staticgraph.dynamic.utils.data.dataset import IterableDataset
from staticgraph.dynamic.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from staticgraph.dynamic.utils.data.worker import Task, Workers, check_context

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """Iterates over batches of a data set, any number of times (PyTorch's).

    Args:
        dataset: has `__getitem__` and `__len__`, or is an IterableDataset.
        batch_size: items in a batch; None for single items, not collated.
        shuffle: whether they come in random order.
        sampler: their indices, in order.
        batch_sampler: lists of indices, one for each batch.
        num_workers: how many processes read them; 0 to read them here.
        collate_fn: makes a batch of a list of items: `default_collate`.
        pin_memory: ignored with a warning: there is no GPU.
        drop_last: whether a last batch that is not full is left out.
        timeout: how many seconds a batch of a worker may take; 0 for ever.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how workers are started: "fork", "spawn", "forkserver", or
            "thread" for threads of this process, which share the data set.
        generator: what the order is drawn from.
        prefetch_factor: how many batches each worker reads ahead: 2.
        persistent_workers: whether workers live on after the last batch.
        pin_memory_device: ignored.
        in_order: ignored: batches come in the order of the sampler.

    Raises:
        ValueError: options exclude each other, or have impossible values.

    Example:
        >>> for batch in dynamic.utils.data.DataLoader([1, 2, 3], batch_size=2):
        ...     print(batch)
        tensor([1, 2])
        tensor([3])
    """

    _ready = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if multiprocessing_context is not None:
            if not num_workers:
                raise OptionError(
                    "multiprocessing_context can only be used with multi-process loading "
                    f"(num_workers > 0), but got num_workers={num_workers}"
                )
            check_context(multiprocessing_context)
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        elif sampler is not None and shuffle:
            raise OptionError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise OptionError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise OptionError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = _default_sampler(dataset, self._iterable, shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.in_order = persistent_workers, in_order
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._workers: Workers | None = None
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in _FIXED:
            raise OptionError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used."
            )
        if self.num_workers:
            return self._from_workers()
        return self._from_here()

    def _from_here(self) -> Iterator[Any]:
        fetch = self._fetcher(self.dataset)
        for indices in self._indices():
            try:
                batch = fetch(indices)
            except StopIteration:
                return
            yield batch

    def _from_workers(self) -> Iterator[Any]:
        workers = None if self._iterable else self._workers
        if workers is None:
            seed = int(randint(2**62, (), generator=self.generator).item())
            task = Task(self.dataset, self._fetcher, self.worker_init_fn, seed, self.num_workers)
            workers = Workers(
                task, self.multiprocessing_context, self.prefetch_factor or 1, self.timeout
            )
        keep = self.persistent_workers and not self._iterable
        self._workers = workers if keep else None
        finished = False
        try:
            yield from workers.batches(iter(self._indices()))
            finished = True
        finally:
            if not (keep and finished):
                self._workers = None
                workers.stop()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: not the workers."""
        return {**self.__dict__, "_workers": None}

    def __del__(self) -> None:
        workers = self.__dict__.get("_workers")
        if workers is not None:
            workers.stop()

    def _indices(self) -> Iterable[Any]:
        if self.batch_sampler is not None:
            return self.batch_sampler
        return self.sampler

    def _fetcher(self, dataset: Any) -> Callable[[Any], Any]:
        """A function from the indices of a batch, or one index, to what is collated of it."""
        collate = self.collate_fn
        several = self.batch_sampler is not None
        if self._iterable:
            return _from_front(dataset, collate, several, self.drop_last)
        at_once = getattr(dataset, "__getitems__", None)

        def fetch(indices: Any) -> Any:
            if not several:
                return collate(dataset[indices])
            if callable(at_once):
                return collate(at_once(indices))
            return collate([dataset[i] for i in indices])

        return fetch

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._indices())  # type: ignore[arg-type]
        size = len(self.dataset)
        if self.batch_size is None:
            return size
        return size // self.batch_size if self.drop_last else math.ceil(size / self.batch_size)


def _from_front(
    dataset: Any, collate: Callable[[Any], Any], several: bool, drop_last: bool
) -> Callable[[Any], Any]:
    items = iter(dataset)

    def fetch(indices: Any) -> Any:
        if not several:
            return collate(next(items))
        batch = list(itertools.islice(items, len(indices)))
        if not batch or (drop_last and len(batch) < len(indices)):
            raise StopIteration
        return collate(batch)

    return fetch


def _default_sampler(
    dataset: Any, iterable: bool, shuffle: bool | None, generator: Any
) -> Iterable[Any]:
    if iterable:
        return _Endless()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


class _Endless:
    """What stands for indices where items come from the front."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(None)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise OptionError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise OptionError("timeout option should be non-negative")
    if not num_workers and prefetch_factor is not None:
        raise OptionError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > "
            "0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise OptionError("prefetch_factor option should be non-negative")
    if persistent_workers and not num_workers:
        raise OptionError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: object, batch_sampler: object) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise OptionError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )
