"""Whether contenders compute the same: their results against the median of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    results: Mapping[str, Sequence[Any]], before: Sequence[Any], dtype: str, calls: int
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
    """
    limit = TOLERANCE[dtype]
    rounding = float(np.finfo(dtype).eps) * calls if before else 0.0
    found = dict.fromkeys(results, Agreement(0.0, True))
    for i in range(max(map(len, results.values()), default=0)):
        start = before[i - 1] if before and i else None
        shape = _commonest_shape(results, i) if start is None else np.shape(start)
        fitting = {
            name: np.asarray(arrays[i], np.float64)
            for name, arrays in results.items()
            if i < len(arrays) and np.shape(arrays[i]) == shape
        }
        compared = _compare_array(fitting, start, limit, rounding)
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
    arrays: Mapping[str, Any], start: object, limit: float, rounding: float
) -> dict[str, Agreement]:
    """The agreement of those with finite values; `rounding` is relative to the largest element."""
    finite = {name: array for name, array in arrays.items() if np.isfinite(array).all()}
    if not finite:
        return {}
    middle = np.median(np.stack(list(finite.values())), axis=0)
    scale = float(np.max(np.abs(middle if start is None else middle - start), initial=0))
    spared = rounding * float(np.max(np.abs(middle), initial=0))
    found = {}
    for name, array in finite.items():
        largest = float(np.max(np.abs(array - middle), initial=0))
        relative = largest / scale if largest and scale else largest
        found[name] = Agreement(relative, largest <= limit * scale + spared)
    return found
