"""Ranks: processes that run the same program on shares of the data, and combine arrays.

What carries arrays from one to another is a `Transport`: nothing (`Alone`), MPI, or threads of one
process. What is the same for all is here: that ranks agree on what they are about to do before any
array is sent, so that a mismatch is an error on all of them and not a wait without end.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from staticgraph.compiler.core.errors import DistributedError
from staticgraph.compiler.core.record import Record, frozen, mutable, record
from staticgraph.compiler.core.values import Array

TIMEOUT = 600.0  # seconds
BUCKET_BYTES = 16 << 20
SPINS = 50  # how often a request is asked before another process may have the processor
BUSY = 0.2  # seconds in which it is asked again at once: MPI moves bytes while it is asked
LONGEST = 1 << 20  # characters of a description that is exchanged


@record
class Job(Record):
    """What a collective does.

    Attributes:
        collective: the name of its op.
        kind: how `all_reduce` combines: "sum", "mean", "max" or "min".
        root: the rank that `broadcast` takes from and `reduce` gives to.
    """

    collective: str
    kind: str = "sum"
    root: int = 0


class Request(Protocol):
    """A collective that has begun."""

    def test(self) -> bool:
        """Whether its result is there. What it raises ends the program."""


class Transport(Protocol):
    """What carries arrays between ranks.

    Attributes:
        rank, size: the number of this rank, from 0, and how many there are.
        is_crowded: whether a processor has more than one of them, so that who waits leaves it.
    """

    @property
    def is_crowded(self) -> bool:
        """Whether a processor has more than one rank."""

    @property
    def rank(self) -> int:
        """The number of this rank."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    def start(self, job: Job, given: Array, result: Array) -> Request:
        """Begin a collective; all ranks begin the same ones in the same order.

        Both arrays are row-major and stay where they are until the request is done.
        """


class Alone:
    """One rank: there is nothing to combine, so that nothing is started."""

    rank, size, is_crowded = 0, 1, False

    def start(self, job: Job, given: Array, result: Array) -> Request:
        """DistributedError: there is nobody else."""
        raise DistributedError(f"{job.collective}: there is one rank")


@frozen
class Plan:
    """What a rank is about to do, for the others to compare with theirs.

    Attributes:
        title: the executable, or what else it is, in a few words.
        digest: of all that must be the same.
        sizes: those that are known when it runs, which must be the same too.
        collectives: how many follow.
        lines: what the digest is of, line by line.
    """

    title: str
    digest: int
    sizes: tuple[int, ...] = ()
    collectives: int = 0
    lines: Callable[[], Sequence[str]] = tuple

    @property
    def word(self) -> int:
        """All of it in 62 bits."""
        return digest_of(self.title, str(self.digest), *map(str, self.sizes))

    def described(self) -> str:
        """All of it as text: the title, then a line for each line."""
        sizes = f", of sizes {', '.join(map(str, self.sizes))}" if self.sizes else ""
        return "\n".join([f"{self.title}{sizes}", *self.lines()])[:LONGEST]


def digest_of(*parts: str) -> int:
    """A number of 62 bits that is another one for other texts, the same on every machine."""
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{len(part)} {part}".encode(errors="surrogateescape"))
    return int.from_bytes(found.digest()[:8], "little") >> 2


@mutable
class _Begun:
    given: Array
    result: Array
    request: Request


class Ranks:
    """A process among the others, through a transport.

    Attributes:
        timeout: for how many seconds it waits for the others.
        bucket_bytes: how large a buffer of gradients is before the next one is begun.
        process: the one that is a rank; one that it forks is none.
        broken: why nothing can be combined any more; empty as long as all is well.
    """

    def __init__(self, transport: Transport, timeout: float = TIMEOUT) -> None:
        self.transport = transport
        self.timeout = timeout
        self.bucket_bytes = BUCKET_BYTES
        self.broken = ""
        self.plan: Plan | None = None  # that has been announced, and not compared yet
        self.process = os.getpid()
        self._thread: threading.Thread | None = None
        self._begun: dict[int, _Begun] = {}
        self._spare: dict[tuple[object, ...], list[Array]] = {}
        self._header: tuple[Request, Array] | None = None
        self._left = self._count = 0

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self.transport.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.transport.size

    def announce(self, plan: Plan) -> None:
        """Begin to compare with the other ranks what this one is about to do.

        Raises:
            DistributedError: see `check_usable`; or the collectives announced before have not all
                been done, since an error ended their call.
        """
        if self.size == 1:  # nothing is compared, and several threads may be at it
            return
        self.check_usable()
        if self._left or self._begun or self._header is not None:
            raise self._break(
                f"rank {self.rank}: an error ended the last call before its collectives were "
                f"done, so that the ranks are out of step before {plan.title}: such an error ends "
                "all ranks; start them again from a checkpoint"
            )
        word = plan.word
        given, found = np.array([word, -word]), np.empty(2, np.int64)
        self._header = self.transport.start(Job("all_reduce", "max"), given, found), found
        self.plan, self._left = plan, plan.collectives

    def agree(self) -> None:
        """Wait until all ranks have announced; DistributedError unless all are the same."""
        if self._header is None or self.plan is None:
            return
        request, found = self._header
        self._wait(request, f"to begin {self.plan.title}")
        self._header = None
        if found[0] != -found[1]:
            texts = self._exchanged(self.plan.described())
            raise self._break(out_of_step(self.rank, texts))

    def meet(self, title: str, *parts: str) -> None:
        """Wait until all ranks are at the same place of their programs."""
        self.announce(Plan(title, digest_of(*parts)))
        self.agree()

    def begin(self, job: Job, given: Array) -> int:
        """Begin a collective that was announced; its number.

        Args:
            job: what it does.
            given: an array that nobody changes until it is finished.
        """
        if self.size == 1:
            return 0
        self.agree()
        self.check_usable()
        for begun in self._begun.values():  # MPI goes on where it is called
            begun.request.test()
        given = np.ascontiguousarray(given).reshape(given.shape)
        result = self._array(result_shape(job, given.shape, self.size), given.dtype)
        request = self.transport.start(job, given, result)
        self._count += 1
        self._left -= 1
        self._begun[self._count] = _Begun(given, result, request)
        return self._count

    def finish(self, number: int, job: Job, given: Array, into: Array | None = None) -> Array:
        """Wait for the result of a collective that was begun.

        Args:
            number: what `begin` gave.
            job, given: what `begin` was given.
            into: where the result goes; a new array if None.
        """
        if self.size == 1:
            alone: Array = given.reshape(result_shape(job, given.shape, 1))
            if into is None:
                return alone.copy()
            into[...] = alone
            return into
        if number not in self._begun:  # it was begun before an error, or by another process
            raise self._break(f"rank {self.rank}: collective {number} has not begun")
        begun = self._begun[number]
        self._wait(begun.request, f"for {job.collective}")
        del self._begun[number]
        found = begun.result
        if job.kind == "mean":
            found = np.divide(
                found, found.dtype.type(self.size), out=found if into is None else into
            )
        elif into is not None:
            into[...] = found
        if into is None:
            return found
        self._spare.setdefault((begun.result.shape, begun.result.dtype), []).append(begun.result)
        return into

    def at_once(self, job: Job, given: Array) -> Array:
        """The result of a collective that is announced, begun and finished."""
        described = (
            f"{job.collective} ({job.kind}, root {job.root}) of {given.dtype}{list(given.shape)}"
        )
        self.announce(Plan(f"a call of {described}", digest_of(described), collectives=1))
        return self.finish(self.begin(job, given), job, given)

    def texts(self, text: str) -> list[str]:
        """A text of each rank."""
        if self.size == 1:
            return [text]
        self.meet("an exchange of texts")
        return self._exchanged(text)

    def check_usable(self) -> None:
        """DistributedError if this process, or thread, cannot combine anything."""
        if self.broken:
            raise DistributedError(f"after an earlier error nothing is combined: {self.broken}")
        if self.size == 1:
            return
        if os.getpid() != self.process:
            raise DistributedError(
                f"this process was forked from rank {self.rank} and is no rank: only rank "
                f"{self.rank} itself combines arrays"
            )
        current = threading.current_thread()
        if self._thread is None:
            self._thread = current
        if self._thread is not current:
            raise DistributedError(
                f"rank {self.rank}: collectives come from thread {self._thread.name!r}, and now "
                f"from {current.name!r}: one thread has them all, so that all ranks have the same "
                "order"
            )

    def close(self) -> str:
        """Tell the others that this rank has come to its end; what they are at, if not there."""
        if self.size == 1 or os.getpid() != self.process:
            return ""
        if self.broken:
            return self.broken
        try:
            self.meet("the end of its program")
        except DistributedError as error:
            return str(error)
        return ""

    def _array(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """An array for a result: one that was used before, since new memory costs page faults."""
        spare = self._spare.get((shape, dtype))
        return spare.pop() if spare else np.empty(shape, dtype)

    def _exchanged(self, text: str) -> list[str]:
        """A text of each rank, which all are ready to give."""
        content = text.encode(errors="surrogateescape")
        lengths = self._gathered(np.array([len(content)]))
        padded = np.zeros(int(lengths.max()), np.uint8)
        padded[: len(content)] = np.frombuffer(content, np.uint8)
        rows = self._gathered(padded)
        return [
            row[: int(length)].tobytes().decode(errors="surrogateescape")
            for row, (length,) in zip(rows, lengths, strict=True)
        ]

    def _gathered(self, given: Array) -> Array:
        result = np.empty((self.size, *given.shape), given.dtype)
        self._wait(self.transport.start(Job("all_gather"), given, result), "for a description")
        return result

    def _wait(self, request: Request, what: str) -> None:
        """Wait for a request; what interrupts it breaks all that follows."""
        begin = time.perf_counter()
        tries = 0
        try:
            while not request.test():
                tries += 1
                if tries < SPINS:
                    continue
                waited = time.perf_counter() - begin
                if waited > self.timeout:
                    raise DistributedError(
                        f"rank {self.rank} of {self.size} has waited {self.timeout:g} s {what}: "
                        "another rank has not come: it has ended, hangs or does something else"
                    )
                if waited < BUSY and not self.transport.is_crowded:
                    os.sched_yield()
                else:
                    time.sleep(1e-6 if waited < BUSY else 1e-3)
        except BaseException as error:
            self.broken = f"{type(error).__name__} while rank {self.rank} waited {what}: {error}"
            raise

    def _break(self, why: str) -> DistributedError:
        self.broken = why
        return DistributedError(why)


def result_shape(job: Job, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape of a result, of what is given in one shape by all ranks."""
    if job.collective == "all_gather":
        return (size, *shape)
    return shape[1:] if job.collective == "reduce_scatter" else shape


def out_of_step(rank: int, texts: Sequence[str]) -> str:
    """What is said on a rank of descriptions that are not all the same."""
    first = texts[0].splitlines()
    other = next(place for place, text in enumerate(texts) if text != texts[0])
    lines = texts[other].splitlines()
    if first[0] != lines[0]:
        groups: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            groups.setdefault(text.partition("\n")[0], []).append(place)
        said = "; ".join(f"{_named(places)}: {title}" for title, places in groups.items())
        return f"the ranks are out of step (seen by rank {rank}): {said}"
    for one, another in zip(first, lines, strict=False):
        if one != another:
            return (
                f"{first[0]}: the ranks have different programs (seen by rank {rank}): rank 0 has "
                f"{one}; rank {other} has {another}"
            )
    return (
        f"{first[0]}: the ranks have different programs (seen by rank {rank}): that of rank 0 has "
        f"{len(first) - 1} nodes, that of rank {other} {len(lines) - 1}"
    )


def _named(places: Sequence[int]) -> str:
    listed = ", ".join(map(str, places[:8])) + (", ..." if len(places) > 8 else "")
    return f"rank {listed}" if len(places) == 1 else f"ranks {listed}"


ALONE = Ranks(Alone())
_of_process = [ALONE]
_of_thread: ContextVar[Ranks | None] = ContextVar("ranks", default=None)


def current() -> Ranks:
    """The ranks that this code belongs to."""
    return _of_thread.get() or _of_process[0]


def belong_to(ranks: Ranks) -> None:
    """Let the process be one of these ranks from now on."""
    _of_process[0] = ranks


@contextmanager
def within(ranks: Ranks) -> Iterator[Ranks]:
    """Let the code in the block be one of these ranks: a thread that stands for one."""
    token = _of_thread.set(ranks)
    try:
        yield ranks
    finally:
        _of_thread.reset(token)
