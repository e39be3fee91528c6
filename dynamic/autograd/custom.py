"""`custom_vjp` and `custom_jvp` of eager tensors: a `Function` whose rules are the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.transforms.custom_derivatives import (
    Call,
    CustomJvp,
    fitted,
    on_expressions,
)
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.capture import Traced
from staticgraph.dynamic.func.pull import lifted, pull
from staticgraph.dynamic.func.tracer import innermost, settled
from staticgraph.dynamic.tape.grad_mode import enable_grad, recording
from staticgraph.dynamic.tensors.tensor import Tensor


class Custom(Function):
    """A call whose gradient is that of the rules."""

    @staticmethod
    def forward(ctx: Any, call: Call, results: list[Any], *values: Any) -> Any:
        """The leaves of the value; the value itself is added to `results`."""
        ctx.call = call.with_leaves(values)
        value = ctx.call.forward()
        results.append(value)
        ctx.save_for_backward(*[one if isinstance(one, Tensor) else None for one in values])
        ctx.value = [_spec(one) for one in leaves(value)]
        ctx.tree = rebuilt(value, range(len(ctx.value)))
        return tuple(leaves(value))

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        """What the rule makes of the cotangents of the leaves."""
        call = ctx.call
        if recording():  # what the forward pass left is to be differentiated too
            saved = zip(ctx.saved_tensors, call.leaves, strict=True)
            call = call.with_leaves([one if kept is None else kept for kept, one in saved])
            call.forward()
        found = call.made.cotangents(call, ctx.tree, rebuilt(ctx.tree, gs))
        return (None, None, *fitted(call, found))


def _spec(one: Any) -> Any:
    return getattr(one, "shape", ())


def custom_function(call: Call) -> Any:
    """The value of a call on tensors."""
    top = innermost([one for one in map(settled, call.leaves) if isinstance(one, Tensor)])
    if isinstance(top, Traced):
        return on_expressions(call, top) if recording() else call.forward()
    results: list[Any] = []
    made = Custom.apply(call, results, *call.leaves)
    return rebuilt(results[-1], made)


def transposed(made: CustomJvp, call: Call, gs: Any) -> Sequence[Any]:
    """The cotangents of the arguments: the transpose of the tangents, which are linear."""
    moving = [isinstance(one, Tensor) and one._array.dtype.kind in "fc" for one in call.leaves]
    with enable_grad():
        directions = [
            lifted(zeros_like(one)) if moves else one * 0
            for one, moves in zip(call.leaves, moving, strict=True)
        ]
        tangents = made.tangents(call, directions)
    pairs = [
        (t, g)
        for t, g in zip(tangents, leaves(gs), strict=True)
        if isinstance(t, Tensor) and g is not None and t.requires_grad
    ]
    wanted = [one for one, moves in zip(directions, moving, strict=True) if moves]
    pulled = iter(pull([t for t, _ in pairs], wanted, [g for _, g in pairs]))
    return [next(pulled) if moves else None for moves in moving]


provided.custom_function.provide(custom_function)
provided.transposed.provide(transposed)
