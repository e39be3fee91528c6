"""A user's own `Function` in a function that is captured: its backward becomes its gradient.

Forward is captured as it stands, and backward on cotangents of which only the types are known. The
results have an op on them whose rule puts the cotangents that there are in their place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from compiler import ops
from compiler.core.dims import Size
from compiler.core.refusals import refuse
from compiler.core.types import TensorType
from compiler.graph.evaluate import replaced
from compiler.graph.expression import Expression, abstract, construct
from compiler.ops.declare import unbroadcast, zeros_like
from compiler.ops.regions import custom_gradient, gradient_to
from dynamic.autograd.context import FunctionCtx
from dynamic.capture import Traced
from dynamic.core.errors import AutogradError, DeferredError
from dynamic.tape.grad_mode import mode, record_if, recording


class _Context(FunctionCtx):
    """The context of forward and backward; what needs a gradient is asked only if it is used."""

    def __init__(self, args: Sequence[object]) -> None:
        super().__init__()
        self._args = args

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:  # type: ignore[override]
        """Per argument whether it is a tensor that requires grad."""
        return tuple([isinstance(arg, Traced) and arg.requires_grad for arg in self._args])


class _Rule:
    """What a backward makes of cotangents.

    Attributes:
        cotangents: what stands for those of the results.
        found: what it made of them, per argument that is differentiated by: a cotangent or None.
        error: what it raised instead.
    """

    def __init__(self, cotangents: Sequence[Expression]) -> None:
        self.cotangents = cotangents
        self.found: list[Expression | None] = []
        self.error: Exception | None = None
        self._last: tuple[Any, list[Any]] = (None, [])

    def __call__(self, g: Any) -> list[Any]:
        """The cotangents of the arguments."""
        if self.error is not None:
            raise DeferredError from self.error
        if self._last[0] is not g:
            parts = dict(zip(self.cotangents, _unpacked(g, self.cotangents), strict=True))
            made = iter(replaced([one for one in self.found if one is not None], parts))
            self._last = g, [None if one is None else next(made) for one in self.found]
        return self._last[1]


def captured(function: Any, args: Sequence[Any]) -> Any:
    """`function.apply(*args)` on traced tensors."""
    args = [mode.capture.lifted(arg) for arg in args]
    ctx, recorded = _Context(args), record_if(False)
    try:
        if function._sets_context_apart():
            output = function.forward(*args)
            function.setup_context(ctx, tuple(args), output)
        else:
            output = function.forward(ctx, *args)
    finally:
        record_if(recorded)
    if ctx._dirty:
        refuse(
            f"{function.__name__}.apply: mark_dirty: an argument is changed in place",
            "compute a new tensor in forward",
        )
    outputs = list(output) if isinstance(output, tuple) else [output]
    outputs = [_own(one, args) for one in outputs]
    if recorded and recording():
        _differentiate(function, ctx, args, outputs)
    return tuple(outputs) if isinstance(output, tuple) else outputs[0]


def _own(output: Any, args: Sequence[Any]) -> Any:
    """A result that is no argument, and no tensor of the surroundings."""
    output = mode.capture.lifted(output)
    if any(output is arg for arg in args) and isinstance(output, Traced):
        return Traced.made(ops.stop_gradient(output.expression))
    return output


def _differentiate(
    function: Any, ctx: _Context, args: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Give the results the gradient that backward computes."""
    constant = {id(one) for one in ctx._constant}
    results = [
        one
        for one in outputs
        if isinstance(one, Traced) and one._array.dtype.kind == "f" and id(one) not in constant
    ]
    inputs = [i for i, arg in enumerate(args) if _is_floating(arg)]
    if not results or not inputs:
        return
    if not ctx._materialize and len(results) > 1:
        refuse(
            f"{function.__name__}.apply: set_materialize_grads(False) for several results",
            "take zeros for the gradients of results that were not used",
        )
    values = [one.expression for one in results]
    rule = _Rule([abstract(TensorType(value.shape, value.dtype)) for value in values])
    operands = (_packed(values), *(args[i].expression for i in inputs))
    joint = construct(custom_gradient, operands, {"rule": rule})
    if len(values) == 1:
        results[0]._value = joint
    else:
        for one, value, part in zip(results, values, _unpacked(joint, values), strict=True):
            one._value = construct(gradient_to, (value, part), {})
    given = iter([Traced.made(one) for one in rule.cotangents])
    every = [
        next(given) if any(one is result for result in results) else _zeros(one) for one in outputs
    ]
    try:
        found = function._reverse()(ctx, *every)
        rule.found = _checked(function, found, args, inputs)
    except Exception as error:
        rule.error = error  # it is raised where a gradient is asked for


def _is_floating(arg: object) -> bool:
    return (
        isinstance(arg, Traced)
        and arg._array.dtype.kind == "f"
        and isinstance(arg._current(), Expression)
    )


def _zeros(output: object) -> Any:
    """The cotangent of a result that has none."""
    if not isinstance(output, Traced):
        return None
    return Traced.made(zeros_like(output.expression))


def _checked(
    function: Any, found: Any, args: Sequence[Any], inputs: Sequence[int]
) -> list[Expression | None]:
    """What backward returned for the arguments at `inputs`; PyTorch's errors."""
    results = list(found) if isinstance(found, tuple | list) else [found]
    if len(results) > len(args) and all(one is None for one in results[len(args) :]):
        results = results[: len(args)]
    if len(results) != len(args):
        raise AutogradError(
            f"function {function.__name__}Backward returned an incorrect number of gradients "
            f"(expected {len(args)}, got {len(results)})"
        )
    made: list[Expression | None] = []
    for i in inputs:
        result = mode.capture.lifted(results[i])
        if result is None:
            made.append(None)
            continue
        if not isinstance(result, Traced):
            raise AutogradError(f"expected Variable or None (got {type(result).__name__})")
        value = result.expression
        like = args[i].expression
        if value.shape != like.shape:
            value = unbroadcast(value, like)
        made.append(value if value.dtype == like.dtype else ops.astype(value, like.dtype))
    return made


def _packed(values: Sequence[Expression]) -> Expression:
    """Several values as one vector; one as it is."""
    if len(values) == 1:
        return values[0]
    rows = [ops.reshape(ops.astype(one, "float64"), (-1,)) for one in values]
    made: Expression = ops.concatenate(rows)
    return made


def _unpacked(packed: Any, like: Sequence[Expression]) -> list[Expression]:
    """The values that `_packed` packs."""
    if len(like) == 1:
        return [packed]
    found: list[Expression] = []
    start: Size = 0
    for one in like:
        stop = start + math.prod(one.shape)
        part = ops.reshape(packed[start:stop], tuple(one.shape))
        found.append(ops.astype(part, one.dtype))
        start = stop
    return found


def once(results: object, gradients: Sequence[Any], error: Exception) -> Any:
    """The results of a backward, whose derivatives by the cotangents are an error."""
    rule = _Rule([])
    rule.error = error
    others = [one.expression for one in gradients if _is_floating(one)]

    def marked(result: object) -> Any:
        if not isinstance(result, Traced):
            return result
        operands = [result.expression, *others]
        return Traced.made(construct(custom_gradient, operands, {"rule": rule}))

    if isinstance(results, tuple):
        return tuple(map(marked, results))
    return marked(results)
