"""A contender's process: started, asked in lines of JSON, ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

SERVER = Path(__file__).resolve().parent / "server.py"
ALWAYS = {
    "PYTHONSAFEPATH": "1",  # the server's folder has files that are named like frameworks
    "PYTHONDONTWRITEBYTECODE": "",  # pip leaves bytecode of the peers; so ours is kept as well
}
LONGEST_START = 900.0  # seconds; the slowest compiler that was seen takes 60
LONGEST_ANSWER = 300.0
PATIENCE = 2.0  # seconds that a process has to end by itself


class ContenderError(Exception):
    """A contender could not do what it was asked; the message says why."""


class Process:
    """A running contender.

    Attributes:
        seconds: from the start of the process to its first result.
        version: of its framework.
        report: what a script says of it; None without a script.
        phases: the seconds of each phase on the way to the first result.
    """

    def __init__(
        self,
        interpreter: str,
        task: Mapping[str, object],
        variables: Mapping[str, str],
        log: Path,
        longest: float | None = None,
    ) -> None:
        self.log = log
        self._lines: queue.SimpleQueue[tuple[float, str]] = queue.SimpleQueue()
        environment = os.environ | ALWAYS | dict(variables)
        start = time.perf_counter()
        try:
            with log.open("w") as errors:
                # in a session of its own, ctrl-C reaches this process only
                self._child = subprocess.Popen(
                    [interpreter, str(SERVER), json.dumps(task)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                    env=environment, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise ContenderError(f"{interpreter}: {error.strerror}") from None
        threading.Thread(target=self._read, daemon=True).start()
        try:
            longest = LONGEST_START if longest is None else longest
            ready, stamp = self._receive(longest)
            self.seconds = stamp - start
            self.version: str = ready["ready"]
            self.report: Any = ready.get("report")
            self.phases: dict[str, float] = self._receive(longest)[0]["phases"]
        except BaseException:
            self.close()
            raise

    def ask(self, **order: Any) -> dict[str, Any]:
        """The answer to an order; ContenderError if there is none."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(order) + "\n")
            self._child.stdin.flush()
        except OSError:
            raise ContenderError(self._last_words()) from None
        return self._receive(LONGEST_ANSWER + order.get("seconds", 0))[0]

    @property
    def pid(self) -> int:
        """Its number."""
        return self._child.pid

    def close(self) -> None:
        """End the process and whatever it started."""
        assert self._child.stdin is not None
        try:
            with suppress(OSError, subprocess.TimeoutExpired):
                self._child.stdin.close()
                self._child.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def _read(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            for line in lines:
                self._lines.put((time.perf_counter(), line))
        self._lines.put((time.perf_counter(), ""))

    def _receive(self, longest: float) -> tuple[dict[str, Any], float]:
        try:
            stamp, line = self._lines.get(timeout=longest)
        except queue.Empty:
            raise ContenderError(f"no answer within {longest:g} s") from None
        if not line:
            raise ContenderError(self._last_words())
        answer = json.loads(line)
        if "failure" in answer:
            raise ContenderError(answer["failure"])
        return answer, stamp

    def _last_words(self) -> str:
        status = self._child.wait()
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        said = [line for line in lines if line]
        return f"the process ended with status {status}" + (f": {said[-1]}" if said else "")
