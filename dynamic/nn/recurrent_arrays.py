"""Sweeps of recurrent layers over a sequence on plain arrays, and their gradients by hand.

The input's part of all steps is one matrix product, and so is each gradient of the weights; a step
has one product with the state, and few in-place calls on all gates together.

Shapes: x (length, n, inputs), states (n, size), weights as the layers have them, or None where
there is no bias. The logistic function of a gate is (1 + tanh(x / 2)) / 2: NumPy's tanh is fast,
and the halves are put into copies of the weights, where they are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.core.record import frozen

Arrays = Sequence[Any]


class Sweep(Protocol):
    """One kind of layer in one direction; `saved` is what `forward` hands to `backward`."""

    @property
    def name(self) -> str:
        """What tells kinds apart."""

    def forward(
        self, x: Any, state: Arrays, weights: Arrays, reverse: bool
    ) -> tuple[Any, list[Any], list[Any]]:
        """The outputs (length, n, size), the last states, and what is saved."""

    def backward(
        self, g: object, finals: Arrays, x: Any, state: Arrays, weights: Arrays, reverse: bool,
        out: object, saved: Arrays,
    ) -> tuple[list[Any], Any, Any]:  # fmt: skip
        """The cotangents of the first states, and of the gates' two parts in each step.

        `g` is the cotangent of the outputs or None, and so are `finals` those of the last states.
        """


def steps(length: int, reverse: bool) -> range:
    """The steps in the order in which they are computed."""
    return range(length - 1, -1, -1) if reverse else range(length)


def _blocks(weight: Any, order: Sequence[int], scales: Sequence[float]) -> Any:
    """The rows of a weight or bias gate by gate in this order, times a scale for each gate."""
    parts = weight.reshape(len(order), -1, *weight.shape[1:])
    result = np.empty_like(parts)
    for target, gate, scale in zip(result, order, scales, strict=True):
        np.multiply(parts[gate], scale, target)
    return result.reshape(weight.shape)


def project(x: Any, weight: Any, bias: Any) -> Any:
    """x @ weight.T + bias for all steps at once."""
    length, n, size = x.shape
    gates = np.matmul(x.reshape(length * n, size), np.ascontiguousarray(weight.T))
    if bias is not None:
        np.add(gates, bias, gates)
    return gates.reshape(length, n, len(weight))


def _open(gates: Any) -> None:
    """What is left of the logistic function after tanh."""
    np.multiply(gates, 0.5, gates)
    np.add(gates, 0.5, gates)


def _apart(gates: Any, count: int) -> Any:
    """A view of gates (..., n, count * size) as (..., count, n, size)."""
    parts = gates.reshape(*gates.shape[:-1], count, -1)
    return np.swapaxes(parts, -2, -3)


def _begin(g: object, like: Any) -> Any:
    return np.zeros(like.shape, like.dtype) if g is None else np.array(g)


@frozen
class Plain:
    """tanh or relu of x weight_ih.T + h weight_hh.T (Elman 1990)."""

    nonlinearity: str

    @property
    def name(self) -> str:
        """That of the function."""
        return self.nonlinearity

    def forward(
        self, x: Any, state: Arrays, weights: Arrays, reverse: bool
    ) -> tuple[Any, list[Any], list[Any]]:
        """The outputs, the last state, and nothing else."""
        w_ih, w_hh, b_ih, b_hh = weights
        out = project(x, w_ih, None if b_ih is None else b_ih + b_hh)
        (h,) = state
        product, recurrent = np.empty(out.shape[1:], out.dtype), np.ascontiguousarray(w_hh.T)
        for t in steps(len(x), reverse):
            np.add(out[t], np.matmul(h, recurrent, product), out[t])
            if self.nonlinearity == "tanh":
                h = np.tanh(out[t], out[t])
            else:
                h = np.maximum(out[t], 0, out=out[t])
        return out, [h.copy()], []

    def backward(
        self, g: Any, finals: Arrays, x: Any, state: Arrays, weights: Arrays, reverse: bool,
        out: Any, saved: Arrays,
    ) -> tuple[list[Any], Any, Any]:  # fmt: skip
        """The cotangents of the first state and of what the nonlinearity gets."""
        parts = np.empty_like(out)
        dh = _begin(finals[0], out[0])
        for t in steps(len(x), not reverse):
            if g is not None:
                np.add(dh, g[t], dh)
            part = parts[t]
            if self.nonlinearity == "tanh":
                np.multiply(out[t], out[t], part)
                np.subtract(1, part, part)
                np.multiply(part, dh, part)
            else:
                part[...] = np.where(out[t] <= 0, 0, dh)
            np.matmul(part, weights[1], dh)
        return [dh], parts, parts


class LSTM:
    """Long short-term memory (Hochreiter, Schmidhuber 1997).

    The gates are i, f, g, o in the weights, and o, i, f, g here, each by itself, so that those with
    the logistic function lie together.
    """

    name = "LSTM"
    _order = (3, 0, 1, 2)

    def forward(
        self, x: Any, state: Arrays, weights: Arrays, reverse: bool
    ) -> tuple[Any, list[Any], list[Any]]:
        """The outputs, the last (h, c), and the gates, cells and tanh(cells) of all steps."""
        w_ih, w_hh, b_ih, b_hh = weights
        halves = (0.5, 0.5, 0.5, 1.0)
        bias = None if b_ih is None else _blocks(b_ih + b_hh, self._order, halves)
        inputs = _apart(project(x, _blocks(w_ih, self._order, halves), bias), 4)
        recurrent = np.ascontiguousarray(_blocks(w_hh, self._order, halves).T)
        h, c = state
        cells, squashed, out = np.empty((3, *x.shape[:2], h.shape[1]), x.dtype)
        gates = np.empty(inputs.shape, x.dtype)
        product, change = np.empty((len(h), len(w_hh)), x.dtype), np.empty(h.shape, x.dtype)
        own = _apart(product, 4)
        for t in steps(len(x), reverse):
            np.matmul(h, recurrent, product)
            gate = np.add(inputs[t], own, gates[t])
            np.tanh(gate, gate)
            _open(gate[:3])
            output, enter, forget, proposal = gate
            np.multiply(enter, proposal, change)
            c = np.multiply(forget, c, cells[t])
            np.add(c, change, c)
            h = np.multiply(output, np.tanh(c, squashed[t]), out[t])
        return out, [h.copy(), c.copy()], [gates, cells, squashed]

    def backward(
        self, g: Any, finals: Arrays, x: Any, state: Arrays, weights: Arrays, reverse: bool,
        out: Any, saved: Arrays,
    ) -> tuple[list[Any], Any, Any]:  # fmt: skip
        """The cotangents of the first (h, c) and of what the gates' nonlinearities get."""
        gates, cells, squashed = saved
        part, slope = np.empty(gates.shape[1:], out.dtype), np.empty_like(out[0])
        parts = np.empty((*out.shape[:2], len(weights[1])), out.dtype)
        dh, dc = _begin(finals[0], out[0]), _begin(finals[1], out[0])
        before = steps(len(x), reverse)
        for i, t in reversed(list(enumerate(before))):
            if g is not None:
                np.add(dh, g[t], dh)
            output, enter, forget, proposal = gates[t]
            np.multiply(squashed[t], squashed[t], slope)
            np.multiply(np.subtract(1, slope, slope), output, slope)
            np.add(dc, np.multiply(slope, dh, slope), dc)
            np.multiply(np.subtract(1, gates[t][1:3], part[:2]), gates[t][1:3], part[:2])
            by_enter, by_forget, by_proposal, by_output = part
            np.multiply(by_enter, proposal, by_enter)
            np.multiply(by_forget, cells[before[i - 1]] if i else state[1], by_forget)
            np.subtract(1, np.multiply(proposal, proposal, by_proposal), by_proposal)
            np.multiply(by_proposal, enter, by_proposal)
            np.multiply(part[:3], dc, part[:3])
            np.multiply(np.subtract(1, output, by_output), output, by_output)
            np.multiply(np.multiply(by_output, squashed[t], by_output), dh, by_output)
            np.multiply(dc, forget, dc)
            _apart(parts[t], 4)[...] = part
            np.matmul(parts[t], weights[1], dh)
        return [dh, dc], parts, parts


class GRU:
    """Gated recurrent units (Cho et al. 2014): the gates are r, z, n."""

    name = "GRU"

    def forward(
        self, x: Any, state: Arrays, weights: Arrays, reverse: bool
    ) -> tuple[Any, list[Any], list[Any]]:
        """The outputs, the last state, and of all steps the gates and what r is multiplied by."""
        w_ih, w_hh, b_ih, b_hh = weights
        order, halves = range(3), (0.5, 0.5, 1.0)
        (h,) = state
        size = h.shape[1]
        bias = None
        if b_ih is not None:
            bias = b_ih.copy()
            np.add(bias[: 2 * size], b_hh[: 2 * size], bias[: 2 * size])
            bias = _blocks(bias, order, halves)
        inputs = _apart(project(x, _blocks(w_ih, order, halves), bias), 3)
        recurrent = np.ascontiguousarray(_blocks(w_hh, order, halves).T)
        gates, own = np.empty(inputs.shape, x.dtype), np.empty((*x.shape[:2], size), x.dtype)
        product, out = np.empty((len(h), len(w_hh)), x.dtype), np.empty_like(own)
        change, products = np.empty(h.shape, x.dtype), _apart(product, 3)
        for t in steps(len(x), reverse):
            np.matmul(h, recurrent, product)
            opened, proposal = gates[t][:2], gates[t][2]
            np.add(inputs[t][:2], products[:2], opened)
            _open(np.tanh(opened, opened))
            reset, update = opened
            own[t] = products[2]
            if b_hh is not None:
                np.add(own[t], b_hh[2 * size :], own[t])
            np.add(inputs[t][2], np.multiply(reset, own[t], change), proposal)
            np.tanh(proposal, proposal)
            np.multiply(np.subtract(h, proposal, change), update, change)
            h = np.add(proposal, change, out[t])
        return out, [h.copy()], [gates, own]

    def backward(
        self, g: Any, finals: Arrays, x: Any, state: Arrays, weights: Arrays, reverse: bool,
        out: Any, saved: Arrays,
    ) -> tuple[list[Any], Any, Any]:  # fmt: skip
        """The cotangents of the first state and of the two parts of the gates."""
        gates, own = saved
        part, change = np.empty(gates.shape[1:], out.dtype), np.empty_like(out[0])
        parts, ours = np.empty((2, *out.shape[:2], len(weights[1])), out.dtype)
        dh = _begin(finals[0], out[0])
        before = steps(len(x), reverse)
        for i, t in reversed(list(enumerate(before))):
            if g is not None:
                np.add(dh, g[t], dh)
            reset, update, proposal = gates[t]
            by_reset, by_update, by_proposal = part
            np.multiply(np.subtract(1, gates[t][:2], part[:2]), gates[t][:2], part[:2])
            np.subtract(out[before[i - 1]] if i else state[0], proposal, change)
            np.multiply(np.multiply(by_update, change, by_update), dh, by_update)
            np.subtract(1, np.multiply(proposal, proposal, by_proposal), by_proposal)
            np.multiply(by_proposal, np.subtract(1, update, change), by_proposal)
            np.multiply(by_proposal, dh, by_proposal)
            np.multiply(np.multiply(by_reset, own[t], by_reset), by_proposal, by_reset)
            _apart(parts[t], 3)[...] = part
            np.multiply(by_proposal, reset, by_proposal)
            _apart(ours[t], 3)[...] = part
            np.multiply(dh, update, dh)
            np.add(dh, np.matmul(ours[t], weights[1], change), dh)
        return [dh], parts, ours


def gradients(
    needed: Sequence[bool], x: Any, h: Any, w_ih: Any, out: Any, parts: Any, ours: Any,
    reverse: bool,
) -> list[Any]:  # fmt: skip
    """The cotangents of x, weight_ih, weight_hh, bias_ih and bias_hh, None where not needed.

    `parts` and `ours` are those of the gates' parts that come from x and from the state; `h` is
    the first state.
    """
    flat, rows = parts.reshape(-1, parts.shape[2]), x.reshape(-1, x.shape[2])
    found: list[Any] = [None] * 5
    if needed[0]:
        found[0] = np.matmul(flat, w_ih).reshape(x.shape)
    if needed[1]:
        found[1] = np.matmul(flat.T, rows)
    if needed[2]:
        first, rest = (-1, slice(None, -1)) if reverse else (0, slice(1, None))
        past = out[1:] if reverse else out[:-1]
        later = ours[rest].reshape(-1, ours.shape[2])
        found[2] = np.matmul(ours[first].T, h)
        found[2] += np.matmul(later.T, past.reshape(-1, out.shape[2]))
    for i, both in ((3, parts), (4, ours)):
        if needed[i]:
            # over the steps first, then over the batch: shorter sums are more exact
            found[i] = np.add.reduce(np.add.reduce(both, 0), 0)
    return found
