"""The resident memory of a process in time, read from outside."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

INTERVAL = 0.002
POINTS = 200
"""How many samples are kept: the largest of each stretch of time."""
PAGE_FIELD = 1  # of /proc/PID/statm: resident pages


class Resident:
    """Samples the memory of a process while its block runs; empty where the system has no /proc.

    Attributes:
        samples: seconds since the beginning, and bytes.
    """

    def __init__(self, pid: int) -> None:
        self.samples: list[tuple[float, int]] = []
        self._statm = Path(f"/proc/{pid}/statm")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Resident:
        self._start = time.perf_counter()
        self._read()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._read()

    def _sample(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._read()

    def _read(self) -> None:
        import resource

        try:
            pages = int(self._statm.read_text().split()[PAGE_FIELD])
        except (OSError, IndexError):
            return
        self.samples.append((time.perf_counter() - self._start, pages * resource.getpagesize()))

    def growth(self) -> list[tuple[float, int]]:
        """The samples as growth since the first, thinned to `POINTS`."""
        if not self.samples:
            return []
        first = self.samples[0][1]
        width = -(-len(self.samples) // POINTS)
        chunks = (self.samples[i : i + width] for i in range(0, len(self.samples), width))
        return [max(((t, size - first) for t, size in one), key=lambda x: x[1]) for one in chunks]
