"""Random bits of a key and a counter, and the numbers that are made of them one by one.

Nothing here has a state: the same key and counter give the same bits, in any order and number.
`staticgraph.random` counts, and makes distributions of these. All of it is kept from the eager
engine's own names, whose stream is that of `manual_seed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.op import Attrs, Op, Rule, register
from staticgraph.compiler.core.types import (
    TensorType,
    broadcast_shapes,
    require_float,
    require_same_dtype,
)
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import INT64, Refused, elementwise, undo_broadcasting
from staticgraph.compiler.ops.elementwise.arithmetic import maximum, minimum
from staticgraph.compiler.ops.elementwise.comparison import where
from staticgraph.compiler.ops.elementwise.exponential import erf, erfc, exp, log
from staticgraph.compiler.ops.elementwise.special import digamma
from staticgraph.compiler.ops.reductions.along import axis_or_flat, host_along
from staticgraph.compiler.reference import samplers
from staticgraph.compiler.reference.threefry import threefry as threefry_arrays

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def _words(name: str, *types: TensorType) -> None:
    for type in types:
        if type.dtype != INT64:
            raise DTypeError(f"{name}: {type} is not int64, as keys and counters are")


def _by_kernel(name: str) -> Callable[..., Any]:
    """An evaluation with the bits of a kernel, where NumPy would round otherwise."""
    return lambda *arrays: provided.by_kernel(name, arrays)


threefry = elementwise(
    "threefry", threefry_arrays, "threefry({0}, {1})", arity=2, check=_words, cost="expensive",
    exact=True,
    doc="64 random bits for a key and a counter, all int64: Threefry 2x32-20 (Salmon et al., "
    "SC 2011), of which JAX's keys and numbers are made too.",
)  # fmt: skip
_UNIT32 = "f32(i32((i32({0} ^ ({0} >> 32)) >> 9) & 8388607)) * f32(1.1920928955078125e-07)"
_UNIT64 = "f64(({0} >> 12) & 4503599627370495) * 2.220446049250313e-16"
unit_float32 = elementwise(
    "unit_float32", samplers.unit_float32, _UNIT32,
    arity=1, result=_FLOAT32, check=_words, exact=True,
    doc="float32 numbers in [0, 1), multiples of 2**-23, of 64 random bits.",
)  # fmt: skip
unit_float64 = elementwise(
    "unit_float64", samplers.unit_float64, _UNIT64,
    arity=1, result=_FLOAT64, check=_words, exact=True,
    doc="float64 numbers in [0, 1), multiples of 2**-52, of 64 random bits.",
)  # fmt: skip
scaled_bits = elementwise(
    "scaled_bits", samplers.scaled_bits,
    "((({0} >> 32) & 4294967295) * ({1} & 4294967295)"
    " + ((({0} & 4294967295) * ({1} & 4294967295)) >> 32)) >> 32",
    arity=2, check=_words, exact=True,
    doc="Integers from 0 to before the second operand, at most 2**31, of 64 random bits.",
)  # fmt: skip


def _quantile(name: str, code32: str, code64: str, doc: str) -> tuple[Op, Op]:
    """Declare what `name` numbers, float32 and float64, are of those in [0, 1), `u`."""
    found = [
        elementwise(
            f"{name}_float{bits}", _by_kernel(f"{name}_float{bits}"), code.format(u=f"({unit})"),
            arity=1, result=result, check=_words, cost="expensive",
            doc=f"float{bits} {doc} of 64 random bits.",
        )
        for bits, code, unit, result in (
            (32, code32, _UNIT32, _FLOAT32), (64, code64, _UNIT64, _FLOAT64),
        )
    ]  # fmt: skip
    return found[0], found[1]


normal_float32, normal_float64 = _quantile(
    "normal",
    "erfinv(maximum({u} * f32(2) + f32(-0.9999999403953552), f32(-0.9999999403953552)))"
    " * f32(1.4142135623730951)",
    "erfinv(maximum({u} * 2.0 + -0.9999999999999999, -0.9999999999999999)) * 1.4142135623730951",
    "standard normal numbers, quantiles",
)
exponential_float32, exponential_float64 = _quantile(
    "exponential", "-log1p(-{u})", "-log1p(-{u})", "exponential numbers with mean 1, quantiles"
)
gumbel_float32, gumbel_float64 = _quantile(
    "gumbel",
    "-log(-log(maximum({u}, f32(1.1754943508222875e-38))))",
    "-log(-log(maximum({u}, 2.2250738585072014e-308)))",
    "standard Gumbel numbers, quantiles",
)


def _sampler(
    name: str, evaluate: Callable[..., Any] | None = None, *, arity: int = 3,
    result: np.dtype[Any] | None = None, vjp: Mapping[int, Rule] | None = None, saves: str = "",
    is_float: bool = True, alone: bool = True, doc: str,
) -> Op:  # fmt: skip
    """Declare an op of parameters of one dtype, a key and a counter per element.

    `vjp` has the rules of parameters that have one, which all save the same.
    """
    parameters, rules = arity - 2, vjp or {}

    def infer_type(*types: TensorType) -> TensorType:
        _words(name, *types[parameters:])
        if is_float:
            require_float(name, *types[:parameters])
        else:
            _words(name, *types[:parameters])
        dtype = require_same_dtype(name, *types[:parameters])
        return TensorType(broadcast_shapes(name, *types), result or dtype)

    # a function has the type of its first argument, and counts need more than float32 has
    given = "f64({0})" if is_float and result else "{0}"
    rest = ", ".join(f"{{{i}}}" for i in range(1, arity))
    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=evaluate or _by_kernel(name),
            vjp=tuple(undo_broadcasting(rules.get(i), i) for i in range(arity)),
            saves=tuple(saves if i in rules else "" for i in range(arity)),
            elementwise=True,
            batching=aligned,
            linearity="diagonal",
            cost="expensive",
            smooth=False,
            lowering=Pointwise(f"{name}({given}, {rest})", alone),
            doc=doc,
        )
    )


below_attempt = _sampler(
    "below_attempt", samplers.below_attempt, is_float=False, alone=False,
    doc="Integers from 0 to before the first operand of 64 random bits, -1 of bits by which some "
    "could be more likely than others; 0 where it is not positive.",
)  # fmt: skip
wide_attempt = _sampler(
    "wide_attempt", samplers.wide_attempt, is_float=False, alone=False,
    doc="Integers from 0 to before the first operand, all as likely, of the first of three times "
    "64 random bits by which none is more likely than others; -1 where there is none.",
)  # fmt: skip
random_below = _sampler(
    "random_below", samplers.random_below, arity=4, is_float=False,
    doc="Integers from 0 to before the second operand, all as likely, of which the first operand "
    "are attempts: Lemire, Fast random integer generation in an interval, ACM TOMACS 29(1), 2019.",
)  # fmt: skip
gamma_attempt = _sampler(
    "gamma_attempt",
    alone=False,
    doc="Gamma numbers of scale 1 where the first attempt is accepted at once, else -1; of the "
    "parameter 1 they are `exponential_float64`.",
)
random_gamma = _sampler(
    "random_gamma", arity=4, saves="ob",
    vjp={1: lambda g, o, attempt, a, key, counter: g * gamma_slope(a, o)},
    doc="Gamma numbers, of which the first operand are attempts: Marsaglia and Tsang, A simple "
    "method for generating gamma variables, ACM TOMS 26(3), 2000; nan of negative parameters. The "
    "gradient is that of the number at a fixed quantile (Figurnov et al., Implicit "
    "reparameterization gradients, 2018).",
)  # fmt: skip
log_gamma_attempt = _sampler(
    "log_gamma_attempt",
    alone=False,
    doc="Logarithms of gamma numbers where the first attempt is accepted at once, else 1e30.",
)


def _log_gamma_rule(g: Any, o: Any, attempt: object, a: Any, key: object, counter: object) -> Any:
    # where a number is so small, the distribution function is the first term of its series
    number = exp(maximum(o, -40.0))
    return g * where(o > -40.0, gamma_slope(a, number) / number, (digamma(a + 1.0) - o) / a)


random_log_gamma = _sampler(
    "random_log_gamma",
    arity=4,
    saves="ob",
    vjp={1: _log_gamma_rule},
    doc="Logarithms of gamma numbers, as `random_gamma`: those of small parameters are finite.",
)
truncated_attempt = _sampler(
    "truncated_attempt",
    arity=4,
    alone=False,
    doc="Standard normal numbers between two bounds, 0 where these are far on one side of it.",
)


def _scaled_erfc(x: Any) -> Any:
    """exp(x^2) erfc(x) for x > 0.7: far out by 6 terms of its expansion (DLMF 7.12.1)."""
    limit = 9.0 if x.dtype == _FLOAT32 else 25.0
    near, far = minimum(x, limit), maximum(x, limit)
    v = 0.5 / (far * far)
    series = 1.0 - v * (1.0 - 3 * v * (1.0 - 5 * v * (1.0 - 7 * v * (1.0 - 9 * v))))
    return where(x < limit, exp(near * near) * erfc(near), series / far * (1 / math.sqrt(math.pi)))


def _truncated_slopes(lower: Any, upper: Any, x: Any) -> tuple[Any, Any]:
    """How a quantile grows with each bound: quotients of masses, and of densities."""
    turned = upper < -1.0
    a, b = where(turned, -upper, lower), where(turned, -lower, upper)
    x = where(turned, -x, x)
    is_far, half = a > 1.0, math.sqrt(0.5)
    # centre: by the error function; what is far out is replaced, so that it gives no nan
    a0, b0, x0 = (where(is_far, value, one) for value, one in ((-1.0, a), (1.0, b), (0.0, x)))
    ends = [erf(one * half) for one in (a0, x0, b0)]
    mass = ends[2] - ends[0]
    centre = (
        exp(0.5 * (x0 - a0) * (x0 + a0)) * ((ends[2] - ends[1]) / mass),
        exp(0.5 * (x0 - b0) * (x0 + b0)) * ((ends[1] - ends[0]) / mass),
    )
    # far out: densities are taken out of the masses, which would be 0
    a1, b1, x1 = (where(is_far, one, value) for value, one in ((2.0, a), (4.0, b), (3.0, x)))
    tails = [_scaled_erfc(one * half) for one in (a1, x1, b1)]
    mass = tails[0] - exp(0.5 * (a1 - b1) * (a1 + b1)) * tails[2]
    far = (
        (tails[1] - exp(0.5 * (x1 - b1) * (x1 + b1)) * tails[2]) / mass,
        exp(0.5 * (x1 - b1) * (x1 + b1))
        * ((tails[0] - exp(0.5 * (a1 - x1) * (a1 + x1)) * tails[1]) / mass),
    )
    first, second = (where(is_far, *pair) for pair in zip(far, centre, strict=True))
    return where(turned, second, first), where(turned, first, second)


def _bound_rule(place: int) -> Rule:
    def rule(g: Any, o: Any, attempt: object, lower: Any, upper: Any, *words: object) -> Any:
        return g * _truncated_slopes(lower, upper, o)[place]

    return rule


random_truncated = _sampler(
    "random_truncated",
    arity=5,
    saves="obc",
    vjp={1: _bound_rule(0), 2: _bound_rule(1)},
    doc="Standard normal numbers between two bounds, of which the first operand are attempts: far "
    "out those of Marsaglia, Generating a variable from the tail of the normal distribution, "
    "Technometrics 6(1), 1964. The gradient is that of the number at a fixed quantile.",
)
poisson_attempt = _sampler(
    "poisson_attempt",
    alone=False,
    doc="Poisson numbers of rates below 10 that few steps of an inversion give, else -1.",
)
large_poisson_attempt = _sampler(
    "large_poisson_attempt",
    arity=4,
    alone=False,
    doc="Attempts, of rates from 10 on the first candidates that are accepted, else -1.",
)
random_poisson = _sampler(
    "random_poisson", arity=4, result=INT64,
    doc="Poisson numbers, of which the first operand are attempts, by inversion, and from 10 on by "
    "Hoermann, The transformed rejection method for generating Poisson random variables, 1993; -1 "
    "of rates that are negative, nan, or 1e18 and above.",
)  # fmt: skip
binomial_attempt = _sampler(
    "binomial_attempt",
    arity=4,
    alone=False,
    doc="Binomial numbers of means below 10 that few steps of an inversion give, else -1.",
)
large_binomial_attempt = _sampler(
    "large_binomial_attempt",
    arity=5,
    alone=False,
    doc="Attempts, of means from 10 on the first candidates that are accepted, else -1.",
)
random_binomial = _sampler(
    "random_binomial", arity=5, result=INT64,
    doc="Binomial numbers of so many trials, of which the first operand are attempts, by "
    "inversion, and from a mean of 10 on by Hoermann, The generation of binomial random variates, "
    "1993 (BTRS); -1 of trials that are no number from 0 to before 1e15, and of what is no "
    "probability.",
)  # fmt: skip


def _order_bind(x: Any, axis: int = -1) -> tuple[Sequence[Any], Attrs]:
    x, axis = axis_or_flat("random_order", x, axis, None)
    return (x,), {"axis": axis}


def _along_last(function: Callable[[Any], Any], x: Any, axis: int) -> Any:
    if axis == x.ndim - 1:
        return function(x)
    return np.moveaxis(function(np.moveaxis(x, axis, -1)), -1, axis)


def _in_random_order(bits: Any, *, axis: int) -> Any:
    return _along_last(provided.shuffle, bits, axis)


random_order: Op = host_along(
    "random_order", _in_random_order, result=lambda dtype: INT64, bind=_order_bind, vjp=(None,),
    exact=True,
    doc="The positions along an axis in an order that 64 random bits each decide: Durstenfeld, "
    "Algorithm 235, Communications of the ACM 7(7), 1964; int64. At most 2**31 lie along the axis.",
)  # fmt: skip


def _places_bind(x: Any, axis: int = -1) -> tuple[Sequence[Any], Attrs]:
    x, axis = axis_or_flat("random_places", x, axis, None)
    return (x,), {"axis": axis}


def _taken(offsets: Any, *, axis: int) -> Any:
    return _along_last(provided.places, offsets, axis)


random_places: Op = host_along(
    "random_places", _taken, result=lambda dtype: INT64, bind=_places_bind, vjp=(None,),
    exact=True,
    doc="The numbers that are taken along an axis of all from 0 on, without replacement: each the "
    "one so far behind the first, which moves to its place; int64. Of random offsets below what is "
    "left it is the beginning of Durstenfeld's shuffle (ACM Algorithm 235, 1964).",
)  # fmt: skip


def _slope_by_number(g: Any, o: Any, a: Any, x: Any) -> Any:
    # the slope of the distribution function's slope by a is the density's, by x the density's too
    return g * (digamma(a) - log(x) - o * ((a - 1.0) / x - 1.0))


_NO_THIRD = Refused("random_gamma: there is no third derivative of gamma numbers")
gamma_slope: Op = elementwise(
    "gamma_slope", _by_kernel("gamma_slope"), "gamma_slope({0}, {1})", arity=2, floating=True,
    vjp=(lambda g, o, a, x: g * gamma_curve(a, x), _slope_by_number), saves=("ab", "oab"),
    cost="expensive", linearity="none", smooth=False, domain="positive", alone=True,
    doc="How fast a quantile of the gamma distribution, the second operand, grows with the "
    "parameter: minus the slope of the distribution function by it, over the density.",
)  # fmt: skip
gamma_curve: Op = elementwise(
    "gamma_curve", _by_kernel("gamma_curve"), "gamma_curve({0}, {1})", arity=2, floating=True,
    vjp=(_NO_THIRD, _NO_THIRD), saves=("", ""), cost="expensive", linearity="none", smooth=False,
    domain="positive", alone=True,
    doc="How fast `gamma_slope` grows with the parameter where the number does not.",
)  # fmt: skip
