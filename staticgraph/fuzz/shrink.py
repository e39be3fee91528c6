"""Making a failing program small: delta debugging (Zeller and Hildebrandt 2002) over its steps.

Then the campaign's own simplifications, until none of them fails as the program did.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from staticgraph.fuzz.campaign import Campaign, Program
from staticgraph.fuzz.failures import kind_of

CHECKS = 600
SECONDS = 300.0


@dataclass(slots=True)
class Shrinker:
    """Makes one program small, with at most so many checks and about so many seconds.

    Attributes:
        ask: what is wrong with a program.
        text: what is wrong with the smallest.
    """

    campaign: Campaign
    ask: Callable[[Program], str | None]
    text: str
    checks: int = CHECKS
    seconds: float = SECONDS
    _seen: set[str] = field(default_factory=set)
    _end: float = 0.0

    def shrink(self, program: Program) -> Program:
        """The smallest program that was found to fail in the same way."""
        self._end = time.monotonic() + self.seconds
        program = self._fewer_steps(program)
        while (simpler := self._simpler(program)) is not None:
            program = simpler
        return program

    def _fewer_steps(self, program: Program) -> Program:
        size = max(1, len(program["steps"]) // 2)
        while size:
            found = self._first(self._without(program, size))
            if found is not None:
                program = found
                size = min(size, max(1, len(program["steps"]) // 2))
            else:
                size //= 2
        return program

    def _without(self, program: Program, size: int) -> Iterator[Program]:
        """The program without each run of so many steps, the last first."""
        steps = program["steps"]
        for end in range(len(steps), 0, -size):
            mended = self.campaign.mend(
                {**program, "steps": steps[: max(0, end - size)] + steps[end:]}
            )
            if mended is not None and len(mended["steps"]) < len(steps):
                yield mended

    def _simpler(self, program: Program) -> Program | None:
        found = self._first(iter(self.campaign.simplify(program)))
        return None if found is None else self._fewer_steps(found)

    def _first(self, programs: Iterator[Program]) -> Program | None:
        for program in programs:
            if self.checks <= 0 or time.monotonic() > self._end:
                return None
            if self._fails(program):
                return program
        return None

    def _fails(self, program: Program) -> bool:
        text = json.dumps(program, sort_keys=True)
        if text in self._seen:
            return False
        self._seen.add(text)
        self.checks -= 1
        wrong = self.ask(program)
        if wrong is None or kind_of(wrong) != kind_of(self.text):
            return False
        self.text = wrong
        return True
