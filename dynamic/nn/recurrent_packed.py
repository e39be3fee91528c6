"""Recurrent layers over packed sequences: states stay as they are where a sequence has ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.utils.rnn import PackedSequence, lengths_of, padded, repacked


def weight_of(layers: Any, name: str) -> Any:
    """A parameter, or what stands in its place (dropped, normalised); None if there is none."""
    found = layers._parameters.get(name)
    if found is None and (name in layers.__dict__ or hasattr(type(layers), name)):
        found = getattr(layers, name)
    return found


_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


def run_packed(
    layers: Any, sequence: PackedSequence, states: tuple[object, ...], sizes: tuple[int, ...]
) -> tuple[PackedSequence, tuple[Any, ...]]:
    """The packed outputs, and the last states of each layer and direction.

    `states` are (layers * directions, n, size) each or None, in the order that the sequences had
    before they were packed, as the last states are.
    """
    x = padded(sequence)
    if x.shape[-1] != layers.input_size:
        raise ModuleError(
            f"input.size(-1) must be equal to input_size. Expected {layers.input_size}, got "
            f"{x.shape[-1]}"
        )
    order = sequence.sorted_indices
    starts = []
    for state, size, name in zip(states, sizes, ("hidden[0]", "hidden[1]"), strict=False):
        state = layers._start_state(state, x, size, "hidden" if len(sizes) == 1 else name, True)
        starts.append(state if order is None else ops.take(state, order, 1))
    active = np.arange(x.shape[0])[:, None] < lengths_of(sequence)
    finals: list[tuple[Any, ...]] = []
    for layer in range(layers.num_layers):
        outputs = []
        for suffix in layers._directions():
            start = tuple(state[len(finals)] for state in starts)
            output, final = _sweep(layers, x, start, f"_l{layer}{suffix}", active, bool(suffix))
            outputs.append(output)
            finals.append(final)
        x = outputs[0] if len(outputs) == 1 else ops.concatenate(outputs, -1)
        if layers.dropout and layer < layers.num_layers - 1:
            x = F.dropout(x, layers.dropout, layers.training)
    found = tuple(ops.stack(list(column)) for column in zip(*finals, strict=True))
    if order is not None:
        found = tuple(ops.take(one, sequence.unsorted_indices, 1) for one in found)
    return repacked(x, sequence), found


def _sweep(
    layers: Any, x: object, state: tuple[Any, ...], key: str, active: Any, backwards: bool
) -> tuple[Any, tuple[Any, ...]]:
    """One layer in one direction: the outputs (length, n, size), and the last states."""
    *weights, projection = (weight_of(layers, name + key) for name in _NAMES)
    steps = F.linear(x, weights[0], weights[2]).unbind(0)
    outputs = [None] * len(steps)
    places = range(len(steps))
    for place in reversed(places) if backwards else places:
        after = layers._advance(steps[place], state, weights[1], weights[3])
        if projection is not None:
            after = (F.linear(after[0], projection), *after[1:])
        if active[place].all():
            state = after
        else:
            mask = active[place][:, None]
            state = tuple(ops.where(mask, *pair) for pair in zip(after, state, strict=True))
        outputs[place] = state[0]
    return ops.stack(outputs), state
