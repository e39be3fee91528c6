"""A layer of a recurrent network over a whole sequence as one node of the tape.

Values and gradients are computed on arrays (`recurrent_arrays`). Where a gradient is to be
differentiated again, the layer is computed step by step instead, with ops that know how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.dynamic.autograd import grad
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.func.tracer import Tracer
from staticgraph.dynamic.nn import recurrent_kernels
from staticgraph.dynamic.nn.recurrent_arrays import Sweep, gradients
from staticgraph.dynamic.nn.recurrent_kernels import Advance
from staticgraph.dynamic.tape.grad_mode import is_grad_enabled
from staticgraph.dynamic.tensors.tensor import Tensor, wrap

Stepwise = Callable[..., tuple[Any, tuple[Any, ...]]]
"""The same layer in ops: `(x, state, weights, reverse) -> (outputs, last states)`."""


def fits(x: Any, state: Sequence[object], weights: Sequence[object]) -> bool:
    """Whether these are plain tensors of one dtype, of at least one element each."""
    tensors = [x, *state, *(weight for weight in weights if weight is not None)]
    return all(
        isinstance(one, Tensor)
        and not isinstance(one, Tracer)
        and one._array.dtype == x._array.dtype
        and one._array.dtype in (F32, F64)
        and one._array.size > 0
        for one in tensors
    )


def sweep(
    kind: Sweep, advance: Advance, stepwise: Stepwise, x: object, state: Sequence[object],
    weights: Sequence[object],
    reverse: bool,
) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
    """The outputs (length, n, size) of one layer in one direction, and the last states."""
    tensors = (x, *state, *weights)
    needed: tuple[bool, ...] = ()
    if is_grad_enabled():
        needed = tuple([getattr(one, "requires_grad", False) for one in tensors])
    out, *finals = _Sweep.apply(kind, advance, stepwise, len(state), reverse, needed, *tensors)
    return out, tuple(finals)


class _Sweep(Function):
    """The layer as a function of x, the first states and the weights."""

    @staticmethod
    def forward(
        ctx: Any, kind: Sweep, advance: Advance, stepwise: Stepwise, states: int, reverse: bool,
        needed: tuple[bool, ...], *tensors: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The outputs and the last states; `needed` says which cotangents are to come."""
        x, *rest = (None if one is None else one._array for one in tensors)
        state, weights = rest[:states], rest[states:]
        by_kernel = recurrent_kernels.forward(
            kind.name, advance, x, state, weights, reverse, needed
        )
        if by_kernel is None:
            out, finals, saved = kind.forward(x, state, weights, reverse)
            found = [out, *finals]
        else:
            found, saved = by_kernel
        results = tuple(wrap(one) for one in found)
        ctx.options = (kind, advance, stepwise, states, reverse, by_kernel is not None)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, results[0], *(wrap(one) for one in saved))
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """The cotangents of x, the first states and the weights."""
        kind, advance, stepwise, states, reverse, is_kernel = ctx.options
        needed = ctx.needs_input_grad[_OPTIONS:]
        tensors, rest = ctx.saved_tensors[: len(needed)], ctx.saved_tensors[len(needed) :]
        if is_grad_enabled():
            return (None,) * _OPTIONS + _again(stepwise, states, reverse, tensors, needed, grads)
        g, *finals = (None if one is None else one._array for one in grads)
        out, *saved = (one._array for one in rest)
        x, *others = (None if one is None else one._array for one in tensors)
        state, weights = others[:states], others[states:]
        if is_kernel:
            likes = (out, *state)
            given = [
                np.zeros_like(b) if a is None else a
                for a, b in zip((g, *finals), likes, strict=True)
            ]
            found = recurrent_kernels.backward(
                kind.name, advance, x, state, weights, reverse, given, needed, saved
            )
        else:
            first, parts, ours = kind.backward(g, finals, x, state, weights, reverse, out, saved)
            wanted = (needed[0], *needed[1 + states :])
            dx, *dw = gradients(wanted, x, state[0], weights[0], out, parts, ours, reverse)
            starts = zip(first, needed[1 : 1 + states], strict=True)
            found = [dx, *(one if need else None for one, need in starts), *dw]
        return (None,) * _OPTIONS + tuple(None if one is None else wrap(one) for one in found)


_OPTIONS = 6
"""The arguments before the tensors."""


def _again(
    stepwise: Stepwise, states: int, reverse: bool, tensors: Sequence[Any],
    needed: Sequence[bool], grads: Sequence[object],
) -> tuple[Any, ...]:  # fmt: skip
    """The cotangents, recorded: those of the layer step by step."""
    # clones, so that a tensor in two places has a cotangent for each
    copies = [one.clone() if need else one for one, need in zip(tensors, needed, strict=True)]
    x, state, weights = copies[0], copies[1 : 1 + states], copies[1 + states :]
    out, finals = stepwise(x, tuple(state), weights, reverse)
    given = [(one, g) for one, g in zip((out, *finals), grads, strict=True) if g is not None]
    inputs = [one for one, need in zip(copies, needed, strict=True) if need]
    outputs, cotangents = zip(*given, strict=True)
    found = iter(grad(outputs, inputs, cotangents, create_graph=True, allow_unused=True))
    return tuple(next(found) if need else None for need in needed)
