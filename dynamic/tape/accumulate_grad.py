"""The node of a leaf, which accumulates its gradient."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.reference.copies import LARGE, add_into, copied
from staticgraph.dynamic.core.eager_ops import copy
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.hooks import hooks_of
from staticgraph.dynamic.tape.nodes import GraphNode, next_number
from staticgraph.dynamic.tape.undefined import UNDEFINED


def leaf_node(tensor: Any) -> AccumulateGrad:
    """The node of a leaf that requires grad; it keeps the gradient that the tensor has."""
    home = tensor._home
    if isinstance(home, AccumulateGrad):
        home.__class__ = AccumulateGrad
        return home
    node = tensor._home = AccumulateGrad(tensor, tensor._array)
    node.grad = None if home is None else home.grad
    if tensor._note is not None or node.grad is not None:
        hooks_of(node)  # so that it does not accumulate before it is looked at: see `pull`
    return node


def freeze(node: object) -> None:
    """Note that the tensor, if it is a leaf that this node belongs to, requires no grad now."""
    if type(node) is AccumulateGrad:
        node.__class__ = FrozenGrad


class AccumulateGrad(GraphNode):
    """The node of a leaf: the end of the graph, and the place of the leaf's gradient."""

    __slots__ = ("grad", "leaf")

    retains = False

    def __init__(self, tensor: Any, array: Any) -> None:
        super().__init__(array.shape, array.dtype)
        self.edges = ()
        self.hooks = None
        self.leaf: Callable[[], Any] = weakref.ref(tensor)
        self.grad: Any = None
        self.serial = next_number()

    @property
    def variable(self) -> Any:
        """The leaf, or None if nobody holds it any more."""
        return self.leaf()

    def pull(self, g: Any, create_graph: bool, own: bool = False) -> tuple[()]:
        """Accumulate the whole cotangent, then call the leaf's hooks; `own`: see `accumulate`.

        RuntimeError if the leaf is one no more: a view of a tensor that was overwritten.
        """
        tensor = self.leaf()
        if tensor is not None and tensor._note is not None and not tensor.is_leaf:
            raise AutogradError(MOVED)
        self.accumulate(g, create_graph, own)
        self._call_hooks(tensor)
        return ()

    def _call_hooks(self, tensor: object) -> None:
        if self.hooks is not None and tensor is not None:
            for hook in tuple(self.hooks.accumulated.values()):
                result = hook(tensor)
                if result is None or result is tensor:
                    continue
                if not isinstance(result, Operand):
                    raise ArgumentError(
                        f"expected Variable, but hook returned '{type(result).__name__}'"
                    )
                raise AutogradError("Tensor post accumulate grad hooks should return None.")

    def accumulate(self, g: Any, create_graph: bool, own: bool) -> None:
        """Add `g`, in place unless recorded; it becomes the gradient if it is the first and `own`.

        `own`: nobody else holds `g`, an ndarray with memory of its own.
        """
        if g.shape != self.shape:
            if g is UNDEFINED:
                return
            raise AutogradError(
                f"AccumulateGrad: a gradient of shape {tuple(g.shape)} for a leaf of shape "
                f"{self.shape}"
            )
        before = self.grad
        if before is None:
            if create_graph:
                self.grad = g._apply(copy, (g._constant(np.empty(self.shape, self.dtype)), g), {})
            elif own and g.dtype is self.dtype and g.flags.c_contiguous:
                self.grad = g
            else:
                self.grad = self._kept(g, own)
        elif create_graph:
            self.grad = (g._constant(before) if isinstance(before, np.ndarray) else before) + g
        else:
            array = before if isinstance(before, np.ndarray) else before._array
            if array is not before and not array.flags.writeable:
                # such as what `expand` made: the op says what is wrong
                before.add_(before._constant(g))
                return
            try:
                if g.size < LARGE:
                    np.add(array, g, array)
                else:
                    add_into(array, g)
            except ValueError:
                if array.shape == g.shape:
                    raise
                raise AutogradError(
                    f"AccumulateGrad: a gradient of shape {g.shape} does not add to that of shape "
                    f"{array.shape}, which the leaf had got before its own shape was changed"
                ) from None
            if array is not before:
                before._counter[0] += 1

    def _kept(self, g: Any, own: bool) -> Any:
        """A first gradient in memory of its own, laid out as the leaf's, else row after row.

        Scripts flatten gradients with `view`.
        """
        leaf = self.leaf()
        alike = leaf is not None and getattr(g, "strides", None) == leaf._array.strides
        if own and alike:
            return np.asarray(g, self.dtype)
        if g.dtype == self.dtype:
            return copied(g, "K" if alike else "C")
        return np.array(g, self.dtype, order="K" if alike else "C")

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # it runs as soon as it can

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


class FrozenGrad(AccumulateGrad):
    """The node of what was a leaf that required grad, in the graphs that were made then.

    An AccumulateGrad becomes one and back. RuntimeError if an op has made the tensor meanwhile.
    """

    __slots__ = ()

    def pull(self, g: Any, create_graph: bool, own: bool = False) -> tuple[()]:
        """Leave the gradient as it is."""
        tensor = self.leaf()
        if tensor is not None and not tensor.is_leaf:
            raise AutogradError(MOVED)
        self._call_hooks(tensor)
        return ()


MOVED = "leaf variable has been moved into the graph interior"
