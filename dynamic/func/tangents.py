"""How ops carry tangents on: forward mode.

No op has a forward rule of its own: what its record says of its linearity is enough. The Jacobian
of an elementwise op is diagonal, so that its gradient rule carries tangents as well as cotangents;
a linear op is its own tangent map, and a product is linear in each operand. For every other op the
gradient rule is recorded on a cotangent u, in which it is linear, and differentiated by u:
J t = d/du <vjp(u), t> (the double vjp of Townsend 2017, "A new trick for calculating Jacobian
vector products"). The first three cost about one evaluation of the op, the last one its gradient
rule twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.ops.elementwise.incomplete import NoDerivative
from staticgraph.dynamic.core.errors import MissingKernelError
from staticgraph.dynamic.func.pull import lifted, pull
from staticgraph.dynamic.func.tracer import evaluated, zeros_of
from staticgraph.dynamic.tape.grad_mode import enable_grad


def tangent_of_op(
    op: Op, attrs: Attrs, primals: Sequence[object], tangents: Sequence[object], out: Any
) -> Any:
    """The tangent of an op's output, or None where it is 0."""
    if not is_inexact(out._array.dtype):
        return None
    moving = [
        i
        for i, tangent in enumerate(tangents)
        if tangent is not None and op.rule_of(i, _is_of_complex(primals, out)) is not None
    ]
    if not moving:
        return None
    if any(isinstance(op.rule(i), NoDerivative) for i in moving):
        raise MissingKernelError(
            f"Trying to use forward AD with {op.name} that does not support it because it has not "
            "been implemented yet."
        )
    if op.linearity == "linear":
        directions = [
            zeros_of(x) if t is None else t for x, t in zip(primals, tangents, strict=True)
        ]
        return evaluated(op, directions, attrs)
    if op.linearity == "affine":
        return evaluated(op, [tangents[0]], {**attrs, "value": 0.0})
    if op.linearity == "multilinear":
        return _total(
            evaluated(op, [*primals[:i], tangents[i], *primals[i + 1 :]], attrs) for i in moving
        )
    if op.linearity == "diagonal" and (op.complex == "linear" or not _is_of_complex(primals, out)):
        return _through_diagonal(op, attrs, primals, tangents, out, moving)
    return _through_double_vjp(op, attrs, primals, tangents, out, moving)


def tangents_of_items(
    op: Op, attrs: Attrs, primals: Sequence[object], tangents: Sequence[object], out: Sequence[Any]
) -> list[Any]:
    """The tangents of the results of an op whose value is a tuple, None where one is 0."""
    moving = [i for i, tangent in enumerate(tangents) if tangent is not None]
    if not moving:
        return [None] * len(out)
    assert op.vjp_items is not None
    with enable_grad():
        us = [lifted(one.detach()) if is_inexact(one._array.dtype) else None for one in out]
        found = op.vjp_items(moving, us, tuple(out), *primals, **attrs)
    pairs = [(one, tangents[i]) for one, i in zip(found, moving, strict=True) if one is not None]
    moved = iter(
        pull([x for x, _ in pairs], [u for u in us if u is not None], [t for _, t in pairs])
    )
    return [None if u is None else next(moved) for u in us]


def _is_of_complex(primals: Iterable[Any], out: Any) -> bool:
    return any(one._array.dtype.kind == "c" for one in (out, *primals))


def _total(parts: Iterable[Any]) -> Any:
    first, *rest = parts
    for part in rest:
        first = first + part
    return first


def _through_diagonal(
    op: Op,
    attrs: Attrs,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    out: Any,
    moving: Sequence[int],
) -> Any:
    # with all operands of the output's shape the rules have no broadcasting to undo
    wide = [x if x.shape == out.shape else ops.broadcast_to(x, out.shape) for x in primals]
    parts = []
    for i in moving:
        t = tangents[i]
        t = t if t.shape == out.shape else ops.broadcast_to(t, out.shape)
        t = t if t.dtype == out.dtype else ops.astype(t, out.dtype)
        part = op.rule(i)(t, out, *wide, **attrs)  # type: ignore[misc]
        parts.append(
            part
            if part.dtype == out.dtype
            else ops.astype.bound((part,), {"dtype": np.dtype(out.dtype)})
        )
    return _total(parts)


def _through_double_vjp(
    op: Op,
    attrs: Attrs,
    primals: Sequence[object],
    tangents: Sequence[object],
    out: Any,
    moving: Sequence[int],
) -> Any:
    of_complex = _is_of_complex(primals, out)
    with enable_grad():
        # the values of u do not matter, only where it is a batch: as the output is
        u = lifted(out.detach())
        cotangents = [op.rule_of(i, of_complex)(u, out, *primals, **attrs) for i in moving]  # type: ignore[misc]
    return pull(cotangents, [u], [tangents[i] for i in moving])[0]
