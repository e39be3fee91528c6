"""Hypergeometric functions of real numbers, which are host steps."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.ops.elementwise.incomplete import iterated
from staticgraph.compiler.reference import hypergeometric

__all__ = ["hyp1f1", "hyp2f1"]


def _confluent_slope(g: Any, o: object, a: Any, b: Any, x: Any) -> Any:
    """DLMF 13.3.15."""
    return g * (a / b * hyp1f1(a + 1, b + 1, x))


hyp1f1: Op = iterated(
    "hyp1f1", hypergeometric.hyp1f1, _confluent_slope, arity=3,
    doc="hyp1f1(a, b, x): Kummer's function M(a, b, x), the sum of (a)_n / (b)_n x**n / n!; inf "
    "for b = 0, -1, -2, ... unless the sum ends before. Errors are a few 1e-15 of the value, 1e-14 "
    "for |x| in the hundreds. Where terms cancel they are summed in more digits, which may take "
    "milliseconds an element; nan where 20,000 terms are not enough. Its derivative is by x.",
    example=">>> sg.special.hyp1f1(1.0, 2.0, np.array([0.0, 1.0]))\n"
    "array([1.        , 1.71828183])",
)  # fmt: skip


def _slope(g: Any, o: object, a: Any, b: Any, c: Any, x: Any) -> Any:
    """DLMF 15.5.1."""
    return g * (a * b / c * hyp2f1(a + 1, b + 1, c + 1, x))


hyp2f1: Op = iterated(
    "hyp2f1", hypergeometric.hyp2f1, _slope, arity=4,
    doc="hyp2f1(a, b, c, x): Gauss's function, the sum of (a)_n (b)_n / (c)_n x**n / n! continued "
    "to x < 1; at 1 its limit, beyond nan unless the sum ends; inf for c = 0, -1, -2, ... unless "
    "it ends before. Errors are a few 1e-15 of the value, 1e-13 near 1 and for large -x, 1e-12 "
    "at 1 of parameters beyond 170. Where "
    "terms cancel they are summed in more digits, which may take tens of milliseconds an element; "
    "nan where 20,000 terms are not enough. Its derivative is by x.",
    example=">>> sg.special.hyp2f1(1.0, 1.0, 2.0, np.array([0.0, 0.5]))\n"
    "array([1.        , 1.38629436])",
)  # fmt: skip
