"""Scalar computations: literals, pointwise ops, and how reductions combine."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from compiler.core.lowering import Pointwise
from compiler.core.types import DType
from compiler.graph.view import Node
from compiler.ir.parse import parsed_template
from compiler.ir.records import Binary, Call, Cast, Const, Expr, Hole, Select
from compiler.ir.walk import calls, filled

CONSTRUCTORS = {
    "bool": "boolean", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "float32": "f32", "float64": "f64",
}  # fmt: skip
"""The names of the dtypes in the loop IR."""


CHEAP = frozenset({
    "abs", "ceil", "copysign", "floor", "fprod", "fsum", "maximum", "minimum", "rint", "sign_f",
    "sign_i", "sign_u", "sqrt", "trunc",
})  # fmt: skip
"""Functions that are few instructions."""

ELEMENT = Hole("m")
"""Stands in a statement's value for the element of memory that the statement names."""
INDEX = Hole("i")
"""Stands for the index that the statement names."""
ACCUMULATOR = Hole("a")
"""Stands for the accumulator of a sum of floats."""


def expensive_calls(value: Expr) -> int:
    """How many functions such as exp an expression calls."""
    return sum(name not in CHEAP for name in calls(value))


def pointer_type(dtype: DType) -> str:
    """The name of the type of an address; a bool is a byte in memory."""
    return "p_u8" if dtype.kind == "b" else f"p_{CONSTRUCTORS[dtype.name]}"


BYTES = {"p_u8": 1, "p_i8": 1, "p_i16": 2, "p_i32": 4, "p_i64": 8, "p_f32": 4, "p_f64": 8}
"""How large an element is of what a pointer points to."""


def literal(value: Any, dtype: DType) -> Expr:
    """A typed literal of exactly this value."""
    name = CONSTRUCTORS[dtype.name]
    if dtype.kind == "b":
        return Cast(name, Const(bool(value)))
    return Cast(name, Const(int(value) if dtype.kind in "iu" else float(value)))


def pointwise(node: Node, operands: list[Expr], source: DType) -> Expr:
    """The expression of a pointwise op; `source` is the dtype of its first operand."""
    dtype = node.type.dtype
    if node.op.name == "astype":
        return cast(operands[0], source, dtype)
    assert isinstance(node.op.lowering, Pointwise)
    lowering = node.op.lowering
    code = lowering.code if lowering.of_dtype is None else lowering.of_dtype(source)
    template = _template(code, dtype, source)
    value = filled(template, {str(i): operand for i, operand in enumerate(operands)})
    # the native compiler widens small integers; NumPy wraps them
    return Cast(CONSTRUCTORS[dtype.name], value) if dtype.kind in "iu" else value


@cache
def _template(code: str, dtype: DType, source: DType) -> Expr:
    """The expression of an op for its dtypes, with holes for the operands."""
    return parsed_template(
        code, t=CONSTRUCTORS[dtype.name], s=CONSTRUCTORS[source.name], k=source.kind
    )


def cast(value: Expr, source: DType, dtype: DType) -> Expr:
    """`value` of dtype `source` as `dtype`."""
    if source == dtype:
        return value
    if dtype.kind == "b":
        return Binary("!=", value, literal(0, source))
    if source.kind == "b":
        return Select(value, literal(1, dtype), literal(0, dtype))
    return Cast(CONSTRUCTORS[dtype.name], value)


def identity(kind: str, dtype: DType) -> Expr:
    """The value that changes nothing when a reduction combines it with another."""
    if kind in ("sum", "any"):
        return literal(0, dtype)
    if kind in ("prod", "all"):
        return literal(1, dtype)
    lowest = kind == "max"
    if dtype.kind == "b":
        return literal(not lowest, dtype)
    if dtype.kind == "f":
        return literal(-math.inf if lowest else math.inf, dtype)
    info = np.iinfo(dtype)
    return literal(info.min if lowest else info.max, dtype)


def combine(kind: str, dtype: DType, left: Expr, right: Expr) -> Expr:
    """Two partial results of a reduction as one; the order of float sums is the compiler's."""
    is_float = dtype.kind == "f"
    if kind == "sum":
        return Call("fsum", (left, right)) if is_float else Cast("i64", left + right)
    if kind == "prod":
        return Call("fprod", (left, right)) if is_float else Cast("i64", left * right)
    if kind in ("any", "all"):
        return Binary("|" if kind == "any" else "&", left, right)
    return Call("maximum" if kind == "max" else "minimum", (left, right))


def to_memory(value: Expr, dtype: DType) -> Expr:
    """What memory holds of a value; a bool is a byte there."""
    return Cast("u8", value) if dtype.kind == "b" else value


def from_memory(dtype: DType, element: Expr = ELEMENT) -> Expr:
    """The value of an element of memory."""
    return Binary("!=", element, Const(0)) if dtype.kind == "b" else element
