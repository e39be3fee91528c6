"""PyTorch in a process of its own, where an environment has it.

STATICGRAPH_FUZZ_TORCH names an interpreter that has PyTorch 2.13; else it is that of the
environment which `staticgraph peers install torch` makes. An empty value: none.
"""

from __future__ import annotations

import json
import subprocess
import weakref
from functools import cache
from pathlib import Path
from typing import Any

from staticgraph.compare import peers
from staticgraph.compiler.core.settings import FUZZ_TORCH
from staticgraph.fuzz.campaign import Program

MACHINE = Path(__file__).with_name("machine.py")


def interpreter() -> str | None:
    """The Python that has PyTorch; None if there is none."""
    given = FUZZ_TORCH.given
    if given is not None:
        return given or None
    found = peers.interpreter("torch")
    return None if found is None else str(found)


class Reference:
    """The process, started anew when a program has ended it."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._child: subprocess.Popen[str] | None = None

    def ask(self, program: Program) -> dict[str, Any] | None:
        """What PyTorch makes of a program; None if its process has died of it."""
        if self._child is None:
            self._child = subprocess.Popen(
                [self._python, str(MACHINE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            self._end = weakref.finalize(self, _end, self._child)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(program) + "\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process, which ends too when nobody can ask it any more."""
        if self._child is not None:
            self._child = None
            self._end()


def _end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


@cache
def process(python: str) -> Reference:
    """The process of an interpreter."""
    return Reference(python)


def expected(program: Program) -> dict[str, Any] | None:
    """What is stored beside a program, or what PyTorch says; None if neither is there."""
    stored: dict[str, Any] | None = program.get("expected")
    python = interpreter()
    if stored is not None or python is None:
        return stored
    return process(python).ask(program)
