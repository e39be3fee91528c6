"""Measures the machine's limits in a process of its own: `python probe.py THREADS SECONDS`.

The number of threads is in the environment too, for the BLAS. The result is a line of JSON:
`bandwidth` by bytes of the arrays, `flops` by dtype, `call` in seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

SIZES = tuple(2**20 * 4**i for i in range(5))  # 1 MiB to 256 MiB
WIDTH = 1536  # of the matrices
CALLS = 1000


def shortest(run: Callable[[], object], seconds: float) -> float:
    """The least seconds of a call, of at least three."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def bandwidth(size: int, threads: int, seconds: float, pool: ThreadPoolExecutor) -> float:
    """Bytes per second over arrays that take `size` bytes in all: the fastest of three loops.

    Reading is BLAS's dot product of an array with itself. Copying counts what is read and what is
    written, adding two arrays into a third likewise (as in STREAM: McCalpin, "Memory bandwidth and
    machine balance in current high performance computers", 1995).
    """
    one = np.ones(size // 8)
    two = np.ones((2, size // 16))
    three = np.ones((3, size // 24))
    pairs = np.array_split(two, threads, axis=1)
    triples = np.array_split(three, threads, axis=1)

    def in_threads(act: Callable[[Any], object], parts: list[Any]) -> None:
        if threads == 1:
            act(parts[0])
        else:
            list(pool.map(act, parts))

    def copy(part: Any) -> None:
        np.copyto(part[0], part[1])

    def add(part: Any) -> None:
        np.add(part[0], part[1], out=part[2])

    return max(
        one.nbytes / shortest(lambda: np.dot(one, one), seconds),
        two.nbytes / shortest(lambda: in_threads(copy, pairs), seconds),
        three.nbytes / shortest(lambda: in_threads(add, triples), seconds),
    )


def flops(dtype: str, seconds: float) -> float:
    """Operations per second of a product of large matrices."""
    a = np.ones((WIDTH, WIDTH), dtype)
    out = np.empty_like(a)
    return float(2 * WIDTH**3 / shortest(lambda: np.matmul(a, a, out=out), seconds))


def call(seconds: float) -> float:
    """Seconds of a call of a native function on arrays of one element, without a new array."""
    x, out = np.array(1.0), np.array(0.0)
    add = np.add

    def calls() -> None:
        for _ in range(CALLS):
            add(x, x, out)

    return shortest(calls, seconds) / CALLS


def main() -> None:
    """Measure and print."""
    threads, seconds = int(sys.argv[1]), float(sys.argv[2])
    with ThreadPoolExecutor(threads) as pool:
        found = {
            "bandwidth": {size: bandwidth(size, threads, seconds, pool) for size in SIZES},
            "flops": {dtype: flops(dtype, seconds) for dtype in ("float32", "float64")},
            "call": call(seconds),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
