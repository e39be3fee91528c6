"""MPI as the transport, by mpi4py, which is imported where a script is one of several ranks."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import DistributedError, MissingExtraError
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.ranks import Job, Ranks, Request


def mpi_of(wanted: int) -> Any:
    """The module `mpi4py.MPI`, in a process that was started as one of so many.

    Raises:
        MissingExtraError: it, or an MPI library, is not installed.
        DistributedError: that library does not see the other processes.
    """
    try:
        with fork.importing():
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no library of MPI
        raise MissingExtraError(
            f"this process was started as one of {wanted} ranks, which needs mpi4py and an MPI "
            f"library: pip install 'staticgraph[mpi]' ({error})"
        ) from error
    found = MPI.COMM_WORLD.Get_size()
    if found != wanted:
        library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
        raise DistributedError(
            f"this process was started as one of {wanted} ranks, but mpi4py's library ({library}) "
            f"sees {found}: start it with the mpiexec of that library, or under Slurm with srun "
            "--mpi=pmi2"
        )
    return MPI


class Mpi:
    """The transport of a process that was started by mpiexec or srun."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        # ours alone, so that messages of the user's own do not meet these
        self._world = mpi.COMM_WORLD.Dup()
        self._world.Set_errhandler(mpi.ERRORS_RETURN)
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        here = self._world.Split_type(mpi.COMM_TYPE_SHARED)
        self.is_crowded = here.Get_size() > (os.cpu_count() or 1)
        here.Free()

    def start(self, job: Job, given: Array, result: Array) -> Request:
        """Begin a collective of MPI's that does not block."""
        world = self._world
        try:
            if job.collective == "all_reduce":
                return _Begun(world.Iallreduce(given, result, self._operation(job.kind)))
            if job.collective == "reduce":
                result[...] = 0
                return _Begun(world.Ireduce(given, result, self._mpi.SUM, job.root))
            if job.collective == "reduce_scatter":
                return _Begun(world.Ireduce_scatter_block(given, result, self._mpi.SUM))
            if job.collective == "all_gather":
                return _Begun(world.Iallgather(_bytes(given), _bytes(result)))
            if self.rank == job.root:
                result[...] = given
            return _Begun(world.Ibcast(_bytes(result), job.root))
        except self._mpi.Exception as error:
            raise DistributedError(f"{job.collective}: MPI: {error}") from error

    def _operation(self, kind: str) -> Any:
        if kind in ("sum", "mean"):
            return self._mpi.SUM
        return self._mpi.MAX if kind == "max" else self._mpi.MIN

    def abort(self, code: int) -> None:
        """End all ranks."""
        self._world.Abort(code)


class _Begun:
    """A request of MPI's."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def test(self) -> bool:
        done: bool = self._request.Test()
        return done


def _bytes(array: Array) -> Array:
    """An array of any dtype as bytes, which MPI moves."""
    return array.reshape(-1).view(np.uint8)


def end_together(ranks: Ranks, mpi: Mpi) -> None:
    """Let an error that ends this process end all ranks: they would wait for it."""
    before = sys.excepthook
    process = os.getpid()

    def ended(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if os.getpid() == process:
            _tell(
                f"rank {ranks.rank} of {ranks.size} has ended with {kind.__name__}: all ranks end"
            )
            mpi.abort(1)

    sys.excepthook = ended


def leave(ranks: Ranks, mpi: Mpi) -> None:
    """What a process does before it ends: it sees whether the others have come to their end too."""
    if os.getpid() != ranks.process:
        return
    said = ranks.close()
    if said:
        _tell(f"rank {ranks.rank} of {ranks.size} has ended, and not all is well: {said}")
        mpi.abort(1)


def _tell(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"staticgraph: {text}\n")
    sys.stderr.flush()
