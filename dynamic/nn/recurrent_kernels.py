"""Recurrent layers over sequences of much work by compiled kernels: one loop over the steps.

What a step computes is what the layer says in ops. Where a gradient is to come, the loop also keeps
what its gradient reads of the steps, so that no step is computed twice. A kernel knows the sizes of
the weights, and serves sequences of any length in any number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.kernels import native

LEAST_WORK = 1 << 25
"""The least number of multiplications in a sequence that is worth a kernel.

A first step, forward and backward, takes 0.3 to 1 s where no kernel is in the cache."""

Advance: TypeAlias = "Callable[[Any, tuple[Any, ...], Any, Any], tuple[Any, ...]]"
"""A step in ops: `(x's part, state, weight_hh, bias_hh) -> state`."""


def forward(
    name: object, advance: Advance, x: Any, state: Sequence[Any], weights: Sequence[Any],
    reverse: bool, needed: Sequence[bool] = (),
) -> tuple[list[Any], list[Any]] | None:  # fmt: skip
    """The outputs and the last states, and what `backward` reads of the steps, arrays.

    `needed` are those of x, the first states and the weights whose cotangents are to come. None
    where no kernel serves the call.
    """
    given = [x, *state, *weights]

    def make(values: list[Any]) -> list[Any]:
        from staticgraph.compiler.transforms.control_gradients import stand_in

        inputs = _laid_out(values, given)
        results = _results(advance, inputs, len(state), reverse)
        if not any(needed):
            return results
        seeds = [stand_in(one.type, "cotangent") for one in results]
        return [*results, *_read(_cotangents(results, seeds, inputs, needed), seeds)]

    found = _run(("recurrent", name, tuple(needed)), make, given, len(state), reverse)
    count = 1 + len(state)
    return None if found is None else (found[:count], found[count:])


def backward(
    name: object, advance: Advance, x: Any, state: Sequence[Any], weights: Sequence[Any],
    reverse: bool, grads: Sequence[Any], needed: Sequence[bool], saved: Sequence[Any],
) -> list[Any]:  # fmt: skip
    """The cotangents of x, the first states and the weights, None for those not needed.

    `grads` are those of the results, and `saved` is what `forward` kept for the same ones needed.
    """
    given = [x, *state, *weights, *grads, *saved]
    ends = len(given) - len(grads) - len(saved), len(given) - len(saved)

    def make(values: list[Any]) -> list[Any]:
        from staticgraph.compiler.graph.evaluate import substitute

        laid = _laid_out(values, given)
        inputs, seeds, kept = laid[: ends[0]], laid[ends[0] : ends[1]], laid[ends[1] :]
        results = _results(advance, inputs, len(state), reverse)
        found = _cotangents(results, seeds, inputs, needed)
        read = zip(_read(found, seeds), kept, strict=True)
        return substitute(found, {one.serial: value for one, value in read})

    name = ("cotangents of recurrent", name, tuple(needed))
    found = _run(name, make, given, len(state), reverse)
    assert found is not None  # what the forward kernel takes, this takes
    parts = iter(found)
    return [next(parts) if need else None for need in needed]


def _cotangents(
    results: Sequence[Any], seeds: Sequence[Any], inputs: Sequence[Any], needed: Sequence[bool]
) -> list[Any]:
    """The cotangents of the inputs that are needed, in ops."""
    from staticgraph.compiler.transforms.autodiff import pullback

    return pullback(results, [one for one, need in zip(inputs, needed, strict=True) if need], seeds)


def _read(cotangents: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
    """What cotangents read of the forward loop: what loops give that no seed has a part in."""
    from staticgraph.compiler.graph.traversal import ancestors
    from staticgraph.compiler.ops.programs import control

    moving = {seed.serial for seed in seeds}
    found = []
    for node in ancestors(cotangents):
        if any(operand.serial in moving for operand in node.operands):
            moving.add(node.serial)
        elif node.op is control.item:
            found.append(node)
    return found


def _laid_out(values: list[Any], given: Sequence[Any]) -> list[Any]:
    """A value for each operand that is given, None for the others."""
    rest = iter(values)
    return [None if one is None else next(rest) for one in given]


def _results(advance: Advance, given: Sequence[Any], states: int, reverse: bool) -> list[Any]:
    """The outputs and the last states in ops."""
    from staticgraph.compiler.transforms.control_flow import scan

    x, state, weights = given[0], tuple(given[1 : 1 + states]), given[1 + states :]
    inputs = ops.matmul(x, ops.swapaxes(weights[0], -1, -2))
    if weights[2] is not None:
        inputs = inputs + weights[2]

    def step(carry: Any, part: Any) -> Any:
        after = advance(part, carry, weights[1], weights[3])
        return after, after[0]

    finals: Any
    finals, out = scan(step, state, inputs, reverse=reverse)
    return [out, *finals]


def _run(
    name: object, make: native.Make, given: Sequence[Any], states: int, reverse: bool
) -> list[Any] | None:
    """The results of a kernel of x, the first states, four weights, and maybe cotangents."""
    length, n, _ = given[0].shape
    weights = given[1 + states : 5 + states]
    work = length * n * (weights[0].size + weights[1].size)
    if not native.state.enabled or work < LEAST_WORK:
        return None
    arrays, kinds = [], []
    for place, one in enumerate(given):
        if one is None:
            continue
        of_weight = states < place < 5 + states
        sizes = one.shape if of_weight else ((-1, -2)[3 - one.ndim :] + one.shape[-1:])
        arrays.append(np.ascontiguousarray(one))
        kinds.append((one.dtype, sizes, sizes))
    places = tuple([one is not None for one in given])
    return native.run((name, places), {"reverse": reverse}, make, arrays, arrays, tuple(kinds))
