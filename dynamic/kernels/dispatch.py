"""How the value and the cotangents of an op on plain arrays are computed: chosen here alone.

Small arrays by NumPy at once; large ones, and much work, by a compiled kernel where one serves the
call; all else by NumPy. `dynamic.fast_paths` comes before: the first of these ways without a look
at the others, for the calls that it knows to be small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from compiler.core.op import Attrs, Op, Rule
from dynamic.kernels import native, native_windows

LARGE = native.LEAST
"""The least number of elements that is worth a look for a kernel."""


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


def evaluate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """The value of an op, `op.evaluate(*arrays, **attrs)`."""
    value = None
    if arrays and arrays[0].size >= LARGE:
        value = native.evaluate(op, arrays, attrs)
    if value is None and op in native_windows.WINDOWED:
        value = native_windows.evaluate(op, arrays, attrs)
    return op.evaluate(*arrays, **attrs) if value is None else value


def cotangents(rules: Rules, g: Any, out: Any, operands: Sequence[Any], attrs: Attrs) -> Any:
    """The cotangents of operands, in order, given that of the result.

    What the rules do not read may be anything that has a shape and a dtype.
    """
    if g.size >= LARGE or rules.reduces:
        op, positions = rules.op, rules.positions
        windowed = op in native_windows.WINDOWED
        kernels = native_windows if windowed else native
        found = kernels.cotangents(op, positions, g, out, operands, attrs)
        if found is not None:
            return found
    if rules.arrays is not None:
        return rules.arrays(rules.positions, g, out, *operands, **attrs)
    return [rule(g, out, *operands, **attrs) for _, rule in rules.steps]
