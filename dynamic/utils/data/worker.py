"""Workers: processes or threads that read and collate batches beside the loop that uses them."""

from __future__ import annotations

import itertools
import multiprocessing
import queue
import random
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.random_numbers import manual_seed


@frozen
class WorkerInfo:
    """Which worker the caller is.

    Attributes:
        id: its number, from 0 on.
        num_workers: how many there are.
        seed: what its random numbers were started from.
        dataset: its copy of the data set.

    Example:
        >>> dynamic.utils.data.get_worker_info() is None
        True
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Here(threading.local):
    info: WorkerInfo | None = None


_here = _Here()


def get_worker_info() -> WorkerInfo | None:
    """Which worker the caller is; None in the process that asked for the data.

    Example:
        >>> dynamic.utils.data.get_worker_info() is None
        True
    """
    return _here.info


@frozen
class Task:
    """What workers do for a data loader.

    Attributes:
        dataset: what is read.
        fetcher: makes of the data set a function from indices to a batch, which raises
            StopIteration at the end of what is iterated.
        init: called with the worker's number before anything is read, or None.
        seed: the seed of the first worker; each further one has the next.
        count: how many workers there are.
    """

    dataset: Any
    fetcher: Callable[[Any], Callable[[Any], Any]]
    init: Callable[[int], object] | None
    seed: int
    count: int


@frozen
class _Failure:
    """An exception of a worker, told with the lines where it came from."""

    kind: type[BaseException]
    text: str

    def raised(self) -> BaseException:
        """The exception, of its own class where that takes a message alone."""
        if self.kind is KeyError:
            return _WorkerKeyError(self.text)
        try:
            return self.kind(self.text)
        except TypeError:
            return AutogradError(self.text)


class _WorkerKeyError(KeyError):
    """A KeyError whose text is shown as it is, on several lines."""

    def __str__(self) -> str:
        return str(self.args[0])


class _End:
    """What a worker answers when what it iterates is at its end."""


def _work(task: Task, number: int, indices: Any, results: Any, private: bool) -> None:
    """A worker: answers every (place, indices) with (place, batch), until it is given None."""
    seed = task.seed + number
    manual_seed(seed)
    if private:  # a process of its own, whose streams no one else draws from
        random.seed(seed)
        np.random.seed(seed % 2**32)
    _here.info = WorkerInfo(number, task.count, seed, task.dataset)
    failure: _Failure | None = None
    fetch: Callable[[Any], Any] | None = None
    try:
        if task.init is not None:
            task.init(number)
        fetch = task.fetcher(task.dataset)
    except Exception as error:
        failure = _failed(error, number)
    while (asked := indices.get()) is not None:
        place, wanted = asked
        if fetch is None:
            results.put((place, number, failure))
            continue
        try:
            answer = fetch(wanted)
        except StopIteration:
            answer = _End()
        except Exception as error:
            answer = _failed(error, number)
        results.put((place, number, answer))


def _failed(error: Exception, number: int) -> _Failure:
    told = "".join(traceback.format_exception(error))
    name = type(error).__name__
    return _Failure(
        type(error), f"Caught {name} in DataLoader worker process {number}.\nOriginal {told}"
    )


class Workers:
    """The workers of a data loader, and the batches that they were asked for.

    `context` is "thread", or a start method of processes, or what `multiprocessing.get_context`
    returns. Data sets are copied to processes, and shared among threads.
    """

    def __init__(self, task: Task, context: Any, ahead: int, timeout: float) -> None:
        self.task, self._ahead, self._timeout = task, ahead, timeout or None
        if context == "thread":
            self._results: Any = queue.Queue()
            self._indices: list[Any] = [queue.Queue() for _ in range(task.count)]
            make: Any = threading.Thread
        else:
            context = multiprocessing.get_context(context) if _is_method(context) else context
            self._results = context.Queue()
            self._indices = [context.Queue() for _ in range(task.count)]
            make = context.Process
        private = context != "thread"
        self._running = [
            make(target=_work, args=(task, i, one, self._results, private), daemon=True)
            for i, one in enumerate(self._indices)
        ]
        for one in self._running:
            one.start()

    def batches(self, asked: Iterator[Any]) -> Iterator[Any]:
        """The batches for these indices, in their order; each exception of a worker raised here."""
        alive = list(range(self.task.count))
        turns = itertools.cycle(range(self.task.count))
        waiting: dict[int, Any] = {}
        sent = given = 0

        def send() -> bool:
            nonlocal sent
            for number in itertools.islice(turns, self.task.count):
                if number in alive:
                    break
            else:
                return False
            try:
                wanted = next(asked)
            except StopIteration:
                return False
            self._indices[number].put((sent, wanted))
            sent += 1
            return True

        for _ in range(self._ahead * self.task.count):
            if not send():
                break
        while given < sent:
            while given not in waiting:
                place, number, answer = self._next()
                waiting[place] = answer
                if isinstance(answer, _End) and number in alive:
                    alive.remove(number)
            answer = waiting.pop(given)
            given += 1
            if isinstance(answer, _Failure):
                raise answer.raised()
            send()
            if not isinstance(answer, _End):
                yield answer

    def _next(self) -> Any:
        waited = 0.0
        while True:
            try:
                return self._results.get(timeout=_LOOK)
            except queue.Empty:
                waited += _LOOK
            dead = [one for one in self._running if not one.is_alive()]
            if dead:
                raise AutogradError(
                    f"DataLoader worker (pid(s) {', '.join(str(one.ident) for one in dead)}) "
                    "exited unexpectedly"
                )
            if self._timeout is not None and waited >= self._timeout:
                raise AutogradError(f"DataLoader timed out after {self._timeout:g} seconds")

    def stop(self) -> None:
        """Let the workers end; processes that do not are terminated."""
        for one in self._indices:
            one.put(None)
        for worker in self._running:
            worker.join(_LOOK)
            if worker.is_alive() and hasattr(worker, "terminate"):
                worker.terminate()
                worker.join()
        if hasattr(self._results, "cancel_join_thread"):
            for one in (*self._indices, self._results):
                one.cancel_join_thread()
                one.close()


_LOOK = 1.0
"""After how many seconds without a batch it is looked whether the workers are alive."""


def _is_method(context: object) -> bool:
    return context is None or isinstance(context, str)


def check_context(context: Any) -> None:
    """ValueError unless workers can be started so."""
    known = [*multiprocessing.get_all_start_methods(), "thread"]
    if isinstance(context, str) and context not in known:
        raise OptionError(
            f"multiprocessing_context option should specify a valid start method in {known}, but "
            f"got multiprocessing_context={context!r}"
        )
