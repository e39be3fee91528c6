"""A user's own `Function` in a function that is captured: its backward becomes its gradient.

Forward is captured as it stands, and backward on cotangents of which only the types are known. The
results have an op on them whose rule puts the cotangents that there are in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression, abstract, construct
from staticgraph.compiler.ops.declare import unbroadcast, zeros_like
from staticgraph.compiler.ops.programs.regions import gradient_to
from staticgraph.compiler.transforms.custom_rules import FailingRule, Rule, closed_rule, with_rule
from staticgraph.compiler.transforms.packing import packed, unpacked
from staticgraph.dynamic.autograd.context import FunctionCtx
from staticgraph.dynamic.capture import Traced
from staticgraph.dynamic.core.errors import AutogradError, DeferredError
from staticgraph.dynamic.tape.grad_mode import mode, record_if, recording


class _Context(FunctionCtx):
    """The context of forward and backward; what needs a gradient is asked only if it is used."""

    def __init__(self, args: Sequence[object]) -> None:
        super().__init__()
        self._args = args

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:  # type: ignore[override]
        """Per argument whether it is a tensor that requires grad."""
        return tuple([isinstance(arg, Traced) and arg.requires_grad for arg in self._args])


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
        if isinstance(one, Traced) and is_inexact(one._array.dtype) and id(one) not in constant
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
    operands = [args[i].expression for i in inputs]
    joint = packed(values)
    unknown = FailingRule(AutogradError("backward differentiates its own results"), len(inputs))
    out = with_rule(joint, operands, unknown)  # stands for the value while backward is captured
    _place(results, values, out)
    g = abstract(out.type)
    given = iter(map(Traced.made, unpacked(g, values)))
    every = [
        next(given) if any(one is result for result in results) else _zeros(one) for one in outputs
    ]
    rule: Rule | FailingRule
    reads: list[Expression] = []
    try:
        found = _checked(function, function._reverse()(ctx, *every), args, inputs)
        rule, reads = closed_rule(g, out, found)
    except Exception as error:  # it is raised where a gradient is asked for
        rule = FailingRule(DeferredError(), len(inputs), error)
    _place(results, values, with_rule(joint, operands, rule, reads))


def _place(results: Sequence[Any], values: Sequence[Expression], joint: Expression) -> None:
    """Let the results be parts of an expression that has the gradient of all of them."""
    if len(values) == 1:
        results[0]._value = joint
        return
    for one, value, part in zip(results, values, unpacked(joint, values), strict=True):
        one._value = construct(gradient_to, (value, part), {})


def _is_floating(arg: object) -> bool:
    return (
        isinstance(arg, Traced)
        and is_inexact(arg._array.dtype)
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


def once(results: object, gradients: Sequence[Any], error: Exception) -> Any:
    """The results of a backward, whose derivatives by the cotangents are an error."""
    others = [one.expression for one in gradients if _is_floating(one)]
    rule = FailingRule(DeferredError(), len(others), error)

    def marked(result: object) -> Any:
        if not isinstance(result, Traced):
            return result
        return Traced.made(with_rule(result.expression, others, rule))

    if isinstance(results, tuple):
        return tuple(map(marked, results))
    return marked(results)
