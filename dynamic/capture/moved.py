"""Traced tensors that get other memory, or another shape, or share theirs: `x.data`, `x.t_()`."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.capture.links import Link
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.tracer import evaluated
from staticgraph.dynamic.tape.grad_mode import enable_grad, mode, record_if, recording
from staticgraph.dynamic.tensors.inplace import LEAF


class Moved:
    """The part of a traced tensor that is about which memory it is on."""

    __slots__ = ()

    made: Any
    requires_grad: Any
    _body: Any
    _current: Any
    _link: Any
    _outside: bool
    _seen: Any
    _stamp: Any
    _value: Any
    _viewed: Any

    def as_view_of(self, other: Any) -> Any:
        """Itself, which stands for a view of another; no op tells where in its memory."""
        self._link, self._seen = Link(other, None, {}, True), other._stamp
        other._viewed = True
        return self

    def reshaped(self, op: Op, attrs: Attrs) -> Any:
        """Itself, which becomes the view that an op makes of what it was."""
        value = self._current()
        is_leaf = isinstance(value, Expression) and mode.capture.gradients.is_leaf(value.serial)
        if self._outside or self._viewed or is_leaf or self._body is not mode.capture.body:
            refuse(
                "changes the shape of a tensor in place that is from outside, a leaf, or has views",
                "bind the name to the view: x = x.transpose(0, 1)",
            )
        before = self.made(value, self._link)
        before._seen, before._body = self._seen, self._body
        with enable_grad():  # as eagerly: the gradient goes to what it was, in every mode
            self._value = evaluated(op, [before], attrs)._value
        self._link, self._seen = Link(before, op, attrs, True), before._stamp
        self._stamp += 1
        return self

    def _check_writable(self) -> None:
        root: Any = self
        recorded = recording()
        while True:
            if root._body is not mode.capture.body:
                refuse(
                    "changes a tensor from outside of the function that is a branch or the body "
                    "of a loop",
                    "return the new value",
                )
            value = root._value
            is_leaf = isinstance(value, Expression) and mode.capture.gradients.is_leaf(value.serial)
            if recorded and is_leaf:
                what = "a leaf Variable" if root is self else "a view of a leaf Variable"
                raise AutogradError(LEAF.format(what))
            if root._link is None:
                break
            recorded = recorded and root._link.op is not ops.stop_gradient
            root = root._link.parent
        if root._outside:
            mode.capture.writes(root, recorded)

    def detach(self) -> Any:
        """The tensor without what it was computed from, for gradients."""
        value = self._current()
        if isinstance(value, Expression):
            value = ops.stop_gradient(value)
        return self.made(value, Link(self, ops.stop_gradient, {}, True))

    def detach_(self) -> Any:
        """Itself, which was computed of nothing, for gradients."""
        if self._link is not None:
            raise AutogradError("Can't detach views in-place. Use detach() instead.")
        value = self._current()
        if self._outside and self.requires_grad:
            refuse("detaches a tensor from outside", "use detach(), which gives another one")
        if isinstance(value, Expression):
            self._value = ops.stop_gradient(value)
        return self

    @property
    def data(self) -> Any:
        """As `detach`."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        move(self, mode.capture.lifted(value))


def move(x: Any, value: Any) -> None:
    """Give a traced tensor the memory of another, which was made inside.

    From here on neither views of `x` of before, nor `value`, which is `x` now, may be read.
    """
    if tuple(value.shape) != tuple(x.shape) or value.dtype != x.dtype:
        refuse("gives a tensor memory of another shape or dtype", "make a new tensor")
    root, whole = value, True
    while root._link is not None:
        whole = whole and root._link.op is ops.stop_gradient
        root = root._link.parent
    if root is x and whole:
        return  # it was changed in its own memory
    if root._outside or x._link is not None or root is x:
        refuse(
            "gives a tensor the memory of another one",
            "copy the values, x.data.copy_(y), or give it a new tensor, x.data = y.clone()",
        )
    new = value._current()
    if not isinstance(new, Expression):  # it may be on an array that others have
        refuse("gives a tensor the memory of one that is known", "copy the values, x.data.copy_(y)")
    if x._outside:
        mode.capture.moves(x)
    before = record_if(False)
    try:
        x._write(new)
    finally:
        record_if(before)
    x._moved = x._stamp
    root._lost = value._lost = user_place()
