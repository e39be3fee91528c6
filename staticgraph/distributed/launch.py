"""How a process was started: alone, or as one of several ranks."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping

from staticgraph.compiler.core.errors import DistributedError
from staticgraph.compiler.core.settings import RANK
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.ranks import ALONE, Job, Ranks, Request, belong_to, current

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""What says how many processes were started: by MPICH and Intel MPI, Open MPI, MVAPICH, Slurm."""


def ranks_started(environment: Mapping[str, str]) -> int:
    """As one of how many this process was started; 1 for alone."""
    given = [environment.get(name, "") for name in SIZES]
    return max([int(text) for text in given if text.isdigit()], default=1)


class Child:
    """The transport of a process that a rank has started: it has its number, and reaches nobody."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size, self.is_crowded = rank, size, False

    def start(self, job: Job, given: Array, result: Array) -> Request:
        """DistributedError: only the rank itself is one."""
        raise DistributedError(
            f"{job.collective}: this process was started by rank {self.rank} and is no rank: only "
            f"rank {self.rank} itself combines arrays"
        )


def start() -> None:
    """Join the other ranks, if there are any and it has not been done.

    Raises:
        MissingExtraError: mpi4py, or an MPI library, is not installed.
        DistributedError: that library does not see the other processes.
    """
    wanted = ranks_started(os.environ)
    if wanted == 1 or current() is not ALONE:
        return
    parent = (RANK.given or "").split()
    if len(parent) == 3 and parent[0] != str(os.getpid()):
        belong_to(Ranks(Child(int(parent[1]), int(parent[2]))))
        return
    from staticgraph.distributed.mpi import Mpi, end_together, leave, mpi_of

    transport = Mpi(mpi_of(wanted))
    ranks = Ranks(transport)
    os.environ[RANK.name] = f"{os.getpid()} {ranks.rank} {ranks.size}"
    belong_to(ranks)
    end_together(ranks, transport)
    atexit.register(leave, ranks, transport)
