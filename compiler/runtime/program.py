"""Programs: the words that `compiler.emit.run` reads.

CALL, how many words the instruction has, the address of a step, its operands
END
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.emit.program import Step

CALL, END = 0, -1
HEADER = 3  # words of a call before its operands


def program_words(steps: Sequence[Step], addresses: Sequence[int]) -> list[int]:
    """The program that runs steps; `addresses` are those of the units' steps."""
    words = []
    for step in steps:
        words += [CALL, HEADER + 2 * len(step.operands), addresses[step.unit]]
        for operand in step.operands:
            words += (operand.entry, operand.addend)
    return [*words, END]
