"""Recurrent layers over sequences of much work by compiled kernels: one loop over the steps.

What a step computes is what the layer says in ops. The gradient computes the steps again, so that
nothing but the operands is kept. A kernel knows the sizes of the weights, and serves sequences of
any length in any number.
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
    reverse: bool,
) -> list[Any] | None:  # fmt: skip
    """The outputs and the last states, arrays; None where no kernel serves the call."""
    given = [x, *state, *weights]

    def make(values: list[Any]) -> list[Any]:
        return _results(advance, _laid_out(values, given), len(state), reverse)

    return _run(("recurrent", name), make, given, len(state), reverse)


def backward(
    name: object, advance: Advance, x: Any, state: Sequence[Any], weights: Sequence[Any],
    reverse: bool, grads: Sequence[Any], needed: Sequence[bool],
) -> list[Any] | None:  # fmt: skip
    """The cotangents of x, the first states and the weights, None for those not needed.

    `grads` are those of the results, or None. None as in `forward`.
    """
    given = [x, *state, *weights, *grads]

    def make(values: list[Any]) -> list[Any]:
        from staticgraph.compiler.transforms.autodiff import pullback

        laid = _laid_out(values, given)
        inputs, seeds = laid[: -len(grads)], laid[-len(grads) :]
        results = _results(advance, inputs, len(state), reverse)
        pairs = [(one, g) for one, g in zip(results, seeds, strict=True) if g is not None]
        outputs, cotangents = zip(*pairs, strict=True)
        wanted = [one for one, need in zip(inputs, needed, strict=True) if need]
        return pullback(outputs, wanted, cotangents)

    name = ("cotangents of recurrent", name, tuple(needed))
    found = _run(name, make, given, len(state), reverse)
    if found is None:
        return None
    parts = iter(found)
    return [next(parts) if need else None for need in needed]


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
