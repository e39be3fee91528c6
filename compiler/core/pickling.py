"""What the parts of one pickle have in common.

Unknown sizes, placeholders and expressions are told apart by numbers that only this process knows.
What is unpickled gets new ones, the same for all that came out of the same pickle: each refers to
`STREAM`, which pickle writes once and makes anew each time that it reads.
"""

from __future__ import annotations

from typing import Any


class Stream:
    """What was made so far while something is unpickled, by the number that it had."""

    __slots__ = ("expressions", "unknowns")

    def __init__(self) -> None:
        self.expressions: dict[int, Any] = {}
        self.unknowns: dict[int, Any] = {}

    def __reduce__(self) -> Any:
        return Stream, ()


STREAM = Stream()
