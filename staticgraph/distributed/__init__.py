"""Data-parallel programs on several processes or machines: ranks, over MPI.

Every rank runs the same script on its share of the data. Alone a script is one rank, and needs no
MPI; `mpiexec -n 4 python script.py` makes it four, with `pip install 'staticgraph[mpi]'`.

    import staticgraph.distributed as dist

    updates = opt.minimize(dist.mean(loss))
    train = sg.compile([x, y], loss, updates=updates)
    for xb, yb in dist.batches(images, labels, size=256):
        train(xb, yb)
"""

from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core.errors import DistributedError as DistributedError
from staticgraph.compiler.ops.programs.collectives import (
    all_gather as all_gather,
    all_reduce as all_reduce,
    broadcast as broadcast,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
)
from staticgraph.compiler.reference.ranks import Transport as Transport, current as _current
from staticgraph.distributed.checkpoints import (
    check_same as check_same,
    save as save,
    synchronise as synchronise,
)
from staticgraph.distributed.combining import (
    average_gradients as average_gradients,
    max as max,
    mean as mean,
    min as min,
    sum as sum,
)
from staticgraph.distributed.launch import start as _start
from staticgraph.distributed.running import (
    barrier as barrier,
    set_bucket_bytes as set_bucket_bytes,
    set_timeout as set_timeout,
    simulate as simulate,
)
from staticgraph.distributed.shares import Share as Share, batches as batches, share as share

if TYPE_CHECKING:
    rank: int
    size: int

if not TYPE_CHECKING:
    __all__ = [
        "DistributedError", "Share", "Transport", "all_gather", "all_reduce", "average_gradients",
        "barrier", "batches", "broadcast", "check_same", "max", "mean", "min", "reduce",
        "reduce_scatter", "save", "set_bucket_bytes", "set_timeout", "share", "simulate",
        "sum", "synchronise",
    ]  # fmt: skip

_start()


def __getattr__(name: str) -> Any:
    """`rank`, the number of this rank from 0, and `size`, how many there are."""
    if name in ("rank", "size"):
        return getattr(_current(), name)
    raise AttributeError(f"module 'staticgraph.distributed' has no attribute {name!r}")
