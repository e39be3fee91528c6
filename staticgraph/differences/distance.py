"""How far apart two arrays are, in units in the last place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, part_dtype
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array


@frozen
class Distance:
    """How far an array is from another one.

    Attributes:
        equal: whether all bits are; one nan is as good as another.
        ulp: the largest distance of two elements: how many numbers of the dtype they are apart,
            for integers their difference; inf where one alone is nan, or the types differ.
        gap: the largest difference of two elements; inf where one alone is finite, or the types
            differ.
        where: the place of the elements that differ most; None if all are equal, or the types
            differ.
        values: these two elements.
    """

    equal: bool
    ulp: float
    gap: float
    where: tuple[int, ...] | None = None
    values: tuple[complex, complex] | None = None


SAME = Distance(True, 0.0, 0.0)


def distance(one: Array, other: Array) -> Distance:
    """How far apart two arrays are."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return Distance(False, np.inf, np.inf)
    if not one.size:
        return SAME
    if one.dtype.kind == "c":
        return _of_complex(one, other)
    shape = one.shape
    one, other = one.reshape(-1), other.reshape(-1)
    apart = gaps(one, other)
    at = int(np.argmax(apart))
    if not apart[at]:
        return Distance(False, 0.0, 0.0) if other_signs(one, other).any() else SAME
    ulp = float(np.max(_ulps(one, other))) if is_float(one.dtype) else float(apart[at])
    where = tuple(map(int, np.unravel_index(at, shape)))
    return Distance(False, ulp, float(apart[at]), where, (one[at].item(), other[at].item()))


def _of_complex(one: Array, other: Array) -> Distance:
    """How far apart the parts are that differ most."""
    parts = [
        np.ascontiguousarray(x).reshape(*x.shape, 1).view(part_dtype(x.dtype)) for x in (one, other)
    ]
    found = distance(*parts)
    if found.where is None:
        return found
    where = found.where[:-1]
    return replace(found, where=where, values=(one[where].item(), other[where].item()))


def gaps(one: Array, other: Array) -> Array:
    """|one - other|: 0 of two nan or the same infinity, inf where one alone is finite."""
    wide: type[np.inexact] = np.float64 if one.dtype.itemsize <= 4 else np.longdouble
    if one.dtype.kind == "c":
        wide = np.clongdouble
    with np.errstate(all="ignore"):
        found = np.abs(np.subtract(one, other, dtype=wide)).astype(np.float64)
    if np.isfinite(found).all():
        return found
    same = (one == other) | ((one != one) & (other != other))
    return np.where(same, 0.0, np.where(np.isnan(found), np.inf, found))


def other_signs(one: Array, other: Array) -> Array:
    """Where zeros have another sign in arrays that are equal."""
    if not is_float(one.dtype):
        return np.zeros(one.shape, bool)
    return np.asarray((np.signbit(one) != np.signbit(other)) & (one == 0) & (other == 0))


def _ulps(one: Array, other: Array) -> Array:
    """Per element how many numbers lie between, and one; 0 of two nan, inf of one."""
    signed = np.dtype(f"i{one.dtype.itemsize}")
    left, right = (_ordered(np.ascontiguousarray(x).view(signed)) for x in (one, other))
    with np.errstate(over="ignore"):
        apart = (np.maximum(left, right) - np.minimum(left, right)).view(f"u{signed.itemsize}")
    found = apart.astype(np.float64)
    nans = np.isnan(one), np.isnan(other)
    found = np.where(nans[0] | nans[1], np.where(nans[0] & nans[1], 0.0, np.inf), found)
    return np.asarray(found)


def _ordered(bits: Array) -> Array:
    """Integers in the order of the numbers, next to each other for neighbours; both zeros are 0."""
    return np.asarray(np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits))
