"""Gradient edges: places in the graph that gradients can be asked for, or start from."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.nodes import SeveralOutputs, graph_edge


class GradientEdge(NamedTuple):
    """A node, and which of its outputs is meant; `ownership_token` is the node of that output.

    Example:
        >>> x = dynamic.tensor(1.0, requires_grad=True)
        >>> dynamic.autograd.graph.get_gradient_edge(x.exp()).output_nr
        0
    """

    node: Any
    output_nr: int
    ownership_token: Any = None

    @property
    def _node(self) -> Any:
        if self.ownership_token is not None:
            return self.ownership_token
        if isinstance(self.node, SeveralOutputs):
            outputs = getattr(self.node, "outputs", None)
            spec = outputs[self.output_nr] if outputs else self.node
            return self.node.head(self.output_nr, spec)
        return self.node


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The node and the output of it that is a tensor; RuntimeError if that requires no grad.

    Example:
        >>> x = dynamic.tensor(3.0, requires_grad=True)
        >>> edge = dynamic.autograd.graph.get_gradient_edge(x)
        >>> dynamic.autograd.grad(x * x, edge)
        (tensor(6.),)
    """
    if tensor._node is None:
        raise AutogradError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*graph_edge(tensor._node), tensor._node)
