"""What the machine can do, measured in a process of its own: `python probe.py THREADS SECONDS`.

Steps do a known amount of work in native code, so that the shortest time of each is a limit. The
number of threads is in the environment too, for the BLAS. As a script it times every step once
and prints a line of JSON: `bandwidth` by bytes of the arrays, `flops` by dtype, `call` in seconds.
The comparison takes the steps (`contender`) and times them between its own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np

SIZES = tuple(2**14 * 4**i for i in range(8))  # 16 KiB to 256 MiB
WIDTHS = (512, 1024)  # of the matrices
ROW = 8192  # numbers in a dot product: from 10,000 on OpenBLAS uses threads of its own
AT_ONCE = 2**25  # bytes that a step reads at least, so that starting threads takes little of it
CALLS = 1000
DTYPES = ("float32", "float64")


class Arrays:
    """The arrays of one step at a time, and threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)
        self.made = lru_cache(maxsize=1)(self._make)
        self.whole = lru_cache(maxsize=1)(lambda size: np.ones(size // 8))

    def _make(self, rows: int, size: int) -> list[Any]:
        """An array of `rows` rows that takes `size` bytes in all, a part for each thread."""
        return [np.ones((rows, size // 8 // rows // self.threads)) for _ in range(self.threads)]

    def each(self, act: Callable[[Any], object], parts: list[Any]) -> None:
        """Do something with each part, at the same time."""
        if self.threads == 1:
            act(parts[0])
        else:
            list(self.pool.map(act, parts))

    def read(self, size: int) -> None:
        """Dot products of rows with themselves, over all of the memory, again and again."""
        times = max(1, AT_ONCE // size)

        def act(part: Any) -> None:
            row = min(ROW, part.size)
            rows = part.reshape(1, part.size // row, row)
            again = np.broadcast_to(rows, (times, *rows.shape[1:]))
            np.vecdot(again, again)

        self.each(act, self.made(1, size))

    def multiply(self, size: int) -> None:
        """A product with a vector, which reads a matrix once; the BLAS has its own threads."""
        part = self.whole(size)
        row = min(ROW // 8, part.size)
        np.dot(part.reshape(part.size // row, row), part[:row])

    def dot(self, size: int) -> None:
        """One dot product of all with itself."""
        part = self.whole(size)
        np.dot(part, part)

    def copy(self, size: int) -> None:
        """What is read and what is written count, as in STREAM (McCalpin, 1995)."""
        self.each(lambda part: np.copyto(part[0], part[1]), self.made(2, size))

    def add(self, size: int) -> None:
        """Two arrays into a third."""
        self.each(lambda part: np.add(part[0], part[1], out=part[2]), self.made(3, size))


def _multiply(dtype: str, width: int) -> None:
    a, out = _matrices(dtype, width)
    np.matmul(a, a, out=out)


@lru_cache(maxsize=1)
def _matrices(dtype: str, width: int) -> tuple[Any, Any]:
    return np.ones((width, width), dtype), np.empty((width, width), dtype)


def _call() -> None:
    """A native function on arrays of one element, without a new array."""
    x, out, add = np.array(1.0), np.array(0.0), np.add
    for _ in range(CALLS):
        add(x, x, out)


def contender(threads: int) -> tuple[list[list[Any]], dict[str, Callable[[], None]]]:
    """What `server.py` calls: per step its name, kind, key and amount of work; and the steps."""
    arrays = Arrays(threads)
    steps: dict[str, Callable[[], None]] = {}
    work: list[list[Any]] = []

    def declare(kind: str, key: str, amount: float, step: Callable[[], None]) -> None:
        name = f"step {len(work)}"
        work.append([name, kind, key, amount])
        steps[name] = step

    for size in SIZES:
        times = max(1, AT_ONCE // size)
        declare("bandwidth", str(size), size * times, partial(arrays.read, size))
        for step in (arrays.multiply, arrays.dot, arrays.copy, arrays.add):
            declare("bandwidth", str(size), size, partial(step, size))
    for dtype in DTYPES:
        for width in WIDTHS:
            declare("flops", dtype, 2 * width**3, partial(_multiply, dtype, width))
    declare("call", "", CALLS, _call)
    return work, steps


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


def main() -> None:
    """Measure and print."""
    work, steps = contender(int(sys.argv[1]))
    best: dict[str, dict[str, float]] = {"bandwidth": {}, "flops": {}, "call": {}}
    for name, kind, key, amount in work:
        rate = amount / shortest(steps[name], float(sys.argv[2]))
        best[kind][key] = max(rate, best[kind].get(key, 0.0))
    print(json.dumps({**best, "call": 1 / best["call"][""]}))


if __name__ == "__main__":
    main()
