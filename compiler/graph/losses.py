"""Which outputs of a graph are losses: what its gradients are of."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors


def losses_of(outputs: Sequence[Expression], made: Sequence[Expression]) -> tuple[int, ...]:
    """The outputs that are one number, and of which a gradient among `made` is.

    Gradients know the op and the line of what they are the gradient of.
    """
    known = {(gradient_of(one.source), place_of(one.source)) for one in ancestors(made)}
    found = []
    for i, one in enumerate(outputs):
        while one.op.name == "stop_gradient":
            one = one.operands[0]
        is_number = not one.ndim and is_float(one.dtype)
        if is_number and (one.op.name, place_of(one.source)) in known:
            found.append(i)
    return tuple(found)
