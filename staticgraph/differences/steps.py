"""What a function leaves behind: both paradigms from the same state, which stays the user's.

Each run is a process of its own, a fork, which has a copy of all that there is: parameters, states
of optimizers, the stream of random numbers, whatever hooks change. It hands back what is left after
the call, and is gone.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from staticgraph import dynamic
from staticgraph.compiler.core.arrays import row_major
from staticgraph.compiler.core.errors import OptionError, StaticGraphError
from staticgraph.compiler.core.pytree import leaves
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.transforms.control_checks import paths
from staticgraph.differences.distance import distance
from staticgraph.differences.records import Row
from staticgraph.differences.rows import Both, row_of
from staticgraph.differences.streams import Engine
from staticgraph.fuzz.graphs.rounding import largest_of, tight
from staticgraph.tracing.compiled import Compiled
from staticgraph.tracing.kept import Kept
from staticgraph.tracing.live import get_place

Result = TypeVar("Result")


@frozen
class Left:
    """What is left after a call.

    Attributes:
        values: what the function returned.
        state: the arrays that the call may have changed, by what they are called.
        late: what a part of the graph read that runs after an optimizer's step.
    """

    values: list[Array]
    state: dict[str, Array]
    late: dict[int, Array]


class Stepping:
    """A function that changes something beside its results, and runs of it.

    Args:
        run: calls the function itself; its results as arrays.
        compiled: what serves the call, and `own` the operands that it begins with.
        operands: all operands, with their names.
        kept: the numbers and lists of Python that it changes.
        graph: the inputs and the outputs of its graph.

    Attributes:
        before: the arrays that a call may change, as they are before it.
        lines: of those of which it is known, the line that changes them.
        outputs: those of the graph: results, and what is put somewhere.
    """

    def __init__(
        self,
        run: Callable[[], list[Array]],
        compiled: Compiled,
        own: Sequence[Any],
        operands: Mapping[str, Any],
        kept: Kept,
        graph: tuple[Sequence[Expression], Sequence[Expression]],
    ) -> None:
        effects = compiled.trace.effects
        self._run, self._compiled, self._own, self._effects = run, compiled, own, effects
        self._operands, self._kept = operands, kept
        self._inputs, self.outputs = graph
        self.before = self._state()
        self.lines = {
            name: without_text(effects.changed[i])
            for i, name in enumerate(operands)
            if i in effects.changed
        }

    @property
    def is_whole(self) -> bool:
        """Whether its graph runs at once: it reads no parameter after an optimizer's step."""
        return not self._effects.late

    def eagerly(self) -> Left:
        """Run the function itself."""
        return in_fork(lambda: Left(self._run(), self._state(), {}))

    def by(self, engine: Engine, constants: Mapping[Expression, Array]) -> Left:
        """Run the captured one, its graph by an engine; `constants` are the variables in it."""
        kind: Any = dynamic.Tensor

        def run() -> Left:
            graph = _Graph(self, engine, constants)
            with dynamic.no_grad():
                values = kind._perform(graph, self._effects, self._own)
            return Left(list(map(as_array, values)), self._state(), graph.late)

        return in_fork(run)

    def _state(self) -> dict[str, Array]:
        """What there is now that a call may change."""
        found: dict[str, Any] = {}
        for name, one in self._operands.items():
            if isinstance(one, dynamic.Tensor):
                found[name] = one
                if one.is_leaf and one.grad is not None:
                    found[f"gradient of {name}"] = one.grad
        found |= self._effects.assigned
        for owner in self._effects.called:
            if hasattr(owner, "state_dict"):
                found |= _arrays_of(type(owner).__name__, owner.state_dict())
        for entry in (*self._kept.numbers, *self._kept.lists):
            found |= _arrays_of(_plainly(entry.name), get_place(entry.places[0]))
        return {name: as_array(one).copy() for name, one in found.items() if one is not None}


def _arrays_of(name: str, tree: object) -> dict[str, Any]:
    """The tensors, arrays and numbers in a tree, by where they are."""
    return {
        f"{name}{path}": one
        for path, one in zip(paths(tree), leaves(tree), strict=True)
        if isinstance(one, int | float | np.ndarray | dynamic.Tensor)
    }


def _plainly(name: str) -> str:
    """What something is called in code: `w` for `global w`, `self.n` for `the function.n`."""
    if name.startswith("the function"):
        name = "self" + name.removeprefix("the function")
    return name.removeprefix("global ").split(",")[0]


def without_text(place: str) -> str:
    """`file:line` of a place that has the text of the line behind."""
    return place.split(": `", maxsplit=1)[0]


class _Graph:
    """A compiled function whose outputs an engine computes."""

    def __init__(
        self, stepping: Stepping, engine: Engine, constants: Mapping[Expression, Array]
    ) -> None:
        self._of, self._engine, self._constants = stepping, engine, constants
        self.name = stepping._compiled.name
        self.outputs = stepping._compiled.outputs
        self.late: dict[int, Array] = {}
        self._first: list[Array] = []

    def forward(self, arrays: Sequence[Any]) -> list[Array]:
        """All outputs."""
        return self._computed(range(self.outputs), [*map(as_array, arrays)])

    @property
    def stages(self) -> list[_Stage]:
        """Its parts between the steps of optimizers."""
        return [
            _Stage(self, number, one.outputs)
            for number, one in enumerate(self._of._compiled.stages)
        ]

    def run(self, number: int, outputs: Sequence[int], arrays: Sequence[Any]) -> list[Array]:
        """The outputs of a part, before which the operands are these."""
        if not number:
            self._first = [row_major(as_array(one)).copy() for one in arrays]
        for i, one in self._of._effects.late.items():
            if one.stage == number:
                self._first[i] = self.late[i] = row_major(as_array(arrays[i])).copy()
        return self._computed(outputs, self._first)

    def _computed(self, places: Sequence[int], arrays: Sequence[Array]) -> list[Array]:
        if not places:
            return []
        feeds = dict(zip(self._of._inputs, map(row_major, arrays), strict=True))
        return self._engine([self._of.outputs[i] for i in places], {**self._constants, **feeds})


class _Stage:
    """A part of a graph: see `compiler.core.protocols.CompiledStage`."""

    def __init__(self, graph: _Graph, number: int, outputs: Sequence[int]) -> None:
        self._graph, self._number, self._outputs = graph, number, outputs

    def run(self, arrays: Sequence[Any], kept: dict[int, Array]) -> list[tuple[int, Array]]:
        """Its outputs with their places."""
        found = self._graph.run(self._number, self._outputs, arrays)
        return list(zip(self._outputs, found, strict=True))


def rows_of_state(
    stepping: Stepping, eager: Left, compiled: Left, moved: Sequence[Left]
) -> Iterator[Row]:
    """A row for everything that a call has changed; `moved` tell what rounding explains."""
    before = stepping.before
    for name in {**eager.state, **compiled.state}:
        one, other = (left.state.get(name, _ABSENT) for left in (eager, compiled))
        if all(distance(x, before.get(name, _ABSENT)).equal for x in (one, other)):
            continue
        explained = largest_of(tight(other), 0)
        for left in moved:
            explained = np.maximum(explained, distance(left.state.get(name, _ABSENT), other).gap)
        yield row_of(
            f"{name} after", None, stepping.lines.get(name, ""), Both(one, other, explained)
        )


_ABSENT = np.zeros((0,), np.bool_)
"""What is not there before, or after one of the runs."""


def names_of(
    operands: Sequence[Any], own: Sequence[str], reads: Sequence[tuple[str, object]]
) -> list[str]:
    """What operands are called: those of the surroundings by what the function reads, else as they
    are called in the graph, `own`.
    """
    known: dict[int, str] = {}
    for text, value in reads:
        name = _plainly(text)
        if isinstance(value, dynamic.Tensor):
            known.setdefault(id(value), name)
        elif isinstance(value, dynamic.nn.Module):
            for inner, one in (*value.named_parameters(), *value.named_buffers()):
                known.setdefault(id(one), f"{name}.{inner}")
    found: list[str] = []
    for one, name in zip(operands, own, strict=True):
        name = known.get(id(one), name)
        found.append(name if name not in found else f"{name} ({len(found)})")
    return found


def as_array(value: Any) -> Array:
    """A tensor, an array or a number as an array."""
    return value.detach().numpy() if isinstance(value, dynamic.Tensor) else np.asarray(value)


def in_fork(function: Callable[[], Result]) -> Result:
    """What a function returns, or raises, in a process of its own.

    Raises:
        OptionError: the system has no fork, or the process ended before it was done.
    """
    if not hasattr(os, "fork"):
        raise OptionError(
            "diff: a function that changes its state is compared where there are forks"
        )
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, of which no lock is held
        child = os.fork()
    if not child:
        os.close(reading)
        _hand_over(function, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    if not sent:
        raise OptionError("diff: the process in which the function ran has ended")
    result, error = pickle.loads(sent)
    if error is not None:
        raise error
    return result


def _hand_over(function: Callable[[], object], writing: int) -> None:
    """Write what a function gives to a pipe, and end the process."""
    try:
        try:
            made: tuple[object, BaseException | None] = function(), None
        except BaseException as error:
            made = None, error
        try:
            sent = pickle.dumps(made)
        except Exception:
            sent = pickle.dumps((None, StaticGraphError(f"{type(made[1]).__name__}: {made[1]}")))
        sys.stdout.flush()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(sent)
    finally:
        os._exit(0)
