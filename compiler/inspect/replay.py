"""Replay: a call once more, op by op, to find where inf or nan comes from.

The graph is run as it was defined and as it was rewritten. From each output or update that is not
finite the walk goes back to the ops that made inf or nan out of finite operands: what is infinite
on purpose, as a mask, and comes out of nothing that is wrong, is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact, part_dtype
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.core.types import type_of
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.bodies import Iteration, Run, run_body
from staticgraph.compiler.inspect.interpreted import Interpreted
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.effects import quiet
from staticgraph.compiler.runtime.arguments import as_inputs, in_order
from staticgraph.compiler.runtime.sizes import Feed, feeds_of

SHOWN = 4  # causes, and operands, of which a report shows more than their number


@frozen
class Range:
    """What is known of an array: its type, its least and greatest finite value, how many are not.

    `low` and `high` are None if nothing is finite, and of complex numbers those of |z|.
    """

    type: str
    low: float | None
    high: float | None
    nan: int
    inf: int

    def __str__(self) -> str:
        lost = [f"{number} {kind}" for number, kind in ((self.nan, "nan"), (self.inf, "inf"))]
        ends = "" if self.low is None else f" from {self.low:.6g} to {self.high:.6g}"
        wrong = ", ".join(one for one in lost if not one.startswith("0 "))
        return f"{self.type}{ends}{', ' if ends and wrong else ' ' if wrong else ''}{wrong}"


@frozen
class Origin:
    """An op that made inf or nan, or a leaf that held it.

    Attributes:
        op, name, source: of the op; `source` is the user's `file:line`, and of what a gradient
            computes `gradient of OP at file:line`.
        value, operands: what came out, and what it was made of.
        place: the index of the first element that is not finite.
        first: that element, and the elements of the operands that it was made of, if the op works
            element by element.
        iterations: in which iterations of which loops, the outermost first.
    """

    op: str
    name: str | None
    source: str
    value: Range
    operands: tuple[Range, ...]
    place: tuple[int, ...]
    first: tuple[complex, ...]
    iterations: tuple[Iteration, ...]

    @property
    def line(self) -> str:
        """The user's `file:line`."""
        return place_of(self.source)

    @property
    def gradient_of(self) -> str:
        """The op whose gradient this is a part of; empty if it is of none."""
        return gradient_of(self.source)

    @property
    def is_leaf(self) -> bool:
        """Whether it was inf or nan before the call."""
        return not self.operands

    def __str__(self) -> str:
        label = f" {self.name!r}" if self.name else ""
        wrong = self.value.nan + self.value.inf
        first, *made_of = self.first
        at = f" at {list(self.place)}" if self.place else ""
        origin = f", of {' and '.join(f'{one:.6g}' for one in made_of)}" if made_of else ""
        what = f"{wrong} not finite, the first is {first:.6g}{at}{origin}"
        head = f"{self.op}{label} = {self.value.type}: {what}  ({self.source})"
        given = [f"  operand {i}: {one}" for i, one in enumerate(self.operands[:SHOWN])]
        return "\n".join([head, *(f"  {one}" for one in self.iterations), *given])


@frozen
class Replay:
    """Where the inf and nan of a call come from; `print` tells it.

    Attributes:
        name: of the executable.
        lost: the outputs and updates that are not finite.
        causes: the ops of the graph as it was defined that made what these hold, in their order.
        intermediate: other ops that made inf or nan, of which nothing came of in `lost`.
        ran: the causes in the graph that ran, after all rewrites; empty if nothing was compiled.
        rewrites: the rewrites without which what ran gives finite values, where the graph as it was
            defined does.
        compiled: whether a kernel ran.
        rounded: whether the kernel gave inf or nan, and op by op all is finite.
    """

    name: str
    lost: tuple[str, ...]
    causes: tuple[Origin, ...]
    intermediate: tuple[Origin, ...]
    ran: tuple[Origin, ...]
    rewrites: tuple[str, ...]
    compiled: bool
    rounded: bool = False

    @property
    def is_finite(self) -> bool:
        """Whether the outputs and updates of what ran are finite."""
        return not self.rounded and not (self.ran if self.compiled else self.lost)

    @property
    def first(self) -> Origin | None:
        """The first op that made inf or nan; None if none was found."""
        return next(iter((*self.causes, *self.ran)), None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.rounded:
            yield (
                f"{self.name}: an output or update is not finite, and op by op with NumPy all is: "
                "a kernel adds and rounds in another order, and something is near the largest "
                "number"
            )
        elif not self.lost:
            yield f"{self.name}: all outputs and updates are finite"
        else:
            defined = "as it was defined, " if self.is_finite else ""
            yield f"{self.name}: {defined}not finite: {', '.join(self.lost)}"
        yield from _listed(self.causes or self.ran)
        if self.lost and self.compiled:
            yield from self._between()
        if self.intermediate:
            yield "not finite on the way, in nothing that came out:"
            yield from _listed(self.intermediate)

    def _between(self) -> Iterator[str]:
        """What stands between the user's graph and the one that ran."""
        if self.causes and self.ran:
            if (self.causes[0].op, self.causes[0].source) != (self.ran[0].op, self.ran[0].source):
                one = self.ran[0]
                yield f"in what ran, after rewrites, the first was {one.op} ({one.source})"
        elif self.ran:
            named = ", ".join(self.rewrites) or "several together"
            yield f"the graph as it was defined gives finite values: a rewrite does not: {named}"
        elif self.causes:
            yield "the graph that ran, after rewrites, gives finite values op by op with NumPy"


def _listed(origins: Sequence[Origin]) -> Iterator[str]:
    for one in origins[:SHOWN]:
        yield from ("  " + line for line in str(one).splitlines())
    if len(origins) > SHOWN:
        yield f"  and {len(origins) - SHOWN} more"


def replay(
    definition: Definition,
    feeds: tuple[Feed, ...],
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    lowered: Callable[[Collection[str]], Definition] | None = None,
    rewrites: Collection[str] = (),
) -> Replay:
    """Run a call again on its arguments, and the variables as they are; nothing is updated.

    Args:
        definition, feeds, name: what is run.
        args, kwargs: of the call.
        lowered: the graph that ran, without the rewrites of these names; None if no kernel did.
        rewrites: the names of all rewrites that ran.

    Raises:
        FeedError, DTypeError, ShapeError: the inputs do not fit.
    """
    defined = _look(definition, feeds, name, args, kwargs)
    if lowered is None:
        return Replay(name, defined.lost, defined.causes, defined.others, (), (), compiled=False)

    # the graph that ran has the parts of complex numbers, along a last axis
    parts = [
        np.array(array, order="C", copy=None)[..., None].view(part_dtype(array.dtype))
        if array.dtype.kind == "c"
        else array
        for array in as_inputs(name, feeds, in_order(name, feeds, args, kwargs))
    ]

    def look(without: Collection[str]) -> _Looked:
        graph = lowered(without)
        return _look(graph, feeds_of(graph), name, parts, {})

    ran = look(())
    guilty: tuple[str, ...] = ()
    if ran.causes and not defined.causes:
        guilty = tuple(one for one in sorted(rewrites) if not look([one]).causes)
    return Replay(
        name,
        defined.lost or ran.lost,
        defined.causes,
        defined.others,
        ran.causes,
        guilty,
        compiled=True,
    )


@frozen
class _Looked:
    """What was found in one graph."""

    lost: tuple[str, ...]
    causes: tuple[Origin, ...]
    others: tuple[Origin, ...]


Key = Hashable


@mutable(eq=False)
class _Frame:
    """What is not finite in one run of a graph or body, by node.

    Attributes:
        lost: whether there is nan, and whether there is inf.
        operands: of the nodes that are not finite.
        found: the nodes that made it, with the order in which they ran.
        inside: of a loop or branch, the iterations in which inf or nan came first, and their roots.
    """

    lost: dict[Key, tuple[bool, bool]] = field(default_factory=dict)
    operands: dict[Key, tuple[Key, ...]] = field(default_factory=dict)
    found: dict[Key, tuple[int, Origin]] = field(default_factory=dict)
    inside: dict[Key, tuple[tuple[_Frame, tuple[Key, ...]], ...]] = field(default_factory=dict)


Frames = dict[str, "tuple[_Frame, tuple[Key, ...]]"]


class _Look:
    """Follows a run op by op, and remembers what was not finite.

    Attributes:
        frame: what is not finite in the graph itself.
        order: numbers what was found.
        made: of each op and line the first time that it made inf or nan, in loops and branches too.
    """

    def __init__(self) -> None:
        self.frame = _Frame()
        self.order = count()
        self.made: dict[tuple[str, str], Origin] = {}
        self._pending: Frames = {}
        self.run = self._runner(self._pending, ())

    def leaf(self, node: Expression, value: object) -> None:
        """Look at an input or a variable."""
        if node.op in LEAVES and node.serial not in self.frame.lost:
            self._note(self.frame, node, node.serial, (), (), value, {}, ())

    def observe(self, node: Expression, operands: Sequence[object], value: object) -> None:
        """Look at an op of the graph itself, after it ran."""
        for operand, given in zip(node.operands, operands, strict=True):
            self.leaf(operand, given)
        keys = tuple(operand.serial for operand in node.operands)
        pending = dict(self._pending)
        self._pending.clear()
        self._note(self.frame, node, node.serial, keys, operands, value, pending, ())

    def _runner(self, frames: Frames, path: tuple[Iteration, ...]) -> Run:
        """What runs bodies; `frames` gets the iterations in which nan and inf came first."""

        def run(body: Body, at: Iteration, given: Sequence[Any]) -> Sequence[Any]:
            frame, pending, here = _Frame(), Frames(), (*path, at)

            def step(node: Node, operands: Sequence[Any], value: object) -> None:
                nested = dict(pending)
                pending.clear()
                self._note(frame, node, node.id, node.operands, operands, value, nested, here)

            results = run_body(body, given, step, self._runner(pending, here))
            before, after = map(_lost_in, (given, results))
            roots = tuple(body.definition.outputs)
            if after[0] and not before[0]:
                frames.setdefault("nan", (frame, roots))
            if after[1] and not any(before):
                frames.setdefault("inf", (frame, roots))
            return results

        return run

    def _note(
        self,
        frame: _Frame,
        node: Expression | Node,
        key: Key,
        keys: Sequence[Key],
        operands: Sequence[object],
        value: object,
        inside: Frames,
        path: tuple[Iteration, ...],
    ) -> None:
        nan, inf = _lost_in([value])
        if not (nan or inf):
            return
        frame.lost[key] = nan, inf
        frame.operands[key] = tuple(keys)
        frame.inside[key] = tuple({id(one[0]): one for one in inside.values()}.values())
        had_nan, had_inf = _lost_in(operands)
        if (nan and not had_nan) or (inf and not had_nan and not had_inf):
            found = _origin(node, operands, value, path)
            frame.found[key] = next(self.order), found
            if found.operands and not inside:  # else an op in the loop or branch made it
                self.made.setdefault((found.op, found.source), found)

    def causes(self, roots: Sequence[Key]) -> list[tuple[int, Origin]]:
        """What made the inf and nan of some nodes of the graph."""
        return _causes(self.frame, roots)


def _causes(frame: _Frame, roots: Sequence[Key]) -> list[tuple[int, Origin]]:
    causes: list[tuple[int, Origin]] = []
    pending, seen = list(roots), set()
    while pending:
        key = pending.pop()
        if key in seen or key not in frame.lost:
            continue
        seen.add(key)
        found = [one for sub, below in frame.inside[key] for one in _causes(sub, below)]
        if found:
            causes += found
        elif key in frame.found:
            causes.append(frame.found[key])
        lost = [one for one in frame.operands[key] if one in frame.lost]
        # nan out of nan: inf beside it, such as a mask, has not made it
        with_nan = [one for one in lost if frame.lost[one][0]]
        pending += with_nan if frame.lost[key][0] and with_nan else lost
    return causes


def _look(
    definition: Definition,
    feeds: tuple[Feed, ...],
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> _Looked:
    """Run a graph op by op, and find where what is not finite comes from."""
    look = _Look()
    interpreted = Interpreted(definition, feeds, list, name)
    with quiet():
        values = interpreted.watch(args, kwargs, look.observe, look.run)
    roots = [*definition.outputs, *(new for _, new in definition.updates)]
    for node, value in zip(roots, values, strict=True):
        look.leaf(interpreted.made(node), value)
    labels = _labels(definition)
    wrong = [i for i, value in enumerate(values) if any(_lost_in([value]))]
    serials = [interpreted.made(roots[i]).serial for i in wrong]
    found = dict(look.causes(serials))
    made = {at: one for at, one in found.items() if one.op != leaves.constant.name}
    causes = made or found  # a constant that is inf, as of a mask, is one if there is no other
    told = {(one.op, one.source) for one in found.values()}
    others = [one for key, one in look.made.items() if key not in told]
    return _Looked(
        tuple(labels[i] for i in wrong),
        _each_once(causes[at] for at in sorted(causes)),
        tuple(others),
    )


def _each_once(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """Without those that a gradient makes again when it computes the same a second time."""
    found: dict[object, Origin] = {}
    for one in origins:
        found.setdefault((one.op, one.source, one.place, one.operands), one)
    return tuple(found.values())


def _labels(definition: Definition) -> list[str]:
    """What the outputs and updates are called."""
    nodes = definition.nodes
    labels = []
    for i, node in enumerate(definition.outputs):
        number = f" {i}" if len(definition.outputs) > 1 else ""
        label = nodes[node].name
        labels.append(f"output{number}" + (f" {label!r}" if label else ""))
    for variable, _ in definition.updates:
        label = nodes[variable].name
        labels.append(f"the update of {label!r}" if label else "the update of a variable")
    return labels


def _lost_in(values: Sequence[object]) -> tuple[bool, bool]:
    """Whether there is nan, and whether there is inf, in some values."""
    nan = inf = False
    for value in values:
        if isinstance(value, tuple):
            below = _lost_in(value)
            nan, inf = nan or below[0], inf or below[1]
            continue
        array = np.asarray(value)
        if is_inexact(array.dtype) and not np.isfinite(array).all():
            nan, inf = nan or bool(np.isnan(array).any()), inf or bool(np.isinf(array).any())
    return nan, inf


def _origin(
    node: Expression | Node,
    operands: Sequence[object],
    value: object,
    path: tuple[Iteration, ...],
) -> Origin:
    given = [one for one in _flat(operands) if isinstance(one, np.ndarray | np.generic)]
    array = next(np.asarray(one) for one in _flat([value]) if any(_lost_in([one])))
    # nan is what is new beside inf that was there before
    is_new_nan = np.isnan(array).any() and _lost_in(given) == (False, True)
    wrong = np.isnan(array) if is_new_nan else ~np.isfinite(array)
    place = tuple(map(int, np.argwhere(wrong)[0]))
    first = [_number(array[place])]
    if node.op.elementwise:
        first += [_number(np.broadcast_to(one, array.shape)[place]) for one in given]
    return Origin(
        node.op.name,
        node.name,
        node.source,
        _range(array),
        tuple(map(_range, given)),
        place,
        tuple(first),
        path,
    )


def _number(value: Any) -> complex:
    return complex(value) if np.iscomplexobj(value) else float(value)


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def _range(value: object) -> Range:
    array = np.asarray(value)
    kind = str(type_of(array))
    finite = array[np.isfinite(array)]
    nan, inf = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    finite = np.abs(finite) if np.iscomplexobj(finite) else finite
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    return Range(kind, low, high, nan, inf)
