"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.record import frozen

DECREASE, CURVATURE = 1e-4, 0.9
"""c1 and c2 of the conditions (Nocedal and Wright 2006, section 3.1)."""


@frozen
class Point:
    """A point on the line: the step there, the value, the gradient, and the slope along it."""

    step: float
    value: float
    gradient: Any
    slope: float


def minimum_of_cubic(a: Point, b: Point, low: float, high: float) -> float:
    """The minimiser in [low, high] of the cubic with the values and slopes of two points.

    Nocedal and Wright (2006), equation 3.59; the middle if the cubic has no minimiser.
    """
    a, b = sorted((a, b), key=lambda point: point.step)
    width = b.step - a.step
    mean = a.slope + b.slope - 3 * (b.value - a.value) / width
    square = mean * mean - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root: float = square**0.5
    scale = b.slope - a.slope + 2 * root
    if scale == 0:
        return (low + high) / 2
    return min(max(b.step - width * (b.slope + root - mean) / scale, low), high)


@frozen
class StrongWolfe:
    """A search along one direction: algorithms 3.5 and 3.6 of Nocedal and Wright (2006).

    Attributes:
        evaluate: the point at a step.
        start: the point at step 0.
        length: the largest element of the direction.
        tolerance: the width of a bracket, times `length`, that is not worth dividing.
        limit: the number of evaluations after the first.
    """

    evaluate: Callable[[float], Point]
    start: Point
    length: float
    tolerance: float
    limit: int

    def search(self, step: float) -> tuple[Point, int]:
        """A point that meets the conditions, or the lowest one found; how many were evaluated."""
        before, point = self.start, self.evaluate(step)
        used = 0
        while used < self.limit:
            if self._too_high(point) or (used > 1 and point.value >= before.value):
                return self._zoom([before, point], used)
            if self._flat(point):
                return point, used + 1
            if point.slope >= 0:
                return self._zoom([before, point], used)
            low, high = point.step + 0.01 * (point.step - before.step), 10 * point.step
            following = minimum_of_cubic(before, point, low, high)
            before, point = point, self.evaluate(following)
            used += 1
        return (self.start if self.start.value <= point.value else point), used + 1

    def _too_high(self, point: Point) -> bool:
        start = self.start
        return point.value > start.value + DECREASE * point.step * start.slope

    def _flat(self, point: Point) -> bool:
        return abs(point.slope) <= -CURVATURE * self.start.slope

    def _zoom(self, bracket: list[Point], used: int) -> tuple[Point, int]:
        """The same, given two points with a good one between them."""
        near_end = False
        lowest = _lowest(bracket)
        while used < self.limit:
            low, high = sorted(point.step for point in bracket)
            if (high - low) * self.length < self.tolerance:
                break
            step = minimum_of_cubic(bracket[0], bracket[1], low, high)
            margin = 0.1 * (high - low)
            at_end = min(high - step, step - low) < margin
            if at_end and (near_end or step >= high or step <= low):
                # the cubic does not shorten the bracket: move away from its end
                step = high - margin if high - step < step - low else low + margin
                at_end = False
            near_end = at_end
            point = self.evaluate(step)
            used += 1
            best, other = bracket[lowest], bracket[1 - lowest]
            if self._too_high(point) or point.value >= best.value:
                bracket[1 - lowest] = point
                lowest = _lowest(bracket)
                continue
            bracket[lowest] = point
            if self._flat(point):
                break
            if point.slope * (other.step - best.step) >= 0:
                bracket[1 - lowest] = best
        return bracket[lowest], used + 1


def _lowest(bracket: list[Point]) -> int:
    return 0 if bracket[0].value <= bracket[1].value else 1
