"""Views: tensors on the memory of another, which in-place operations on either one change.

A base lists its views, so that an in-place operation puts the new history of all of them on the
tape at once; reading a tensor's node never has to ask whether it is out of date.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.op import Attrs, Op, Operand
from compiler.ops import where
from dynamic.tape import Cell, Spec, named, next_number

ViewStep = tuple[Op, Attrs]


def view_of(array: Any, steps: Sequence[ViewStep]) -> Any:
    """The view that the steps make of an array, a tensor's cotangent as well."""
    for op, attrs in steps:
        if isinstance(array, Operand):
            array = array.apply(op, (array,), attrs)
        else:
            array = op.evaluate(array, **attrs)
    return array


def shares_memory(view: Any, array: Any) -> bool:
    """Whether NumPy made `view` as a view of `array` or of what `array` is a view of."""
    base = view.base
    return base is not None and (base is array or base is array.base)


class _ViewNode(Spec):
    """What the two nodes of mutated views have in common: no op, nothing saved."""

    __slots__ = ("__weakref__", "cell", "edges", "serial", "steps")

    def __init__(self, array: Any, edges: tuple[Any, ...], steps: tuple[ViewStep, ...]) -> None:
        super().__init__(array.shape, array.dtype)
        self.edges = edges
        self.steps = steps
        self.cell: Cell | None = None
        self.serial = next_number()

    def release(self) -> None:
        """Nothing is saved."""

    def name(self) -> str:
        """PyTorch's name of the node."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradient goes to."""
        return tuple((named(edge), 0) for edge in self.edges)


class CopySlices(_ViewNode):
    """A tensor of which a view was overwritten: `edges` are the old tensor and the new view."""

    __slots__ = ()

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The part of `g` in the view goes to what was written, the rest to the old values."""
        old, new = self.edges
        parts = []
        if new is not None:
            parts.append((new, view_of(g, self.steps)))
        if old is not None:
            written = self._written()
            if create_graph:
                parts.append((old, where(g.constant(written), 0.0, g)))
            else:
                parts.append((old, np.where(written, g.dtype.type(0), g)))
        return parts

    def _written(self) -> Any:
        places = view_of(np.arange(self.size).reshape(self.shape), self.steps)
        written = np.zeros(self.size, np.bool_)
        written[places] = True
        return written.reshape(self.shape)


class AsStridedBackward0(_ViewNode):
    """A view of a tensor that was mutated after the view was made."""

    __slots__ = ("specs",)

    def __init__(self, array: Any, base: Any, steps: tuple[ViewStep, ...]) -> None:
        super().__init__(array, (base._node,), steps)
        self.specs: list[Any] = []
        step_array = base._array
        for op, attrs in steps:
            self.specs.append(Spec(step_array.shape, step_array.dtype))
            step_array = op.evaluate(step_array, **attrs)

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The adjoints of the steps that make the view, last one first."""
        for (op, attrs), spec in zip(reversed(self.steps), reversed(self.specs), strict=True):
            rule = op.rule(0)
            assert rule is not None
            g = rule(g, None, spec, **attrs)
        return [(self.edges[0], g)]


class View:
    """How a tensor is a view: of which base, by which steps."""

    __slots__ = ("base", "steps")

    def __init__(self, base: Any, steps: tuple[ViewStep, ...]) -> None:
        self.base = base
        self.steps = steps


def make_view(view: Any, of: Any, op: Op, attrs: Attrs) -> None:
    """Note that `view` was made by `op` on the memory of `of`."""
    parent = of._view
    if parent is None:
        base, steps = of, ((op, attrs),)
    else:
        base, steps = parent.base, (*parent.steps, (op, attrs))
    view._view = View(base, steps)
    view._counter = base._counter
    views = base._views
    if views is None:
        views = base._views = []
    elif len(views) >= 8 and len(views) & (len(views) - 1) == 0:
        views[:] = [one for one in views if one() is not None]  # at powers of two: amortised
    views.append(weakref.ref(view))


def rebase(tensor: Any, node: Any) -> None:
    """Put on the tape that `tensor` was overwritten by what `node` made."""
    view = tensor._view
    if view is None:
        _replace(tensor, node)
        _refresh(tensor)
        return
    base = view.base
    old = base._node
    if node is not None or old is not None:
        _replace(base, CopySlices(base._array, (old, node), view.steps))
    _refresh(base)


def _replace(tensor: Any, node: Any) -> None:
    """Give a tensor another node; a gradient that is to be retained is that of the new one."""
    old = tensor._node
    if node is not None and old is not None and old.cell is not None:
        node.cell, old.cell = old.cell, None
    tensor._node = node


def _refresh(base: Any) -> None:
    """Give the views of `base` their history anew."""
    for reference in base._views or ():
        view = reference()
        if view is not None and view._view is not None:
            node = base._node
            view._node = (
                None if node is None else AsStridedBackward0(view._array, base, view._view.steps)
            )
