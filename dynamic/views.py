"""Views: tensors on the memory of another, which in-place operations on either one change.

A base lists its views, so that an in-place operation puts the new history of all of them on the
tape at once; reading a tensor's node never has to ask whether it is out of date.
"""

from __future__ import annotations

import weakref
from typing import Any

from compiler.op import Attrs, Op
from dynamic.tape import AsStridedBackward0, CopySlices, ViewStep


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
