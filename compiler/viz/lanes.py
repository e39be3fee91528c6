"""Lanes: which nodes of a graph compute forward, which its gradient, which the update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.core.source import gradient_of

FORWARD, GRADIENT, UPDATE = 0, 1, 2
NAMES = ("forward", "gradient", "update")


def lanes_of(
    operands: Mapping[int, Sequence[int]],
    sources: Mapping[int, str],
    outputs: Sequence[int],
    updates: Sequence[tuple[int, int]],
) -> dict[int, int]:
    """The lane of each node; a leaf is where it is first used.

    Args:
        operands: of each node, in an order in which operands come first.
        sources: of each node.
        outputs: nodes.
        updates: pairs of a variable's node and the node of its next value.
    """
    tagged = {node for node in operands if gradient_of(sources[node])}
    after = set(tagged)
    for node, given in operands.items():
        if any(operand in after for operand in given):
            after.add(node)
    to_gradient, to_output = set(tagged), set(outputs)
    for node in reversed(list(operands)):
        for reached in (to_gradient, to_output):
            if node in reached:
                reached.update(operands[node])
    targets = {new for _, new in updates}
    lanes = {}
    for node, given in operands.items():
        if node in tagged or (node in after and node in to_gradient):
            lanes[node] = GRADIENT
        elif node in to_output or node in to_gradient or not (targets or given):
            lanes[node] = FORWARD
        else:
            lanes[node] = UPDATE if targets else FORWARD
    first: dict[int, int] = {}
    for node, given in operands.items():
        for operand in given:
            first[operand] = min(first.get(operand, UPDATE), lanes[node])
    leaves = {node: first.get(node, lanes[node]) for node, given in operands.items() if not given}
    return lanes | leaves
