"""The machine's limits, and the shortest time that they allow.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.record import frozen

PROBE = Path(__file__).resolve().parent / "probe.py"
BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""The environment variables that tell a BLAS how many threads to use."""


@frozen
class Limits:
    """What the machine can do with a number of threads.

    Attributes:
        threads: how many.
        bandwidth: by bytes of the arrays, the bytes per second of the fastest of reading (a dot
            product), copying and adding.
        flops: by dtype, the operations per second of a large matrix product.
        call: seconds of one call of a native function: a NumPy ufunc on scalar arrays.
    """

    threads: int
    bandwidth: Mapping[int, float]
    flops: Mapping[str, float]
    call: float


@frozen
class Bound:
    """The shortest time, and what sets it: "memory", "arithmetic" or "call"."""

    seconds: float
    by: str


def measure_limits(threads: int, seconds: float) -> Limits:
    """Measure the limits with a number of threads, each quantity for so many seconds.

    Raises:
        StaticGraphError: the process that measures has failed.
    """
    done = subprocess.run(
        [sys.executable, str(PROBE), str(threads), str(seconds)],
        capture_output=True, text=True, check=False,
        env=os.environ | dict.fromkeys(BLAS_THREADS, str(threads)) | {"PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise StaticGraphError(f"the machine's limits: {said[-1] if said else 'failed'}")
    found = json.loads(done.stdout)
    bandwidth = {int(size): rate for size, rate in found["bandwidth"].items()}
    return Limits(threads, bandwidth, found["flops"], found["call"])


def bound(limits: Limits, moved: int, flops: int, dtype: str) -> Bound:
    """The shortest time in which so many bytes are moved and operations done, in one call."""
    return bound_of(limits, moved, {dtype: flops})


def bound_of(limits: Limits, moved: int, flops: Mapping[str, int]) -> Bound:
    """The same with operations in several dtypes."""
    times = {
        "memory": moved / bandwidth_at(limits, moved),
        "arithmetic": sum(count / limits.flops[dtype] for dtype, count in flops.items()),
        "call": limits.call,
    }
    by = max(times, key=lambda name: times[name])
    return Bound(times[by], by)


def bandwidth_at(limits: Limits, size: int) -> float:
    """Bytes per second over arrays of this size: interpolated between the sizes measured."""
    sizes = sorted(limits.bandwidth)
    if size <= sizes[0]:
        return limits.bandwidth[sizes[0]]
    for low, high in pairwise(sizes):
        if size <= high:
            share = math.log(size / low) / math.log(high / low)
            return (1 - share) * limits.bandwidth[low] + share * limits.bandwidth[high]
    return limits.bandwidth[sizes[-1]]


def strongest(found: Sequence[Limits]) -> Limits | None:
    """The best of each quantity over the numbers of threads: what nothing can be faster than."""
    if not found:
        return None
    most = max(found, key=lambda limits: limits.threads)
    return Limits(
        threads=most.threads,
        bandwidth={size: max(one.bandwidth[size] for one in found) for size in most.bandwidth},
        flops={dtype: max(one.flops[dtype] for one in found) for dtype in most.flops},
        call=min(one.call for one in found),
    )
