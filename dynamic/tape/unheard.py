"""Nodes of views that were not recorded, and what need not be kept because of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.recipes import Recipe, recipe


def unheard_node(tensor: Any) -> AccumulateGrad:
    """The node of a view that was not recorded: it counts as a leaf, but no gradient is its own."""
    node = AccumulateGrad(tensor, tensor._array)
    node.leaf = _nobody
    return node


def _nobody() -> None:
    """The leaf that such a node belongs to, as if it were gone."""


def heard(
    plan: Recipe, edges: Sequence[Any], arrays: Sequence[Any]
) -> tuple[Recipe, tuple[Any, ...]] | None:
    """A recipe and edges without those of unheard nodes, of whose operands these are the arrays.

    None if there are none.
    """
    rest = tuple([None if getattr(one, "leaf", None) is _nobody else one for one in edges])
    if rest == tuple(edges):
        return None
    of_complex = any(one.dtype.kind == "c" for one in arrays)
    needs = tuple([one is not None for one in rest])
    return recipe(plan.op, needs, plan.number, of_complex, plan.narrow), rest
