"""Comparisons, logic and selection, element by element; none but `where` has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import TensorType, broadcast_shapes, require_same_dtype
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import BOOL, elementwise, undo_broadcasting

__all__ = [
    "equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "where",
]  # fmt: skip


def _logical(name: str, *types: TensorType) -> None:
    for type in types:
        if type.dtype.kind != "b":
            raise DTypeError(f"{name}: {type} is not bool: compare it with 0 or cast it")


equal = elementwise(
    "equal", np.equal, "{0} == {1}", arity=2, result=BOOL, commutative=True,
    complex="own",
    doc="a == b: bool.",
    example=">>> sg.equal(np.array([1.0, 2.0]), 2.0)\narray([False,  True])",
)  # fmt: skip
not_equal = elementwise(
    "not_equal", np.not_equal, "{0} != {1}", arity=2, result=BOOL, commutative=True,
    complex="own",
    doc="a != b: bool; true where either is nan.",
    example=">>> sg.not_equal(np.array([1.0, np.nan]), np.array([1.0, np.nan]))\n"
    "array([False,  True])",
)  # fmt: skip
less = elementwise(
    "less", np.less, "{0} < {1}", arity=2, result=BOOL,
    doc="a < b: bool.",
    example=">>> sg.less(np.array([1.0, 2.0, 3.0]), 2.0)\narray([ True, False, False])",
)  # fmt: skip
less_equal = elementwise(
    "less_equal", np.less_equal, "{0} <= {1}", arity=2, result=BOOL,
    doc="a <= b: bool.",
    example=">>> sg.less_equal(np.array([1.0, 2.0, 3.0]), 2.0)\narray([ True,  True, False])",
)  # fmt: skip
greater = elementwise(
    "greater", np.greater, "{0} > {1}", arity=2, result=BOOL,
    doc="a > b: bool.",
    example=">>> sg.greater(np.array([1.0, 2.0, 3.0]), 2.0)\narray([False, False,  True])",
)  # fmt: skip
greater_equal = elementwise(
    "greater_equal", np.greater_equal, "{0} >= {1}", arity=2, result=BOOL,
    doc="a >= b: bool.",
    example=">>> sg.greater_equal(np.array([1.0, 2.0, 3.0]), 2.0)\narray([False,  True,  True])",
)  # fmt: skip
logical_and = elementwise(
    "logical_and", np.logical_and, "{0} & {1}", arity=2, result=BOOL, check=_logical,
    commutative=True, doc="a and b, of bools.",
    example=">>> sg.logical_and(np.array([True, True, False]), np.array([True, False, False]))\n"
    "array([ True, False, False])",
)  # fmt: skip
logical_or = elementwise(
    "logical_or", np.logical_or, "{0} | {1}", arity=2, result=BOOL, check=_logical,
    commutative=True, doc="a or b, of bools.",
    example=">>> sg.logical_or(np.array([True, True, False]), np.array([True, False, False]))\n"
    "array([ True,  True, False])",
)  # fmt: skip
logical_xor = elementwise(
    "logical_xor", np.logical_xor, "{0} ^ {1}", arity=2, result=BOOL, check=_logical,
    commutative=True, doc="Exactly one of a and b, of bools.",
    example=">>> sg.logical_xor(np.array([True, True, False]), np.array([True, False, False]))\n"
    "array([False,  True, False])",
)  # fmt: skip
logical_not = elementwise(
    "logical_not", np.logical_not, "not {0}", arity=1, result=BOOL, check=_logical,
    doc="not a, of bools.",
    example=">>> sg.logical_not(np.array([True, False]))\narray([False,  True])",
)  # fmt: skip
isnan = elementwise(
    "isnan", np.isnan, "{0} != {0}", arity=1, result=BOOL, floating=True,
    complex="own",
    doc="Whether a is nan.",
    example=">>> sg.isnan(np.array([1.0, np.nan, -np.inf]))\narray([False,  True, False])",
)  # fmt: skip
isinf = elementwise(
    "isinf", np.isinf, "abs({0}) == {s}(inf)", arity=1, result=BOOL, floating=True,
    complex="own",
    doc="Whether a is inf or -inf.",
    example=">>> sg.isinf(np.array([1.0, np.nan, -np.inf]))\narray([False, False,  True])",
)  # fmt: skip
isfinite = elementwise(
    "isfinite", np.isfinite, "abs({0}) < {s}(inf)", arity=1, result=BOOL, floating=True,
    complex="own",
    doc="Whether a is neither nan nor infinite.",
    example=">>> sg.isfinite(np.array([1.0, np.nan, -np.inf]))\narray([ True, False, False])",
)  # fmt: skip


def _where_type(condition: TensorType, a: TensorType, b: TensorType) -> TensorType:
    _logical("where", condition)
    dtype = require_same_dtype("where", a, b)
    return TensorType(broadcast_shapes("where", condition, a, b), dtype)


def _where_first(g: object, o: object, condition: object, a: object, b: object) -> Any:
    return where(condition, g, 0)


def _where_second(g: object, o: object, condition: object, a: object, b: object) -> Any:
    return where(condition, 0, g)


where = register(
    Op(
        name="where",
        infer_type=_where_type,
        evaluate=np.where,
        vjp=(None, undo_broadcasting(_where_first, 1), undo_broadcasting(_where_second, 2)),
        saves=("", "a", "a"),
        elementwise=True,
        lowering=Pointwise("select({0}, {1}, {2})"),
        promotes=slice(1, None),
        batching=aligned,
        linearity="diagonal",
        exact=True,
        complex="linear",
        doc="x where the condition holds, else y; all three broadcast.",
        example=">>> sg.where(np.array([True, False]), np.array([1.0, 2.0]), 0.0)\narray([1., 0.])",
    )
)
