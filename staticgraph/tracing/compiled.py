"""A trace compiled for what calls need: values, and gradients on the tape of an eager engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.lowering import Alias, IndexMap, Iota, Pointwise, SizeValue, Window
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.biases import biases_of
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.evaluate import evaluate
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.losses import losses_of
from staticgraph.compiler.graph.traversal import ancestors, cut
from staticgraph.compiler.inspect.lint.report import check_level, lint, lint_gradients
from staticgraph.compiler.inspect.lint.rules import Captured
from staticgraph.compiler.transforms.autodiff import cotangents_of, depending_on
from staticgraph.compiler.transforms.custom_rules import without_rules
from staticgraph.compiler.transforms.zero_gradients import note_zeros
from staticgraph.executables.executable import (
    Executable,
    do_before_first_call,
    look_at_losses,
    lost_loss,
)
from staticgraph.leaves import READS, placeholder
from staticgraph.tracing.parts import Part, needed_inputs
from staticgraph.tracing.signature import LEAF
from staticgraph.tracing.stages import Stage, stages_of
from staticgraph.tracing.tracing import Trace

_CHEAP = (Alias, IndexMap, Iota, Pointwise, SizeValue, Window)


class Compiled:
    """A trace and its executables, each compiled when it is first needed.

    It is what `Operand.call` applies: a function of arrays with several results, with a reverse
    pass, of which the reverse pass is such a function again.
    """

    def __init__(self, trace: Trace, options: Mapping[str, object]) -> None:
        self.trace = trace
        self.options = options
        self.name = trace.name
        self._reverse: dict[tuple[tuple[int, ...], frozenset[int]], Reverse | Exception] = {}
        self._is_linted = False

    @cached_property
    def single(self) -> bool:
        """Whether the function returns one array, in no structure."""
        return self.trace.structure is LEAF and len(self.trace.outputs) == 1

    @cached_property
    def part(self) -> Part:
        """The executable of the outputs: of the array itself if it is `single`.

        OptionError if there is no single one, since it reads what an optimizer changes.
        """
        effects = self.trace.effects
        if effects is not None and effects.late:
            raise OptionError(
                f"{self.name}: reads parameters after an optimizer's step: it runs in "
                f"{len(effects.breaks) + 1} parts, and no single executable has its values"
            )
        outputs = without_rules(self.trace.outputs)
        roots = outputs[0] if self.single else outputs
        made = self.linted(Part(self.name, self.trace.inputs, roots, self.plain_options))
        count = None if effects is None else effects.results
        if count is not None and self.options.get("lint", "certain") not in ("off", None):
            places = losses_of(self.trace.outputs[:count], self.trace.outputs[count:])
            look_at_losses(made.executable, places, tells=True)
        return made

    @property
    def plain_options(self) -> Mapping[str, object]:
        """The options for executables: the lint looks at the trace, once."""
        return {**self.options, "lint": "off"}

    def linted(self, part: Part) -> Part:
        """The part, which is the first to run: the lint looks at the trace."""
        if self._is_linted:
            return part
        self._is_linted = True
        level = check_level(self.options.get("lint", "certain"))
        if level != "off":
            trace = self.trace
            roots = without_rules(trace.outputs)
            needed = needed_inputs(trace.inputs, roots, {})
            definition = define([trace.inputs[i] for i in needed], roots)
            arguments = [
                node
                for i, node in zip(needed, definition.inputs, strict=True)
                if i < trace.arguments
            ]
            captured = self._captured(needed, definition)
            found = lint(level, definition, roots, READS, arguments, captured)
            do_before_first_call(part.executable, found)
        return part

    def _captured(self, needed: Sequence[int], definition: Definition) -> Captured | None:
        """What a function of tensors does besides, for the lint."""
        trace, effects = self.trace, self.trace.effects
        if effects is None:
            return None
        nodes = dict(zip(needed, definition.inputs, strict=True))

        def known(places: Iterable[int]) -> frozenset[int]:
            return frozenset(nodes[i] for i in places if i in nodes)

        unused = [one for i, one in enumerate(trace.inputs[: trace.arguments]) if i not in nodes]
        return Captured(
            effects.results,
            known(effects.stepped),
            known(effects.reached),
            known(effects.written),
            tuple((str(one.name), one.source) for one in unused),
        )

    def executables(self) -> list[Executable]:
        """What was compiled so far: for values, and for reverse passes."""
        parts = [vars(self).get("part"), *(one.part for one in vars(self).get("stages", ()))]
        for one in self._reverse.values():
            parts += [vars(one).get("_forward"), vars(one).get("_backward")]
        return [part.executable for part in parts if part is not None]

    def complete(self, operands: list[Any]) -> list[Any]:
        """All operands of a call, given the caller's: those of its effects come behind them."""
        effects = self.trace.effects
        return operands if effects is None else list(effects.operands(operands))

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return len(self.trace.outputs)

    @cached_property
    def stages(self) -> list[Stage]:
        """What runs one after the other, between the steps of optimizers."""
        effects = self.trace.effects
        late = {i: one.stage for i, one in effects.late.items()}
        made = stages_of(self.trace, self.options, late, len(effects.breaks) + 1)
        self.linted(next(one.part for one in made if one.part is not None))
        return made

    def forward(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs as arrays."""
        results = self.part(arrays)
        return [results] if self.single else results

    def reverse(self, needs: tuple[int, ...], without: frozenset[int] = frozenset()) -> Reverse:
        """The function with its reverse pass, for the operands at `needs`.

        `without`: outputs that have no gradient.
        """
        key = needs, without
        found = self._reverse.get(key)
        if found is None:
            try:
                found = Reverse(self, needs, without)
            except Exception as error:  # each call asks for it
                found = error
            self._reverse[key] = found
        if isinstance(found, Exception):
            raise found.with_traceback(None)
        return found

    def expand(self, operands: Sequence[object]) -> list[Any]:
        """The outputs, op by op on any operands."""
        return evaluate(self.trace.outputs, dict(zip(self.trace.inputs, operands, strict=True)))


class Reverse:
    """The reverse pass of a compiled function by some of its operands.

    The forward executable returns, beside the outputs, the values that the reverse pass reads and
    that are dear to compute again: results of products, reductions, gathers and composites. What
    follows from those element by element is computed again.

    Attributes:
        floating: the outputs that depend on these operands, so that they have cotangents.
        needs: the operands that an output depends on.
        reads: the operands that the reverse pass may read.
        pullback: the function from the cotangents of these outputs, and all operands, to the
            cotangents of the operands: what is differentiated again.
    """

    def __init__(self, function: Compiled, needs: tuple[int, ...], without: frozenset[int]) -> None:
        trace = function.trace
        self._function = function
        inputs = [trace.inputs[i] for i in needs]
        reached = depending_on(ancestors(trace.outputs), inputs)
        self.floating = tuple(
            i for i, y in enumerate(trace.outputs) if y.serial in reached and i not in without
        )
        floating = [trace.outputs[i] for i in self.floating]
        seeds = [
            placeholder(f"cotangent {i} of {trace.name}", y.shape, y.dtype)
            for i, y in zip(self.floating, floating, strict=True)
        ]
        cotangents = cotangents_of(floating, inputs, seeds)
        found = [one for one in cotangents if one is not None]
        self.needs = tuple(i for i, one in zip(needs, cotangents, strict=True) if one is not None)
        name = f"{trace.name}_pullback"
        inputs = [*seeds, *trace.inputs]
        structure = (list, None, (LEAF,) * len(found))
        outputs = tuple(found)
        self._targets = [trace.inputs[i] for i in self.needs]
        self.pullback = Compiled(
            Trace(name, tuple(inputs), outputs, structure, (), define(inputs, outputs)),
            {**function.options, "lint": "off"},  # what is to say is said of the function
        )
        self.reads = frozenset(
            i - len(seeds) for i in needed_inputs(inputs, found, {}) if i >= len(seeds)
        )
        plain = without_rules([*trace.outputs, *found])
        count = len(trace.outputs)
        self._outputs, self._cotangents = plain[:count], plain[count:]
        self._residuals = residuals(self._cotangents, self._outputs)

    @cached_property
    def _forward(self) -> Part:
        trace = self._function.trace
        outputs = [*self._outputs, *self._residuals]
        options = self._function.plain_options
        made = self._function.linted(Part(trace.name, trace.inputs, outputs, options))
        if self._function.options.get("lint", "certain") not in ("off", None):
            places = [i for i in self.floating if not trace.outputs[i].ndim]
            look_at_losses(made.executable, places, tells=False)
        return made

    @cached_property
    def _backward(self) -> Part:
        trace = self.pullback.trace
        givens = {
            node: placeholder(f"residual {i} of {trace.name}", node.shape, node.dtype)
            for i, node in enumerate(self._residuals)
        }
        inputs = [*trace.inputs, *givens.values()]
        self._lint_zeros()
        return Part(trace.name, inputs, self._cotangents, self.pullback.options, givens)

    def _lint_zeros(self) -> None:
        """Tell of operands whose gradients are zero everywhere, now that they are asked for."""
        level = check_level(self._function.options.get("lint", "certain"))
        if level == "off" or len(self.floating) != 1:
            return
        output = self._function.trace.outputs[self.floating[0]]
        found = self.pullback.trace.outputs
        note_zeros(output, self._targets, ancestors([output]), found, implied=True)
        lint_gradients(level, self.pullback.trace.definition, found)

    @cached_property
    def biases(self) -> dict[int, tuple[int, ...]]:
        """The vectors that are only added to products with other operands, each with these."""
        return biases_of(self._function.trace.definition)

    def lost_at(self) -> tuple[str, str] | None:
        """Where the last call of which an output was inf or nan made it so: the line, and what."""
        return lost_loss(self._forward.executable)

    def forward(self, arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs, and the values to keep for `backward`."""
        results = self._forward(arrays)
        count = len(self._function.trace.outputs)
        return results[:count], results[count:]

    def backward(
        self, cotangents: Sequence[object], arrays: Sequence[Any], kept: Sequence[object]
    ) -> list[Any]:
        """The cotangents of the operands at `self.needs`, on arrays.

        `arrays` are the operands, of which only those at `reads` matter.
        """
        results: list[Any] = self._backward([*cotangents, *arrays, *kept])
        return results


def residuals(cotangents: Sequence[Expression], outputs: Sequence[Expression]) -> list[Expression]:
    """The values of a function that its reverse pass reads and that are dear to compute again."""
    forward = {node.serial for node in ancestors(outputs)}
    _, border = cut(cotangents, lambda node: node.serial not in forward or not _is_dear(node))
    return border


def _is_dear(node: Expression) -> bool:
    if node.op.name == "variable":
        return True  # it may have been updated before the reverse pass reads it
    if not node.operands or not isinstance(node.type, TensorType):
        return False
    return not (node.op.elementwise or isinstance(node.op.lowering, _CHEAP))
