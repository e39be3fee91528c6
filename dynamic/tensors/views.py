"""Views: tensors on the memory of another, which in-place operations on either one change.

What is written to a view changes the history of its base, whose node is replaced at once. The
views notice when their node is read: the memory has another version than when they got it, and
they are made anew, as the elements of the base at their places in memory.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.ops import concatenate, put, reshape, take
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.hooks import hooks_of
from staticgraph.dynamic.tape.mutated import short_name
from staticgraph.dynamic.tape.nodes import (
    FREED,
    Cotangents,
    Failing,
    GraphNode,
    Output,
    SeveralOutputs,
    next_number,
)
from staticgraph.dynamic.tape.observers import announce
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tape.tape import Node, new_node
from staticgraph.dynamic.tape.unheard import unheard_node
from staticgraph.dynamic.tensors.strided import Region, as_strided, joined, parts_of, spread

OVERLAPPING = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


READ_ONLY = (
    "unsupported operation: the memory of the tensor is read-only, as that of the array that it "
    "was made of. Please clone() the tensor before performing the operation."
)


def writable(array: Any) -> Any:
    """The array, or a view of it that can be written to: what `expand` makes is read-only.

    Raises:
        AutogradError: nobody may write to its memory.
    """
    if not array.flags.writeable:
        array = array.view()
        try:
            array.flags.writeable = True
        except ValueError:
            raise AutogradError(READ_ONLY) from None
    return array


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
        region: where the view is in the memory of the tensor.
        freed: whether a reverse pass has let go of the graph.
        owned: a cotangent that nobody but the engine holds, if it comes to this node alone.
        found: which edges `pull` found cotangents for when it ran last.
        derived: whether `pull` was recorded: what the function saved is then read by its own node,
            too, which the engine lets go of.
    """

    __slots__ = ("derived", "found", "freed", "function", "owned", "region")

    def __init__(self, tensor: Any, node: Any, is_operand: bool) -> None:
        base = tensor._view.base
        super().__init__(base._array.shape, base._array.dtype)
        self.function = node if is_operand else None
        self.edges = (base._node, *node.edges[1:]) if is_operand else (base._node, node)
        self.hooks = None
        self.region = Region(tensor._array, base._array)
        self.owned: Any = None
        self.found: list[int] = []
        self.freed = self.derived = False
        self.serial = next_number()

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The part of `g` in the view goes to what was written, the rest to the old values."""
        if self.freed:
            raise AutogradError(FREED)
        if create_graph:
            self.derived = True
        parts = self._recorded(g) if create_graph else self._evaluated(g)
        self.found = [place for place, _ in parts]
        return [(self.edges[place], part) for place, part in parts]

    def _evaluated(self, g: object) -> list[tuple[int, Any]]:
        """The parts, with the rest on memory that a chain of assignments passes on."""
        region, old = self.region, self.edges[0]
        owned = g is self.owned and self.hooks is None
        self.owned = None
        part = region.part(g) if owned else region.shared(g)
        if old is None:  # nothing is written to
            return self._written(region.arranged(g)[1] if part is None else part, False)
        whole, view = (g, part) if owned else region.arranged(g)
        self._check_places()
        parts = self._written(view.copy() if owned or part is None else part, False)
        view[...] = parts.pop(0)[1] if parts and parts[0][0] == 0 else 0
        if type(old) is CopySlices:
            old.owned = whole
        return [(0, whole), *parts]

    def _check_places(self) -> None:
        """RuntimeError if elements of the view are one in memory: no cotangent is theirs alone."""
        shape, steps, _ = self.region.view
        if (
            0 in steps
            and 0 not in shape
            and any(n > 1 and not step for n, step in zip(shape, steps, strict=True))
        ):
            raise AutogradError(OVERLAPPING)

    def _recorded(self, g: Any) -> list[tuple[int, Any]]:
        """The same in ops on tensors."""
        region = self.region
        places, units = region.places(), parts_of(g, region)
        part = joined(take(reshape(units, (-1,)), places, 0), region.dtype)
        parts = self._written(part, True)
        if self.edges[0] is None:
            return parts
        self._check_places()
        before = parts.pop(0)[1] if parts and parts[0][0] == 0 else None
        if before is None or not region.is_shared:
            written = 0.0 if before is None else parts_of(before, region)
            rest = joined(put(units, places, written), region.base_dtype)
        else:
            rest = joined(put(units, places, 0.0), region.base_dtype) + spread(before, region)
        return [(0, rest), *parts]

    def _written(self, g: Any, create_graph: bool) -> list[tuple[int, Any]]:
        """Per edge the cotangents that the new values lead to."""
        if self.function is None:
            return [] if self.edges[1] is None else [(1, g)]
        parts = self.function.pull(g, create_graph)
        return [
            (place, part) for place, (_, part) in zip(self.function.places(), parts, strict=True)
        ]

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::CopySlices"

    def __repr__(self) -> str:
        return f"<CopySlices object at {id(self):#x}>"

    def undefined(self, create_graph: bool) -> list[tuple[Any, Any]]:
        """No cotangent for any operand."""
        self.found = [i for i, edge in enumerate(self.edges) if edge is not None]
        return super().undefined(create_graph)

    def places(self) -> tuple[int, ...]:
        """The edges that got a cotangent when the node ran last."""
        return tuple(self.found)

    def release(self) -> None:
        """Let go of what the function saved; as in PyTorch the node cannot run again."""
        self.freed = True
        if self.function is not None and not self.derived:
            self.function.release()


class Pieces(SeveralOutputs):
    """The node of all the views that `unbind` or `split` makes along one axis.

    Attributes:
        label: PyTorch's name of the node.
        axis: the axis, which each view has lost if `sizes` is None.
        sizes: the sizes of the views along the axis.
    """

    __slots__ = ("axis", "label", "sizes")

    def __init__(self, tensor: Any, label: str, axis: int, sizes: Sequence[int] | None) -> None:
        super().__init__(tensor._array.shape, tensor._array.dtype)
        self.edges = (tensor._node,)
        self.hooks = None
        self.label = label
        self.axis = axis
        self.sizes = sizes
        self.count = self.shape[axis] if sizes is None else len(sizes)
        self.heads = {}
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
                listed[i] = some._constant(zeros) if create_graph else zeros
        op = eager_ops.stack if self.sizes is None else concatenate
        attrs = {"axis": self.axis}
        if create_graph:
            return [(self.edges[0], some._apply(op, listed, attrs))]
        return [(self.edges[0], op.evaluate(*listed, **attrs))]

    def name(self) -> str:
        """PyTorch's name of the node."""
        return self.label

    def refused(self, output: Output) -> str:
        """What to say where one of the views is read that was saved before it was overwritten."""
        return (
            f"Output {output.index} of {short_name(self)} is a view and its base or another view "
            f"of its base has been modified inplace.{MULTI_OUTPUT}"
        )


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
        return tuple(tensor._apply(eager_ops.select, (tensor,), {"key": key}) for key in keys)
    node = None
    if tensor._node is not None and mode.enabled:
        node = Pieces(tensor, label, axis, sizes)
        announce(node)
    views = []
    for i, key in enumerate(keys):
        view = tensor._constant(tensor._array[key])
        make_view(view, tensor, MULTI_OUTPUT)
        if node is not None:
            view._node = node.head(i, view._array)
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
    made = node is not None and type(node) is not AccumulateGrad
    if made:
        subject = f"Output {getattr(node, 'index', 0)} of {short_name(node)} is a view"
    if made and why is not NO_GRAD and why is not INFERENCE:
        return f"{subject} and {what} modified inplace.{why}"
    subject = f"{subject} of a view which" if made else "A view"
    if why is INFERENCE:
        return (
            f"{subject} was created in inference mode and {what} modified inplace in normal mode."
            f"{why}"
        )
    return (
        f"{subject} was created in no_grad mode and {what} modified inplace with grad mode "
        f"enabled.{why}"
    )


class View(NamedTuple):
    """How a tensor is a view.

    Attributes:
        base: the tensor on whose memory it is, no view itself.
        origin: None, or why the view must not be modified in place by what is recorded.
        version: the version of the memory when the view got its history.
    """

    base: Any
    origin: str | None
    version: int


def view_note(of: Any, origin: str | None = None) -> tuple[Any, ...] | None:
    """The fields of a View on the memory of `of`, whose version is known. Records take longer.

    None if `of` is an inference tensor.
    """
    cell = of._cell
    if type(cell) is not list:
        return None
    if paused and origin is None and not mode.enabled:
        origin = INFERENCE if mode.inference else NO_GRAD
    note = of._note
    if note is None:
        return (of, origin, cell[0])
    return (note[0], origin or note[1], cell[0])


def make_view(view: Any, of: Any, origin: str | None = None) -> None:
    """Note that `view` was made on the memory of `of`."""
    view._cell = of._counter
    view._note = view_note(of, origin)


def computed(function: Callable[..., object]) -> Any:
    """`function`, whose results are no views: what they are views of, nobody else has."""

    @functools.wraps(function)
    def method(*args: object, **options: object) -> Any:
        return alone(function(*args, **options))

    return method


def alone(result: Any) -> Any:
    """A tensor, or each of several, as one of its own, in row-major order."""
    if isinstance(result, tuple):
        parts = [alone(one) for one in result]
        return tuple(parts) if type(result) is tuple else type(result)(*parts)
    if getattr(result, "_overwritten", True) is None and result._note is not None:  # no tracer
        result._note = None
        result._array = np.ascontiguousarray(result._array).reshape(result._array.shape)
    return result


def rebase(tensor: Any, node: object, is_operand: bool = False) -> None:
    """Put on the tape that `tensor` was overwritten by what `node` made.

    `is_operand`: whether operand 0 of `node` is the tensor as it was.
    """
    view = tensor._view
    if view is None:
        give_node(tensor, node)
    elif node is not None or view.base._node is not None:
        inlined = is_operand and isinstance(node, Node)
        slices = CopySlices(tensor, node, inlined)
        announce(slices)
        give_node(view.base, slices)
        old = tensor._maker
        if old is not None and old.hooks is not None and old.hooks.cell is not None:
            node_of_view(tensor)  # the gradient to be retained is that of the new values


def give_node(tensor: Any, node: object) -> None:
    """Give a tensor another node; a gradient that is to be retained is that of the new one."""
    old = tensor._maker
    if node is not None and old is not None and old.hooks is not None:
        cell = old.hooks.cell
        if cell is not None:
            hooks_of(node).cell, old.hooks.cell = cell, None
    tensor._node = node


def node_of_view(tensor: Any) -> Any:
    """The node of a view, made anew if the memory was changed since it got the one it has.

    RuntimeError for a view that must not be used after that, unless nothing is recorded.
    """
    base, origin, version = tensor._note
    maker = tensor._maker
    if base._maker is None and (maker is None or type(maker) is AccumulateGrad):
        return maker
    if version == tensor._cell[0]:
        # a view that was not recorded counts as a leaf, whose gradient nobody gets
        return unheard_node(tensor) if maker is None else maker
    if origin is not None:
        error = AutogradError(refusal(tensor, "its base or another view of its base has been"))
        if mode.enabled:
            raise error
        return Failing(tensor._array, error, "Invalid")
    edge, array = base._maker, tensor._array
    attrs = {"region": Region(array, base._array)}
    plan = recipe(as_strided, (edge is not None,))  # without an edge nobody gets its gradient
    node = new_node(plan, (edge,), (edge, None), (), (), attrs, array)
    give_node(tensor, node)
    tensor._note = (base, origin, tensor._cell[0])
    return node
