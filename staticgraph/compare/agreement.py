"""Whether contenders compute the same: their results against the median of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, limits

# Relative to the largest element. Sums of up to 1e6 terms, in any order, and differences of nearly
# equal numbers, as in the gradient of softmax after layer norm: some hundred roundings.
TOLERANCE = {"float32": 1e-4, "float64": 1e-11}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one contender's results compare.

    Attributes:
        difference: the largest difference from the median of all contenders, relative to the
            largest element, of what the calls have computed; None where the shapes differ or a
            value is not finite.
        agrees: whether it is within the tolerance.
    """

    difference: float | None
    agrees: bool


def compare(
    results: Mapping[str, Sequence[Any]],
    before: Sequence[Any],
    dtype: str,
    calls: int,
    normalised: bool = False,
) -> dict[str, Agreement]:
    """The agreement of each contender with the median of all.

    Two contenders that differ both disagree: it cannot be told which is wrong. Of three or more,
    one that is wrong is found.

    Args:
        results: by contender the loss and then the gradients, or the parameters after `calls`
            steps.
        before: the parameters before the first step, which are subtracted so that their change is
            compared; empty where the results are gradients.
        calls: every step rounds a parameter once, which may be more than the tolerance where it has
            changed little: a unit in the last place of the largest is allowed for each.
        normalised: whether the optimizer divides each gradient by its own size. One that is nearly
            zero then has a step of any size or sign from its rounding alone, so that the mean
            difference counts, relative to the mean change, and not the largest.
    """
    limit = TOLERANCE[dtype]
    rounding = float(limits(np.dtype(dtype)).eps) * calls if before else 0.0
    found = dict.fromkeys(results, Agreement(0.0, True))
    for i in range(max(map(len, results.values()), default=0)):
        start = before[i - 1] if before and i else None
        shape = _commonest_shape(results, i) if start is None else np.shape(start)
        fitting = {
            name: np.asarray(arrays[i], np.float64)
            for name, arrays in results.items()
            if i < len(arrays) and np.shape(arrays[i]) == shape
        }
        size = _mean if normalised and start is not None else _largest
        compared = _compare_array(fitting, start, limit, rounding, size)
        for name, so_far in found.items():
            found[name] = _worse(so_far, compared.get(name, DIFFERENT))
    return found


DIFFERENT = Agreement(None, False)


def _worse(one: Agreement, other: Agreement) -> Agreement:
    if one.difference is None or other.difference is None:
        return DIFFERENT
    return Agreement(max(one.difference, other.difference), one.agrees and other.agrees)


def _commonest_shape(results: Mapping[str, Sequence[Any]], i: int) -> tuple[int, ...]:
    shapes = [np.shape(arrays[i]) for arrays in results.values() if i < len(arrays)]
    return max(shapes, key=shapes.count)


def _compare_array(
    arrays: Mapping[str, Any],
    start: object,
    limit: float,
    rounding: float,
    size: Callable[[Any], float],
) -> dict[str, Agreement]:
    """The agreement of those with finite values; `rounding` is relative to the largest element."""
    finite = {name: array for name, array in arrays.items() if np.isfinite(array).all()}
    if not finite:
        return {}
    middle = np.median(np.stack(list(finite.values())), axis=0)
    scale = size(middle if start is None else middle - start)
    spared = rounding * _largest(middle)
    found = {}
    for name, array in finite.items():
        apart = size(array - middle)
        relative = apart / scale if apart and scale else apart
        found[name] = Agreement(relative, apart <= limit * scale + spared)
    return found


OWN_ERRORS = 8
"""How many times its own rounding error the others may be from a reference."""


def against(
    reference: Sequence[Any], found: Sequence[Any], exact: Sequence[Any] | None = None
) -> Agreement:
    """How far arrays are from those of a reference, relative to the largest element of each.

    Of the largest element of all of them one unit in the last place is allowed everywhere: what
    cancels to zero keeps the rounding of what was cancelled. What is no floating-point number must
    be equal; infinities and nans must be at the same places, but where the reference is not finite
    and in higher precision is: there others may be as it is, or near that value.

    Args:
        exact: the reference in higher precision. A result as ill-conditioned as the derivative of
            tanh where it is nearly 1 is as far from it in the reference itself, and may be so in
            others.
    """
    worst = Agreement(0.0, True)
    if len(found) != len(reference):
        return DIFFERENT
    pairs = [(np.asarray(x), np.asarray(y)) for x, y in zip(reference, found, strict=True)]
    if any(expected.shape != given.shape for expected, given in pairs):
        return DIFFERENT
    floating = [expected for expected, _ in pairs if is_float(expected.dtype)]
    largest = max((_largest(one[np.isfinite(one)]) for one in floating), default=0.0)
    for i, (expected, given) in enumerate(pairs):
        spared = 0.0
        if is_float(expected.dtype):
            spared = float(limits(expected.dtype).eps) * largest
            if exact is not None and exact[i].shape == expected.shape:
                with np.errstate(invalid="ignore"):  # inf - inf
                    error = expected - exact[i]
                spared += OWN_ERRORS * _largest(error[np.isfinite(error)])
                expected = _where_lost(expected, given, exact[i])
        worst = _worse(worst, _against(expected, given, spared))
    return worst


def _where_lost(expected: Any, given: Any, exact: Any) -> Any:
    """The reference, with its values in higher precision where it is not finite and `given` is."""
    lost = ~np.isfinite(expected) & np.isfinite(exact) & np.isfinite(given)
    return np.where(lost, exact, expected).astype(expected.dtype) if lost.any() else expected


def _against(expected: Any, given: Any, spared: float) -> Agreement:
    if not is_float(expected.dtype):
        differ = float(np.count_nonzero(expected != given))
        return Agreement(differ, differ == 0)
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], given[~finite], equal_nan=True):
        return DIFFERENT
    if not np.isfinite(given[finite]).all():
        return DIFFERENT
    one = expected[finite].astype(np.float64)
    scale, apart = _largest(one), _largest(one - given[finite])
    limit = TOLERANCE[expected.dtype.name] * scale + spared
    return Agreement(apart / scale if apart and scale else apart, apart <= limit)


def _mean(values: Any) -> float:
    return float(np.mean(np.abs(values))) if values.size else 0.0


def _largest(values: Any) -> float:
    return float(np.max(np.abs(values), initial=0))
