"""How the value and the cotangents of an op on plain arrays are computed: chosen here alone.

Small arrays by NumPy at once; large ones, and much work, by a compiled kernel where one serves the
call; all else by NumPy. `dynamic.fast_paths` comes before: the first of these ways without a look
at the others, for the calls that it knows to be small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.core.dtypes import computing, is_narrow
from staticgraph.compiler.core.op import Attrs, Op, Rule
from staticgraph.compiler.core.op_arguments import in_computing
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.kernels import memory, native, native_windows, pairs

LARGE, LARGE_ROWS = native.LEAST, native.LEAST_OF_ROWS
"""The least number of elements that is worth a look for a kernel; that of composites over rows."""
LARGE_NAMED = native.LEAST_NAMED
"""That of elements that an index names."""
_LEAST = min(LARGE, LARGE_ROWS, LARGE_NAMED)


_BY_WORK = ("windows", "pairs")
"""Ops whose operands say less than their attributes, or all of them together."""


class Rules(Protocol):
    """The gradient rules of an op for some of its operands."""

    @property
    def op(self) -> Op:
        """The op."""

    @property
    def steps(self) -> tuple[tuple[int, Rule], ...]:
        """These operands, each with its rule."""

    @property
    def positions(self) -> tuple[int, ...]:
        """These operands."""

    @property
    def arrays(self) -> Callable[..., Sequence[Any]] | None:
        """The op's rule on plain arrays, for all of them at once; or None."""

    @property
    def reduces(self) -> bool:
        """Whether there may be much work where the cotangent of the result is small."""


Few = Callable[[Sequence[Any], Any, Any, Sequence[Any]], list[tuple[Any, Any]]]


def of_few(rules: Sequence[tuple[int, Rule]], count: int) -> Few | None:
    """`cotangents` of small arrays by these rules, of an op of `count` operands and no attributes.

    A function `(edges, g, out, operands)`, in as few steps as may be: for one or two operands,
    behind which there may be more; None of others.
    """
    if count == 1 and rules:
        ((_, only),) = rules
        return lambda edges, g, out, operands: [(edges[0], only(g, out, operands[0]))]
    if count == 2 and len(rules) == 1:
        ((i, one),) = rules
        return lambda edges, g, out, operands: [(edges[i], one(g, out, operands[0], operands[1]))]
    if count == 2 and rules:
        (_, first), (_, second) = rules

        def both(edges: Any, g: Any, out: Any, operands: Any) -> Any:
            a, b = operands[0], operands[1]
            return [(edges[0], first(g, out, a, b)), (edges[1], second(g, out, a, b))]

        return both
    return None


def evaluate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """The value of an op, `op.evaluate(*arrays, **attrs)`."""
    if has_narrow(arrays) and op.widens(arrays):
        return op.rounded(partial(evaluate, op), arrays, attrs)
    if arrays and (_is_large(op, arrays) or op.sweep in _BY_WORK):
        if not memory.state.asked:
            memory.keep_freed_memory()
        value = _kernels_of(op).evaluate(op, arrays, attrs)
        if value is not None:
            return value
    return op.evaluate(*arrays, **attrs)


def _is_large(op: Op, arrays: Sequence[Any]) -> bool:
    """Whether one of the first two operands is large, such as what is added to a few slices."""
    size = arrays[0].size
    if len(arrays) > 1 and arrays[1].size > size:
        size = arrays[1].size
    return bool(size >= _LEAST and size >= native.least_of(op))


def cotangents(
    rules: Rules,
    edges: Sequence[object],
    g: Any,
    out: object,
    operands: Sequence[Any],
    attrs: Attrs,
) -> list[tuple[Any, Any]]:
    """The cotangents of operands, given that of the result, each with the operand's edge.

    What the rules do not read may be anything that has a shape and a dtype. None is a float of
    16 bits: `rounded_cotangents` is for these.
    """
    size = g.size
    large = size >= _LEAST and size >= native.least_of(rules.op)
    if large or (rules.reduces and _is_work(rules.op, operands[0])):
        found = _by_kernel(rules, g, out, operands, attrs)
    else:
        found = None
    if found is None:
        if rules.arrays is None:
            steps = rules.steps
            if len(steps) == 1:  # without a comprehension, which is a call
                ((i, rule),) = steps
                return [(edges[i], rule(g, out, *operands, **attrs))]
            return [(edges[i], rule(g, out, *operands, **attrs)) for i, rule in steps]
        found = rules.arrays(rules.positions, g, out, *operands, **attrs)
    if len(found) == 1:
        return [(edges[rules.positions[0]], found[0])]
    if len(found) == 2:
        first, second = rules.positions
        return [(edges[first], found[0]), (edges[second], found[1])]
    return [(edges[i], part) for i, part in zip(rules.positions, found, strict=True)]


def has_narrow(arrays: Sequence[Any]) -> bool:
    """Whether floats of 16 bits are stored in one of them."""
    for one in arrays:
        dtype = one.dtype
        if dtype is not F32 and dtype is not F64 and is_narrow(dtype):
            return True
    return False


def rounded_cotangents(
    rules: Rules,
    edges: Sequence[object],
    g: Any,
    out: Any,
    operands: Sequence[Any],
    attrs: Attrs,
) -> list[tuple[Any, Any]]:
    """`cotangents` where floats of 16 bits are stored: rules compute in float32, as ops do."""
    wide = [_wide(one) for one in operands]
    dtypes = [operands[position].dtype for position in rules.positions]
    with np.errstate(over="ignore"):
        found = cotangents(rules, edges, _wide(g), _wide(out), wide, attrs)
        return [
            (edge, np.asarray(part).astype(dtype, copy=False))
            for (edge, part), dtype in zip(found, dtypes, strict=True)
        ]


def _wide(one: Any) -> Any:
    if not is_narrow(one.dtype):
        return one
    if isinstance(one, np.ndarray | np.generic):
        return in_computing(one)
    return Spec(one.shape, computing(one.dtype))


def _is_work(op: Op, operand: Any) -> bool:
    return op.sweep in _BY_WORK or math.prod(operand.shape) >= native.least_of(op)


def _by_kernel(
    rules: Rules, g: object, out: object, operands: Sequence[object], attrs: Attrs
) -> Sequence[Any] | None:
    kernels = _kernels_of(rules.op)
    return kernels.cotangents(rules.op, rules.positions, g, out, operands, attrs)


def _kernels_of(op: Op) -> Any:
    """The module of the kernels that serve an op."""
    if op.sweep == "windows":
        return native_windows
    return pairs if op.sweep == "pairs" else native
