"""Calls of compiled functions: each is one node of the tape, whatever it computes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import CaptureError
from staticgraph.compiler.core.protocols import CompiledFunction, CompiledPullback
from staticgraph.compiler.core.refusals import user_place
from staticgraph.dynamic.capture.effects import Call, Effects
from staticgraph.dynamic.capture.questions import requires
from staticgraph.dynamic.core.errors import AutogradError, DeferredError
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.func.tracer import Tracer
from staticgraph.dynamic.tape.grad_mode import mode, recording
from staticgraph.dynamic.tape.mutated import mutated
from staticgraph.dynamic.tape.nodes import (
    FREED,
    Cotangents,
    Failing,
    GraphNode,
    Output,
    next_number,
)
from staticgraph.dynamic.tape.observers import announce
from staticgraph.dynamic.tensors.narrowing import casting
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


def call(
    function: CompiledFunction, operands: Sequence[object], written: Collection[int] = ()
) -> list[Any]:
    """The results of a compiled function on tensors, arrays and numbers.

    Recorded as one node if an operand requires grad, for which operands that are `written`
    afterwards are copied. On tracers of `dynamic.func` the function is applied op by op, of which
    none is to be cast by `autocast` again.
    """
    values: list[Any] = []
    edges: list[Any] = []
    needed = False
    for one in operands:
        node = None
        if isinstance(one, Tensor):
            if isinstance(one, Tracer):
                with casting(None):
                    return list(function.expand(as_tensors(operands)))
            values.append(one._array)
            node = one._node
            needed = needed or node is not None
        else:
            values.append(one)
        edges.append(node)
    if not needed or not mode.enabled or mode.inference:
        return [wrap(result) for result in function.forward(values)]
    needs = tuple([i for i, edge in enumerate(edges) if edge is not None])
    failing: dict[int, Any] = {}
    try:
        reverse = function.reverse(needs)
    except DeferredError:
        failing = _failing(function, needs)
        reverse = function.reverse(needs, frozenset(failing))
    if not reverse.floating:
        return _marked(function, failing, [wrap(one) for one in function.forward(values)])
    results, kept = reverse.forward(values)
    if written:
        for i in reverse.reads:
            if i in written:
                values[i] = values[i].copy()
    tensors = [wrap(result) for result in results]
    guarded = operands
    if written:  # nobody sees the copies
        guarded = [None if i in written else one for i, one in enumerate(operands)]
    node = CallNode(function.name, reverse, tuple(edges), guarded, values, kept, results)
    announce(node)
    for i in reverse.floating:
        tensors[i]._node = node.head(i)
    return _marked(function, failing, tensors)


def _failing(function: CompiledFunction, needs: tuple[int, ...]) -> dict[int, Any]:
    """The outputs whose derivatives are an error, and which."""
    every = frozenset(range(function.outputs))
    found: dict[int, Any] = {}
    for i in every:
        try:
            function.reverse(needs, every - {i})
        except DeferredError as error:
            found[i] = error.__cause__
    return found


def _marked(
    function: CompiledFunction, failing: Mapping[int, Any], tensors: list[Any]
) -> list[Any]:
    """The results, with nodes that raise for those that cannot be differentiated."""
    for i, error in failing.items():
        if is_inexact(tensors[i]._array.dtype):
            tensors[i]._node = Failing(tensors[i]._array, error, f"{function.name}Backward")
    return tensors


def perform(function: CompiledFunction, effects: Effects, given: Sequence[Any]) -> list[Any]:
    """The caller's results of a function that does more than computing them."""
    if not (effects.draws or effects.failures):
        return _performed(function, effects, given)
    with effects.drawing(given):
        return _performed(function, effects, given)


def _performed(function: CompiledFunction, effects: Effects, given: Sequence[Any]) -> list[Any]:
    operands = effects.operands(given)
    if effects.steps and any(isinstance(one, Tracer) for one in operands):
        raise CaptureError(
            f"{user_place()}: {function.name}: a captured function that changes tensors in place, "
            "or steps an optimizer, is called inside of a transform of dynamic.func: call the "
            "function itself"
        )
    effects.check(operands)
    if effects.breaks:
        results = _in_stages(function, effects, operands)
    else:
        results = call(function, operands, effects.written)
    if effects.freed and recording() and any(map(requires, operands)):
        for i in effects.freed:
            array = results[i]._array
            results[i]._node = Failing(array, AutogradError(FREED), f"{function.name}Backward")
    return effects.finish(operands, results, given)


def _in_stages(function: CompiledFunction, effects: Effects, operands: Sequence[Any]) -> list[Any]:
    """The results of a function that reads parameters after steps of optimizers.

    The steps are done but for those after the last stage.
    """
    found: dict[int, Any] = {}
    kept: dict[int, Any] = {}
    ends = iter(effects.breaks)
    done = 0
    results: list[Any] = []
    for stage in function.stages:
        found |= {i: wrap(array) for i, array in stage.run(arrays(operands), kept)}
        results = [found.get(i) for i in range(function.outputs)]
        end = next(ends, done)
        for step in effects.steps[done:end]:
            step(Call(operands, results))
        done = end
    return results


def arrays(operands: Sequence[object]) -> list[Any]:
    """The arrays of tensors; what is no tensor as it is."""
    return [one._array if isinstance(one, Tensor) else one for one in operands]


def as_tensors(operands: Sequence[object]) -> list[Any]:
    """The operands as tensors."""
    return [one if isinstance(one, Tensor) else wrap(np.asarray(one)) for one in operands]


class CallNode(GraphNode):
    """One call of a compiled function; its shape and dtype are those of its first output.

    Attributes:
        count: how many outputs there are.
        origins: per output the operands that get a gradient through it, where a call decides that.
    """

    __slots__ = (
        "_guards", "_kept", "_name", "_needs", "_outputs", "_reverse", "_saved", "count",
        "origins",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        reverse: CompiledPullback,
        edges: tuple[object, ...],
        operands: Sequence[Any],
        values: Sequence[Any],
        kept: Sequence[Any],
        results: Sequence[Any],
    ) -> None:
        super().__init__(results[0].shape, results[0].dtype)
        self.edges = edges
        self.hooks = None
        self.serial = next_number()
        self.count = len(results)
        self.origins: Sequence[Collection[int]] | None = None
        self._name = name
        self._reverse = reverse
        self._needs = reverse.needs
        self._kept = kept
        self._outputs = [Spec(one.shape, one.dtype) for one in results]
        self._saved: list[Any] | None = [
            value if i in reverse.reads else Spec(value.shape, value.dtype)
            for i, value in enumerate(values)
        ]
        self._guards = [
            (i, operands[i]._counter, operands[i]._counter[0])
            for i in reverse.reads
            if isinstance(operands[i], Tensor)
        ]

    def head(self, number: int) -> Any:
        """The node of one output: this one if there is only one."""
        if self.count == 1:
            return self
        return Output(self, number, self._outputs[number])

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the operands, computed by compiled code."""
        saved = self._saved
        if saved is None:
            raise AutogradError(FREED)
        for i, counter, version in self._guards:
            if counter[0] != version:
                raise AutogradError(mutated(saved[i], self.edges[i], counter, version, self.name()))
        parts = g.listed(self.count) if type(g) is Cotangents else (g,)
        given = [
            _zeros(self._outputs[i]) if parts[i] is None else parts[i]
            for i in self._reverse.floating
        ]
        if create_graph:
            found = self._pull_tensors(given, saved)
        else:
            found = self._reverse.backward(given, saved, self._kept)
        pairs = [*zip(self._needs, found, strict=True)]
        if self.origins is not None:
            given_to = zip(self.origins, parts, strict=False)
            reached = frozenset[int]().union(*(one for one, part in given_to if part is not None))
            pairs = [pair for pair in pairs if pair[0] in reached]
        return [(self.edges[i], part) for i, part in pairs]

    def _pull_tensors(self, cotangents: list[Any], saved: Sequence[object]) -> list[Any]:
        """The same as tensors that are recorded: a call of the compiled reverse pass."""
        counters = {i: counter for i, counter, _ in self._guards}
        operands = []
        for i, value in enumerate(saved):
            if isinstance(value, Spec):
                # only its shape is read
                value = np.broadcast_to(np.zeros((), value.dtype), value.shape)
            tensor = wrap(value)
            tensor._node = self.edges[i]
            if i in counters:
                tensor._counter = counters[i]
            operands.append(tensor)
        return call(self._reverse.pullback, [*as_tensors(cotangents), *operands])

    def biases(self) -> Mapping[int, Sequence[int]]:
        """The operands that are only added to products with others, each with these."""
        return self._reverse.biases

    def lost_at(self) -> tuple[str, str] | None:
        """Where the last call that gave a loss of inf or nan made it so: the line, and what."""
        return self._reverse.lost_at()

    def places(self) -> tuple[int, ...]:
        """The operands that require grad."""
        return self._needs

    def release(self) -> None:
        """Let go of what is saved."""
        if self._reverse.reads or self._kept:
            self._saved = None
            self._kept = ()

    def name(self) -> str:
        """The name of the function and Backward, as PyTorch names those of a Function."""
        return f"{self._name}Backward"


def _zeros(like: Spec) -> Any:
    return np.zeros(like.shape, like.dtype)
