"""Loops and branches: ops whose bodies are graphs of their own, and whose value is a tuple.

A body (`compiler.graph.body.Body`) is an attribute. What it reads of the graph around it are
operands of the node, its *consts*, which come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.compiler.core.lowering import Item, Nested
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import TensorType, TupleType, unify
from staticgraph.compiler.core.values import Value

item = register(
    Op(
        name="item",
        infer_type=lambda values, index: values.items[index],
        evaluate=lambda values, index: values[index],
        vjp=(lambda g, o, values, *, index: {index: g},),
        lowering=Item(),
        complex="any",
        doc="One tensor of a tuple.",
    )
)


def items(value: Value) -> tuple[Value, ...]:
    """The tensors of which the value of an op consists, whatever holds it."""
    if isinstance(value, tuple):
        return value
    count = len(value.type.items)
    return tuple(value._apply(item, (value,), {"index": index}) for index in range(count))


def _scan_type(
    *types: TensorType, body: Any, consts: int, carries: int, length: Size, reverse: bool
) -> TupleType:
    fixed, stacked = types[: consts + carries], types[consts + carries :]
    for type in stacked:
        if not type.ndim or unify(type.shape[0], length) is None:
            raise ShapeError(f"scan: {type} is no stack of {length} slices")
    slices = [TensorType(type.shape[1:], type.dtype) for type in stacked]
    given = body.infer("scan", [*fixed, *slices])
    before = types[consts : consts + carries]
    _require_same("scan", before, given[:carries])
    ys = [TensorType((length, *type.shape), type.dtype) for type in given[carries:]]
    return TupleType((*before, *ys))


def _require_same(op: str, before: Sequence[TensorType], after: Sequence[TensorType]) -> None:
    for left, right in zip(before, after, strict=True):
        if left.dtype != right.dtype:
            raise DTypeError(f"{op}: the carry changes from {left} to {right}")
        if left.ndim != right.ndim or None in map(unify, left.shape, right.shape):
            raise ShapeError(f"{op}: the carry changes from {left} to {right}")


def _scan_numpy(
    *arrays: Any, body: Any, consts: int, carries: int, length: int, reverse: bool
) -> tuple[Any, ...]:
    fixed, carry = arrays[:consts], list(arrays[consts : consts + carries])
    xs = arrays[consts + carries :]
    ys = [np.empty((length, *type.shape), type.dtype) for type in body.outputs[carries:]]
    for step in reversed(range(length)) if reverse else range(length):
        results = body(*fixed, *carry, *(x[step] for x in xs))
        carry = results[:carries]
        for y, value in zip(ys, results[carries:], strict=True):
            y[step] = value
    return (*carry, *ys)


scan = register(
    Op(
        name="scan",
        infer_type=_scan_type,
        evaluate=_scan_numpy,
        vjp_items=provided.scan_cotangents,
        lowering=Nested(),
        complex="any",
        doc="A loop: `body(consts, carry, slices of xs) -> (carry, ys)`, once per slice. The "
        "operands are the consts, the first carry and the xs; the value is the last carry and the "
        "stacked ys. In reverse, the last slice comes first.",
    )
)


def _while_type(*types: TensorType, test: Any, body: Any, consts: int) -> TupleType:
    (answer,) = test.infer("while_loop", types)
    if answer.ndim or answer.dtype.kind != "b":
        raise DTypeError(f"while_loop: the condition is {answer}, not bool[]")
    _require_same("while_loop", types[consts:], body.infer("while_loop", types))
    return TupleType(types[consts:])


def _while_numpy(*arrays: object, test: Any, body: Any, consts: int) -> tuple[Any, ...]:
    fixed, carry = arrays[:consts], list(arrays[consts:])
    while test(*fixed, *carry)[0]:
        carry = body(*fixed, *carry)
    return tuple(carry)


while_loop = register(
    Op(
        name="while_loop",
        infer_type=_while_type,
        evaluate=_while_numpy,
        vjp_items=provided.while_cotangents,
        lowering=Nested(),
        complex="any",
        doc="A loop while `test(consts, carry)` holds: `body(consts, carry) -> carry`. The "
        "operands are the consts and the first carry, the value is the last carry.",
    )
)


def _cond_type(pred: TensorType, *types: TensorType, on_true: Any, on_false: Any) -> TupleType:
    if pred.ndim or pred.dtype.kind != "b":
        raise DTypeError(f"cond: the predicate is {pred}, not bool[]")
    left, right = on_true.infer("cond", types), on_false.infer("cond", types)
    for one, other in zip(left, right, strict=True):
        if one.dtype != other.dtype:
            raise DTypeError(f"cond: the branches give {one} and {other}")
        if one.ndim != other.ndim or None in map(unify, one.shape, other.shape):
            raise ShapeError(f"cond: the branches give {one} and {other}")
    return TupleType(left)


cond = register(
    Op(
        name="cond",
        infer_type=_cond_type,
        evaluate=lambda pred, *arrays, on_true, on_false: tuple(
            (on_true if pred else on_false)(*arrays)
        ),
        vjp_items=provided.cond_cotangents,
        lowering=Nested(),
        complex="any",
        doc="The value of one of two bodies that take the same operands, by a leading bool.",
    )
)
