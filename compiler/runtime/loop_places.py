"""Where the values of a program of loops are: `compiler.runtime.loop_traces`."""

from __future__ import annotations

from collections.abc import Sequence


class Places:
    """Where values are: a scratch array is used again when its value is read no more.

    Attributes:
        found: by the slot of the trace that of the program.
        scratch: how many scratch arrays there are.
    """

    def __init__(
        self,
        steps: Sequence[tuple[int, ...]],
        inputs: int,
        results: Sequence[int],
        constants: Sequence[int],
    ) -> None:
        self.found = {i: i for i in range(inputs)}
        self.found |= {slot: inputs + i for i, slot in enumerate(results)}
        self.between: list[int] = []
        last = {slot: i for i, slots in enumerate(steps) for slot in slots}
        fixed = {*self.found, *constants}
        free: list[int] = []
        self.scratch = 0
        base = inputs + len(results)
        for i, slots in enumerate(steps):
            made = slots[-1]
            if made not in fixed:
                self.between.append(made)
                if not free:
                    free.append(base + self.scratch)
                    self.scratch += 1
                self.found[made] = free.pop()
            for slot in set(slots):
                if slot not in fixed and last[slot] == i:
                    free.append(self.found[slot])
        base += self.scratch
        self.found |= {slot: base + i for i, slot in enumerate(constants)}
