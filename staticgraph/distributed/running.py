"""What ranks do beside combining arrays: wait for each other, and be threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from staticgraph.compiler.core.errors import DistributedError, OptionError
from staticgraph.compiler.reference.ranks import Ranks, current, within
from staticgraph.distributed.threads import Meeting

Result = TypeVar("Result")


def barrier() -> None:
    """Wait until all ranks are here.

    Raises:
        DistributedError: another rank is somewhere else, or has not come in time.

    Example:
        >>> sg.distributed.barrier()
    """
    current().meet("a barrier")


def set_timeout(seconds: float) -> None:
    """For how long a rank waits for the others before that is an error: 600 seconds if not set.

    Raises:
        OptionError: it is no positive number.

    Example:
        >>> sg.distributed.set_timeout(60)
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise OptionError(f"set_timeout: a positive number of seconds, not {seconds!r}")
    current().timeout = float(seconds)


def set_bucket_bytes(count: int) -> None:
    """How large a buffer of gradients grows before it is sent, while the reverse pass goes on.

    It holds for graphs that are defined afterwards. With one buffer for all gradients, there is
    less latency and nothing overlaps.

    Args:
        count: bytes; 16 MiB if not set. The last gradient in a buffer may exceed it, and a gradient
            of as many bytes is sent as it is.

    Raises:
        OptionError: it is no positive int.

    Example:
        >>> sg.distributed.set_bucket_bytes(1 << 20)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise OptionError(f"set_bucket_bytes: a positive number of bytes, not {count!r}")
    current().bucket_bytes = count


def simulate(function: Callable[[], Result], size: int, timeout: float = 60.0) -> list[Result]:
    """Run a function as so many ranks, which are threads of this process: to test a program.

    Args:
        function: what each rank does; `rank` and `size` are those of its thread.
        size: how many ranks.
        timeout: for how many seconds a rank waits for the others.

    Returns:
        What the function returned on each rank.

    Raises:
        OptionError: the size is no positive int.
        What the function raised on the first rank that ended with an error.

    Example:
        >>> dist = sg.distributed
        >>> dist.simulate(lambda: float(dist.sum(np.array(dist.rank + 1.0))), size=3)
        [6.0, 6.0, 6.0]
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise OptionError(f"simulate: the number of ranks is a positive int, not {size!r}")
    meeting = Meeting(size)
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        ranks = Ranks(meeting.transport(rank), timeout)
        with within(ranks):
            try:
                results[rank] = function()
                said = ranks.close()
                if said:
                    raise DistributedError(said)
            except BaseException as error:
                errors.append(error)
                meeting.leave(rank, error)

    threads = [
        threading.Thread(target=run, args=(rank,), name=f"rank {rank}") for rank in range(size)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if errors:
        raise errors[0]
    return [results[rank] for rank in range(size)]
