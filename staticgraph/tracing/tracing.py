"""Tracing: a Python function run once on expressions, for arrays of any sizes if possible.

A trace is first tried with every size unknown. Where the code of the function needs sizes as
numbers (`x.shape[-1] ** 0.5`, a Python `if`), the call is traced again with these known. Where that
does not do (a size that broadcasts is 1), those that are 1 are known, then those that are equal as
equal, then all. A trace serves every call whose sizes it fits, which is checked with the sizes of
the call before anything is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from staticgraph.compiler.core.call_sizes import known_in_call
from staticgraph.compiler.core.dims import Fact, Unknown, atoms, collecting_facts
from staticgraph.compiler.core.errors import EffectError, FeedError, OptionError, ShapeError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import ending_with_refusals, place_of
from staticgraph.compiler.core.types import DType, TensorType
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.effects import with_effects
from staticgraph.compiler.graph.evaluate import evaluate
from staticgraph.compiler.graph.expression import (
    Expression,
    collecting_casts,
)
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.declare import BOOL
from staticgraph.compiler.runtime.sizes import Feed, check_sizes, sizes_of
from staticgraph.leaves import placeholder
from staticgraph.tracing import arrays
from staticgraph.tracing.followed import History, followed
from staticgraph.tracing.known_sizes import Needs, Pattern, axes_of, patterns
from staticgraph.tracing.outputs import Plain
from staticgraph.tracing.signature import Structure
from staticgraph.tracing.views import View
from staticgraph.tracing.ways import computed

KEPT = 256
"""The traces of one signature: more only where every size has to be known."""

Made = TypeVar("Made")


@frozen
class Leaf:
    """An array that a function is traced for.

    Attributes:
        name: of the argument.
        dtype: its dtype.
        weak: whether it is a number, which takes the dtype of what it meets.
        kind: the class of eager tensors that stands for it when the function is called, which
            decides what methods mean; None: expressions, whose methods are NumPy's.
        held: whether it is a tensor of a module, or an array of the surroundings, the same at each
            call.
        kept: whether it is a number or a tensor of the surroundings that each call changes.
    """

    name: str
    dtype: DType
    weak: bool
    kind: Any = None
    held: bool = False
    kept: bool = False


@frozen(eq=False)
class Trace:
    """A function as expressions.

    Attributes:
        name: of the function, for messages.
        inputs: a placeholder per array.
        outputs: the arrays that it returns, in the structure `structure`.
        facts: what it takes for granted of unknown sizes.
        needed: why sizes are known, if some are: the error of the trace that knew less.
        branches: what became of its branches on values, a line of text each.
        arguments: how many of the inputs the caller gives; then come tensors of modules.
        casts: where it gives Python numbers among the inputs an integer dtype of others.
        definition: that of the outputs.
        effects: what each call does beside computing the outputs, as the engine of the tensors
            has found it, or None. Inputs and outputs for it come behind those of the caller.
        views: per way through its branches the results that are arguments or views of them, if
            that depends on the way, whose number is the last output then.
        plain: of a function of arrays the results that are numbers, and what makes them of arrays.
        history: inside `following` what its names stood for, line by line.
    """

    name: str
    inputs: tuple[Expression, ...]
    outputs: tuple[Expression, ...]
    structure: Structure
    facts: tuple[Fact, ...]
    definition: Definition
    casts: tuple[Expression, ...] = ()
    effects: Any = None
    arguments: int = 0
    needed: str = ""
    branches: tuple[str, ...] = ()
    views: tuple[tuple[View, ...], ...] = ()
    plain: Plain = ()
    history: History | None = None

    def __str__(self) -> str:
        inputs, outputs = (
            ", ".join(str(one.type) for one in x) for x in (self.inputs, self.outputs)
        )
        return f"{self.name}({inputs}) -> {outputs}"

    def check(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """ShapeError unless the trace fits arrays of these shapes."""
        sizes = _sizes_in(self.inputs, shapes)
        for fact in self.facts:
            if not fact.holds(sizes):
                relation = "equal" if fact.equal else "different"
                raise ShapeError(f"{self.name}: {fact.left} and {fact.right} are not {relation}")
        check_sizes(self.definition, sizes)

    def fits(self, operands: Sequence[object]) -> bool:
        """Whether what the function asked of tensors and modes holds for a call."""
        effects = self.effects
        return effects is None or bool(effects.fits(operands) and effects.same_kinds())

    def check_numbers(self, operands: Sequence[object]) -> None:
        """FeedError unless each Python number fits the dtype of the integers that it meets."""
        numbers = dict(zip(self.inputs, operands, strict=False))
        for cast in self.casts:
            (number,) = cast.operands
            (value,) = evaluate([number], numbers)
            limits = np.iinfo(cast.dtype)
            if not limits.min <= int(value) <= limits.max:
                raise FeedError(
                    f"{self.name}: the number {int(value)} is out of bounds for {cast.dtype.name}, "
                    f"which it meets ({cast.source})"
                )


def trace(
    name: str,
    function: Callable[[list[Any]], object],
    leaves: Sequence[Leaf],
    inputs: list[Expression],
    given: Sequence[object],
    shapes: Sequence[tuple[int, ...]],
    facts: list[Fact],
) -> Trace:
    """Run a function on placeholders.

    Args:
        name: of the function.
        function: takes a placeholder per array, or what stands for it.
        leaves: what the arrays are.
        inputs: a placeholder per array.
        given: the operands of the call that it is traced for.
        shapes: those of the arrays of that call.
        facts: gets what it takes for granted of unknown sizes.

    Raises:
        OptionError: the function returned what is no array.
        CaptureError: the function did what cannot be traced, even if it caught that.
        Whatever the function raises.
    """
    kind = next((leaf.kind for leaf in leaves if leaf.kind is not None), None)
    if kind is None:
        inputs = list(map(arrays.argument, inputs))
    held = [leaf.held for leaf in leaves]
    of_modules = [leaf.held and not leaf.kept for leaf in leaves]
    engine = None if kind is None else kind._captured(name, inputs, given, of_modules)

    def call() -> object:
        return function([_operand(*pair) for pair in zip(leaves, inputs, strict=True)])

    with (
        ending_with_refusals(),
        known_in_call(_sizes_in(inputs, shapes)),
        collecting_facts(facts),
        collecting_casts() as casts,
        followed() as history,
    ):
        found = computed(name, call, inputs, engine)
    made = with_effects(name, found.outputs, found.shown)
    definition = define(found.inputs, made)
    _require_closed(definition)
    known = tuple([one for one in casts if not _has_sizes(one)])
    facts_of = tuple(dict.fromkeys(facts))
    return Trace(
        name, tuple(found.inputs), tuple(made), found.structure, facts_of, definition, known,
        found.effects, len(held) - sum(held), branches=found.branches, views=found.views,
        plain=found.plain, history=history,
    )  # fmt: skip


def _sizes_in(
    inputs: Sequence[Expression], shapes: Sequence[tuple[int, ...]]
) -> Mapping[Unknown, int]:
    """The sizes of a call, by the unknowns of the first inputs."""
    feeds = [Feed(str(one.name), one.type, one.source) for one in inputs[: len(shapes)]]
    return sizes_of(feeds, [TensorType(shape, BOOL) for shape in shapes])


class FreeVariableError(Exception):
    """A function reads expressions around it, so that it is no function of its arguments alone."""


def _require_closed(definition: Definition) -> None:
    """FreeVariableError if what was traced needs more than its inputs."""
    inputs = set(definition.inputs)
    for node in definition.nodes:
        if node.op is leaves.placeholder and node.id not in inputs:
            raise FreeVariableError


def _has_sizes(value: Expression) -> bool:
    return any(node.op is leaves.size_of for node in ancestors([value]))


def _placeholder(leaf: Leaf, axes: Sequence[int | str | None]) -> Expression:
    made = placeholder(leaf.name, axes, leaf.dtype)
    made.weak = leaf.weak
    return made


def _operand(leaf: Leaf, input: Expression) -> Any:
    return input if leaf.kind is None else leaf.kind._traced(input, not leaf.weak)


class Traces(Generic[Made]):
    """The traces of a function for arguments of one structure, dtypes and ranks.

    Args:
        name, function, leaves: as `trace` takes them.
        declared: what is declared of the axes of each array.
        make: what to make of a new trace, and to keep with it.
        needs: what traces of the function have found to be needed, of all of this structure.
        tell: is told of each trace that is made because the sizes are others.
        exact: whether every trace knows all sizes.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[list[Any]], object],
        leaves: Sequence[Leaf],
        declared: Sequence[Sequence[object]],
        make: Callable[[Trace], Made],
        needs: Needs,
        tell: Callable[[Trace], None],
        exact: bool = False,
    ) -> None:
        self._first = -1 if exact else 0
        self.name = name
        self.function = function
        self.leaves = leaves
        self.declared = declared
        self.make = make
        self._made: dict[Pattern, list[tuple[Trace, Made]]] = {}
        self._needs = needs
        self._tell = tell
        self._serves = False
        self._failed: dict[Pattern, str] = {}

    def fitting(self, shapes: Sequence[tuple[int, ...]], given: Sequence[object] = ()) -> Made:
        """What was made of the trace that knows least among those that fit.

        `given`: the operands. Raises what the function raises when all sizes are known.
        """
        *bases, last = patterns(shapes, self.declared)[self._first :]
        names = [leaf.name for leaf in self.leaves]
        failed = ""
        for base in bases:
            before = failed
            for pattern, why in self._needs.tries(base, shapes, names):
                if pattern in self._failed:
                    failed = self._failed[pattern]
                    continue
                needed = "; ".join(filter(None, (before, why)))
                try:
                    return self._checked(base, pattern, shapes, given, needed)
                except (EffectError, FreeVariableError):  # so would each attempt
                    raise
                except Exception as error:  # it is raised again when all sizes are known
                    failed = _text(error)
        return self._checked(last, last, shapes, given, failed)

    def kept(self) -> list[Made]:
        """What was made of the traces that are kept."""
        return [made for found in self._made.values() for _, made in found]

    def _checked(
        self,
        base: Pattern,
        pattern: Pattern,
        shapes: Sequence[tuple[int, ...]],
        given: Sequence[object],
        needed: str,
    ) -> Made:
        known = self._made.get(pattern, [])
        found = next((one for one in known if one[0].fits(given)), None)
        if found is None:
            made = replace(self._new(base, pattern, shapes, given), needed=needed)
            if self._serves and not known:
                self._tell(made)
            if len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            found = made, self.make(made)
            self._made[pattern] = [found, *known[: KEPT - 1]]
        found[0].check(shapes)
        self._serves = True
        return found[1]

    def _new(
        self,
        base: Pattern,
        pattern: Pattern,
        shapes: Sequence[tuple[int, ...]],
        given: Sequence[object],
    ) -> Trace:
        """A new trace; if it fails, what it would have to know is noted."""
        inputs = [_placeholder(*pair) for pair in zip(self.leaves, pattern, strict=True)]
        facts: list[Fact] = []
        try:
            return trace(self.name, self.function, self.leaves, inputs, given, shapes, facts)
        except Exception as error:
            found = _astray(facts, _sizes_in(inputs, shapes)) or _needs_of(error)
            axes = axes_of(found, [x.shape for x in inputs])
            axes = frozenset((i, axis) for i, axis in axes if self.declared[i][axis] is None)
            if not self._needs.add(base, axes, place_of(error)) and pattern not in self._made:
                if len(self._failed) >= KEPT:
                    self._failed.clear()
                self._failed[pattern] = _text(error)
            raise


def _astray(facts: Sequence[Fact], sizes: Mapping[Unknown, int]) -> frozenset[Unknown]:
    """The sizes in the first fact that is none in the call: the call goes another way from there.

    So `assert d % heads == 0` fails where d is unknown, and needs d.
    """
    for fact in facts:
        found = frozenset(atoms([fact.left, fact.right]))
        if found <= sizes.keys() and not fact.holds(sizes):
            return found
    return frozenset()


def _needs_of(error: BaseException | None) -> frozenset[Any]:
    """The sizes that would have to be numbers for an error, or for what it was made of."""
    seen: list[BaseException] = []  # an error that is kept and raised again may lead to itself
    while error is not None and not any(error is one for one in seen):
        found: frozenset[Any] = getattr(error, "needs", frozenset())
        if found:
            return found
        seen.append(error)
        error = error.__cause__ or error.__context__
    return frozenset()


def _text(error: Exception) -> str:
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


def declared_axes(name: str, leaf: str, axes: Any, ndim: int) -> tuple[Any, ...]:
    """What is declared of an array's axes, or None for each; OptionError if it does not fit."""
    if axes is None:
        return (None,) * ndim
    if len(axes) != ndim:
        raise OptionError(f"{name}: {leaf!r} has {ndim} axes, declared are {tuple(axes)}")
    return tuple(axes)
