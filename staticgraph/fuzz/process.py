"""The driver of a worker's process: started when needed, asked, and replaced when it dies."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from staticgraph.fuzz.coverage import Coverage

LONGEST_START = 300.0
TAIL = 4000  # characters of what a process wrote before it died


@dataclass(slots=True)
class Limits:
    """What a worker may use.

    Attributes:
        seconds: for one program.
        bytes: of address space; 0 for no limit.
        recycle: the resident bytes at which a worker is replaced before the next program.
        idle: whether workers run only when nothing else wants to.
    """

    seconds: float
    bytes: int = 0
    recycle: int = 2_000_000_000
    idle: bool = False


@dataclass(slots=True)
class Memory:
    """What the processes of one worker use: how many there were, and their growth."""

    processes: int = 0
    programs: int = 0
    grown: int = 0
    peak: int = 0


@dataclass(slots=True)
class Worker:
    """One worker; it has at most one process at a time. `reached`: by the last program."""

    module: str
    limits: Limits
    folder: Path
    memory: Memory = field(default_factory=Memory)
    reached: Coverage = field(default_factory=dict)
    _child: subprocess.Popen[bytes] | None = None
    _resident: int = 0

    @property
    def _log(self) -> Path:
        return self.folder / "log.txt"

    def ask(self, order: Mapping[str, object]) -> str | None:
        """What is wrong with a program: the worker's answer, or how its process ended."""
        self.reached = {}
        if self._child is None:
            self._start()
        if not self._send(order):
            return self._died()
        answer = self._receive(self.limits.seconds)
        if answer is None:
            return self._died()
        self._note(answer["memory"])
        self.reached = answer["reached"]
        if answer["memory"] > self.limits.recycle:
            self.close()
        failure: str | None = answer["failure"]
        return failure

    def kill(self) -> None:
        """End the process and whatever it started, whichever thread waits for it."""
        child = self._child
        if child is not None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    def close(self) -> None:
        """The same, when no thread waits for it."""
        self.kill()
        child, self._child = self._child, None
        if child is None:
            return
        child.wait()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        child.stdout.close()

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        limits = [str(self.limits.seconds), str(self.limits.bytes), str(int(self.limits.idle))]
        with self._log.open("wb") as log:
            # in a session of its own, ctrl-C reaches the driver only
            self._child = subprocess.Popen(
                [sys.executable, "-m", "staticgraph.fuzz.server", self.module, *limits],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0,
                env=os.environ | {"STATICGRAPH_CACHE_DIR": str(self.folder / "kernels")},
                start_new_session=True,
            )  # fmt: skip
        self.memory.processes += 1
        self._resident = 0
        if self._receive(LONGEST_START) is None:
            raise RuntimeError(f"a worker does not start: {self._died()}")

    def _send(self, order: Mapping[str, object]) -> bool:
        assert self._child is not None
        assert self._child.stdin is not None
        rest = memoryview(json.dumps(order).encode() + b"\n")
        try:
            while rest:
                rest = rest[self._child.stdin.write(rest) :]
        except OSError:
            return False
        return True

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        """The next answer; None if there is none because the process has died or hangs."""
        assert self._child is not None
        assert self._child.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self._child.stdout], [], [], seconds)[0]:
                return None
            more = self._child.stdout.read(1 << 16)
            if not more:
                return None
            line += more
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self) -> str:
        child = self._child
        assert child is not None
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.1)
        status = child.poll()
        said = self._log.read_text(errors="replace")[-TAIL:]
        self.close()
        if status is None:
            return f"hang: no answer within {self.limits.seconds:g} s\n{said}"
        if status < 0:
            return f"crash: the process was ended by {signal.Signals(-status).name}\n{said}"
        return f"crash: the process ended with status {status}\n{said}"

    def _note(self, now: int) -> None:
        self.memory.programs += 1
        self.memory.peak = max(self.memory.peak, now)
        if self._resident:
            self.memory.grown += now - self._resident
        self._resident = now
