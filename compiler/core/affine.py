"""Indices into tensors as affine forms of the loop variables of the kernel that reads them.

An index is `constant + sum(coefficient * loop variable) + sum(stride * run-time value)`. Every
map that moves elements without computing (broadcast, transpose, slice, flip, gather) sends affine
indices to affine indices, so a chain of such maps costs nothing but address arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import frozen

_Key = TypeVar("_Key", int, str)


@frozen
class Affine:
    """`constant + sum(coefficient * loop[axis]) + sum(coefficient * value)`.

    `terms` are (loop axis, coefficient) and `dynamic` (name of a kernel variable, coefficient),
    both sorted and without zero coefficients.
    """

    constant: Size = 0
    terms: tuple[tuple[int, Size], ...] = ()
    dynamic: tuple[tuple[str, Size], ...] = ()

    def __add__(self, other: Affine | Size) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.constant + other, self.terms, self.dynamic)
        return Affine(
            self.constant + other.constant,
            _merge(self.terms, other.terms),
            _merge(self.dynamic, other.dynamic),
        )

    def __mul__(self, factor: Size) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(
            self.constant * factor,
            tuple((axis, coefficient * factor) for axis, coefficient in self.terms),
            tuple((name, coefficient * factor) for name, coefficient in self.dynamic),
        )

    def coefficient(self, axis: int) -> Size:
        """What one step of the loop variable of this axis adds."""
        return dict(self.terms).get(axis, 0)


def loop(axis: int) -> Affine:
    """The index that is the loop variable itself."""
    return Affine(0, ((axis, 1),))


def run_time(name: str) -> Affine:
    """The index that a kernel variable holds."""
    return Affine(0, (), ((name, 1),))


def _merge(
    left: Iterable[tuple[_Key, Size]], right: Iterable[tuple[_Key, Size]]
) -> tuple[tuple[_Key, Size], ...]:
    total = dict(left)
    for key, coefficient in right:
        total[key] = total.get(key, 0) + coefficient
    return tuple(sorted((key, value) for key, value in total.items() if value != 0))
