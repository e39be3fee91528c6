"""Expressions as short formulas for people: `log(softmax(x))`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import leaves

DEPTH = 3  # ops in each other that are written out
MOST = 4  # operands that are written out
_UNSAID = ("dtype", "key", "value", "shape")  # attributes that formulas leave out


def written(value: Expression, depth: int = DEPTH) -> str:
    """An expression as a formula; what is deeper is `...`."""
    if value.op is leaves.constant:
        array = value.attrs["value"].array
        return f"{array.item():.6g}" if array.size == 1 else f"constant {value.type}"
    if not value.operands:
        return value.name or value.op.name
    return application(value.op, value.operands, value.attrs, depth)


def application(op: Op, operands: Sequence[Expression], attrs: Attrs, depth: int = DEPTH) -> str:
    """An op applied to operands, as a formula."""
    if depth <= 1:
        return f"{op.name}(...)"
    parts = [written(one, depth - 1) for one in operands[:MOST]]
    parts += ["..."] if len(operands) > MOST else []
    return f"{op.name}({', '.join([*parts, *_said(attrs)])})"


def _said(attrs: Attrs) -> Iterator[str]:
    for key, value in attrs.items():
        if key not in _UNSAID and isinstance(value, bool | int | float | tuple | str):
            yield f"{key}={value}"
