"""Dual: a tensor with its derivative in one direction, for forward mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.layouts import laid_out, layout_of
from staticgraph.dynamic.func.pull import pull
from staticgraph.dynamic.func.tangents import tangent_of_op, tangents_of_items
from staticgraph.dynamic.func.tracer import Level, Tracer, batch_of, evaluated, innermost, zeros_of
from staticgraph.dynamic.tensors.inplace import overwrite
from staticgraph.dynamic.tensors.tensor import Tensor


class _Forward(threading.local):
    enabled = True


forward = _Forward()
"""Whether this thread computes tangents: see `forward_ad._set_fwd_grad_enabled`."""


class Dual(Tracer, plain=False):
    """A tensor and its derivative in the direction that the level follows."""

    __slots__ = ()

    _primal: MemberDescriptorType = vars(Tensor)["_cell"]
    _tangent: MemberDescriptorType = vars(Tensor)["_home"]

    def __init__(self, level: Level, primal: Any, tangent: Any) -> None:
        self._level = level
        self._primal = primal
        self._tangent = tangent

    @property
    def _held(self) -> Tensor:
        return self._primal

    @property
    def _array(self) -> Any:
        return self._primal._array

    @property
    def _base(self) -> Any:
        """What it is a view of, as a dual number if that has become one."""
        base = super()._base
        turned = (reference() for reference in self._level.turned)
        return next((one for one in turned if one is not None and one._held is base), base)

    def _with(self, held: object) -> Dual:
        return Dual(self._level, held, self._tangent)

    def _inside(self, function: Callable[[Any], object]) -> Dual:
        return Dual(self._level, function(self._primal), function(self._tangent))

    def _strided(self, size: Sequence[int], stride: Sequence[int], start: int | None) -> Dual:
        primal, tangent = self._primal, self._tangent
        if not isinstance(primal, Tracer):
            tangent = laid_out(tangent, primal)
        first = None
        if start is not None:
            first = start + layout_of(tangent).start - layout_of(primal).start
        primal = primal.as_strided(size, stride, start)
        return Dual(self._level, primal, tangent.as_strided(size, stride, first))

    def detach(self) -> Any:
        """The primal without its history of either mode."""
        return self._primal.detach() if self._level.open else self._held.detach()

    def detach_(self) -> Any:
        """Forget the tangent, and make the primal a leaf that requires no grad."""
        self._primal = self._primal.detach()
        self._tangent = None
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Whether the primal requires grad; RuntimeError inside of a transform."""
        if not self._level.by_hand:
            return super().requires_grad_(requires_grad)
        self._primal.requires_grad_(requires_grad)
        return self

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Pull the primal back; RuntimeError inside of a transform."""
        if not self._level.by_hand:
            super().backward()
        self._primal.backward(*args, **kwargs)

    def _applied(self, op: Op, operands: Sequence[Tensor], attrs: Attrs) -> Any:
        primals = [primal_of(operand, self._level) for operand in operands]
        if not forward.enabled:
            return evaluated(op, primals, attrs)
        tangents = [tangent_of(operand, self._level) for operand in operands]
        out = evaluated(op, primals, attrs)
        if isinstance(out, tuple):
            moved = tangents_of_items(op, attrs, primals, tangents, out)
            pairs = zip(out, moved, strict=True)
            return tuple([one if t is None else Dual(self._level, one, t) for one, t in pairs])
        tangent = tangent_of_op(op, attrs, primals, tangents, out)
        return out if tangent is None else Dual(self._level, out, tangent)

    def _overwritten(self, op: Op, others: Sequence[object], attrs: Attrs) -> Any:
        """Primal and tangent, overwritten each."""
        changed = self._apply(op, (self, *others), attrs)
        tangent = tangent_of(changed, self._level)
        rest = [primal_of(other, self._level) for other in others]
        overwrite(self._primal, op, rest, attrs)
        overwrite(self._tangent, eager_ops.copy, [0.0 if tangent is None else tangent])
        return self

    def _taken_over(self, tensor: Any) -> None:
        """Have a plain tensor become a dual number of this level, with zeros as its tangent."""
        from staticgraph.dynamic.func.turning import become_dual  # which makes dual numbers

        become_dual(tensor, self._level, self._tangent)

    def _pulled(
        self,
        outputs: Sequence[object],
        inputs: Sequence[object],
        cotangents: Sequence[object],
        record: bool | None,
    ) -> list[Any]:
        level = self._level
        values = [split(out, level) for out in outputs]
        directions = [split(cotangent, level) for cotangent in cotangents]
        variables = [split(x, level)[0] for x in inputs]
        primals = pull([y for y, _ in values], variables, [u for u, _ in directions], record)
        moving = [
            (out, cotangent)
            for (y, dy), (u, du) in zip(values, directions, strict=True)
            for out, cotangent in ((dy, u), (y, du))
            if out is not None and cotangent is not None
        ]
        tangents = pull([out for out, _ in moving], variables, [u for _, u in moving], record)
        return [
            g if dg is None else joined(zeros_of(dg) if g is None else g, dg, level)
            for g, dg in zip(primals, tangents, strict=True)
        ]

    def __repr__(self) -> str:
        text = repr(self._primal)
        if not self._level.open:
            return text
        return f"{text[:-1]}, tangent={self._tangent!r})"


def primal_of(value: object, level: Level) -> Any:
    """The primal of a dual number of this level, or the value itself."""
    return value._primal if isinstance(value, Dual) and value._level is level else value


def tangent_of(value: object, level: Level) -> Any:
    """The tangent of a dual number of this level, or None: it is 0."""
    return value._tangent if isinstance(value, Dual) and value._level is level else None


def make_dual(level: Level, primal: Any, tangent: Any) -> Any:
    """The dual number of a primal and a tangent of its size; RuntimeError if they differ."""
    if primal.shape != tangent.shape:
        raise AutogradError(
            "Trying to set a forward gradient that has a different size than that of the "
            "original Tensor, this is not supported. Tensor is of size "
            f"{list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    return Dual(level, primal, tangent)


def split(x: object, level: Level) -> tuple[Any, Any]:
    """Primal and tangent on a level of dual numbers; the tangent is None where it is 0."""
    if not isinstance(x, Tracer) or x._level.number < level.number:
        return x, None
    if not isinstance(x, Dual):
        primal, tangent = split(x._held, level)
        return x._with(primal), None if tangent is None else x._with(tangent)
    if x._level is level:
        return x._primal, x._tangent
    primal, tangent = split(x._primal, level)
    along, twice = split(x._tangent, level)
    if tangent is None and twice is None:
        return Dual(x._level, primal, along), None
    tangent = zeros_of(primal) if tangent is None else tangent
    return Dual(x._level, primal, along), Dual(
        x._level, tangent, zeros_of(along) if twice is None else twice
    )


def joined(primal: object, tangent: object, level: Level) -> Any:
    """The dual number of a level, inside the tracers of levels further inside."""
    top = innermost([primal, tangent])
    if top is None or top._level.number < level.number:
        return Dual(level, primal, tangent)
    if not isinstance(top, Dual):
        p, t = (batch_of(x, top._level) for x in (primal, tangent))
        return top._with(joined(p, t, level))
    (p, q), (s, t) = (split(x, top._level) for x in (primal, tangent))
    if q is None or t is None:
        q, t = (zeros_of(a) if b is None else b for a, b in ((p, q), (s, t)))
    return Dual(top._level, joined(p, s, level), joined(q, t, level))
