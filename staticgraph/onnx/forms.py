"""How ops are written: by a name, as nodes with attributes (`nodes.py`), or in other ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.programs.collectives import STEPS
from staticgraph.onnx import names, nested, nodes, written
from staticgraph.onnx.writer import Form, Names, Writer, refused

_NARROW_INTEGERS = ("int8", "int16", "uint8", "uint16")


def _of_floats(operator: str) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        if not is_float(one.dtype):  # rounded already
            return str(inputs[0])
        made: Names = writer.node(operator, *inputs)
        return made

    return write


def _of_numbers(operator: str) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        dtype = _computed_in(operator, one.operands[0].dtype)
        if dtype == one.operands[0].dtype:
            made: Names = writer.node(operator, *inputs)
            return made
        result = writer.node(operator, *[writer.cast(name, dtype) for name in inputs])
        return str(result) if _is_answer(one) else writer.cast(result, one.dtype)

    return write


def _is_answer(one: Expression) -> bool:
    """Whether the value is bools as ONNX gives them: those of a comparison."""
    return one.dtype.kind == "b" and one.op.name in _COMPARISONS


_COMPARISONS = frozenset(("greater", "greater_equal", "less", "less_equal"))


def _computed_in(operator: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of numbers that an operator takes for operands of a dtype."""
    if dtype.kind == "b":
        return np.dtype(np.int32)
    if operator in ("MatMul", "Pow") and dtype.name in _NARROW_INTEGERS:
        return np.dtype(np.int32)
    if operator == "Neg" and dtype.kind == "u":
        return np.dtype(np.int64)
    if operator == "Relu" and dtype.kind == "u":
        return np.dtype(np.int64)
    return dtype


def _of_bools(operator: str) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        truths = [
            name if operand.dtype.kind == "b" else writer.cast(name, np.dtype(np.bool_))
            for name, operand in zip(inputs, one.operands, strict=True)
        ]
        made: Names = writer.node(operator, *truths)
        return made

    return write


def _of_bits(of_integers: str, of_bools: str) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        made: Names = writer.node(of_bools if one.dtype.kind == "b" else of_integers, *inputs)
        return made

    return write


def _of_any(operator: str) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        made: Names = writer.node(operator, *inputs)
        return made

    return write


def _in_ops(function: Callable[..., Any]) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        return writer.rewritten(one, function(*one.operands, **one.attrs))

    return write


def _refusing(reason: str) -> Form:
    def write(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
        raise refused(one, reason)

    return write


def _item(writer: Writer, one: Expression, inputs: tuple[Any, ...]) -> Names:
    assert not isinstance(one.operands[0].type, TensorType)
    return str(inputs[0][one.attrs["index"]])


FORMS: dict[str, Form] = {
    **{op: _of_floats(operator) for op, operator in names.FLOATS.items()},
    **{op: _of_numbers(operator) for op, operator in names.NUMBERS.items()},
    **{op: _of_bools(operator) for op, operator in names.BOOLS.items()},
    **{op: _of_any(operator) for op, operator in names.ANY.items()},
    **{op: _of_bits(*operators) for op, operators in names.BITS.items()},
    **{op: nodes.reduction(operator) for op, operator in names.REDUCTIONS.items()},
    **{op: _refusing(reason) for op, reason in names.REFUSED.items()},
    **{op.name: _refusing(names.RANKS) for op in STEPS},
    **{op: _in_ops(function) for op, function in written.WRITTEN.items()},
    **nodes.NODES,
    "item": _item,
    "scan": nested.scan,
    "while_loop": nested.while_loop,
    "cond": nested.cond,
}
"""Per op how it is written; a composite that is not here is written in what it stands for."""
