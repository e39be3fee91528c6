"""A `Function` in forward mode by its own `jvp`, checked as PyTorch does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.values import Tree
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.dual import Dual, primal_of, tangent_of
from staticgraph.dynamic.func.tracer import Tracer, zeros_of
from staticgraph.dynamic.tensors.tensor import Tensor


def by_jvp(function: Any, args: Sequence[object], top: Tracer) -> Tree:
    """The dual numbers of `function.apply(*args)`, `top` being one of the innermost level.

    RuntimeError if `jvp` returns what does not fit what `forward` did with its arguments.
    """
    level = top._level
    primals = [primal_of(arg, level) for arg in args]
    tangents = [tangent_of(arg, level) for arg in args]
    ctx, result = function._called(tuple(primals))
    outputs = result if isinstance(result, tuple) else (result,)
    given = [
        zeros_of(primal) if tangent is None and ctx._materialize and _moves(primal) else tangent
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    versions = [None if one is None else one._version for one in given]
    found = _called(function, ctx, given, len(outputs))
    placed = []
    for i, (out, tangent) in enumerate(zip(outputs, found, strict=True)):
        if tangent is None:
            placed.append(out)
            continue
        if id(out) in ctx._marked or not _moves(out):
            raise AutogradError(
                f"Function's jvp returned a gradient at position {i}, but the corresponding "
                "forward output is not a differentiable Tensor. You should return None at that "
                "position instead."
            )
        written = [j for j, primal in enumerate(primals) if primal is out]
        if written:
            _check_overwritten(tangent, given[written[0]], versions[written[0]])
            placed.append(args[written[0]])
            continue
        if out._view is not None:
            _check_view(out, tangent, primals, given)
        placed.append(Dual(level, out, tangent))
    return tuple(placed) if isinstance(result, tuple) else placed[0]


def _called(function: Any, ctx: Any, given: Sequence[object], count: int) -> tuple[Any, ...]:
    ctx._in_forward_mode = True
    try:
        found = function.jvp(ctx, *given)
    finally:
        ctx._in_forward_mode = False
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != count:
        raise AutogradError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{count} but got {len(found)})"
        )
    return found


def _moves(value: Any) -> bool:
    return isinstance(value, Tensor) and is_inexact(value._array.dtype)


def _check_overwritten(tangent: Any, given: Any, version: int | None) -> None:
    if tangent is not given or tangent._version == version:
        raise AutogradError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If "
            "the forward is modifying an input inplace, then the jvp function must modify the "
            "corresponding gradient inplace."
        )


def _base(tensor: Any) -> Any:
    return tensor if tensor._view is None else tensor._view.base


def _check_view(out: Any, tangent: Any, primals: Sequence[Any], given: Sequence[Any]) -> None:
    """RuntimeError unless the tangent is a view of the tangent of what `out` is a view of."""
    if tangent._view is None:
        raise AutogradError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view."
        )
    for primal, one in zip(primals, given, strict=True):
        if not _moves(primal) or one is None or _base(primal) is not out._view.base:
            continue
        if _base(one) is not tangent._view.base:
            same = "" if primal._view is None else "the same base as "
            raise AutogradError(
                "A custom Function is returning a view but the jvp is not returning a view of "
                f"{same}the given grad input."
            )
