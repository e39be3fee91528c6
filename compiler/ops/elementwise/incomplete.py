"""Incomplete gamma and beta functions, and exponential integrals of any order.

They are host steps, which iterate until they have converged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from staticgraph.compiler.core.errors import NoDerivativeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, Rule, register
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import (
    TensorType,
    broadcast_shapes,
    require_float,
    require_same_dtype,
)
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import undo_broadcasting
from staticgraph.compiler.ops.elementwise.comparison import equal, greater, less, logical_or, where
from staticgraph.compiler.ops.elementwise.exponential import exp, log1p
from staticgraph.compiler.ops.elementwise.special import lgamma, xlogy
from staticgraph.compiler.reference import incomplete

__all__ = ["betainc", "expn", "gammainc", "gammaincc"]


@frozen
class NoDerivative:
    """The rule of an operand by which there is no derivative: it says so where one is asked for."""

    op: str

    def __call__(self, *args: object, **attrs: object) -> NoReturn:
        raise NoDerivativeError(f"{self.op}: has a derivative by its last argument alone")


def iterated(
    name: str,
    function: Callable[..., object],
    rule: Rule,
    *,
    arity: int,
    doc: str,
    example: str,
) -> Op:
    """An op of operands that broadcast, with a slope by the last one."""

    def infer_type(*types: TensorType) -> TensorType:
        require_float(name, *types)
        return TensorType(broadcast_shapes(name, *types), require_same_dtype(name, *types))

    letters = "abcd"[:arity]
    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            vjp=(*(NoDerivative(name),) * (arity - 1), undo_broadcasting(rule, arity - 1)),
            saves=(*("",) * (arity - 1), letters),
            batching=aligned,
            domain="positive",
            cost="expensive",
            lowering=Host(),
            promotes=slice(None),
            floating=True,
            doc=doc,
            example=example,
        )
    )


def _density(g: object, o: object, a: Any, x: Any) -> Any:
    """x**(a - 1) exp(-x) / gamma(a)."""
    outside = less(x, 0)
    inside = where(outside, 1, x)
    return where(outside, 0, g * exp(xlogy(a - 1, inside) - inside - lgamma(a)))


gammainc: Op = iterated(
    "gammainc", incomplete.gammainc, _density, arity=2,
    doc="gammainc(a, x): the regularised lower incomplete gamma function, the share below x of a "
    "gamma distribution of shape a; nan for a <= 0 or x < 0. Its derivative is by x.",
    example=">>> sg.special.gammainc(np.array([1.0]), 1.0)\narray([0.63212056])",
)  # fmt: skip
gammaincc: Op = iterated(
    "gammaincc", incomplete.gammaincc, lambda g, o, a, x: -_density(g, o, a, x), arity=2,
    doc="gammaincc(a, x): 1 - gammainc(a, x), as accurate where that is small. Its derivative is "
    "by x.",
    example=">>> sg.special.gammaincc(np.array([1.0]), 1.0)\narray([0.36787944])",
)  # fmt: skip


def _beta_density(g: object, o: object, a: Any, b: Any, x: Any) -> Any:
    """x**(a - 1) (1 - x)**(b - 1) / beta(a, b)."""
    outside = logical_or(less(x, 0), greater(x, 1))
    inside = where(outside, 0.5, x)
    logs = xlogy(a - 1, inside) + _xlog1py(b - 1, -inside)
    return where(outside, 0, g * exp(logs + lgamma(a + b) - lgamma(a) - lgamma(b)))


def _xlog1py(a: object, x: object) -> Any:
    flat = equal(a, 0)
    return where(flat, 0, a * log1p(where(flat, 0, x)))


betainc: Op = iterated(
    "betainc", incomplete.betainc, _beta_density, arity=3,
    doc="betainc(a, b, x): the regularised incomplete beta function, the share below x of a beta "
    "distribution; nan for a <= 0, b <= 0 or x outside of [0, 1]. Its derivative is by x.",
    example=">>> sg.special.betainc(np.array([2.0]), 1.0, 0.5)\narray([0.25])",
)  # fmt: skip


def _expn_slope(g: object, o: object, n: Any, x: Any) -> Any:
    """-expn(n - 1, x), and of exp(-x) / x."""
    plain = equal(n, 0)
    below = expn(where(plain, 1, n) - 1, x)
    return where(plain, -(exp(-x) / x * (1 + 1 / x)), -below) * g


expn: Op = iterated(
    "expn", incomplete.expn, _expn_slope, arity=2,
    doc="expn(n, x): the integral of exp(-x t) / t**n over t from 1 on, n a whole number; nan for "
    "n < 0 or x < 0. Its derivative is by x.",
    example=">>> sg.special.expn(2, np.array([0.0, 1.0]))\narray([1.        , 0.14849551])",
)  # fmt: skip
