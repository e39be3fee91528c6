"""A trace that goes on after an optimizer's step: one executable for each stage between steps.

What a function reads of a parameter after a step is an input of its own, which has its value only
when the step is done. So the graph is computed in stages: in each, what depends on the inputs that
are new by then. What a later stage reads of an earlier one is a result of that, and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors, cut
from staticgraph.compiler.transforms.custom_rules import without_rules
from staticgraph.leaves import placeholder
from staticgraph.tracing.parts import Part
from staticgraph.tracing.tracing import Trace


class Stage:
    """One stage: the outputs that it computes, and what it keeps for later ones.

    Attributes:
        outputs: the places of its outputs in those of the trace.
        part: what computes them, and then what is kept; None if there is nothing to compute.
        keeps: what is kept, by the serials of the expressions.
        reads: of what was kept, what it reads.
    """

    def __init__(
        self,
        trace: Trace,
        options: Mapping[str, Any],
        number: int,
        outputs: Mapping[int, Expression],
        keeps: Sequence[Expression],
        reads: Sequence[Expression],
    ) -> None:
        self.outputs = tuple(outputs)
        self.keeps = [one.serial for one in keeps]
        self.reads = [one.serial for one in reads]
        givens = {
            one: placeholder(f"kept {i} of {trace.name}", one.shape, one.dtype)
            for i, one in enumerate(reads)
        }
        roots = [*outputs.values(), *keeps]
        inputs = [*trace.inputs, *givens.values()]
        name = f"{trace.name}, stage {number}"
        self.part = Part(name, inputs, roots, options, givens) if roots else None

    def run(self, arrays: Sequence[Any], kept: dict[int, Array]) -> list[tuple[int, Array]]:
        """Its outputs with their places, given the inputs of the trace as they are now.

        `kept` is what earlier stages kept, to which it adds.
        """
        if self.part is None:
            return []
        results = self.part([*arrays, *(kept[serial] for serial in self.reads)])
        count = len(self.outputs)
        kept.update(zip(self.keeps, results[count:], strict=True))
        return list(zip(self.outputs, results[:count], strict=True))


def stages_of(
    trace: Trace, options: Mapping[str, Any], late: Mapping[int, int], count: int
) -> list[Stage]:
    """The stages of a trace, in order.

    Args:
        trace: the whole.
        options: as `compile` takes them.
        late: the inputs that are there only in a later stage than the first, 0, and in which.
        count: how many stages there are.
    """
    outputs = without_rules(trace.outputs)
    stage: dict[int, int] = {trace.inputs[i].serial: number for i, number in late.items()}
    given = {one.serial for one in trace.inputs}
    for node in ancestors(outputs):
        before = [stage[one.serial] for one in node.operands]
        stage[node.serial] = max([stage.get(node.serial, 0), *before])
    made: list[Stage] = []
    keeps: list[dict[int, Expression]] = [{} for _ in range(count)]
    for number in reversed(range(count)):
        own = {i: one for i, one in enumerate(outputs) if stage[one.serial] == number}

        def inside(node: Expression, number: int = number) -> bool:
            constant = not node.operands and node.serial not in given
            return stage[node.serial] == number or constant

        _, reads = cut([*own.values(), *keeps[number].values()], inside)
        for one in reads:
            keeps[stage[one.serial]][one.serial] = one
        options = {**options, "lint": "off"}  # a stage is no whole graph
        made.append(Stage(trace, options, number, own, [*keeps[number].values()], reads))
    return made[::-1]
