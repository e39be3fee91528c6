"""A user's own `Function` on tracers, from its forward and backward alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.dynamic.autograd.captured_function import captured
from staticgraph.dynamic.autograd.forward_rule import by_jvp
from staticgraph.dynamic.capture import Traced
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.dual import Dual, primal_of, tangent_of
from staticgraph.dynamic.func.pull import lifted, pull, released
from staticgraph.dynamic.func.tracer import Tracer, evaluated, innermost, settled
from staticgraph.dynamic.tape.grad_mode import enable_grad
from staticgraph.dynamic.tensors.tensor import Tensor


def apply_traced(function: Any, args: Sequence[object]) -> Any:
    """`function.apply(*args)` where a tensor is a tracer.

    A batch is computed one example after the other. Tangents come from `jvp`, or without one from
    backward, which is differentiated by its cotangents and has to be written in ops (the double
    vjp).
    """
    values = [settled(arg) for arg in args]
    top = innermost(values)
    if top is None:
        return function._called(tuple(values))[1]
    if isinstance(top, Traced):
        return captured(function, values)
    rule = _batch if isinstance(top, Batched) else _dual
    return rule(function, values, top)


def _batch(function: Any, args: Sequence[object], top: Tracer) -> Any:
    level = top._level
    if not level.size:
        raise AutogradError(f"vmap: {function.__name__}: there is no example")
    results = []
    for i in range(level.size):
        own = [
            arg._held[i] if isinstance(arg, Tracer) and arg._level is level else arg for arg in args
        ]
        results.append(function.apply(*own))
    if not isinstance(results[0], tuple):
        return _stacked(results, top)
    return tuple(_stacked(column, top) for column in zip(*results, strict=True))


def _stacked(examples: Sequence[object], top: Tracer) -> Any:
    if not isinstance(examples[0], Tensor):
        return examples[0]
    return top._with(evaluated(eager_ops.stack, examples, {"axis": 0}))


def _dual(function: Any, args: Sequence[object], top: Tracer) -> Any:
    if function._has_jvp():
        return by_jvp(function, args, top)
    level = top._level
    tangents = [tangent_of(arg, level) for arg in args]
    moving = [i for i, tangent in enumerate(tangents) if tangent is not None]
    primals = [primal_of(arg, level) for arg in args]
    with enable_grad():
        for i in moving:
            primals[i] = lifted(primals[i])
        variables = [primals[i] for i in moving]
        result = function.apply(*primals)
        outputs = list(result) if isinstance(result, tuple) else [result]
        directions = [_direction(out, variables, [tangents[i] for i in moving]) for out in outputs]
    for k, (out, (tangent, u)) in enumerate(zip(outputs, directions, strict=True)):
        value = released(out, variables) if isinstance(out, Tensor) else out
        if tangent is not None:
            value = Dual(level, value, released(tangent, [*variables, u]))
        outputs[k] = value
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _direction(
    out: object, variables: Sequence[object], tangents: Sequence[object]
) -> tuple[Any, Any]:
    """The tangent of one output, or None, and the cotangent that it was found by."""
    if not isinstance(out, Tensor) or not out.requires_grad:
        return None, None
    u = lifted(out.detach())
    pulled = pull([out], variables, [u])
    used = [(g, t) for g, t in zip(pulled, tangents, strict=True) if g is not None]
    return pull([g for g, _ in used], [u], [t for _, t in used])[0], u
