"""A line search for the strong Wolfe conditions, as loops of a graph.

Algorithms 3.5 and 3.6 of Nocedal and Wright, Numerical Optimization (2006), with the choices of
PyTorch's, as the eager one has them: it goes to the same points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.ops import (
    absolute,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sqrt,
    where,
)
from staticgraph.compiler.transforms.control_flow import while_loop

DECREASE, CURVATURE = 1e-4, 0.9
"""c1 and c2 of the conditions (section 3.1)."""
_SEARCHING, _FOUND, _BETWEEN = 0, 1, 2
"""Whether the search goes on, has ended, or has two points with a good one between them."""


class Point(NamedTuple):
    """A point on the line: the step there, the value, the gradient, and the slope along it."""

    step: Any
    value: Any
    gradient: Any
    slope: Any


def chosen(condition: Any, one: Any, other: Any) -> Any:
    """`one` where the condition holds, else `other`: trees of the same structure."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return rebuilt(one, [where(condition, a, b) for a, b in pairs])


def minimum_of_cubic(one: Point, other: Point, low: Any, high: Any) -> Any:
    """The minimiser in [low, high] of the cubic with the values and slopes of two points.

    Equation 3.59; the middle if the cubic has no minimiser.
    """
    a_step, a_value, a_slope = one.step, one.value, one.slope
    b_step, b_value, b_slope = other.step, other.value, other.slope
    swapped = b_step < a_step
    a_step, b_step = where(swapped, b_step, a_step), where(swapped, a_step, b_step)
    a_value, b_value = where(swapped, b_value, a_value), where(swapped, a_value, b_value)
    a_slope, b_slope = where(swapped, b_slope, a_slope), where(swapped, a_slope, b_slope)
    width = b_step - a_step
    mean = a_slope + b_slope - 3.0 * (b_value - a_value) / width
    square = mean * mean - a_slope * b_slope
    root = sqrt(maximum(square, 0.0))
    scale = b_slope - a_slope + 2.0 * root
    exists = logical_and(square >= 0.0, scale != 0.0)
    found = b_step - width * (b_slope + root - mean) / where(exists, scale, 1.0)
    return where(exists, minimum(maximum(found, low), high), (low + high) / 2.0)


@frozen
class StrongWolfe:
    """A search along one direction.

    Attributes:
        evaluate: the point at a step.
        start: the point at step 0.
        length: the largest element of the direction.
        tolerance: the width of a bracket, times `length`, that is not worth dividing.
        limit: the number of evaluations after the first.
    """

    evaluate: Callable[[Any], Point]
    start: Point
    length: Any
    tolerance: float
    limit: Any

    def search(self, step: Any) -> tuple[Point, Any]:
        """A point that meets the conditions, or the lowest one found; how many were evaluated."""
        before, point, used, status = self._bracket(step)
        between = self._zoom(before, point, used, status == _BETWEEN)
        best, used = chosen(between.lowest, between.second, between.first), between.used
        lower = chosen(self.start.value <= point.value, self.start, point)
        ended = chosen(status == _FOUND, point, lower)
        return chosen(status == _BETWEEN, best, ended), used + 1

    def _bracket(self, step: Any) -> tuple[Point, Point, Any, Any]:
        """The last two points of ever longer steps, how many came after the first, the status."""

        def go_on(state: Any) -> Any:
            before, point, used, _ = state
            low = point.step + 0.01 * (point.step - before.step)
            following = minimum_of_cubic(before, point, low, 10.0 * point.step)
            after = self.evaluate(following)
            return point, after, used + 1, self._status(point, after, used + 1)

        used = self.limit * 0
        point = self.evaluate(step)
        begun = self.start, point, used, self._status(self.start, point, used)
        found: tuple[Point, Point, Any, Any] = while_loop(
            lambda state: logical_and(state[3] == _SEARCHING, state[2] < self.limit), go_on, begun
        )
        return found

    def _status(self, before: Point, point: Point, used: Any) -> Any:
        rose = logical_and(used > 1, point.value >= before.value)
        passed = logical_or(self._too_high(point), rose)
        uphill = where(point.slope >= 0.0, _BETWEEN, _SEARCHING)
        status = where(passed, _BETWEEN, where(self._flat(point), _FOUND, uphill))
        return where(used < self.limit, status, _SEARCHING)

    def _too_high(self, point: Point) -> Any:
        start = self.start
        return point.value > start.value + DECREASE * point.step * start.slope

    def _flat(self, point: Point) -> Any:
        return absolute(point.slope) <= -CURVATURE * self.start.slope

    def _zoom(self, one: Point, other: Point, used: Any, applies: Any) -> _Bracket:
        """The bracket once it is short enough, or one of its points is good."""
        lowest, done = _second_is_lower(one, other), logical_not(applies)
        begun = _Bracket(one, other, lowest, np.zeros((), np.bool_), used, done)

        def is_open(at: _Bracket) -> Any:
            width = absolute(at.first.step - at.second.step) * self.length
            narrow = width < self.tolerance
            return logical_not(at.done) & (at.used < self.limit) & logical_not(narrow)

        found: _Bracket = while_loop(is_open, self._divided, begun)
        return found

    def _divided(self, at: _Bracket) -> _Bracket:
        low = minimum(at.first.step, at.second.step)
        high = maximum(at.first.step, at.second.step)
        step = minimum_of_cubic(at.first, at.second, low, high)
        margin = 0.1 * (high - low)
        at_end = minimum(high - step, step - low) < margin
        # the cubic does not shorten the bracket: move away from its end
        moves = at_end & (at.near_end | (step >= high) | (step <= low))
        away = where(high - step < step - low, high - margin, low + margin)
        point = self.evaluate(where(moves, away, step))
        best = chosen(at.lowest, at.second, at.first)
        other = chosen(at.lowest, at.first, at.second)
        worse = self._too_high(point) | (point.value >= best.value)
        done = logical_not(worse) & self._flat(point)
        turned = (point.slope * (other.step - best.step) >= 0.0) & logical_not(done)
        new_best = chosen(worse, best, point)
        new_other = chosen(worse, point, chosen(turned, best, other))
        first, second = (
            chosen(at.lowest, new_other, new_best),
            chosen(at.lowest, new_best, new_other),
        )
        lowest = where(worse, _second_is_lower(first, second), at.lowest)
        return _Bracket(first, second, lowest, at_end & logical_not(moves), at.used + 1, done)


class _Bracket(NamedTuple):
    """Two points with a good one between them.

    Attributes:
        first, second: the points.
        lowest: whether the second is the better one.
        near_end: whether the last division was close to one of them.
        used: how many points were evaluated after the first.
        done: whether the better one meets the conditions.
    """

    first: Point
    second: Point
    lowest: Any
    near_end: Any
    used: Any
    done: Any


def _second_is_lower(first: Point, second: Point) -> Any:
    return logical_not(first.value <= second.value)
