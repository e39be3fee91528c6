"""Views: tensors on the memory of another, which in-place operations on either one change.

A base lists its views, so that an in-place operation puts the new history of all of them on the
tape at once; reading a tensor's node never has to ask whether it is out of date.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.op import Attrs, Op, Operand
from compiler.ops import concatenate, where
from dynamic import eager_ops
from dynamic.errors import AutogradError
from dynamic.grad_mode import mode, paused
from dynamic.hooks import hooks_of
from dynamic.masked import Masked, span
from dynamic.nodes import Cotangents, Failing, GraphNode, Output, Spec, next_number
from dynamic.observers import announce
from dynamic.tape import Node, short_name

ViewStep = tuple[Op, Attrs]


def view_of(array: Any, steps: Sequence[ViewStep]) -> Any:
    """The view that the steps make of an array, a tensor's cotangent as well."""
    for op, attrs in steps:
        if isinstance(array, Operand):
            array = array.apply(op, (array,), attrs)
        else:
            array = op.evaluate(array, **attrs)
    return array


def writable(array: Any) -> Any:
    """The array, or a view of it that can be written to: what `expand` makes is read-only."""
    if not array.flags.writeable:
        array = array.view()
        array.flags.writeable = True
    return array


def _writable_view(array: Any, steps: Sequence[ViewStep]) -> Any:
    return writable(view_of(array, steps))


def shares_memory(view: Any, array: Any) -> bool:
    """Whether NumPy made `view` as a view of `array` or of what `array` is a view of."""
    base = view.base
    return base is not None and (base is array or base is array.base)


class CopySlices(GraphNode):
    """A tensor of which a view was overwritten by what the node `function` made.

    The function's operand 0 is the view as it was, so its cotangent takes the place of what was
    written in the cotangent of the old tensor, `edges[0]`; the other edges are the function's. A
    function with other operands, `edges[1]`, is left to the engine.

    Attributes:
        steps: how the view is made of the tensor.
        erases: whether what was written does not depend on what was there.
        span, strides: where the view is in the memory of the tensor, and how that is laid out.
        owned: a cotangent that nobody but the engine holds, if it comes to this node alone.
        found: which edges `pull` found cotangents for when it ran last.
    """

    __slots__ = ("erases", "found", "function", "owned", "span", "steps", "strides")

    def __init__(self, tensor: Any, node: Any, is_operand: bool) -> None:
        base = tensor._view.base
        super().__init__(base._array.shape, base._array.dtype)
        self.function = node if is_operand else None
        self.edges = (base._node, *node.edges) if is_operand else (base._node, node)
        self.hooks = None
        self.steps = tensor._view.steps
        self.erases = not is_operand or node.recipe.op in eager_ops.ERASING
        self.span = span(tensor._array, base._array)
        self.strides = base._array.strides
        self.owned: Any = None
        self.found: list[int] = []
        self.serial = next_number()

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The part of `g` in the view goes to what was written, the rest to the old values."""
        if create_graph:
            parts = self._written(view_of(g, self.steps), True)
            if self.edges[0] is not None:
                places = np.zeros(self.shape, np.bool_)
                _writable_view(places, self.steps)[...] = True
                parts.append((0, where(g.constant(places), 0.0, g)))
        else:
            found = self._masked(g)
            parts = self._dense(g) if found is None else found
        self.found = [place for place, _ in parts]
        return [(self.edges[place], part) for place, part in parts]

    def _masked(self, g: Any) -> list[tuple[int, Any]] | None:
        """The parts without a copy; None if what was written before overlaps or is needed."""
        old = self.edges[0]
        chained = type(old) is CopySlices and old.hooks is None
        if type(g) is not Masked:
            if not chained or g is self.owned:
                return None
            g = Masked(g, self.strides)
        if not self.erases or self.hooks is not None or g.strides != self.strides:
            return None
        if not g.cut(functools.partial(_writable_view, steps=self.steps), self.span):
            return None
        parts = self._written(view_of(g.array, self.steps), False)
        if self.function is not None and parts and parts[0][0] == 1:
            del parts[0]  # zeros
        if old is not None:
            parts.append((0, g if chained else g.dense()))
        return parts

    def _dense(self, g: Any) -> list[tuple[int, Any]]:
        """The parts, with the rest in an array that a chain of assignments passes on."""
        old = self.edges[0]
        if type(g) is Masked:
            g = self.owned = g.dense()
        if old is None:
            return self._written(view_of(g, self.steps), False)
        rest = g if g is self.owned and self.hooks is None else g.copy()
        self.owned = None
        if type(old) is CopySlices:
            old.owned = rest
        view = _writable_view(rest, self.steps)
        parts = self._written(view.copy(), False)
        view[...] = 0
        if self.function is not None and parts and parts[0][0] == 1:
            view[...] = parts.pop(0)[1]
        parts.append((0, rest))
        return parts

    def _written(self, g: Any, create_graph: bool) -> list[tuple[int, Any]]:
        """Per edge the cotangents that the new values lead to."""
        if self.function is None:
            return [] if self.edges[1] is None else [(1, g)]
        parts = self.function.pull(g, create_graph)
        return [
            (place + 1, part)
            for place, (_, part) in zip(self.function.places(), parts, strict=True)
        ]

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::CopySlices"

    def places(self) -> tuple[int, ...]:
        """The edges that got a cotangent when the node ran last."""
        return tuple(self.found)

    def release(self) -> None:
        """Let go of what the function saved."""
        if self.function is not None:
            self.function.release()


reshaped: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""The tensors, by their id, that are no views and whose shape was changed in place."""


def _require_layout(array: Any, expected: Any) -> None:
    """RuntimeError unless two arrays are the same elements of the same memory."""
    if span(array, expected) != span(expected, expected) or array.strides != expected.strides:
        raise AutogradError(
            "a view was made before the shape of its base was changed in place (as by t_() or "
            "squeeze_()): make it again"
        )


class AsStridedBackward0(GraphNode):
    """A view of a tensor that was mutated after the view was made."""

    __slots__ = ("specs", "steps")

    def __init__(self, array: Any, base: Any, steps: tuple[ViewStep, ...]) -> None:
        super().__init__(array.shape, array.dtype)
        self.edges = (base._node,)
        self.hooks = None
        self.steps = steps
        self.specs: list[Any] = []
        step_array = base._array
        for op, attrs in steps:
            self.specs.append(Spec(step_array.shape, step_array.dtype))
            step_array = op.evaluate(step_array, **attrs)
        _require_layout(array, step_array)
        self.serial = next_number()

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The adjoints of the steps that make the view, last one first."""
        for (op, attrs), spec in zip(reversed(self.steps), reversed(self.specs), strict=True):
            rule = op.rule(0)
            assert rule is not None
            g = rule(g, None, spec, **attrs)
        return [(self.edges[0], g)]


class Pieces(GraphNode):
    """The node of all the views that `unbind` or `split` makes along one axis.

    Attributes:
        label: PyTorch's name of the node.
        axis: the axis, which each view has lost if `sizes` is None.
        sizes: the sizes of the views along the axis.
        count: how many views there are.
    """

    __slots__ = ("axis", "count", "label", "sizes")

    def __init__(self, tensor: Any, label: str, axis: int, sizes: Sequence[int] | None) -> None:
        super().__init__(tensor._array.shape, tensor._array.dtype)
        self.edges = (tensor._node,)
        self.hooks = None
        self.label = label
        self.axis = axis
        self.sizes = sizes
        self.count = self.shape[axis] if sizes is None else len(sizes)
        self.serial = next_number()

    def pull(self, g: Cotangents, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the views joined, zeros for those that have none."""
        listed = list(g.listed(self.count))
        some = next(iter(g.parts.values()))
        before, after = self.shape[: self.axis], self.shape[self.axis + 1 :]
        for i, part in enumerate(listed):
            if part is None:
                middle = () if self.sizes is None else (self.sizes[i],)
                zeros = np.zeros((*before, *middle, *after), self.dtype)
                listed[i] = some.constant(zeros) if create_graph else zeros
        op = eager_ops.stack if self.sizes is None else concatenate
        attrs = {"axis": self.axis}
        if create_graph:
            return [(self.edges[0], some.apply(op, listed, attrs))]
        return [(self.edges[0], op.evaluate(*listed, **attrs))]

    def name(self) -> str:
        """PyTorch's name of the node."""
        return self.label


def pieces(tensor: Any, label: str, axis: int, sizes: Sequence[int] | None) -> tuple[Any, ...]:
    """The views at each index of an axis, or of these sizes along it; one node for all of them."""
    lead = (slice(None),) * axis
    if sizes is None:
        keys: list[Any] = [(*lead, i, Ellipsis) for i in range(tensor._array.shape[axis])]
    else:
        ends = itertools.accumulate(sizes)
        keys = [
            (*lead, slice(end - size, end), Ellipsis) for size, end in zip(sizes, ends, strict=True)
        ]
    if tensor._overwritten is not None:  # a tracer
        return tuple(tensor.apply(eager_ops.select, (tensor,), {"key": key}) for key in keys)
    node = None
    if tensor._node is not None and mode.enabled:
        node = Pieces(tensor, label, axis, sizes)
        announce(node)
    views = []
    for i, key in enumerate(keys):
        view = tensor.constant(tensor._array[key])
        make_view(view, tensor, eager_ops.select, {"key": key}, MULTI_OUTPUT)
        if node is not None:
            view._node = Output(node, i, view._array)
        views.append(view)
    return tuple(views)


_CLARIFY = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {0} block (if you don't "
    "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
NO_GRAD = _CLARIFY.format("no_grad")
INFERENCE = _CLARIFY.format("inference_mode")
MULTI_OUTPUT = (
    " This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)
CUSTOM = (
    " This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)


def refusal(view: Any, what: str = "is being") -> str:
    """Why a view that was not made in the usual way is not to be modified in place.

    `what` says whether it is the view that is modified, or its base.
    """
    why = view._view.origin
    node = view._maker
    if node is not None:
        number = getattr(node, "index", 0)
        subject = f"Output {number} of {short_name(node)} is a view and {what} modified inplace."
    elif why is INFERENCE:
        subject = (
            f"A view was created in inference mode and {what} modified inplace in normal mode."
        )
    else:
        subject = (
            f"A view was created in no_grad mode and {what} modified inplace with grad mode "
            "enabled."
        )
    return f"{subject}{why}"


class View(NamedTuple):
    """How a tensor is a view: of which base, by `op` on what `parent` is, or on the base.

    Attributes:
        parent: what the note of a tensor that is a view itself says, or None.
        origin: None, or why the view must not be modified in place by what is recorded.
        rebased: how often the base had been rebased when the view got its history.
    """

    base: Any
    parent: Any
    op: Op
    attrs: Attrs
    origin: str | None
    rebased: int

    @property
    def steps(self) -> tuple[ViewStep, ...]:
        """The ops that make the view of the base, with their attributes."""
        steps, view = [(self.op, self.attrs)], self.parent
        while view is not None:
            _, view, op, attrs, _, _ = view
            steps.append((op, attrs))
        return tuple(reversed(steps))


def view_note(of: Any, op: Op, attrs: Attrs, origin: str | None = None) -> tuple[Any, ...]:
    """The fields of a View: what `op` makes on the memory of `of`. Records take longer to make."""
    if paused and origin is None and not mode.enabled:
        origin = INFERENCE if mode.inference else NO_GRAD
    parent = of._note
    if parent is None:
        return (of, None, op, attrs, origin, of._rebased)
    base = parent[0]
    return (base, parent, op, attrs, origin or parent[4], base._rebased)


def make_view(view: Any, of: Any, op: Op, attrs: Attrs, origin: str | None = None) -> None:
    """Note that `view` was made by `op` on the memory of `of`."""
    view._note = view_note(of, op, attrs, origin)
    view._counter = of._counter


def _step(array: Any, step: ViewStep) -> Any:
    op, attrs = step
    return op.evaluate(array, **attrs)


def rebase(tensor: Any, node: Any, is_operand: bool = False) -> None:
    """Put on the tape that `tensor` was overwritten by what `node` made.

    `is_operand`: whether operand 0 of `node` is the tensor as it was.
    """
    view = tensor._view
    if view is None:
        _replace(tensor, node)
        tensor._rebased += 1
        return
    base = view.base
    if reshaped and id(base) in reshaped:
        _require_layout(tensor._array, functools.reduce(_step, view.steps, base._array))
    if node is not None or base._node is not None:
        inlined = is_operand and isinstance(node, Node)
        slices = CopySlices(tensor, node, inlined)
        announce(slices)
        _replace(base, slices)
    base._rebased += 1


def _replace(tensor: Any, node: Any) -> None:
    """Give a tensor another node; a gradient that is to be retained is that of the new one."""
    old = tensor._node
    if node is not None and old is not None and old.hooks is not None:
        cell = old.hooks.cell
        if cell is not None:
            hooks_of(node).cell, old.hooks.cell = cell, None
    tensor._node = node


def refresh(tensor: Any) -> None:
    """Give a view its history anew, after its base was rebased."""
    view = tensor._view
    node = view.base._node
    if node is not None and view.origin is None:
        node = AsStridedBackward0(tensor._array, view.base, view.steps)
    elif node is not None:
        error = AutogradError(refusal(tensor, "its base or another view of its base has been"))
        node = Failing(tensor._array, error, "Invalid")
    tensor._note = view._replace(rebased=view.base._rebased)
    tensor._maker = node
