"""Random numbers as functions of their parameters, at a fixed quantile.

The middle of quotients is a multiple of 1/64, so that it is known from both sides: there a number
is drawn, of which the chance not to be above it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from tests.derivatives.case import Case, Draw, M

_KEY, _COUNTER = np.int64(3), np.int64(5)


def _gamma(a: Any) -> Any:
    return ops.random_gamma(ops.gamma_attempt(a, _KEY, _COUNTER), a, _KEY, _COUNTER)


def _log_gamma(a: Any) -> Any:
    return ops.random_log_gamma(ops.log_gamma_attempt(a, _KEY, _COUNTER), a, _KEY, _COUNTER)


def _truncated(low: Any, high: Any) -> Any:
    attempt = ops.truncated_attempt(low, high, _KEY, _COUNTER)
    return ops.random_truncated(attempt, low, high, _KEY, _COUNTER)


def _middle(x: Any) -> float:
    return round(float(x) * 64) / 64


def _share(a: Any, x: Any) -> Any:
    return M.gammainc(a, 0, x, regularized=True)


@cache
def _gamma_there(a: float, logarithm: bool) -> tuple[Any, Any]:
    """A drawn number, and the chance not to be above it."""
    drawn = (_log_gamma if logarithm else _gamma)(np.array([a]))[0]
    number = M.exp(M.mpf(drawn)) if logarithm else M.mpf(drawn)
    return number, _share(a, number)


def _gamma_at_quantile(logarithm: bool) -> Callable[[Any], Any]:
    def exact(a: Any) -> Any:
        number, share = _gamma_there(_middle(a), logarithm)
        for _ in range(3):  # Newton's method, from 1e-15 beside
            density = M.exp((a - 1) * M.log(number) - number) / M.gamma(a)
            number = number - (_share(a, number) - share) / density
        return M.log(number) if logarithm else number

    return exact


def _normal_at_quantile(low: Any, high: Any) -> Any:
    ends = _middle(low), _middle(high)
    number = M.mpf(_truncated(np.array(ends[:1]), np.array(ends[1:]))[0])
    below, above = (M.ncdf(M.mpf(one)) for one in ends)
    share = (M.ncdf(number) - below) / (above - below)
    goal = M.ncdf(low) + share * (M.ncdf(high) - M.ncdf(low))
    for _ in range(3):
        number = number - (M.ncdf(number) - goal) / M.npdf(number)
    return number


def _case(name: str, ours: Any, exact: Any, *draws: Draw) -> Case:
    each = np.frompyfunc(exact, len(draws), 1)

    def of_arrays(*operands: Any) -> Any:
        with np.errstate(divide="ignore"):  # a kernel that draws leaves the processor's flag
            return each(*operands)

    return Case(name, ours, of_arrays, draws, single=True)


def _multiple(low: float, high: float) -> Draw:
    return lambda rng: np.asarray(rng.integers(int(low * 64), int(high * 64)) / 64)


DRAWN = [
    _case("random_gamma", _gamma, _gamma_at_quantile(False), _multiple(0.25, 9)),
    _case("random_log_gamma", _log_gamma, _gamma_at_quantile(True), _multiple(0.125, 9)),
    _case("random_truncated", _truncated, _normal_at_quantile, _multiple(-3, -0.25),
        _multiple(0.25, 3)),
]  # fmt: skip
