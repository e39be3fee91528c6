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
from staticgraph.compiler.core.types import type_of
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.bodies import Iteration, Run, run_body
from staticgraph.compiler.inspect.interpreted import Interpreted
from staticgraph.compiler.inspect.origins import Origin, Range, Replay
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs.effects import quiet
from staticgraph.compiler.runtime.arguments import as_inputs, in_order
from staticgraph.compiler.runtime.sizes import Feed, feeds_of


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
        ran.lost or defined.lost,
        defined.causes,
        defined.others,
        ran.causes,
        guilty,
        compiled=True,
        saved=tuple(one for one in defined.lost if ran.lost and one not in ran.lost),
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
