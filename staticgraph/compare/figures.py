"""Statistics of times: the median, an interval for it, and the break-even number of calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the median lies, with this probability."""

    low: float
    high: float
    confidence: float


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The shortest symmetric pair of order statistics that covers the median with `confidence`.

    It assumes independent values and nothing about how they are distributed. Of less than six
    values even the smallest and the largest cover it less surely than 95 %: then it is those, and
    the interval says how sure. David and Nagaraja, "Order Statistics", 3rd ed., section 7.1.
    """
    ordered = sorted(values)
    count = len(ordered)
    rank, missed = 1, 2 * 0.5**count  # the probability that all lie on one side
    while rank + 1 <= count - rank:
        further = missed + 2 * math.comb(count, rank) * 0.5**count
        if 1 - further < confidence:
            break
        rank, missed = rank + 1, further
    return Interval(ordered[rank - 1], ordered[count - rank], max(0.0, 1 - missed))


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


@dataclass(frozen=True, slots=True)
class Ahead:
    """The calls after which one contender has taken no more time in all than another.

    Attributes:
        first: the number of calls from which it is ahead: the break-even; None if it never is.
        last: the number of calls up to which it is; None if it stays ahead.
    """

    first: int | None
    last: int | None = None


def break_even(once: float, call: float, other_once: float, other_call: float) -> Ahead:
    """When the first contender is ahead, if n calls take `once + (n - 1) * call` seconds."""
    behind, gained = once - other_once, other_call - call
    if gained > 0:
        return Ahead(1 + max(0, math.ceil(behind / gained)))
    if behind > 0:
        return Ahead(None)
    return Ahead(1, None if gained == 0 else 1 + math.floor(behind / gained))
