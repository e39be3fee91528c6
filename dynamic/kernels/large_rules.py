"""Gradient rules of frequent ops on blocks of large arrays, written where they belong.

They compute what the rules of the ops say, but a rule leaves its cotangent in an array of its own,
from which it would have to be copied. Each is `(g, o, operands, i, target)` for the operand `i`,
whose shape is that of the cotangent `g`, as the shape of `target` is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Op

Rule = Callable[[Any, Any, Sequence[Any], int, Any], Any]


def _divide(g: Any, o: Any, operands: Sequence[Any], i: int, target: Any) -> None:
    a, b = operands
    if i == 0:
        np.divide(g, b, target)
        return
    np.divide(a, b, target)
    np.divide(np.multiply(target, g, target), b, target)
    np.negative(target, target)


def _log1p(g: Any, o: Any, operands: Sequence[Any], i: int, target: Any) -> None:
    np.divide(g, np.add(operands[0], 1, target), target)


def _square(g: Any, o: Any, operands: Sequence[Any], i: int, target: Any) -> None:
    np.multiply(np.add(operands[0], operands[0], target), g, target)


def _sqrt(g: Any, o: Any, operands: Sequence[Any], i: int, target: Any) -> None:
    np.divide(g, np.add(o, o, target), target)


def _sin(g: Any, o: Any, operands: Sequence[Any], i: int, target: Any) -> None:
    np.multiply(np.cos(operands[0], target), g, target)


def _cos(g: Any, o: Any, operands: Sequence[Any], i: int, target: Any) -> None:
    np.multiply(np.sin(operands[0], target), g, target)
    np.negative(target, target)


RULES: dict[Op, Rule] = {
    ops.multiply: lambda g, o, operands, i, target: np.multiply(g, operands[1 - i], target),
    ops.divide: _divide,
    ops.negative: lambda g, o, operands, i, target: np.negative(g, target),
    ops.exp: lambda g, o, operands, i, target: np.multiply(g, o, target),
    ops.log: lambda g, o, operands, i, target: np.divide(g, operands[0], target),
    ops.log1p: _log1p,
    ops.square: _square,
    ops.sqrt: _sqrt,
    ops.sin: _sin,
    ops.cos: _cos,
}
