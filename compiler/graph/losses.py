"""Which outputs of a graph are losses: what its gradients are of."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.notes import LossGradient, note, notes_of
from staticgraph.compiler.graph.traversal import ancestors


def losses_of(outputs: Sequence[Expression], made: Sequence[Expression]) -> tuple[int, ...]:
    """The outputs that are one number, and of which a gradient among `made` is."""
    notes = notes_of(ancestors(made))
    known = {what.serial for _, what in notes if isinstance(what, LossGradient)}
    found = []
    for i, one in enumerate(outputs):
        while one.op.name == "stop_gradient" and one.serial not in known:
            one = one.operands[0]
        if one.serial in known and is_float(one.dtype):
            found.append(i)
    return tuple(found)


def note_loss(output: Expression, gradients: Sequence[Expression]) -> None:
    """Note of what these are the gradients, if that is one number."""
    if not output.ndim:
        of = LossGradient(output.serial)
        for one in gradients:
            note(one, of)
