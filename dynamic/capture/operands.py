"""The operands of an op, one of them a traced tensor: which they are, and their promotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression, Handle, as_expression, construct
from staticgraph.compiler.graph.promoted import note_promoted
from staticgraph.compiler.ops import leaves
from staticgraph.dynamic.core.dtypes import INT64, get_default_dtype, known_array, result_type
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.pytorch import TOTALS
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.tensor import Tensor

_ELEMENT = {"b": False, "u": 0, "i": 0, "f": 0.0}
"""A Python number of the kind of a dtype."""

_LOGICAL = (ops.logical_and, ops.logical_not, ops.logical_or, ops.logical_xor)
"""The ops that take of a tensor whether it is 0."""


def operand(op: Op, value: object) -> Any:
    """An operand as a traced tensor, or a Python number."""
    if getattr(value, "is_sparse", False):
        refuse(f"{op.name} of a sparse tensor", "take its to_dense() before the function is called")
    if isinstance(value, Handle | bool | int | float | complex):
        return value
    if isinstance(value, Tensor):
        return mode.capture.lifted(value)
    if isinstance(value, Dim):
        value = construct(leaves.size_of, (), {"size": value})
        value.weak = True
    if isinstance(value, Expression):
        return mode.capture.made(value)
    if isinstance(value, np.generic):
        return value.item()
    return mode.capture.made(known_array(op.name, value).copy())


def promoted(op: Op, operands: Sequence[Any]) -> list[Any]:
    """The operands as tensors, cast to one dtype where the op wants it (PyTorch's promotion)."""
    if op in _LOGICAL:
        operands = [_as_bool(one) for one in operands]
    shared = range(len(operands))[op.promotes] if op.promotes else range(0)
    dtype = None
    if len(shared):
        dtype = result_type(_standing(operands[i]) for i in shared)
        if op.floating and not is_inexact(dtype):
            dtype = get_default_dtype().dtype
    tensors = []
    for i, value in enumerate(operands):
        wanted = dtype if i in shared else None
        if not isinstance(value, Handle):
            array = np.asarray(value)
            value = mode.capture.made(array if wanted is None else array.astype(wanted))
        if wanted is None and op.floating and not is_inexact(value._array.dtype):
            wanted = get_default_dtype().dtype
        if op in TOTALS and value._array.dtype.kind == "u":
            wanted = INT64
        if wanted is not None and value._array.dtype != wanted:
            value = _cast(op, value, wanted)
        tensors.append(value)
    if dtype == np.float64 and any(one._array.dtype == np.float32 for one in _handles(operands)):
        given = [one.expression if isinstance(one, Handle) else one for one in operands]
        note_promoted(op, given, [one.expression for one in tensors])
    return tensors


def _handles(operands: Sequence[Any]) -> list[Any]:
    return [one for one in operands if isinstance(one, Handle)]


def _as_bool(value: Any) -> Any:
    if isinstance(value, bool | int | float | complex):
        return bool(value)
    return value if value._array.dtype.kind == "b" else ops.not_equal(value, 0)


def _standing(value: Any) -> Any:
    """What the promotion is told of an operand: something with ndim and dtype, or a number."""
    if isinstance(value, bool | int | float | complex):
        return value
    return _ELEMENT[value._value.dtype.kind] if value._weak else value._array


def _cast(op: Op, value: Any, dtype: Any) -> Any:
    if value._weak:
        return mode.capture.made(as_expression(op, value.expression, dtype))
    return ops.astype(value, dtype)


def on_whole_numbers(op: Op, given: Sequence[Any]) -> Op:
    """The op for these operands: of bools sums and products are others.

    AutogradError for a power below 0 of whole numbers.
    """
    exponent = given[1] if op is ops.power and len(given) == 2 else 0
    if type(exponent) is int and exponent < 0 and not is_inexact(given[0]._array.dtype):
        raise AutogradError("Integers to negative integer powers are not allowed.")
    if (op is ops.add or op is ops.multiply) and all(map(_is_bool, given)):
        return ops.logical_or if op is ops.add else ops.logical_and
    return op


def _is_bool(value: Any) -> bool:
    kind = getattr(getattr(value, "_array", None), "dtype", np.dtype(type(value))).kind
    return bool(kind == "b")
