"""Loops in Python over what has values: eager tensors, which record them, and arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DifferingError, DTypeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt, same_structure
from staticgraph.compiler.core.values import Tree, Value
from staticgraph.compiler.graph.expression import is_symbolic
from staticgraph.compiler.transforms.control_checks import aligned, leaf_type, pair_of, require_same


class SymbolicResultError(Exception):
    """A function of values gave an expression: it reads expressions around it."""


def scan(
    step: Callable[..., object], init: object, xs: object, length: int, reverse: bool
) -> tuple[Any, Any]:
    """`compiler.transforms.control_flow.scan` of tensors and arrays."""
    carry, ys = init, [None] * length
    for index in reversed(range(length)) if reverse else range(length):
        carry, ys[index] = _one_step(step, carry, _slices(xs, index), init)
    if length:
        return own(carry), _stacked(ys, step)
    with np.errstate(all="ignore"):
        _, y = _one_step(step, init, mapped(_zeros, xs), init)
    return own(mapped(_array, init)), mapped(_no_slices, y)


def _one_step(
    step: Callable[..., object], carry: object, x: object, init: object
) -> tuple[Any, Any]:
    after, y = pair_of(step(carry, x), step)
    return _checked("scan: carry", carry, after, step, init, y), y


def _checked(
    what: str,
    carry: object,
    after: object,
    function: Callable[..., object],
    init: object,
    *others: object,
) -> Any:
    """The next carry, if it fits. Python numbers in the first carry may become any dtype."""
    after = _with_arrays(aligned(after, carry), carry)
    if carry is not init:
        require_same(what, carry, after, function)
        return after
    if any(is_symbolic(leaf) for leaf in leaves((after, *others))):
        raise SymbolicResultError
    numbers = [i for i, leaf in enumerate(leaves(init)) if is_number(leaf)]
    require_same(what, carry, after, function, numbers)
    return after


def _with_arrays(after: object, carry: object) -> Any:
    """The next carry with numbers as arrays of the dtype of the carry."""
    if not same_structure(after, carry):
        return after
    pairs = zip(leaves(after), leaves(carry), strict=True)
    return rebuilt(after, [_array(leaf, before) for leaf, before in pairs])


def is_number(leaf: object) -> bool:
    """Whether a leaf is a Python number, whose dtype what it meets decides."""
    return isinstance(leaf, bool | int | float | complex)


def _slices(xs: object, index: int) -> Any:
    return mapped(lambda x: x[index], xs)


def _array(leaf: object, like: object = 0) -> Any:
    if not is_number(leaf):
        return leaf
    return np.asarray(leaf, None if is_number(like) else leaf_type(like).dtype)


def _zeros(x: Any) -> Any:
    """Zeros in place of a slice where there is none: only the types of the ys are wanted."""
    return _like(x, np.zeros(x.shape[1:], leaf_type(x).dtype))


def _no_slices(y: object) -> Any:
    type = leaf_type(y)
    return _like(y, np.zeros((0, *type.shape), type.dtype))


def _like(x: object, array: object) -> Any:
    return x._constant(array) if isinstance(x, Operand) else array


def _stacked(ys: list[Any], step: Callable[..., object]) -> Any:
    for y in ys[1:]:
        require_same("scan: y", ys[0], y, step)
    columns = zip(*map(leaves, ys), strict=True)
    return rebuilt(ys[0], [ops.stack(list(map(_array, column))) for column in columns])


def while_loop(cond: Callable[..., object], body: Callable[..., object], init: object) -> Any:
    """`compiler.transforms.control_flow.while_loop` of tensors and arrays."""
    carry = init
    while True:
        holds = cond(carry)
        going, differs = goes_on(holds)
        if not going:
            return own(carry)
        after = _checked("while_loop: carry", carry, body(carry), body, init)
        carry = selected(holds, after, carry) if differs else after


def goes_on(holds: object) -> tuple[bool, bool]:
    """Whether a condition holds, of a batch for any example, and whether it is one of a batch."""
    try:
        return truth("while_loop: the condition", holds), False
    except DifferingError as error:
        if error.any is None:
            raise
        return error.any, True


def selected(holds: object, one: object, other: object) -> Value:
    """Each leaf of one tree where a condition holds, of the other where not: of each example."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return rebuilt(one, [ops.where(holds, a, b) for a, b in pairs])


def chosen(
    pred: object,
    true_fn: Callable[..., object],
    false_fn: Callable[..., object],
    operands: Sequence[object],
) -> Any:
    """`compiler.transforms.control_flow.cond`; of a batch both, as long as examples differ."""
    try:
        return (true_fn if truth("cond: the predicate", pred) else false_fn)(*operands)
    except DifferingError:
        return both(pred, true_fn, false_fn, operands)


def both(
    pred: object,
    true_fn: Callable[..., object],
    false_fn: Callable[..., object],
    operands: Sequence[object],
) -> Tree:
    """Of each element of two branches that of the one which a predicate chooses."""
    first = true_fn(*operands)
    second = aligned(false_fn(*operands), first)
    require_same("cond: result", first, second, false_fn)
    return selected(pred, first, second)


def own(tree: Tree) -> Tree:
    """Results in memory of their own, as those of a compiled loop or branch: one that hands an
    operand on is a step of the graph, so that a gradient by its result is not one by the operand,
    and who writes to the result does not change the operand.
    """
    return mapped(_copied, tree)


def unshared(tree: Tree, given: Sequence[object]) -> Tree:
    """Results of which those that are given, or views of others, are copied."""

    def copied(leaf: Any) -> Any:
        shared = any(leaf is one for one in given)
        return _copied(leaf) if shared or _is_view(leaf) else leaf

    return mapped(copied, tree)


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, Operand):
        return leaf if is_symbolic(leaf) else ops.copy(leaf)
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _is_view(leaf: Any) -> bool:
    array = getattr(leaf, "_array", leaf)
    return isinstance(array, np.ndarray) and array.base is not None


def truth(what: str, value: object) -> bool:
    """The value of a bool scalar."""
    if is_symbolic(value):
        raise SymbolicResultError
    type = leaf_type(value)
    if type.ndim or type.dtype.kind != "b":
        raise DTypeError(f"{what} is {type}, not bool[]")
    return bool(value)
