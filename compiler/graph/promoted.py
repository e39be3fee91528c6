"""What promotion looks at: Python numbers are weak, and float32 that becomes float64 is noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.notes import Promoted, is_of_integers, note
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.operators import Operators

_WEAK = (bool, int, float, complex, Dim)


def is_weak(operand: object) -> bool:
    """Whether an operand is a Python number or a size, or stands for one."""
    if isinstance(operand, Operators):
        return bool(getattr(operand, "weak", False))
    return isinstance(operand, _WEAK)


def note_promoted(op: Op, operands: Sequence[Value], converted: Sequence[Value]) -> None:
    """Note the float32 expressions that become float64 because of a constant, or of integers."""
    given = [one for one in operands if isinstance(one, Operators)]
    if all(one.dtype != np.float32 for one in given):
        return
    found = [one for one in operands if _is_wide(one)]
    if not all(one.op is leaves.constant or is_of_integers(one) for one in found):
        return  # somebody computes with float64
    for before, after in zip(operands, converted, strict=True):
        if isinstance(before, Operators) and before.dtype == np.float32 and after is not before:
            others = [one for one in operands if one is not before]
            wide = [one for one in others if getattr(one, "dtype", None) == np.float64]
            for other in [*wide, *(one for one in others if not is_weak(one))][:1]:
                value, culprit = _described(before), _described(other)
                is_constant = (
                    bool(wide) and getattr(other, "op", leaves.constant) is leaves.constant
                )
                note(after, Promoted(op.name, value, culprit, is_constant))


def _is_wide(operand: Any) -> bool:
    return isinstance(operand, Operators) and operand.dtype == np.float64


def _described(operand: Any) -> str:
    """An operand as messages name it: its type, with its name or its value."""
    if isinstance(operand, Operators):
        one: Any = operand
        if one.op is leaves.constant:
            return _described(one.attrs["value"].array)
        return f"{one.op.name}{f' {one.name!r}' if one.name else ''} {one.type}"
    array = np.asarray(operand)
    value = f" {array.item()!r}" if array.size == 1 else ""
    return f"{array.dtype}{list(array.shape)}{value}"
