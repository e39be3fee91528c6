"""Failures: what is kept of a program that failed, and which failures are the same."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from staticgraph.compiler.core.errors import FormatError
from staticgraph.fuzz.campaign import Program

_OWN = re.compile(r"0x[0-9a-f]+|'[^']*'|\"[^\"]*\"|[-+]?\d[\d.]*(e[-+]?\d+)?")


def kind_of(text: str) -> str:
    """The first line of a failure without what is the program's own: numbers and quoted names."""
    return _OWN.sub("#", text.split("\n", 1)[0])


@dataclass(frozen=True, slots=True)
class Failure:
    """A program that failed.

    Attributes:
        campaign: its name.
        seed: of the program before it was made smaller.
        text: what is wrong with it.
        program: the smallest that was found to fail in the same way.
    """

    campaign: str
    seed: int
    text: str
    program: Program

    @property
    def kind(self) -> str:
        """What it has in common with failures of other programs."""
        return kind_of(self.text)

    @property
    def key(self) -> str:
        """Equal for failures of the same kind with the same program: a name for a file."""
        shape = json.dumps([self.kind, self.program], sort_keys=True)
        return hashlib.sha256(shape.encode()).hexdigest()[:12]

    def save(self, path: Path) -> None:
        """Write a file that `load_failure` reads and `--replay` runs."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def load_failure(path: Path) -> Failure:
    """The failure in a file; FormatError if there is none."""
    try:
        found = json.loads(path.read_text())
        return Failure(found["campaign"], found["seed"], found["text"], found["program"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: no failure of a campaign: {error}") from error
