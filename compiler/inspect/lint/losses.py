"""Rules about what losses and layers are given, whose findings are slips."""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.losses import PRODUCTS, SUMS, VIEWS, scores_message, why_useless
from staticgraph.compiler.graph.notes import Scores
from staticgraph.compiler.inspect.lint.rules import Linted, certain, certain_of_all, is_gradient
from staticgraph.compiler.ops import leaves


@certain_of_all
def not_log_probabilities(linted: Linted) -> Iterator[tuple[str, str]]:
    """An `nll_loss` of probabilities or of logits, of which gradients are taken."""
    trained = _trained(linted)
    for one, what in linted.notes:
        place = place_of(one.source)
        if not isinstance(what, Scores) or not _has_gradients(linted, place):
            continue
        made = what.given
        while made.op.name in VIEWS:
            made = made.operands[0]
        label = f"what {made.op.name} at {place_of(made.source)} made: {made.type}"
        message = scores_message(_kind_of_layer(made, trained), label)
        if message is not None:
            yield message, place


def _trained(linted: Linted) -> set[object]:
    """The keys of the leaves that the graph itself updates by gradients."""
    stepped = frozenset[int]() if linted.captured is None else linted.captured.stepped
    trained = [*stepped, *(variable for variable, _ in linted.definition.updates)]
    return {linted.nodes[one].attrs["key"] for one in trained}


def _has_gradients(linted: Linted, place: str) -> bool:
    """Whether a gradient goes through what stands on a line."""
    return any(is_gradient(node) and place_of(node.source) == place for node in linted.nodes)


def _kind_of_layer(made: Expression, trained: set[object]) -> str:
    """The name of an op; of a sum with a product by what is trained, that of the product."""
    if made.op.name in SUMS:
        of = next((x for x in made.operands if _is_layer(x, trained)), made)
        return of.op.name
    return made.op.name if made.op.name not in PRODUCTS or _is_layer(made, trained) else ""


def _is_layer(made: Expression, trained: set[object]) -> bool:
    if made.op.name not in PRODUCTS:
        return False
    weight = made.operands[1]
    while weight.op.name in VIEWS:
        weight = weight.operands[0]
    return weight.attrs.get("key") in trained


@certain("layer_norm")
def layer_norm_of_one(linted: Linted, node: Node) -> str | None:
    """A layer_norm over one element with a bias of its own, which it gives for anything."""
    if is_gradient(node) or linted.operand(node, 2).op not in (leaves.variable, leaves.placeholder):
        return None
    return why_useless(node.attrs, linted.operand(node, 0).type.shape)
