"""What a traced function computes: on all ways through its branches on values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import CaptureError
from staticgraph.compiler.core.messages import Field, collecting_fields, require_arrived
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import has_refused
from staticgraph.compiler.graph.effects import Effect, collecting
from staticgraph.compiler.graph.expression import (
    Expression,
    at_line,
    constant,
    constructing,
)
from staticgraph.compiler.transforms.branches import DisagreementError, Path, joined, refuse_branch
from staticgraph.compiler.transforms.decisions import Way, ways_through
from staticgraph.compiler.transforms.failing import Caught, as_checks, zeros
from staticgraph.compiler.transforms.zero_gradients import note_joined
from staticgraph.tracing import arrays
from staticgraph.tracing.outputs import Plain, as_output, plain_result
from staticgraph.tracing.signature import (
    LEAF,
    Same,
    Structure,
    flatten_outputs,
    parts,
    put_together,
)
from staticgraph.tracing.views import View, views_of


@frozen(eq=False)
class Computed:
    """What a function computes.

    Attributes:
        structure: that of what it returns.
        inputs: of the graph: the operands, and what the effects need.
        outputs: what it returns, and behind that what the effects need.
        shown: its prints and checks.
        effects: what the engine of the tensors has found that it does besides, or None.
        branches: what became of its branches on values, a line of text each.
        views: of a function of arrays, per way the results that are arguments or views, where that
            depends on the way: then the last output is the number of the way.
        plain: of a function of arrays the results that are numbers, and what makes them of arrays.
    """

    structure: Structure
    inputs: Sequence[Expression]
    outputs: list[Expression]
    shown: Sequence[Effect]
    effects: Any
    branches: tuple[str, ...] = ()
    views: tuple[tuple[View, ...], ...] = ()
    plain: Plain = ()


@frozen(eq=False)
class _Made:
    """What was made on one way: `others` are results that the effects need."""

    structure: Structure
    results: list[Expression]
    others: list[Expression]
    shown: Sequence[Effect]
    effects: Any
    plain: Plain = ()


def computed(
    name: str, call: Callable[[], object], inputs: Sequence[Expression], engine: Any
) -> Computed:
    """What a function computes that is called once per way through it.

    Args:
        name: of the function.
        call: calls it.
        inputs: what stands for its operands.
        engine: the captures of an engine of tensors; None for a function of arrays.

    Raises:
        OptionError: it returned what is no array.
        CaptureError: it does what cannot be traced, or its ways do not agree.
        Whatever it raises on all ways.
    """
    current = (lambda: inputs) if engine is None else engine.leaves
    try:
        ways = _without_error(ways_through(lambda: _made(name, call, engine), current))
        if len(ways) > 1:
            return _joined(ways, current, engine)
        made = ways[0].made
        outputs = [*made.results, *made.others]
        effects = None if engine is None else engine.alone(made.effects)
        return Computed(
            made.structure, list(current()), outputs, made.shown, effects or None, plain=made.plain
        )
    finally:
        if engine is not None:
            engine.close()


def _made(name: str, call: Callable[[], object], engine: Any) -> _Made | Caught:
    """What one call of a function makes, or what it raises."""
    context = constructing(arrays.made) if engine is None else engine.capturing()
    shown = capture = None
    fields: list[Field] = []
    try:
        with context as capture, collecting(loops=0) as shown, collecting_fields() as fields:
            structure, outputs = flatten_outputs(name, call())
            others, effects = [], None
            plain: Plain = ()
            if capture is not None:
                outputs, others, effects = capture.finished(outputs)
            else:
                makers = enumerate(map(plain_result, outputs))
                plain = tuple([(i, make) for i, make in makers if make is not None])
            results = [as_output(name, one) for one in outputs]
            require_arrived(fields, None)
            return _Made(structure, results, others, shown.effects, effects, plain)
    except CaptureError:
        raise
    except Exception as error:
        if has_refused():
            raise
        require_arrived(fields, error)
        drawn = 0 if engine is None else engine.drawn(capture)
        return Caught(error, shown.effects if shown is not None else (), drawn, fields)


def _without_error(ways: Sequence[Way[Any]]) -> Sequence[Way[_Made]]:
    """The ways, those on which the function raises as checks that raise the same."""
    return as_checks(
        ways,
        lambda made: [*made.results, *made.others, *(one.leave for one in made.shown)],
        lambda made: made.shown,
        lambda made, shown: replace(made, shown=shown),
        lambda made: replace(
            made,
            results=list(map(zeros, made.results)),
            others=list(map(zeros, made.others)),
            shown=(),
        ),
    )


def _joined(ways: Sequence[Way[_Made]], current: Callable[[], Any], engine: Any) -> Computed:
    _check_structures(ways)
    made = [way.made for way in ways]
    effects = None
    results = [one.results for one in made]
    if engine is not None:
        others, did = [one.others for one in made], [one.effects for one in made]
        first = ways[0].decisions[0]
        with at_line(first.source):
            results, effects = engine.joined(results, others, did, first.place)
    views = () if engine is not None else _views(results, current())
    if views:
        numbers = [constant(np.asarray(number, np.int64)) for number in range(len(ways))]
        results = [[*own, number] for own, number in zip(results, numbers, strict=True)]
    paths = [
        Path(way.decisions, own, way.made.shown) for way, own in zip(ways, results, strict=True)
    ]
    try:
        outputs, shown, branches = joined(paths)
    except DisagreementError as error:
        one, other = error.types
        refuse_branch(error.decision, f"a result is {one} if it holds, and {other} if not")
    for output, own in zip(outputs, zip(*results, strict=True), strict=True):
        note_joined(output, own)
    lines = [
        f"{place} became cond" if is_cond else f"{place} decides nothing: both sides are the same"
        for place, is_cond in branches.items()
    ]
    plain = tuple([one for one in made[0].plain if all(one in other.plain for other in made)])
    return Computed(
        made[0].structure, list(current()), outputs, shown, effects or None, tuple(sorted(lines)),
        views, plain,
    )  # fmt: skip


def _views(
    results: Sequence[Sequence[Expression]], inputs: Sequence[Expression]
) -> tuple[tuple[View, ...], ...]:
    """Per way the results that are arguments or views of them; empty if all have the same."""
    found = [views_of(own, inputs) for own in results]
    ids = [[(*one[:2], *(node.serial for node in one.made)) for one in own] for own in found]
    return () if all(one == ids[0] for one in ids) else tuple(found)


def _check_structures(ways: Sequence[Way[_Made]]) -> None:
    """CaptureError unless what is returned has the same structure on all ways."""
    for one, other in itertools.pairwise(ways):
        left, right = one.made.structure, other.made.structure
        if left != right:
            pairs = zip(one.decisions, other.decisions, strict=False)
            decision = next(a for a, b in pairs if a.outcome is not b.outcome)
            what = f"returns {_shown(left)} if it holds, and {_shown(right)} if not"
            try:
                refuse_branch(decision, what)
            except CaptureError as error:
                every = [*parts(left), *parts(right)]
                error.hands_out = any(isinstance(part, Same) for part in every)
                raise


def _shown(structure: Structure) -> str:
    """A structure, with `array` for each array in it."""
    text = repr(put_together(structure, itertools.repeat(LEAF)))
    return text.replace(repr(LEAF), "array")
