"""Loops and branches, whose bodies are graphs in the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.transforms import control_flow
from staticgraph.onnx.call import Call, computed, reads
from staticgraph.onnx.reading import Graph

_STEPS = 1 << 24
"""The steps of a loop that are run one by one: a file of some bytes asks for any number."""


def _is_known(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype != object


@reads("If")
def _branch(call: Call) -> Any:
    holds = call.value(0)
    graphs = [call.attribute(name) for name in ("then_branch", "else_branch")]
    if _is_known(holds):
        return tuple(call.run(graphs[0] if holds.all() else graphs[1], []))

    def branch(graph: Graph) -> Any:
        return lambda: [computed(one) for one in call.run(graph, [])]

    return tuple(control_flow.cond(ops.reshape(holds, ()), *map(branch, graphs)))


@reads("Loop")
def _loop(call: Call) -> Any:
    body, count, holds = call.attribute("body"), call.raw(0), call.raw(1)
    carry = [call.raw(i) for i in range(2, len(call.values))]
    stacked = len(body.outputs) - 1 - len(carry)
    if (count is None or _is_known(count)) and (holds is None or _is_known(holds)):
        return _step_by_step(call, body, count, holds, carry, stacked)
    if stacked:
        raise call.refuse("how many slices it stacks depends on values")
    last = None if count is None else ops.reshape(call.value(0), ())
    first = np.array(True) if holds is None else ops.reshape(call.value(1), ())
    return _while(call, body, last, first, carry)


def _step_by_step(
    call: Call, body: Graph, count: Any, holds: Any, carry: list[Any], stacked: int
) -> Any:
    """A loop whose steps are run as Python's, as long as it is known whether there is another."""
    limit = _STEPS if count is None else int(np.asarray(count).reshape(()))
    going = True if holds is None else bool(np.asarray(holds).all())
    slices: list[list[Any]] = [[] for _ in range(stacked)]
    step = 0
    while going and step < limit:
        found = call.run(body, [np.array(step), np.array(True), *carry])
        if not _is_known(found[0]):
            return _undecided(call, body, count, holds, carry, stacked)
        going, carry = bool(found[0].all()), found[1 : len(carry) + 1]
        for values, one in zip(slices, found[len(carry) + 1 :], strict=True):
            values.append(computed(one))
        step += 1
        if step >= _STEPS:
            raise call.refuse(f"it takes more than {_STEPS} steps")
    if not all(slices):
        raise call.refuse("it has no steps, so that what it stacks has no shape")
    return (*carry, *(_stack(values) for values in slices))


def _stack(values: Sequence[Any]) -> Any:
    return ops.concatenate([ops.expand_dims(one, 0) for one in values], 0)


def _undecided(
    call: Call, body: Graph, count: Any, holds: Any, carry: list[Any], stacked: int
) -> Any:
    if stacked:
        raise call.refuse("how many slices it stacks depends on values")
    last = None if count is None else np.asarray(count).reshape(())
    first = np.array(True if holds is None else bool(np.asarray(holds).all()))
    carry = [call.raw(i) for i in range(2, len(call.values))]
    return _while(call, body, last, first, carry)


def _while(call: Call, body: Graph, last: Any, first: Any, carry: list[Any]) -> Any:
    """A loop whose end depends on values."""
    like = next((one for one in (*carry, last, first) if isinstance(one, Operand)), None)

    def lifted(value: Any) -> Any:
        return value if like is None or isinstance(value, Operand) else like._constant(value)

    def test(state: Any) -> Any:
        step, going, _ = state
        return going if last is None else ops.logical_and(going, ops.less(step, last))

    def again(state: Any) -> Any:
        step, going, values = state
        found = [computed(one) for one in call.run(body, [step, going, *values])]
        return step + 1, ops.reshape(found[0], ()), found[1:]

    start = (np.array(0), first, [computed(one) for one in carry])
    if like is not None:
        start = (lifted(start[0]), lifted(start[1]), [lifted(one) for one in start[2]])
    _, _, values = control_flow.while_loop(test, again, start)
    return tuple(values)


@reads("Scan")
def _scan(call: Call) -> Any:
    body, count = call.attribute("body"), call.attribute("num_scan_inputs")
    carries = len(call.values) - count
    ys = len(body.outputs) - carries
    taken = _directions(call, "scan_input", count)
    given = _directions(call, "scan_output", ys)
    operands = call.operands
    xs = [
        _moved(ops.flip(x, axis) if backward else x, axis, 0)
        for x, (axis, backward) in zip(operands[carries:], taken, strict=True)
    ]

    def step(carry: Any, slices: Any) -> Any:
        found = [computed(one) for one in call.run(body, [*carry, *slices])]
        return found[:carries], found[carries:]

    last, stacked = control_flow.scan(step, operands[:carries], xs)
    arranged = []
    for y, (axis, backward) in zip(stacked, given, strict=True):
        arranged.append(_moved(ops.flip(y, 0) if backward else y, 0, axis))
    return (*last, *arranged)


def _directions(call: Call, what: str, count: int) -> list[tuple[int, int]]:
    axes = call.attribute(f"{what}_axes") or [0] * count
    return list(zip(axes, call.attribute(f"{what}_directions") or [0] * count, strict=True))


def _moved(x: Any, source: int, target: int) -> Any:
    axes = [i for i in range(x.ndim) if i != source % x.ndim]
    axes.insert(target % x.ndim, source % x.ndim)
    return x if axes == sorted(axes) else ops.transpose(x, axes)
