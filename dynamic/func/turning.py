"""Plain tensors that become dual numbers, as they are overwritten by some.

The memory stays the same, and a view of it: the tangent of a view is that view of the tangent of
its base, so that what is written to either is written to both. `exit_level` turns them back.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func import dual
from staticgraph.dynamic.func.tracer import Level, Tracer, move, zeros_of
from staticgraph.dynamic.tensors.strided import Layout, as_strided, layout, strided
from staticgraph.dynamic.tensors.tensor import Tensor, fresh, strided_view


def become_dual(tensor: Any, level: Level, like: Any) -> None:
    """Have a plain tensor, and all that is on its memory, become dual numbers of a level.

    Their tangents are zeros, of examples where `like`, the tangent of what is written, is one.
    RuntimeError for a tensor of another class, or a batch of tangents of which a view is no whole.
    """
    base = tensor if tensor._note is None else tensor._note[0]
    tangent = base._tangent if isinstance(base, dual.Dual) else _zeros(base, like)
    if not isinstance(base, Tracer):
        views = _views_of(base)
        _turn(base, level, tangent)
        if views:
            level.bases.append(base)  # their notes have its primal instead
        for view in views:
            _turn(view, level, _cut(view, base._primal, tangent))
    if not isinstance(tensor, Tracer):
        _turn(tensor, level, _cut(tensor, base._primal, tangent))


def _zeros(tensor: Any, like: Any) -> Any:
    """Zeros laid out as a tensor, in which each example has its own if `like` is of examples."""
    if not isinstance(like, Tracer):
        return fresh(np.zeros_like(tensor._array))
    number = zeros_of(ops.sum(like))
    return ops.broadcast_to(number, tuple(tensor._array.shape)).clone()


def _turn(tensor: Any, level: Level, tangent: Any) -> None:
    kind = type(tensor)
    if kind is not Tensor:
        raise AutogradError(
            f"a {kind.__name__} that is no dual number is overwritten by one: start from a "
            "dual number, as zeros_like(x) + x * 0"
        )
    primal = fresh(tensor._array)
    move(tensor, primal)
    if primal._note is not None and isinstance(primal._note[0], dual.Dual):
        primal._note = (primal._note[0]._primal, *primal._note[1:])
    move(dual.Dual(level, primal, tangent), tensor)
    level.turned.append(weakref.ref(tensor))


def _views_of(base: Any) -> list[Any]:
    """The plain tensors that are views of a tensor: those whose notes name it."""
    if base._cell is None:  # a view would have its counter
        return []
    notes = [one for one in gc.get_referrers(base) if type(one) is tuple and one and one[0] is base]
    holders = [one for note in notes for one in gc.get_referrers(note)]
    return [one for one in holders if type(one) is Tensor and one._note in notes]


def _cut(view: Any, base: Any, tangent: Any) -> Any:
    """The part of the tangent of a base that is where a view is in the base."""
    own, whole = layout(view._array), layout(base._array)
    if own == whole:
        return tangent
    if isinstance(tangent, Tracer):
        return _cut_of_each(own, whole, tangent)
    first = layout(tangent._array).start - whole.start
    array = strided(tangent._array, own.shape, own.steps, own.start + first)
    return strided_view(as_strided, tangent, array)


def _cut_of_each(own: Layout, whole: Layout, tangent: Any) -> Any:
    """The same of a batch of tangents, each of which lies in memory as the base does."""
    held = tangent._held
    if isinstance(held, Tracer) or layout(held._array).steps[1:] != whole.steps:
        raise AutogradError(
            "a view that is no batch of dual numbers is overwritten by one: start from a tensor of "
            "that kind, or use where, stack or concatenate"
        )
    batch = layout(held._array)
    shape, steps = (batch.shape[0], *own.shape), (batch.steps[0], *own.steps)
    array = strided(held._array, shape, steps, batch.start + own.start - whole.start)
    return tangent._with(strided_view(as_strided, held, array))
