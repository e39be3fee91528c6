"""`scan`, `while_loop` and `cond`: the functions of both paradigms.

Of symbolic expressions they make a node (`compiler.transforms.control_symbolic`). Of what has
values they are loops and branches in Python, which eager tensors record.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Operand, standing
from staticgraph.compiler.core.pytree import leaves, mapped
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.expression import (
    Handle,
    closed,
    handle_among,
    is_symbolic,
    opened,
)
from staticgraph.compiler.transforms import control_eager as eager, overruns
from staticgraph.compiler.transforms.control_checks import paths


def scan(
    step: Callable[..., object],
    init: object,
    xs: object = None,
    length: Size | None = None,
    reverse: bool = False,
) -> tuple[Tree, Tree]:
    """Repeat `carry, y = step(carry, x)` for each slice x of xs along the first axis.

    Carry, xs and y are arrays (tensors, expressions) or any nesting of tuples, lists, dicts and
    None of them. Differentiable to any order. As `jax.lax.scan`.

    Args:
        step: a function of the carry and a slice that returns a pair of the next carry, which has
            the same structure, shapes and dtypes, and y. It is called once if anything is symbolic,
            and may read expressions around it.
        init: the first carry; Python numbers in it take the dtype that the step gives them.
        xs: what is sliced; None: the step is repeated `length` times, with x None.
        length: the number of steps; needed only without xs. It may be unknown until run time.
        reverse: begin with the last slice. The ys are in the order of the xs all the same.

    Returns:
        The last carry, and the ys, stacked along a new first axis. After no steps, that is `init`,
        and arrays without elements.

    Raises:
        OptionError, ShapeError, DTypeError: the lengths differ, or the carry or y changes.

    Example:
        >>> sg.scan(lambda carry, x: (carry + x, carry * x), 0.0, np.array([1.0, 2.0, 3.0]))
        (array(6.), array([0., 2., 9.]))
    """
    if not isinstance(reverse, bool):
        raise OptionError(f"scan: reverse is True or False, not {reverse!r}")
    init, xs = mapped(standing, (init, xs))
    given = leaves((init, xs))
    if any(map(_is_eager, given)):
        found = provided.scan_of_tracers(step, init, xs, _length(xs, length), reverse)
        if found is not None:
            return found
    handle = handle_among(given)
    if handle is not None:
        start, stacks = mapped(opened, (init, xs))
        try:
            carry, ys = scan(on_handles(step, handle), start, stacks, length, reverse)
        except TracerResultError as error:
            size = _length(xs, length)
            found = provided.scan_of_tracers(step, init, xs, size, reverse, error.tracer)
            assert found is not None
            return found
        return _closed(carry, handle), _closed(ys, handle)
    size = _length(xs, length)
    if not _is_symbolic(given) and not isinstance(size, Dim):
        try:
            return eager.scan(step, init, xs, size, reverse)
        except eager.SymbolicResultError:
            pass  # the step reads expressions around it
    from staticgraph.compiler.transforms import control_symbolic as symbolic

    if overruns.is_of_examples():
        return overruns.scanned(symbolic.scan, step, init, xs, size, reverse)
    return symbolic.scan(step, init, xs, size, reverse)


provided.scan.provide(scan)


def _length(xs: object, length: Size | None) -> Size:
    """The common size of the first axes of xs."""
    if isinstance(length, bool) or not (length is None or isinstance(length, int | Dim)):
        raise OptionError(f"scan: the length is an int or a size, not {length!r}")
    if isinstance(length, int) and length < 0:
        raise OptionError(f"scan: the length {length} is negative")
    for path, leaf in zip(paths(xs), leaves(xs), strict=True):
        shape: Any = getattr(leaf, "shape", ())
        if not len(shape):
            raise ShapeError(f"scan: xs{path} has no axis to take slices of")
        common = shape[0] if length is None else unify(length, shape[0])
        if common is None:
            raise ShapeError(f"scan: xs{path} has {shape[0]} slices, not {length}")
        length = common
    if length is None:
        raise OptionError("scan: needs xs or a length")
    return length


def while_loop(
    cond: Callable[..., object],
    body: Callable[..., object],
    init: object,
    max_steps: int | None = None,
) -> Tree:
    """Repeat `carry = body(carry)` as long as `cond(carry)` holds.

    As `jax.lax.while_loop`. `vmap` repeats it as long as the condition holds for any example, and
    keeps what the others have. Differentiable in forward mode (`jvp`); in reverse mode, if
    symbolic, only with `max_steps`: the gradient is that of a scan of so many steps, which stacks
    the carries.

    Args:
        cond: a function of the carry that returns a bool scalar.
        body: a function of the carry that returns the next one, of the same structure, shapes and
            dtypes.
        init: the first carry: arrays or any nesting of tuples, lists, dicts and None of them.
        max_steps: the most steps that it takes; the call raises if there would be more.

    Returns:
        The last carry.

    Raises:
        OptionError, ShapeError, DTypeError: the carry changes, or `cond` gives no bool scalar.
        CheckError: the condition still holds after `max_steps`.

    Example:
        >>> sg.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
        np.int64(192)
    """
    init = mapped(standing, init)
    if any(map(_is_eager, leaves(init))):
        found = provided.while_of_tracers(cond, body, init, max_steps)
        if found is not None:
            return found[0]
    handle = handle_among(leaves(init))
    if handle is not None:
        test, step = on_handles(cond, handle), on_handles(body, handle)
        try:
            return _closed(while_loop(test, step, mapped(opened, init), max_steps), handle)
        except TracerResultError as error:
            return while_loop(cond, body, provided.lifted(init, error.tracer), max_steps)
    if max_steps is not None:
        if type(max_steps) is not int or max_steps < 0:
            raise OptionError(f"while_loop: max_steps is a number of steps, not {max_steps!r}")
        return _bounded(cond, body, init, max_steps)
    return _repeated(cond, body, init, None)


def _repeated(
    cond: Callable[..., object], body: Callable[..., object], init: object, max_steps: int | None
) -> Tree:
    if not _is_symbolic(init):
        try:
            return eager.while_loop(cond, body, init)
        except eager.SymbolicResultError:
            pass
    from staticgraph.compiler.transforms import control_symbolic as symbolic

    if overruns.is_of_examples():
        return overruns.repeated(symbolic.while_loop, cond, body, init, max_steps)
    return symbolic.while_loop(cond, body, init, max_steps)


def _bounded(
    cond: Callable[..., Any], body: Callable[..., object], init: object, max_steps: int
) -> Tree:
    """A loop that counts its steps, up to a bound; CheckError if it would go on."""

    def test(state: tuple[Any, Any]) -> Any:
        return ops.logical_and(cond(state[0]), state[1] < max_steps)

    last, _ = _repeated(test, lambda s: (body(s[0]), s[1] + 1), (init, np.int64(0)), max_steps)
    goes_on = cond(last)
    if not is_symbolic(goes_on):
        goes_on = np.bool_(eager.goes_on(goes_on)[0])
    overruns.report(goes_on, f"while_loop goes on after max_steps={max_steps} steps")
    return last


def cond(
    pred: Tree, true_fn: Callable[..., object], false_fn: Callable[..., object], *operands: object
) -> Tree:
    """`true_fn(*operands)` where `pred` holds, else `false_fn(*operands)`.

    Only one of them is computed, also when the predicate is symbolic; differentiable to any order.
    As `jax.lax.cond`; `vmap` computes both where the predicate differs between examples.

    Args:
        pred: a bool scalar.
        true_fn, false_fn: functions whose results have the same structure, shapes and dtypes.
        operands: arrays or any nesting of tuples, lists, dicts and None of them.

    Raises:
        OptionError, ShapeError, DTypeError: the results differ, or `pred` is no bool scalar.

    Example:
        >>> f = sg.function(lambda x: sg.cond(sg.sum(x) > 0, sg.sqrt, sg.negative, x))
        >>> f(np.array([4.0, 9.0])), f(np.array([-4.0, -9.0]))
        (array([2., 3.]), array([4., 9.]))
    """
    pred, operands = mapped(standing, (pred, operands))
    given = leaves((pred, operands))
    handle = handle_among(given)
    if handle is not None and any(map(_is_eager, given)):  # examples, or dual numbers
        return provided.cond_of_tracers(pred, true_fn, false_fn, operands)
    if handle is not None:
        on_true, on_false = on_handles(true_fn, handle), on_handles(false_fn, handle)
        try:
            return _closed(cond(opened(pred), on_true, on_false, *mapped(opened, operands)), handle)
        except TracerResultError as error:
            return provided.cond_of_tracers(pred, true_fn, false_fn, operands, error.tracer)
    if is_symbolic(pred):
        from staticgraph.compiler.transforms import control_symbolic as symbolic

        if overruns.is_of_examples():
            return overruns.chosen(symbolic.cond, pred, (true_fn, false_fn), operands)
        return symbolic.cond(pred, true_fn, false_fn, operands)
    return eager.own(eager.chosen(pred, true_fn, false_fn, operands))


class TracerResultError(Exception):
    """A function of what is captured gave an example, or a dual number: it reads such around it.

    Attributes:
        tracer: that.
    """

    def __init__(self, tracer: object) -> None:
        super().__init__()
        self.tracer = tracer


def _is_eager(leaf: object) -> bool:
    return isinstance(leaf, Operand) and not is_symbolic(leaf)


def on_handles(function: Callable[..., object], handle: Handle) -> Callable[..., Any]:
    """The function of expressions that calls `function` on handles of the same kind."""

    @functools.wraps(function)
    def wrapper(*args: object) -> Any:
        with handle.in_body():
            results = mapped(standing, function(*_closed(args, handle)))
            tracer = next(filter(_is_eager, leaves(results)), None)
            if tracer is not None:
                raise TracerResultError(tracer)
            return mapped(opened, results)

    return wrapper


def _closed(tree: object, handle: Handle) -> Any:
    return mapped(lambda leaf: closed(leaf, handle), tree)


def _is_symbolic(tree: object) -> bool:
    return any(is_symbolic(leaf) for leaf in leaves(tree))
