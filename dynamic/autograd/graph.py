"""The graph of the tape from outside: its nodes, and hooks on what they save."""

from __future__ import annotations

from typing import Any, NamedTuple

from dynamic.errors import AutogradError
from dynamic.nodes import GraphNode as Node
from dynamic.nodes import graph_edge
from dynamic.saved_tensors import disable_saved_tensors_hooks, saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """A node, and which of its outputs is meant."""

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The node and the output of it that is a tensor; RuntimeError if that requires no grad."""
    if tensor._node is None:
        raise AutogradError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*graph_edge(tensor._node))
