"""Loops and branches made of `scan`, `while_loop` and `cond`, in both paradigms."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.core.values import Tree, Value
from staticgraph.compiler.ops.shapes.slicing import slice_axis
from staticgraph.compiler.transforms.control_flow import cond, scan, while_loop


def fori_loop(
    lower: Value, upper: Value, body: Callable[..., Tree], init: Tree, max_steps: int | None = None
) -> Tree:
    """Repeat `value = body(i, value)` for i from `lower` to before `upper`.

    As `jax.lax.fori_loop`: a scan if both are ints, and so differentiable to any order; else a
    `while_loop`, whose gradient needs `max_steps`.

    Raises:
        OptionError, ShapeError, DTypeError, CheckError: what `scan` and `while_loop` raise.

    Example:
        >>> sg.fori_loop(0, 5, lambda i, total: total + i * i, 0)
        np.int64(30)
    """
    if isinstance(lower, int) and isinstance(upper, int):
        places = np.arange(lower, builtins.max(lower, upper))

        @functools.wraps(body)
        def step(value: Tree, i: Value) -> tuple[Tree, None]:
            return body(i, value), None

        return scan(step, init, places)[0]
    start = lower if hasattr(lower, "dtype") else np.int64(lower)
    return while_loop(
        lambda state: state[0] < upper,
        lambda state: (state[0] + 1, body(*state)),
        (start, init),
        max_steps,
    )[1]


def map(f: Callable[..., Tree], xs: Tree) -> Tree:  # noqa: A001
    """`f` of each slice of `xs` along the first axis, one after the other, stacked.

    As `jax.lax.map`: what `vmap` computes at once, in the memory of one example.

    Raises:
        OptionError, ShapeError: what `scan` raises.

    Example:
        >>> sg.map(lambda x: x * x, np.arange(4.0))
        array([0., 1., 4., 9.])
    """
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def switch(index: Value, branches: Tree, *operands: Tree) -> Tree:
    """`branches[index](*operands)`: one of several functions, which alone is computed.

    As `jax.lax.switch`: an index below the first or beyond the last one is that one.

    Raises:
        OptionError: there are no branches.
        ShapeError, DTypeError: they differ in what they give.

    Example:
        >>> sg.switch(1, [lambda x: x, lambda x: -x, lambda x: x * x], 3.0)
        -3.0
    """
    functions = list(branches)
    if not functions:
        raise OptionError("switch: there are no branches")

    def among(first: int, last: int) -> Callable[..., Tree]:
        if first == last:
            return functions[first]
        middle = (first + last) // 2

        def chosen(*given: Tree) -> Tree:
            return cond(index <= middle, among(first, middle), among(middle + 1, last), *given)

        return chosen

    return among(0, len(functions) - 1)(*operands)


def associative_scan(
    f: Callable[[Tree, Tree], Tree], xs: Tree, reverse: bool = False, axis: int = 0
) -> Tree:
    """All partial results of an associative function along an axis, in a logarithm of steps.

    As `jax.lax.associative_scan`: `f` takes two stacks of elements at once. Blelloch, Prefix sums
    and their applications, CMU-CS-90-190: pairs are combined, their partial results found, and
    those between follow.

    Args:
        f: of two trees as `xs`, elementwise along the axis; `f(f(a, b), c) = f(a, f(b, c))`.
        xs: arrays of one size along the axis, in any nesting; where it is unknown until run time,
            at least 1, elements are combined one after the other.
        reverse: begin with the last element.
        axis: along which.

    Raises:
        ShapeError: the sizes differ.

    Example:
        >>> sg.associative_scan(sg.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
        array([ 1.,  2.,  6., 24.])
    """
    given = leaves(xs)
    sizes = {one.shape[axis] for one in given}
    if len(sizes) != 1:
        raise ShapeError(f"associative_scan: one size along axis {axis}, not {sizes or None}")
    moved = [ops.swapaxes(one, 0, axis) for one in given]
    if reverse:
        moved = [ops.flip(one, 0) for one in moved]

    def combined(left: list[Any], right: list[Any]) -> list[Any]:
        pair = [rebuilt(xs, [ops.swapaxes(one, 0, axis) for one in side]) for side in (left, right)]
        return [ops.swapaxes(one, 0, axis) for one in leaves(f(*pair))]

    (size,) = sizes
    found = (_one_by_one if isinstance(size, Dim) else _prefixes)(combined, moved, size)
    if reverse:
        found = [ops.flip(one, 0) for one in found]
    return rebuilt(xs, [ops.swapaxes(one, 0, axis) for one in found])


def _one_by_one(
    combined: Callable[[list[Any], list[Any]], list[Any]], xs: list[Any], count: Dim
) -> list[Any]:
    """All partial results along the first axis, of which it is not known how many there are."""
    first = [slice_axis(one, 0, 0, 1) for one in xs]

    def step(carry: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        found = combined(carry, [ops.expand_dims(row, 0) for row in rows])
        return found, [ops.squeeze(one, 0) for one in found]

    rest = [slice_axis(one, 0, 1, count) for one in xs]
    _, rows = scan(step, first, rest)
    return [ops.concatenate([one, row]) for one, row in zip(first, rows, strict=True)]


def _prefixes(
    combined: Callable[[list[Any], list[Any]], list[Any]], xs: list[Any], count: int
) -> list[Any]:
    """All partial results along the first axis."""
    if count < 2:
        return xs
    pairs = combined([one[: count - 1 : 2] for one in xs], [one[1::2] for one in xs])
    odd = _prefixes(combined, pairs, count // 2)
    between = (count - 1) // 2
    if not between:
        return [ops.concatenate([x[:1], y]) for x, y in zip(xs, odd, strict=True)]
    even = combined([one[:between] for one in odd], [one[2::2] for one in xs])
    return [_woven(x[:1], y, z) for x, y, z in zip(xs, odd, even, strict=True)]


def _woven(first: Any, odd: Any, even: Any) -> Any:
    """The first element, then one of `odd` and one of `even` in turn."""
    count = even.shape[0]
    both = ops.stack([odd[:count], even], axis=1)
    rows = ops.reshape(both, (2 * count, *both.shape[2:]))
    return ops.concatenate([first, rows, odd[count:]])


__all__ = ["associative_scan", "fori_loop", "map", "switch"]
