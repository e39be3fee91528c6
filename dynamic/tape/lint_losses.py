"""Losses on the tape that cannot teach what was meant: looked for when an optimizer is new."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from staticgraph.compiler.graph.losses import (
    LOGITS,
    NEVER_NEGATIVE,
    PRODUCTS,
    SUMS,
    VIEWS,
    logits_message,
    relu_message,
    scores_message,
    sums_to_one,
    sums_to_zero,
    why_same,
    why_useless,
)
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.tape import Node


def slips_of_loss(
    root: Any, nodes: Collection[Any], leaves: Collection[Any], advises: bool
) -> Iterator[tuple[str, str]]:
    """What is found in the graph of a loss: the rule, and the message.

    `advises`: whether to look for what may be meant, too.
    """
    for node in nodes:
        for rule, look in (*_CERTAIN, *(_ADVICE if advises else ())):
            message = look(node)
            if message is not None:
                yield rule, message
    blocks = _constant_on_all_ways(root, leaves)
    if blocks:
        yield (
            "constant_loss",
            "the loss is the same for all parameters: all ways lead through "
            f"{' and '.join(list(dict.fromkeys(blocks))[:3])}, which is always the same: every "
            "gradient is zero, and nothing is learnt",
        )


def _of_probabilities(node: object) -> str | None:
    name = _name(node)
    if not isinstance(node, Node) or name not in LOGITS:
        return None
    made = node.edges[0]
    if made is None or _name(made) not in LOGITS[name]:
        return None
    if name != "binary_cross_entropy_with_logits":
        ndim = len(made.shape)
        axis = node.attrs["axis"] if name == "log_softmax" else min(1, ndim - 1)
        if made.attrs["axis"] % ndim != axis % ndim:
            return None
    return logits_message(name, _name(made), f"a tensor of shape {list(made.shape)}")


def _of_no_logarithms(node: Any) -> str | None:
    if _name(node) not in ("nll_loss", "picked"):
        return None
    made = node.edges[0]
    while _name(made) in VIEWS:
        made = made.edges[0]
    of = made
    if _name(made) in SUMS:
        of = next((one for one in made.edges if _is_layer(one)), made)
    if not isinstance(of, Node) or (_name(of) in PRODUCTS and not _is_layer(of)):
        return None
    return scores_message(_name(of), f"what {_name(of)} made, of shape {list(made.shape)}")


def _is_layer(node: object) -> bool:
    """Whether it is a product by a leaf, such as the weight of a layer."""
    if not isinstance(node, Node) or _name(node) not in PRODUCTS:
        return False
    weight = node.edges[1]
    while isinstance(weight, Node) and _name(weight) in VIEWS:
        weight = weight.edges[0]
    return isinstance(weight, AccumulateGrad)


def _of_one_element(node: Any) -> str | None:
    if _name(node) != "layer_norm" or not isinstance(node.edges[-1], AccumulateGrad):
        return None
    return None if node.edges[0] is None else why_useless(node.attrs, node.edges[0].shape)


def _of_relu(node: Any) -> str | None:
    if _name(node) not in ("cross_entropy", "log_softmax") or _name(node.edges[0]) != "relu":
        return None
    return relu_message(_name(node), f"relu, of shape {list(node.edges[0].shape)}")


_CERTAIN = (
    ("probabilities_as_logits", _of_probabilities),
    ("not_log_probabilities", _of_no_logarithms),
    ("layer_norm_of_one", _of_one_element),
)
_ADVICE = (("relu_before_softmax", _of_relu),)


def _constant_on_all_ways(root: Any, leaves: Collection[Any]) -> list[str]:
    """The ops that make a loss the same for all leaves; none if it is not."""
    if not leaves:
        return []
    left, found, stack, seen = set(leaves), [], [root], {root}
    while stack:
        node = stack.pop()
        if node in left:
            return []
        why = _why_same(node)
        if why is not None:
            found.append(f"{_name(node)} {why}")
            continue
        more = [one for one in node.edges if one is not None and one not in seen]
        seen.update(more)
        stack += more
    return found


def _why_same(node: object) -> str | None:
    if not isinstance(node, Node) or node.hooks is not None or not node.edges:
        return None
    first, *rest = node.edges
    if first is None:
        return None
    if _name(node) in ("sum", "sum_dim") and _name(first) == "softmax":
        is_one = sums_to_one(node.attrs, first.attrs, len(first.shape))
        return "of a softmax over its axis" if is_one else None
    if _name(node) in _TOTALS and _name(first) == "subtract":
        less, mean = first.edges
        is_centred = less is not None and _name(mean) in _MEANS and mean.edges[0] is less
        is_zero = is_centred and sums_to_zero(node.attrs, mean.attrs, len(first.shape))
        return "of a value less its mean" if is_zero else None
    if _name(node) == "relu":
        is_never = _name(first) == "negative" and _name(first.edges[0]) in NEVER_NEGATIVE
        return "of what is never above 0" if is_never else None
    if _name(node) == "layer_norm" and rest[-1] is not None:
        return None
    is_pair = bool(rest) and rest[0] is first
    return why_same(_name(node), node.attrs, [first.shape], is_pair)


_MEANS = ("mean", "mean_dim")
_TOTALS = (*_MEANS, "sum", "sum_dim")


def _name(node: object) -> str:
    return str(node.recipe.op.name) if isinstance(node, Node) else ""
