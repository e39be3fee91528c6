"""Source text of scalar computations: literals, pointwise ops, and how reductions combine."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from compiler.core.lowering import Pointwise
from compiler.core.types import DType
from compiler.graph.view import Node

CONSTRUCTORS = {
    "bool": "boolean", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "float32": "f32", "float64": "f64",
}  # fmt: skip
"""The names of the dtypes in the emitted source."""


CHEAP = {
    "abs", "ceil", "copysign", "floor", "fprod", "fsum", "maximum", "minimum", "rint", "select",
    "sign_f", "sign_i", "sign_u", "sqrt", "trunc", *CONSTRUCTORS.values(),
}  # fmt: skip
"""Functions of the emitted source that are few instructions."""

_CALLED = re.compile(r"(\w+)\(")


def expensive_calls(code: str) -> int:
    """How many functions such as exp a statement calls."""
    return sum(name not in CHEAP for name in _CALLED.findall(code))


def pointer_type(dtype: DType) -> str:
    """The name of the type of an address; a bool is a byte in memory."""
    return "p_u8" if dtype.kind == "b" else f"p_{CONSTRUCTORS[dtype.name]}"


def literal(value: Any, dtype: DType) -> str:
    """A typed literal that reads back as exactly this value."""
    name = CONSTRUCTORS[dtype.name]
    if dtype.kind == "b":
        return f"{name}({bool(value)})"
    if dtype.kind in "iu":
        return f"{name}({int(value)})"
    value = float(value)
    if math.isnan(value):
        return f"{name}(nan)"
    if math.isinf(value):
        return f"{name}({'-' if value < 0 else ''}inf)"
    return f"{name}({value!r})"


def pointwise_code(node: Node, operands: list[str], source: DType) -> str:
    """The expression of a pointwise op; `source` is the dtype of its first operand."""
    assert isinstance(node.op.lowering, Pointwise)
    dtype = node.type.dtype
    if node.op.name == "astype":
        return cast(operands[0], source, dtype)
    code = node.op.lowering.code.format(
        *operands, t=CONSTRUCTORS[dtype.name], s=CONSTRUCTORS[source.name], k=source.kind
    )
    # the native compiler widens small integers; NumPy wraps them
    return f"{CONSTRUCTORS[dtype.name]}({code})" if dtype.kind in "iu" else code


def cast(text: str, source: DType, dtype: DType) -> str:
    """`text` of dtype `source` as `dtype`."""
    if source == dtype:
        return text
    if dtype.kind == "b":
        return f"{text} != {literal(0, source)}"
    if source.kind == "b":
        return f"select({text}, {literal(1, dtype)}, {literal(0, dtype)})"
    return f"{CONSTRUCTORS[dtype.name]}({text})"


def identity(kind: str, dtype: DType) -> str:
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


def combine(kind: str, dtype: DType, left: str, right: str) -> str:
    """Two partial results of a reduction as one; the order of float sums is the compiler's."""
    if kind == "sum":
        return f"fsum({left}, {right})" if dtype.kind == "f" else f"i64({left} + {right})"
    if kind == "prod":
        return f"fprod({left}, {right})" if dtype.kind == "f" else f"i64({left} * {right})"
    if kind == "any":
        return f"{left} | {right}"
    if kind == "all":
        return f"{left} & {right}"
    return f"{'maximum' if kind == 'max' else 'minimum'}({left}, {right})"


def to_memory(text: str, dtype: DType) -> str:
    """The statement that puts a value where `{m}` is; a bool is a byte there."""
    return f"{{m}} = u8({text})" if dtype.kind == "b" else f"{{m}} = {text}"


def from_memory(dtype: DType) -> str:
    """The value that lies where `{m}` is."""
    return "({m} != 0)" if dtype.kind == "b" else "{m}"
