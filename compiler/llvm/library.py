"""Functions of scalars written in the emitted language, which kernels call.

Each has the type of its first argument, whatever Python would make of it: integers wrap. No branch
is taken where a division would trap.
"""

from __future__ import annotations

import ast
from functools import cache

from staticgraph.compiler.ir.parse import function_of
from staticgraph.compiler.ir.records import Function, While
from staticgraph.compiler.ir.walk import calls, expressions, statements
from staticgraph.compiler.llvm.integer_functions import INTEGERS
from staticgraph.compiler.llvm.random_functions import RANDOM_NUMBERS

SOURCE = (
    INTEGERS
    + RANDOM_NUMBERS
    + '''

def sign_f(a):
    """-1, 0 or 1; nan for nan."""
    one = type(a)(1)
    zero = type(a)(0)
    return select(a != a, a, select(a > zero, one, select(a < zero, -one, zero)))


def floor_divide_f(a, b):
    """NumPy's floor division of floats: exact where the quotient is, a / b where b is 0."""
    zero = type(a)(0)
    rest = remainder_f(a, b)
    quotient = (a - rest) / b
    whole = rint(quotient)  # a - rest is a multiple of b up to rounding
    whole = select(whole == zero, copysign(whole, a / b), whole)
    away = zero - select((a != zero) & ((a < zero) != (b < zero)), type(a)(1), zero)
    whole = select((abs(b) == inf) & (abs(a) < inf), away, whole)
    return select(b == zero, a / b, whole)


def gamma_slope(a, x):
    """How fast a quantile x of the gamma distribution grows with a: see compiler.ops.random."""
    shape = f64(a)
    z = f64(x)
    found = f64(nan)
    if (shape > 0.0) & (z == 0.0):
        found = 0.0
    if (shape > 0.0) & (shape < inf) & (z > 0.0) & (z < inf):
        if shape >= 100000.0:
            root = sqrt(shape)
            u = (z - shape) / root
            w = u - (u * u - 1.0) / (3.0 * root) + (7.0 * u * u * u - u) / (36.0 * shape)
            found = 1.0 + w / (2.0 * root) - (w * w * w - 7.0 * w) / (72.0 * shape * root)
        else:
            if z <= shape + 1.0:
                term = 1.0
                harmonic = 0.0
                total = 1.0
                slope = 0.0
                k = 1.0
                while term > 1e-18 * total:
                    term = term * (z / (shape + k))
                    harmonic = harmonic + 1.0 / (shape + k)
                    total = total + term
                    slope = slope - term * harmonic
                    k = k + 1.0
                found = -(z / shape) * ((log(z) - digamma(shape + 1.0)) * total + slope)
            else:
                b = z + 1.0 - shape
                d = 1.0 / b
                d_slope = d * d
                c = 1e300
                c_slope = 0.0
                value = d
                relative = d
                change = 1.0
                far = 1.0
                i = 1.0
                while (i < 20000.0) & ((far >= 1e-15) | (change >= 1e-16)):
                    b = b + 2.0
                    factor = i * (shape - i)
                    below_slope = i * d + factor * d_slope - 1.0
                    d = 1.0 / (factor * d + b)
                    c_slope = (i - factor * c_slope / c) / c - 1.0
                    c = b + factor / c
                    d_slope = -below_slope * d * d
                    value = value * (c * d)
                    relative = relative + (d_slope / d + c_slope / c)
                    far = abs(c * d - 1.0)
                    change = abs(d_slope / d + c_slope / c) / (1.0 + abs(relative))
                    i = i + 1.0
                found = z * value * ((log(z) - digamma(shape)) + relative)
    return type(a)(found)


def trigamma(a):
    """The second derivative of log(gamma) for a > 0: Abramowitz and Stegun 6.4.6 and 6.4.12."""
    found = 0.0
    x = f64(a)
    while x < 10.0:
        found = found + 1.0 / (x * x)
        x = x + 1.0
    v = 1.0 / (x * x)
    series = 0.03333333333333333 - v * (0.07575757575757576 - v * 0.2531135531135531)
    series = 0.03333333333333333 - v * (0.023809523809523808 - v * series)
    series = 0.16666666666666666 - v * series
    return found + 1.0 / x + 0.5 * v + v / x * series


def gamma_curve(a, x):
    """How fast `gamma_slope` grows with a at a fixed x, by the slopes of its formulas."""
    shape = f64(a)
    z = f64(x)
    found = f64(nan)
    if (shape > 0.0) & (z == 0.0):
        found = 0.0
    if (shape > 0.0) & (shape < inf) & (z > 0.0) & (z < inf):
        if shape >= 100000.0:
            root = sqrt(shape)
            u = (z - shape) / root
            w = u - (u * u - 1.0) / (3.0 * root) + (7.0 * u * u * u - u) / (36.0 * shape)
            w_by_u = 1.0 - 2.0 * u / (3.0 * root) + (21.0 * u * u - 1.0) / (36.0 * shape)
            w_slope = (u * u - 1.0) / (6.0 * shape * root)
            w_slope = w_slope - (7.0 * u * u * u - u) / (36.0 * shape * shape)
            w_slope = w_slope - w_by_u * (1.0 / root + 0.5 * u / shape)
            found = (1.0 / (2.0 * root) - (3.0 * w * w - 7.0) / (72.0 * shape * root)) * w_slope
            found = found - w / (4.0 * shape * root)
            found = found + (w * w * w - 7.0 * w) / (48.0 * shape * shape * root)
        else:
            if z <= shape + 1.0:
                term = 1.0
                harmonic = 0.0
                squares = 0.0
                total = 1.0
                slope = 0.0
                curve = 0.0
                k = 1.0
                while term > 1e-19 * total:
                    share = 1.0 / (shape + k)
                    term = term * (z * share)
                    harmonic = harmonic + share
                    squares = squares + share * share
                    total = total + term
                    slope = slope - term * harmonic
                    curve = curve + term * (harmonic * harmonic + squares)
                    k = k + 1.0
                logarithm = log(z) - digamma(shape + 1.0)
                found = (logarithm * total + slope) / shape + trigamma(shape + 1.0) * total
                found = (z / shape) * (found - logarithm * slope - curve)
            else:
                b = z + 1.0 - shape
                d = 1.0 / b
                d_slope = d * d
                d_curve = 2.0 * d * d * d
                c = 1e300
                c_slope = 0.0
                c_curve = 0.0
                value = d
                relative = d
                second = d * d
                change = 1.0
                far = 1.0
                i = 1.0
                while (i < 20000.0) & ((far >= 1e-15) | (change >= 1e-16)):
                    b = b + 2.0
                    factor = i * (shape - i)
                    below_slope = i * d + factor * d_slope - 1.0
                    below_curve = 2.0 * i * d_slope + factor * d_curve
                    d = 1.0 / (factor * d + b)
                    d_slope = -below_slope * d * d
                    d_curve = -below_curve * d * d + 2.0 * below_slope * below_slope * d * d * d
                    by = c_slope / c
                    above_curve = 2.0 * factor * by * by - 2.0 * i * by - factor * c_curve / c
                    c_slope = (i - factor * by) / c - 1.0
                    c_curve = above_curve / c
                    c = b + factor / c
                    value = value * (c * d)
                    first = d_slope / d
                    by = c_slope / c
                    relative = relative + (first + by)
                    step = (d_curve / d - first * first) + (c_curve / c - by * by)
                    second = second + step
                    far = abs(c * d - 1.0)
                    change = abs(first + by) / (1.0 + abs(relative))
                    change = change + abs(step) / (1.0 + abs(second))
                    i = i + 1.0
                logarithm = log(z) - digamma(shape)
                found = relative * (logarithm + relative) - trigamma(shape) + second
                found = z * value * found
    return type(a)(found)


def part_start(at, parts, size, tile):
    """Where one of about equal parts of an axis starts, in whole tiles; its size after the last."""
    tiles = (size + tile - 1) // tile
    return min(at * tiles // parts * tile, size)
'''
)
NAMES = {
    **{
        name: name
        for name in (
            "below_attempt", "binomial_attempt", "binomial_candidate", "binomial_chance",
            "binomial_height", "binomial_is_sure", "chance_of_binomial",
            "chance_of_large_binomial", "chance_of_large_poisson", "chance_of_poisson", "deviance",
            "floor_divide_f", "floor_divide_i", "floor_divide_u", "fmod_i", "gamma_attempt",
            "gamma_curve", "gamma_power", "gamma_slope", "gcd_i", "gcd_u",
            "large_binomial_attempt", "large_poisson_attempt", "lcm_i", "lcm_u",
            "log_gamma_attempt", "part_start", "poisson_attempt", "poisson_candidate",
            "poisson_chance", "poisson_height", "poisson_is_sure", "pow_i", "pow_u",
            "raised_gamma", "random_below", "random_binomial", "random_gamma", "random_log_gamma",
            "random_poisson", "random_truncated", "remainder_i", "remainder_u", "sign_f", "sign_i",
            "sign_u", "trigamma", "truncated_attempt", "upper_product", "wide_attempt",
        )
    },
    "fmod_u": "remainder_u",
}  # fmt: skip
"""The function behind each name that emitted source may call."""
OUTSIDE_LOOPS = frozenset({"part_start"})
"""Functions that no loop calls: a kernel has one copy of each, which LLVM compiles once."""


@cache
def functions() -> dict[str, ast.FunctionDef]:
    """The syntax tree of each function."""
    trees = ast.parse(SOURCE).body
    return {tree.name: tree for tree in trees if isinstance(tree, ast.FunctionDef)}


@cache
def function(name: str) -> Function:
    """One of the functions."""
    return function_of(functions()[name])


@cache
def has_loop(name: str) -> bool:
    """Whether what emitted source calls by this name is a function with a loop of its own."""
    if name not in NAMES:
        return False
    body = list(statements(function(NAMES[name]).body))
    if any(isinstance(one, While) for one in body):
        return True
    called = {inner for one in body for part in expressions(one) for inner in calls(part)}
    return any(map(has_loop, called))
