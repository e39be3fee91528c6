"""Recurrent layers: RNN, GRU and LSTM, as loops over the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.transforms import control_flow
from staticgraph.onnx.call import Call, reads
from staticgraph.onnx.operators.moves import made

Activation: TypeAlias = "Callable[[Any], Any]"
Cell: TypeAlias = "Callable[[Any, Sequence[Any], Any, Any], tuple[Any, ...]]"
"""From a step's x W + b, the states, R and its bias to the new states, of which the first is h."""

ACTIVATIONS: dict[str, tuple[tuple[float, ...], Callable[..., Any]]] = {
    "Relu": ((), ops.relu),
    "Tanh": ((), ops.tanh),
    "Sigmoid": ((), ops.sigmoid),
    "Softsign": ((), ops.softsign),
    "Softplus": ((), ops.softplus),
    "Elu": ((1.0,), lambda x, a: ops.where(x < 0, a * ops.expm1(ops.minimum(x, 0)), x)),
    "LeakyRelu": ((0.01,), lambda x, a: ops.where(x < 0, a * x, x)),
    "ThresholdedRelu": ((1.0,), lambda x, a: ops.where(x > a, x, 0)),
    "Affine": ((1.0, 0.0), lambda x, a, b: a * x + b),
    "ScaledTanh": ((1.0, 1.0), lambda x, a, b: a * ops.tanh(b * x)),
    "HardSigmoid": ((0.2, 0.5), lambda x, a, b: ops.clip(a * x + b, 0, 1)),
}
"""By ONNX's names: what alpha and beta are where they are not given, and what they do."""
_SMALL = {name.lower(): one for name, one in ACTIVATIONS.items()}


@reads("RNN")
def _rnn(call: Call) -> Any:
    def cell_of(f: Activation) -> Cell:
        def cell(x: Any, states: Sequence[Any], r: Any, b: Any) -> tuple[Any, ...]:
            return (f(_added(x + ops.matmul(states[0], r), b)),)

        return cell

    return _recurrent(call, cell_of, ("Tanh",), 1)


@reads("GRU")
def _gru(call: Call) -> Any:
    linear = call.attribute("linear_before_reset", 0)

    def cell_of(f: Activation, g: Activation) -> Cell:
        def cell(x: Any, states: Sequence[Any], r: Any, b: Any) -> tuple[Any, ...]:
            (h,) = states
            size = h.shape[1]
            gates = f(x[:, : 2 * size] + _part(h, r, b, 0, 2 * size))
            update, reset = gates[:, :size], gates[:, size:]
            if linear:
                inner = reset * _part(h, r, b, 2 * size, 3 * size)
            else:
                inner = _part(reset * h, r, b, 2 * size, 3 * size)
            return ((1 - update) * g(x[:, 2 * size :] + inner) + update * h,)

        return cell

    return _recurrent(call, cell_of, ("Sigmoid", "Tanh"), 1)


@reads("LSTM")
def _lstm(call: Call) -> Any:
    peepholes = call.optional(7)
    coupled = call.attribute("input_forget", 0)
    directions = iter(range(2))

    def cell_of(f: Activation, g: Activation, h: Activation) -> Cell:
        place = next(directions)
        peep = None if peepholes is None else peepholes[place]

        def cell(x: Any, states: Sequence[Any], r: Any, b: Any) -> tuple[Any, ...]:
            hidden, c = states
            size = hidden.shape[1]
            gates = _added(x + ops.matmul(hidden, r), b)
            i, o, forget, new = (gates[:, k * size : (k + 1) * size] for k in range(4))

            def seen(gate: Any, k: int, cells: Any) -> Any:
                return gate if peep is None else gate + peep[k * size : (k + 1) * size] * cells

            i = f(seen(i, 0, c))
            forget = 1 - i if coupled else f(seen(forget, 2, c))
            c = forget * c + i * g(new)
            return f(seen(o, 1, c)) * h(c), c

        return cell

    return _recurrent(call, cell_of, ("Sigmoid", "Tanh", "Tanh"), 2)


def _part(h: Any, r: Any, b: Any, start: int, end: int) -> Any:
    """The columns of h R + b."""
    return _added(ops.matmul(h, r[:, start:end]), None if b is None else b[start:end])


def _added(x: Any, bias: Any) -> Any:
    return x if bias is None else x + bias


def _recurrent(
    call: Call, cell_of: Callable[..., Cell], activations: Sequence[str], states: int
) -> Any:
    """All directions: what each step gives, and the last states."""
    direction = call.attribute("direction", "forward")
    backward = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    if direction not in backward:
        raise call.refuse(f"the direction is {direction!r}")
    batch_first = call.attribute("layout", 0)
    functions = _activations(call, activations, len(backward[direction]))
    ys, lasts = [], []
    for place, turned in enumerate(backward[direction]):
        cell = cell_of(*(next(functions) for _ in activations))
        y, last = _one_way(call, cell, states, place, turned)
        ys.append(ops.transpose(y, (1, 0, 2)) if batch_first else y)
        lasts.append(last)
    ends = [_beside(kind, 1 if batch_first else 0) for kind in zip(*lasts, strict=True)]
    return (_beside(ys, 2 if batch_first else 1), *ends)


def _beside(directions: Sequence[Any], axis: int) -> Any:
    return ops.concatenate([ops.expand_dims(one, axis) for one in directions], axis)


def _one_way(
    call: Call, cell: Cell, states: int, place: int, backward: bool
) -> tuple[Any, Sequence[Any]]:
    """One direction: what each step gives, in the order of the input, and the last states."""
    batch_first = call.attribute("layout", 0)
    x, lengths, bias = call.value(0), call.optional(4), call.optional(3)
    if lengths is not None and backward:
        raise call.refuse("sequences of unequal lengths are not read backwards")
    x = ops.transpose(x, (1, 0, 2)) if batch_first else x
    w, r = (ops.transpose(call.value(i)[place], (1, 0)) for i in (1, 2))
    gates, size = w.shape[1], r.shape[0]
    own, other = (None, None) if bias is None else (bias[place, :gates], bias[place, gates:])
    inputs = _added(ops.matmul(ops.flip(x, 0) if backward else x, w), own)
    start = [_start(call, 5 + i, place, (x.shape[1], size), x) for i in range(states)]
    steps = [inputs]
    if lengths is not None:
        steps.append(np.arange(x.shape[0]))

    def step(carry: Any, taken: Any) -> Any:
        new = cell(taken[0], carry, r, other)
        if lengths is None:
            return list(new), new[0]
        going = ops.expand_dims(ops.less(taken[1], lengths), 1)
        kept = [ops.where(going, one, old) for one, old in zip(new, carry, strict=True)]
        return kept, ops.where(going, new[0], 0)

    last, y = control_flow.scan(step, start, steps)
    return (ops.flip(y, 0) if backward else y), last


def _start(call: Call, position: int, place: int, shape: tuple[Any, Any], x: Any) -> Any:
    """The states that a direction starts with: zeros if none are given."""
    given = call.optional(position)
    if given is not None:
        return given[:, place] if call.attribute("layout", 0) else given[place]
    zeros = made(call, np.zeros((), x.dtype), list(shape))
    return x._constant(zeros) if isinstance(x, Operand) and isinstance(zeros, np.ndarray) else zeros


def _activations(call: Call, names: Sequence[str], directions: int) -> Iterator[Activation]:
    """The activations of all directions, in order."""
    given = call.attribute("activations") or list(names) * directions
    limit = call.attribute("clip")
    numbers = [iter(call.attribute(f"activation_{one}") or ()) for one in ("alpha", "beta")]
    if len(given) != len(names) * directions:
        raise call.refuse(f"it has the activations {given}, for {directions} directions")
    for name in given:
        if name.lower() not in _SMALL:
            raise call.refuse(f"the activation {name!r} is not known")
        defaults, function = _SMALL[name.lower()]
        values = [next(one, value) for one, value in zip(numbers, defaults, strict=False)]
        yield _activation(function, values, limit)


def _activation(function: Callable[..., Any], values: Sequence[float], limit: Any) -> Activation:
    def apply(x: Any) -> Any:
        return function(x if limit is None else ops.clip(x, -limit, limit), *values)

    return apply
