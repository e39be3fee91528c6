"""Functions that overwrite their operand: one node, as in PyTorch, whatever they compose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.reference.copies import copy_into
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.nodes import class_named
from staticgraph.dynamic.tape.tape import KeepingNode, Node
from staticgraph.dynamic.tensors.inplace import check_writable, touch
from staticgraph.dynamic.tensors.tensor import PLAIN
from staticgraph.dynamic.tensors.views import rebase


def rewrite(tensor: Any, function: Callable[[Any], Any], name: str) -> Any:
    """Set `tensor` to `function(tensor)`; the last node that this records becomes the tensor's.

    It gets this name of PyTorch's. The function leaves shapes and floating dtypes as they are.
    """
    captured = paused and mode.capture is not None
    if type(tensor) not in PLAIN or captured or not is_inexact(tensor._array.dtype):
        return tensor.copy_(function(tensor.clone()))
    check_writable(tensor)
    before, edge = tensor, tensor._node if mode.enabled else None
    if edge is not None:  # the reverse pass may read the values from before
        before = tensor._constant(tensor._array.copy())
        before._node = edge
    result = function(before)
    copy_into(tensor._array, result._array)
    touch(tensor)
    node = result._maker
    if node is not None:
        base = type(node).__mro__[1] if "name_" in vars(type(node)) else type(node)
        if base is Node or base is KeepingNode:
            node.__class__ = class_named(name, base)
        rebase(tensor, node, node.edges[0] is edge)
    return tensor
