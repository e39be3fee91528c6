"""Steps of programs that compute with complex numbers: calls of the functions of ops.

Kernels have real numbers alone (`compiler.passes.complex_numbers`): complex ones lie in memory with
real and imaginary part beside each other, along a last axis of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import complex_dtype, part_dtype
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, op_named, register
from staticgraph.compiler.core.types import TensorType, TupleType


def real_type(type: Any) -> Any:
    """The type of what lies in memory: complex numbers have a last axis of two."""
    if isinstance(type, TupleType):
        return TupleType(tuple(map(real_type, type.items)))
    if type.dtype.kind != "c":
        return type
    return TensorType((*type.shape, 2), part_dtype(type.dtype))


def _step_type(
    *types: TensorType, name: str, given: Any, complexes: tuple[bool, ...]
) -> TensorType | TupleType:
    known = [
        TensorType(type.shape[:-1], complex_dtype(type.dtype)) if joined else type
        for type, joined in zip(types, complexes, strict=True)
    ]
    found: TensorType | TupleType = real_type(op_named(name).infer_type(*known, **dict(given)))
    return found


def _step(*arrays: Any, name: str, given: Any, complexes: tuple[bool, ...]) -> Any:
    operands = [
        np.ascontiguousarray(array).view(complex_dtype(array.dtype))[..., 0] if joined else array
        for array, joined in zip(arrays, complexes, strict=True)
    ]
    found = op_named(name).evaluate(*operands, **dict(given))
    return tuple(map(_interleaved, found)) if type(found) is tuple else _interleaved(found)


def _interleaved(value: object) -> Any:
    array = np.asarray(value, order="C")
    return array[..., None].view(part_dtype(array.dtype)) if array.dtype.kind == "c" else array


on_complex = register(
    Op(
        name="on_complex",
        infer_type=_step_type,
        evaluate=_step,
        lowering=Host(),
        cost="expensive",
        complex="any",
        doc="The op `name` with the attributes `given`, on complex numbers whose parts lie along "
        "the last axis of those operands that `complexes` says.",
    )
)
