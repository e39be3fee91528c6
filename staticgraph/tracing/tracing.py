"""Tracing: a Python function run once on expressions, for arrays of any sizes if possible.

A trace is first tried with every size unknown. Where the code of the function needs to know more
(a size that broadcasts is 1; a Python `if` on a size), the call is traced again with more sizes
known: those that are 1, then those that are equal as equal, then all. A trace serves every call
whose sizes it fits, which is checked with the sizes of the call before anything is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from staticgraph.compiler.core.call_sizes import known_in_call
from staticgraph.compiler.core.dims import Fact, Unknown, collecting_facts
from staticgraph.compiler.core.errors import EffectError, FeedError, OptionError, ShapeError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import ending_with_refusals
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
from staticgraph.tracing.outputs import Plain
from staticgraph.tracing.signature import Structure
from staticgraph.tracing.views import View
from staticgraph.tracing.ways import computed

KEPT = 256
"""The traces of one signature: more only where every size has to be known."""

Made = TypeVar("Made")
Pattern: TypeAlias = "tuple[tuple[int | str | None, ...], ...]"
"""Per array, per axis: the size, a name that axes of equal size share, or None."""


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


def patterns(shapes: Sequence[Sequence[int]], declared: Sequence[Sequence[Any]]) -> list[Pattern]:
    """The patterns to try for arrays of these shapes: from knowing nothing to knowing all.

    What is declared of an axis (a size or a name) is kept in all of them.
    """
    counts: dict[int, int] = {}
    for shape in shapes:
        for size in shape:
            counts[size] = counts.get(size, 0) + 1
    places = {size: f"n.{place}" for place, size in enumerate(counts)}

    def pattern(rule: Callable[[int], int | str | None]) -> Pattern:
        return tuple(
            tuple(
                rule(size) if known is None else known
                for size, known in zip(shape, axes, strict=True)
            )
            for shape, axes in zip(shapes, declared, strict=True)
        )

    rules: list[Callable[[int], int | str | None]] = [
        lambda size: None,
        lambda size: 1 if size == 1 else None,
        lambda size: 1 if size == 1 else places[size] if counts[size] > 1 else None,
        lambda size: size,
    ]
    return list(dict.fromkeys(map(pattern, rules)))


def trace(
    name: str,
    function: Callable[[list[Any]], object],
    leaves: Sequence[Leaf],
    pattern: Pattern,
    given: Sequence[object] = (),
    shapes: Sequence[tuple[int, ...]] = (),
) -> Trace:
    """Run a function on placeholders.

    Args:
        name: of the function.
        function: takes a placeholder per array, or what stands for it.
        leaves: what the arrays are.
        pattern: what is known of their sizes.
        given: the operands of the call that it is traced for.
        shapes: those of the arrays of that call.

    Raises:
        OptionError: the function returned what is no array.
        CaptureError: the function did what cannot be traced, even if it caught that.
        Whatever the function raises.
    """
    kind = next((leaf.kind for leaf in leaves if leaf.kind is not None), None)
    inputs = [_placeholder(leaf, axes) for leaf, axes in zip(leaves, pattern, strict=True)]
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
        collecting_facts() as facts,
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
        exact: whether every trace knows all sizes.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[list[Any]], object],
        leaves: Sequence[Leaf],
        declared: Sequence[Sequence[object]],
        make: Callable[[Trace], Made],
        exact: bool = False,
    ) -> None:
        self._first = -1 if exact else 0
        self.name = name
        self.function = function
        self.leaves = leaves
        self.declared = declared
        self.make = make
        self._made: dict[Pattern, list[tuple[Trace, Made]]] = {}
        self._failed: dict[Pattern, str] = {}

    def fitting(self, shapes: Sequence[tuple[int, ...]], given: Sequence[object] = ()) -> Made:
        """What was made of the trace that knows least among those that fit.

        `given`: the operands. Raises what the function raises when all sizes are known.
        """
        found = patterns(shapes, self.declared)[self._first :]
        needed = ""
        for pattern in found[:-1]:
            if pattern in self._failed:
                needed = self._failed[pattern]
                continue
            try:
                return self._checked(pattern, shapes, given, needed)
            except (EffectError, FreeVariableError):  # so would each attempt
                raise
            except Exception as error:  # it is raised again when all sizes are known
                needed = "; ".join([str(error), *getattr(error, "__notes__", ())])
                if pattern not in self._made:
                    self._failed[pattern] = needed
        return self._checked(found[-1], shapes, given, needed)

    def kept(self) -> list[Made]:
        """What was made of the traces that are kept."""
        return [made for found in self._made.values() for _, made in found]

    def _checked(
        self,
        pattern: Pattern,
        shapes: Sequence[tuple[int, ...]],
        given: Sequence[object],
        needed: str,
    ) -> Made:
        known = self._made.get(pattern, [])
        found = next((one for one in known if one[0].fits(given)), None)
        if found is None:
            made = trace(self.name, self.function, self.leaves, pattern, given, shapes)
            made = replace(made, needed=needed)
            if len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            found = made, self.make(made)
            self._made[pattern] = [found, *known[: KEPT - 1]]
        found[0].check(shapes)
        return found[1]


def declared_axes(name: str, leaf: str, axes: Any, ndim: int) -> tuple[Any, ...]:
    """What is declared of an array's axes, or None for each; OptionError if it does not fit."""
    if axes is None:
        return (None,) * ndim
    if len(axes) != ndim:
        raise OptionError(f"{name}: {leaf!r} has {ndim} axes, declared are {tuple(axes)}")
    return tuple(axes)
