"""The graph of the tape from outside: its nodes, and hooks on what they save."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.autograd.context import FunctionCtx
from staticgraph.dynamic.tape.gradient_edge import GradientEdge, get_gradient_edge
from staticgraph.dynamic.tape.multi_grad import register_multi_grad_hook
from staticgraph.dynamic.tape.mutation import allow_mutation_on_saved_tensors
from staticgraph.dynamic.tape.nodes import GraphNode
from staticgraph.dynamic.tape.saved_tensors import disable_saved_tensors_hooks, saved_tensors_hooks
from staticgraph.dynamic.tensors.inplace import touch

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _AnyNode(type):
    """Nodes, and what a Function is given as `ctx`, count as instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, GraphNode | FunctionCtx)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, GraphNode | FunctionCtx)


class Node(metaclass=_AnyNode):
    """Any node of the graph, for `isinstance`.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> isinstance(x.exp().grad_fn, dynamic.autograd.graph.Node)
        True
    """


def increment_version(tensor: Any | Iterable[object]) -> None:
    """Count a change of the memory of tensors that was made behind their back.

    Example:
        >>> x = dynamic.ones(2)
        >>> dynamic.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for one in (tensor,) if isinstance(tensor, Operand) else tensor:
        touch(one)


class preserved_versions:  # noqa: N801 - a context, as the others here
    """Inside, changes of tensors do not count: their versions are then as before.

    PyTorch's `_unsafe_preserve_version_counter`: gradients may be wrong where values were saved.
    """

    def __init__(self, tensors: Any) -> None:
        self._tensors = (tensors,) if isinstance(tensors, Operand) else tuple(tensors)
        self._versions: list[int] = []

    def __enter__(self) -> None:
        self._versions = [one._version for one in self._tensors]

    def __exit__(self, *exception: object) -> None:
        for tensor, version in zip(self._tensors, self._versions, strict=True):
            tensor._counter[0] = version


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Inside, what the graph saves is a copy in main memory, as all tensors are here.

    Example:
        >>> x = dynamic.tensor(3.0, requires_grad=True)
        >>> with dynamic.autograd.graph.save_on_cpu():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.clone(), lambda kept: kept)
