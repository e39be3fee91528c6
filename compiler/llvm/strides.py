"""Which units read or write along a stride that is no constant."""

from __future__ import annotations

from staticgraph.compiler.ir.records import Binary, Const, Expr, For, Function, Load, Name
from staticgraph.compiler.ir.walk import expressions, operands, parts, statements


def strides(unit: Function) -> bool:
    """Whether an innermost loop multiplies its index by what is no constant.

    As written that is a multiplication per element: a transposed matrix was read 1.3 times as
    slowly.
    """
    for loop in statements(unit.body):
        if isinstance(loop, For) and not any(isinstance(one, For) for one in statements(loop.body)):
            index = Name(loop.variable)
            found = (part for one in statements(loop.body) for part in expressions(one))
            if any(_is_stride(part, index) for one in found for part in parts(one)):
                return True
    return False


def _is_stride(one: Expr, index: Name) -> bool:
    """Whether an expression is the product of what depends on an index, and of no constant."""
    if not isinstance(one, Binary) or one.sign != "*":
        return False
    return not isinstance(one.left, Const) and not isinstance(one.right, Const) and _has(one, index)


def _has(one: Expr, index: Name) -> bool:
    """Whether an index is in an expression, other than to read an element."""
    if isinstance(one, Load):
        return False
    return one == index or any(_has(part, index) for part in operands(one))
