"""Loops and branches of expressions: the functions are called once, and become bodies of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.core.dims import Size
from compiler.core.errors import DTypeError
from compiler.core.op import Op
from compiler.core.pytree import leaves, mapped, rebuilt, structure
from compiler.core.types import DType, TensorType
from compiler.graph.body import Body
from compiler.graph.expression import Expression, constant, construct, next_serial, promote
from compiler.graph.loop import items_of
from compiler.graph.traversal import cut
from compiler.ops import control
from compiler.transforms.control_checks import aligned, line_of, pair_of, paths, require_same
from compiler.transforms.control_eager import is_number
from compiler.transforms.control_gradients import stand_in

_DTYPES = {"b": np.dtype(np.bool_), "i": np.dtype(np.int64), "f": np.dtype(np.float32)}
"""Of Python numbers that meet nothing else."""


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A function called on placeholders.

    Attributes:
        inputs: the placeholders.
        result: the tree that it returned, with expressions as leaves.
        start: a serial below those of all expressions that the call made.
    """

    inputs: Sequence[Expression]
    result: Any
    start: int

    def around(self) -> dict[int, Expression]:
        """The expressions around the function that it reads, by serial."""
        own = {one.serial for one in self.inputs}

        def is_inside(node: Expression) -> bool:
            is_fed = node.op.name in ("placeholder", "variable")
            return node.serial in own or (node.serial >= self.start and not is_fed)

        _, border = cut(leaves(self.result), is_inside)
        return {node.serial: node for node in border}

    def body(self, consts: Sequence[Expression]) -> Body:
        """The body that takes the consts and then the inputs."""
        return Body.of([*consts, *self.inputs], leaves(self.result))


def _consts(traces: Iterable[Traced]) -> list[Expression]:
    """What the traced functions read of the expressions around them."""
    found: dict[int, Expression] = {}
    for one in traces:
        found |= one.around()
    return [found[serial] for serial in sorted(found)]


def _expression(op: Op, leaf: object, dtype: DType | None = None) -> Expression:
    """A leaf as an expression; Python numbers take the dtype."""
    if is_number(leaf):
        return constant(np.asarray(leaf, dtype or _DTYPES[np.asarray(leaf).dtype.kind]))
    return promote(op, [leaf])[0]


def _placeholders(name: str, tree: object, types: Iterable[TensorType]) -> list[Expression]:
    """What a function is called on in place of the leaves of a tree."""
    return [stand_in(type, f"{name}{path}") for path, type in zip(paths(tree), types, strict=True)]


def scan(
    step: Callable[..., object], init: object, xs: object, length: Size, reverse: bool
) -> tuple[Any, Any]:
    """`compiler.transforms.control_flow.scan` of expressions."""
    first = [_expression(control.scan, leaf) for leaf in leaves(init)]
    stacked = [_expression(control.scan, leaf) for leaf in leaves(xs)]
    numbers = [i for i, leaf in enumerate(leaves(init)) if is_number(leaf)]
    if numbers:  # what dtypes they take is known once the step is
        trial = _trace_step(step, (init, first), (xs, stacked), numbers)
        given = leaves(trial.result[0])
        for i in numbers:
            first[i] = _expression(control.scan, leaves(init)[i], given[i].dtype)
    traced = _trace_step(step, (init, first), (xs, stacked), ())
    consts = _consts([traced])
    attrs = {
        "body": traced.body(consts),
        "consts": len(consts),
        "carries": len(first),
        "length": length,
        "reverse": reverse,
    }
    node = construct(control.scan, (*consts, *first, *stacked), attrs)
    items = items_of(node, len(leaves(traced.result)))
    return rebuilt(init, items[: len(first)]), rebuilt(traced.result[1], items[len(first) :])


def _trace_step(
    step: Callable[..., object],
    carry: tuple[object, list[Expression]],
    xs: tuple[object, list[Expression]],
    numbers: Sequence[int],
) -> Traced:
    """The step called on a carry and slices; `numbers`: the carries that take any dtype."""
    start = next_serial()
    before = _placeholders("carry", carry[0], (one.type for one in carry[1]))
    for i in numbers:
        before[i].weak = True
    slices = _placeholders("x", xs[0], (TensorType(one.shape[1:], one.dtype) for one in xs[1]))
    after, y = pair_of(step(rebuilt(carry[0], before), rebuilt(xs[0], slices)), step)
    after = _like_carry(control.scan, after, carry[0], before)
    require_same("scan: carry", rebuilt(carry[0], before), after, step, numbers)
    y = mapped(lambda leaf: _expression(control.scan, leaf), y)
    return Traced([*before, *slices], (after, y), start)


def _like_carry(op: Op, after: object, tree: object, before: Sequence[Expression]) -> Any:
    """What a function gave as the next carry, with numbers in the dtype of the carry."""
    after = aligned(after, tree)
    if structure(after) != structure(tree):
        return after
    pairs = zip(leaves(after), before, strict=True)
    return rebuilt(after, [_expression(op, leaf, one.dtype) for leaf, one in pairs])


def while_loop(cond: Callable[..., object], body: Callable[..., object], init: object) -> Any:
    """`compiler.transforms.control_flow.while_loop` of expressions."""
    op = control.while_loop
    first = [_expression(op, leaf) for leaf in leaves(init)]
    numbers = [i for i, leaf in enumerate(leaves(init)) if is_number(leaf)]
    if numbers:
        trial = _trace_body(body, init, first, numbers)
        for i in numbers:
            first[i] = _expression(op, leaves(init)[i], leaves(trial.result)[i].dtype)
    traced = _trace_body(body, init, first, ())
    start = next_serial()
    inputs = _placeholders("carry", init, (one.type for one in first))
    answer = cond(rebuilt(init, inputs))
    test = Traced(inputs, mapped(lambda leaf: _expression(op, leaf), answer), start)
    if structure(answer) != "*" or test.result.ndim or test.result.dtype.kind != "b":
        raise DTypeError(
            f"while_loop: the condition is {answer!r}, not bool[], by the function in "
            f"{line_of(cond)}"
        )
    consts = _consts([test, traced])
    attrs = {"test": test.body(consts), "body": traced.body(consts), "consts": len(consts)}
    node = construct(op, (*consts, *first), attrs)
    return rebuilt(init, items_of(node, len(first)))


def _trace_body(
    body: Callable[..., object], init: object, first: Sequence[Expression], numbers: Sequence[int]
) -> Traced:
    start = next_serial()
    before = _placeholders("carry", init, (one.type for one in first))
    for i in numbers:
        before[i].weak = True
    after = _like_carry(control.while_loop, body(rebuilt(init, before)), init, before)
    require_same("while_loop: carry", rebuilt(init, before), after, body, numbers)
    return Traced(before, after, start)


def cond(
    pred: Expression,
    true_fn: Callable[..., object],
    false_fn: Callable[..., object],
    operands: tuple[object, ...],
) -> Any:
    """`compiler.transforms.control_flow.cond` of an expression."""
    if pred.ndim or pred.dtype.kind != "b":
        raise DTypeError(f"cond: the predicate is {pred.type}, not bool[]")
    given = [_expression(control.cond, leaf) for leaf in leaves(operands)]
    on_true, on_false = (_trace_branch(one, operands, given) for one in (true_fn, false_fn))
    on_false = Traced(on_false.inputs, aligned(on_false.result, on_true.result), on_false.start)
    require_same("cond: result", on_true.result, on_false.result, false_fn)
    consts = _consts([on_true, on_false])
    attrs = {"on_true": on_true.body(consts), "on_false": on_false.body(consts)}
    node = construct(control.cond, (pred, *consts, *given), attrs)
    return rebuilt(on_true.result, items_of(node, len(leaves(on_true.result))))


def _trace_branch(
    branch: Callable[..., object], operands: tuple[object, ...], given: Sequence[Expression]
) -> Traced:
    start = next_serial()
    inputs = _placeholders("operand", operands, (one.type for one in given))
    result = mapped(
        lambda leaf: _expression(control.cond, leaf), branch(*rebuilt(operands, inputs))
    )
    return Traced(inputs, result, start)
