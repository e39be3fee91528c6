"""Progress of a run: a bar where there is a terminal and rich, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

EVERY = 10.0  # seconds between plain lines


class Progress(Protocol):
    """What a run tells while it goes on."""

    def show(self, done: int, failed: int) -> None:
        """How many programs are done, and how many of them failed."""

    def say(self, line: str) -> None:
        """Print a line above."""

    def close(self) -> None:
        """End."""


class Lines:
    """Plain lines, one every few seconds."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._start = self._last = time.monotonic()

    def show(self, done: int, failed: int) -> None:
        """Print a line if the last is old enough."""
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            rate = done / (now - self._start)
            self.say(f"{done} of {self.total}, {failed} failed, {rate:.1f} per second")

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left open."""


class Bar:
    """A bar of rich."""

    def __init__(self, total: int, rich: Any) -> None:
        self._progress = rich.Progress(
            rich.BarColumn(), rich.MofNCompleteColumn(), rich.TextColumn("{task.description}"),
            rich.TimeElapsedColumn(), rich.TimeRemainingColumn(),
            console=rich.Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task("", total=total)
        self._progress.start()

    def show(self, done: int, failed: int) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=done, description=f"{failed} failed")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


def progress(total: int) -> Progress:
    """The progress of so many programs."""
    if sys.stderr.isatty():
        try:
            import rich.progress
        except ImportError:
            return Lines(total)
        return Bar(total, rich.progress)
    return Lines(total)
