"""What a run has done so far, in a directory, so that the next run goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.fuzz.coverage import Coverage
from staticgraph.fuzz.failures import Failure, load_failure

FILE = "state.json"


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as half-open ranges, in order."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number:
            found[-1][1] += 1
        else:
            found.append([number, number + 1])
    return found


@dataclass(slots=True)
class State:
    """The seeds that are done, what they reached, and the failures, `seeds` per failure."""

    directory: Path
    campaign: str
    mode: str
    done: set[int] = field(default_factory=set)
    failures: dict[str, Failure] = field(default_factory=dict)
    seeds: dict[str, list[int]] = field(default_factory=dict)
    reached: Coverage = field(default_factory=dict)

    def left(self, seeds: range) -> list[int]:
        """The seeds that are not done."""
        return [seed for seed in seeds if seed not in self.done]

    def add(self, failure: Failure, script: str) -> None:
        """Keep a failure with its script; one that is there already only gets another seed."""
        key = failure.key
        self.seeds.setdefault(key, []).append(failure.seed)
        if key not in self.failures:
            self.failures[key] = failure
            failure.save(self.directory / f"{key}.json")
            (self.directory / f"{key}.py").write_text(script)

    def count(self, key: str, seed: int) -> None:
        """One more seed that failed as another did."""
        self.seeds[key].append(seed)

    def save(self) -> None:
        """Write everything; whole or not at all."""
        self.directory.mkdir(parents=True, exist_ok=True)
        record = {
            "campaign": self.campaign, "mode": self.mode, "done": ranges(self.done),
            "failures": self.seeds, "reached": self.reached,
        }  # fmt: skip
        written = self.directory / (FILE + ".new")
        written.write_text(json.dumps(record) + "\n")
        written.replace(self.directory / FILE)


def open_state(directory: Path, campaign: str, mode: str) -> State:
    """The state in a directory, or a new one; OptionError if it is that of another campaign."""
    state = State(directory, campaign, mode)
    path = directory / FILE
    if not path.exists():
        return state
    record: dict[str, Any] = json.loads(path.read_text())
    found = record["campaign"], record["mode"]
    if found != (campaign, mode):
        raise OptionError(
            f"fuzz: {directory} is of the campaign {' '.join(found)}, not {campaign} {mode}"
        )
    state.done = {seed for first, end in record["done"] for seed in range(first, end)}
    state.seeds = record["failures"]
    state.reached = record.get("reached", {})
    state.failures = {key: load_failure(directory / f"{key}.json") for key in state.seeds}
    return state
