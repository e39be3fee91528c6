"""What the parts of one pickle have in common.

Unknown sizes, placeholders and expressions are told apart by numbers that only this process knows.
What is unpickled gets new ones, the same for all that came out of the same pickle: each refers to
`STREAM`, which pickle writes once and makes anew each time that it reads.
"""

from __future__ import annotations

import sys
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


def name_in_module(decorated: object) -> str | None:
    """The name by which pickle finds what decorates a function of a module, or None.

    The module has it in the place of the function.
    """
    name = str(getattr(decorated, "__qualname__", ""))
    found: Any = sys.modules.get(str(getattr(decorated, "__module__", None)))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is decorated else None
