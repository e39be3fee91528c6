"""Ranks that are threads of one process: a transport without MPI, for tests and simulations."""

from __future__ import annotations

import threading
from dataclasses import field

import numpy as np

from staticgraph.compiler.core.errors import DistributedError
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.ranks import Job, Request


@mutable
class _Place:
    """One collective: what the ranks that came gave, and where their results go."""

    jobs: dict[int, Job] = field(default_factory=dict)
    given: dict[int, Array] = field(default_factory=dict)
    results: dict[int, Array] = field(default_factory=dict)
    done: bool = False


class Meeting:
    """Where so many threads come together, collective by collective."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.left: dict[int, BaseException] = {}
        self._lock = threading.Lock()
        self._places: dict[int, _Place] = {}

    def transport(self, rank: int) -> Threads:
        """That of one rank."""
        return Threads(self, rank)

    def leave(self, rank: int, error: BaseException) -> None:
        """Let the others know that a rank has ended with an error."""
        self.left[rank] = error

    def come(self, rank: int, number: int, job: Job, given: Array, result: Array) -> _Place:
        """A rank begins its collective of this number; the last one computes all results."""
        with self._lock:
            place = self._places.setdefault(number, _Place())
            place.jobs[rank], place.given[rank], place.results[rank] = job, given, result
            if len(place.jobs) == self.size:
                del self._places[number]
                _combine(place)
                place.done = True
        return place


class Threads:
    """The transport of a thread."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.rank, self.size, self.is_crowded = rank, meeting.size, True
        self._meeting = meeting
        self._count = 0

    def start(self, job: Job, given: Array, result: Array) -> Request:
        """Give an array to the others."""
        self._count += 1
        place = self._meeting.come(self.rank, self._count, job, given, result)
        return _Waited(self._meeting, place)


class _Waited:
    def __init__(self, meeting: Meeting, place: _Place) -> None:
        self._meeting, self._place = meeting, place

    def test(self) -> bool:
        if not self._place.done and self._meeting.left:
            rank, error = next(iter(self._meeting.left.items()))
            raise DistributedError(f"rank {rank} has ended with {type(error).__name__}: {error}")
        return self._place.done


def _added(kind: str) -> np.ufunc:
    """What combines two arrays."""
    if kind in ("sum", "mean"):
        return np.add
    return np.maximum if kind == "max" else np.minimum


def _combine(place: _Place) -> None:
    """Compute the results of all ranks, in the order of the ranks."""
    job, given = place.jobs[0], [place.given[rank] for rank in sorted(place.given)]
    if (
        len({(one, x.shape, x.dtype) for one, x in zip(place.jobs.values(), given, strict=True)})
        > 1
    ):
        raise DistributedError(f"{job}: the ranks have begun different collectives")
    if job.collective == "broadcast":
        whole = given[job.root]
    elif job.collective == "all_gather":
        whole = np.stack(given)
    else:
        whole = given[0].copy()
        for one in given[1:]:
            whole = _added(job.kind)(whole, one)
    for rank, result in place.results.items():
        if job.collective == "reduce" and rank != job.root:
            result[...] = 0
        else:
            result[...] = whole[rank] if job.collective == "reduce_scatter" else whole
