"""Floats of 16 bits are stored only: ops compute in float32, and round what they give once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.dtypes import computing, is_narrow
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.types import TensorType, Type
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.expression import Expression, construct
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.programs.control import item
from staticgraph.compiler.passes.replay import replay


def widen_narrow(graph: Definition) -> Definition:
    """Casts around the ops that compute with float16 or bfloat16; the others move what is stored.

    Loops and branches carry what is stored; their bodies are graphs of their own.
    """
    if not any(_has_narrow(node.type) for node in graph.nodes):
        return graph
    return replay(graph, {}, [widen])


def widen(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """f(x) = round(f(float32(x))); what is chosen or counted is first written in other ops."""
    if op is item:
        return _item_of_wide(operands[0], attrs)
    if op.moves or not any(_has_narrow(one.type) for one in operands):
        return None
    if op.exact and op.expand is not None:
        return None
    type = op.infer_type(*[one.type for one in operands], **attrs)
    if not isinstance(type, TensorType):
        return None
    made = construct(op, in_float32(operands), attrs)
    return made if made.dtype == type.dtype else construct(astype, (made,), {"dtype": type.dtype})


def _item_of_wide(values: Expression, attrs: Attrs) -> Expression | None:
    """One result of an op of several."""
    op = values.op
    if op.moves or not any(_has_narrow(one.type) for one in values.operands):
        return None
    types: Any = values.type
    wide = construct(op, in_float32(values.operands), values.attrs)
    made = construct(item, (wide,), attrs)
    dtype = types.items[attrs["index"]].dtype
    return made if made.dtype == dtype else construct(astype, (made,), {"dtype": dtype})


def in_float32(operands: Sequence[Expression]) -> tuple[Expression, ...]:
    """Operands, of which those that are stored narrow are cast to what ops compute in."""
    return tuple([
        construct(astype, (one,), {"dtype": computing(one.dtype)}) if _has_narrow(one.type) else one
        for one in operands
    ])  # fmt: skip


def _has_narrow(type: Type) -> bool:
    if isinstance(type, TensorType):
        return is_narrow(type.dtype)
    return any(map(_has_narrow, type.items))
