"""Scalar computations: literals, pointwise ops, and how reductions combine."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import REGISTERS, computing, is_float, is_narrow
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.parse import parsed_template
from staticgraph.compiler.ir.records import Binary, Call, Cast, Const, Expr, Hole, Select
from staticgraph.compiler.ir.walk import calls, filled

CONSTRUCTORS = REGISTERS
"""The names of the dtypes in the loop IR."""


CHEAP = frozenset({
    "abs", "add_lost", "bfloat16_of_float32", "ceil", "copysign",
    "float16_of_float32", "float16_of_float64",
    "float32_of_bfloat16", "float32_of_float16", "floor", "fprod", "fsum", "maximum", "minimum",
    "rint", "sign_f", "sign_i", "sign_u", "sqrt", "trunc", "uint64_of_float64",
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


BYTES = {
    f"p_{register}": int(register[1:]) // 8
    for register in REGISTERS.values()
    if register != "boolean"
}
"""How large an element is of what a pointer points to."""


def literal(value: Any, dtype: DType) -> Expr:
    """A typed literal of exactly this value."""
    name = CONSTRUCTORS[dtype.name]
    if dtype.kind == "b":
        return Cast(name, Const(bool(value)))
    if is_narrow(dtype):
        with np.errstate(over="ignore"):
            return Cast(name, Const(int(np.asarray(value).astype(dtype).view(np.uint16))))
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
    if is_narrow(source):
        wide = computing(source)
        return cast(Call(f"{wide.name}_of_{source.name}", (value,)), wide, dtype)
    if is_narrow(dtype):
        # float16 of a float64 is rounded once, as NumPy's; bfloat16 twice, as that of ml_dtypes
        once = source if source == np.float64 and dtype == np.float16 else computing(dtype)
        return Call(f"{dtype.name}_of_{once.name}", (cast(value, source, once),))
    if dtype.kind == "b":
        return Binary("!=", value, literal(0, source))
    if source.kind == "b":
        return Select(value, literal(1, dtype), literal(0, dtype))
    name = CONSTRUCTORS[dtype.name]
    if is_float(source) and dtype.kind == "u":
        # by integers in which the numbers that wrap, those below 0, are in range
        if dtype.itemsize == 8:
            return Call("uint64_of_float64", (Cast("f64", value),))
        return Cast(name, Cast("i64" if dtype.itemsize == 4 else "i32", value))
    return Cast(name, value)


def identity(kind: str, dtype: DType) -> Expr:
    """The value that changes nothing when a reduction combines it with another."""
    if kind in ("sum", "any"):
        return literal(0, dtype)
    if kind in ("prod", "all"):
        return literal(1, dtype)
    lowest = kind == "max"
    if dtype.kind == "b":
        return literal(not lowest, dtype)
    if is_float(dtype):
        return literal(-math.inf if lowest else math.inf, dtype)
    info = np.iinfo(dtype)
    return literal(info.min if lowest else info.max, dtype)


def combine(kind: str, dtype: DType, left: Expr, right: Expr) -> Expr:
    """Two partial results of a reduction as one; the order of float sums is the compiler's."""
    name = CONSTRUCTORS[dtype.name]
    if kind == "sum":
        return Call("fsum", (left, right)) if is_float(dtype) else Cast(name, left + right)
    if kind == "prod":
        return Call("fprod", (left, right)) if is_float(dtype) else Cast(name, left * right)
    if kind in ("any", "all"):
        return Binary("|" if kind == "any" else "&", left, right)
    return Call("maximum" if kind == "max" else "minimum", (left, right))


def to_memory(value: Expr, dtype: DType) -> Expr:
    """What memory holds of a value; a bool is a byte there."""
    return Cast("u8", value) if dtype.kind == "b" else value


def from_memory(dtype: DType, element: Expr = ELEMENT) -> Expr:
    """The value of an element of memory."""
    return Binary("!=", element, Const(0)) if dtype.kind == "b" else element
