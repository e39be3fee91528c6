"""`numerics="exact"`: what a kernel computes has the bits that op-by-op evaluation has.

Nothing is rewritten. Ops that round nothing are compiled as ever, and so is the arithmetic that
IEEE 754 rounds in one way: + - * / and square roots, element by element; LLVM contracts and
reorders none of it. Whatever else rounds (sums, products of matrices, exp) becomes a host step: a
call of the function that the op is evaluated with.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from staticgraph.compiler.core.lowering import (
    Host,
    IndexMap,
    Iota,
    Item,
    Nested,
    Pointwise,
    SizeValue,
)
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.graph.expression import Expression, construct

ROUNDED_ONCE = frozenset({"abs", "sqrt", "trunc"})
"""The functions of scalars that IEEE 754 rounds in one way, beside the operators."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_HOLE = re.compile(r"\{\w\}")


def evaluated_by_numpy(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """A rewrite: the step that calls the op's function, where a loop could round otherwise."""
    if op.exact or not operands or isinstance(op.lowering, Host | Nested | Item | IndexMap):
        return None
    if isinstance(op.lowering, Iota | SizeValue) or is_rounded_once(op):
        return None
    return construct(_as_step(op), operands, attrs)


def is_rounded_once(op: Op) -> bool:
    """Whether a loop computes an op by operations that are rounded in one way each."""
    if not isinstance(op.lowering, Pointwise):
        return False
    if op.lowering.of_dtype is not None:
        return False
    words = _WORD.findall(_HOLE.sub(" ", op.lowering.code))
    return ROUNDED_ONCE.issuperset(words)


@cache
def _as_step(op: Op) -> Op:
    """The op with a host step for its lowering: found by its name, as any op, when it runs."""
    return replace(op, lowering=Host(), expand=None, elementwise=False, cost="expensive")
