"""Constructors of ops along one axis that no loop computes: they are host steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Attrs, Meaning, Op, Rule, register
from staticgraph.compiler.core.types import DType, TensorType, normalise_axis, require_float
from staticgraph.compiler.ops.batching import shifted_one
from staticgraph.compiler.ops.declare import as_operand, one_axis
from staticgraph.compiler.ops.shapes.shape import reshape

_LAST = -1


def axis_or_flat(
    name: str, x: Any, axis: Any, dim: object, default: int | None = None
) -> tuple[Any, int]:
    """x and the axis in its normal form; of the flat x if there is none, as of a number."""
    x, axis = as_operand(x), one_axis(name, axis, dim)
    axis = default if axis is None else axis
    if axis is None:
        return reshape(x, (-1,)), 0
    return x, normalise_axis(name, axis, x.ndim)


def host_along(
    name: str,
    function: Callable[..., object],
    *,
    result: Callable[[DType], DType],
    bind: Callable[..., tuple[Any, Attrs | None]],
    vjp: tuple[Rule | None, ...],
    saves: tuple[str, ...] = (),
    floating: bool = False,
    exact: bool = False,
    complex: Meaning = "",
    into: Callable[..., bool] | None = None,
    doc: str,
    example: str = "",
) -> Op:
    """Declare an op of one operand along `axis`, of whose shape the result is."""

    def infer_type(x: TensorType, **attrs: object) -> TensorType:
        if floating:
            require_float(name, x)
        return TensorType(x.shape, result(x.dtype))

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            floating=floating,
            vjp=vjp,
            saves=saves,
            bind=bind,
            batching=shifted_one,
            lowering=Host(into),
            exact=exact,
            complex=complex,
            doc=doc,
            example=example,
        )
    )
