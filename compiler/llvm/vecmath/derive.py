"""Derive the polynomial coefficients: `python compiler/llvm/vecmath/derive.py` rewrites them.

Each series is interpolated at Chebyshev nodes in 80-digit arithmetic (Trefethen, Approximation
Theory and Approximation Practice, ch. 4: within a small factor of the minimax error), then rounded
to the format. Development only: it needs mpmath, which the compiler does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp  # type: ignore[import-untyped]

from staticgraph.compiler.core.record import frozen

DIGITS = 80
SINGULARITY = 1e-20
TWO_OVER_PI_BITS = 1200
HEADER = '''"""Polynomial coefficients of {} functions, constant term first, by format width.

From `derive.py`. Each comment gives the approximated function, its interval, and the largest
absolute error.
"""

'''


@frozen
class Series:
    """A function to approximate by one polynomial per format on the closed interval [low, high].

    With `crowding` above 1 the nodes are closer at the lower end, and the errors smaller there.
    """

    name: str
    formula: str
    function: Callable[[Any], Any]
    low: Any
    high: Any
    degrees: dict[int, int]
    crowding: float = 1.0


def interpolate(series: Series, degree: int) -> list[Any]:
    """The coefficients of the interpolant of the given degree, at Chebyshev nodes."""
    count = degree + 1
    unit = [(1 + mp.cos(mp.pi * (2 * k + 1) / (2 * count))) / 2 for k in range(count)]
    nodes = [series.low + (series.high - series.low) * u**series.crowding for u in unit]
    # A node at a removable singularity moves by far less than the format resolves.
    nodes = [node if abs(node) > SINGULARITY else mp.mpf(SINGULARITY) for node in nodes]
    powers = mp.matrix(count, count)
    for i, node in enumerate(nodes):
        for j in range(count):
            powers[i, j] = node**j
    return list(mp.lu_solve(powers, mp.matrix([series.function(node) for node in nodes])))


def rounded(value: Any, bits: int) -> float:
    """The nearest number of the format, as a Python float."""
    return float(np.float32(float(value))) if bits == 32 else float(value)


def largest_error(series: Series, coefficients: list[float]) -> float:
    """The largest |polynomial - function| over a grid of 400 points."""
    worst = mp.mpf(0)
    for k in range(1, 401):
        x = series.low + (series.high - series.low) * (mp.mpf(k) - mp.mpf("0.37")) / 401
        value = mp.fsum(c * x**j for j, c in enumerate(coefficients))
        worst = max(worst, abs(value - series.function(x)))
    return float(worst)


def exponential_tail(r: Any) -> Any:
    """Series of e^r from r^2 on, over r^2."""
    return (mp.expm1(r) - r) / r**2


def log_ratio_tail(z: object) -> Any:
    """Series of log((1 + s)/(1 - s)) from s^3 on, over s^3, at z = s^2."""
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def log2_ratio(z: object) -> Any:
    """log2((1 + s)/(1 - s)) over s, at z = s^2."""
    s = mp.sqrt(z)
    return mp.log((1 + s) / (1 - s)) / (s * mp.log(2))


def log_ratio_second_tail(z: object) -> Any:
    """Series of log((1 + s)/(1 - s)) from s^5 on, over s^5, at z = s^2."""
    return (log_ratio_tail(z) - mp.mpf(2) / 3) / z


def sine_tail(z: object) -> Any:
    """Series of sin(r) from r^3 on, over r^3, at z = r^2."""
    r = mp.sqrt(z)
    return (mp.sin(r) - r) / (r * z)


def cosine_tail(z: Any) -> Any:
    """Series of cos(r) from r^4 on, over r^4, at z = r^2."""
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def hyperbolic_sine_tail(z: object) -> Any:
    """Series of sinh(x) from x^3 on, over x^3, at z = x^2."""
    x = mp.sqrt(z)
    return (mp.sinh(x) - x) / (x * z)


def arcsine_tail(z: object) -> Any:
    """Series of asin(x) from x^3 on, over x^3, at z = x^2."""
    x = mp.sqrt(z)
    return (mp.asin(x) - x) / (x * z)


def arctangent_tail(z: object) -> Any:
    """Series of atan(x) from x^3 on, over x^3, at z = x^2."""
    x = mp.sqrt(z)
    return (mp.atan(x) - x) / (x * z)


def erf_excess(z: object) -> Any:
    """What erf(x)/x exceeds 1 by, at z = x^2."""
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erfc_exponent(x: object) -> Any:
    """What x must be multiplied by to become the binary logarithm of erfc(x)."""
    return mp.log(mp.erfc(x), 2) / x


def scaled_erfc(u: Any) -> Any:
    """erfc(x) e^(x^2) (x + 5/2) at u = (x - 5/2)/(x + 5/2), a smooth function of u."""
    x = mp.mpf(5) / 2 * (1 + u) / (1 - u)
    return mp.erfc(x) * mp.exp(x * x) * (x + mp.mpf(5) / 2)


def erfinv_quotient(w: Any) -> Any:
    """erfinv(x)/x at w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def cardinal_sine(z: object) -> Any:
    """sin(pi t)/(pi t) at z = t^2."""
    return mp.sincpi(mp.sqrt(z))


def log_gamma_quotient(y: Any) -> Any:
    """log(gamma(x)) over its zeros (x - 1)(x - 2), at x = y + 2."""
    return mp.loggamma(y + 2) / ((y + 1) * y)


def digamma_quotient(y: Any) -> Any:
    """digamma(x) over its zero x - x0, at x = y + 2."""
    return mp.digamma(y + 2) / (y + 2 - digamma_zero())


def digamma_zero() -> Any:
    """Where digamma is 0, of positive numbers."""
    return mp.findroot(mp.digamma, mp.mpf("1.46163214496836234"))


def log_gamma_correction(w: object) -> Any:
    """What Stirling's formula for log(gamma(x)) lacks, times x, at w = 1/x^2."""
    x = 1 / mp.sqrt(w)
    stirling = (x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2
    return (mp.loggamma(x) - stirling) * x


def digamma_correction(w: object) -> Any:
    """How far digamma(x) is below log(x) - 1/(2x), times x^2, at w = 1/x^2."""
    x = 1 / mp.sqrt(w)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def elementary_series() -> tuple[Series, ...]:
    """The approximations of elementary functions."""
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.001")
    # The reduced mantissa lies in [sqrt(1/2), sqrt(2)], so s = f/(2 + f) in +-(3 - 2 sqrt(2)).
    log_z = (3 - 2 * mp.sqrt(2)) ** 2 * mp.mpf("1.001")
    eighth_turn_squared = (mp.pi / 4) ** 2 * mp.mpf("1.01")
    return (
        Series("EXP", "(exp(r) - 1 - r) / r^2", exponential_tail, -half_ln2, half_ln2,
               {32: 4, 64: 9}),
        Series("LOG", "(log((1 + s)/(1 - s))/s - 2) / z, z = s^2", log_ratio_tail, mp.mpf(0), log_z,
               {32: 2, 64: 6}),
        Series("LOG_TAIL", "LOG without its first term, over z", log_ratio_second_tail, mp.mpf(0),
               log_z, {64: 7}),
        Series("LOG2_COARSE", "log2((1 + s)/(1 - s))/s, z = s^2", log2_ratio, mp.mpf(0), log_z,
               {64: 5}),
        Series("EXP2_COARSE", "2^r", lambda r: mp.mpf(2) ** r, mp.mpf("-0.5"), mp.mpf("0.5"),
               {64: 7}),
        Series("SIN", "(sin(r) - r) / r^3, z = r^2", sine_tail, mp.mpf(0), eighth_turn_squared,
               {32: 3, 64: 5}),
        Series("SINH", "(sinh(x) - x) / x^3, z = x^2", hyperbolic_sine_tail, mp.mpf(0), mp.mpf(1),
               {32: 3, 64: 7}),
        Series("ASIN", "(asin(x) - x) / x^3, z = x^2", arcsine_tail, mp.mpf(0), mp.mpf("0.2501"),
               {32: 4, 64: 12}),
        Series("ATAN", "(atan(x) - x) / x^3, z = x^2", arctangent_tail, mp.mpf(0),
               mp.mpf("0.2501"), {32: 5, 64: 12}),
        Series("COS", "(cos(r) - 1 + z/2) / r^4, z = r^2", cosine_tail, mp.mpf(0),
               eighth_turn_squared, {32: 2, 64: 5}),
        Series("SINC", "sin(pi t)/(pi t), z = t^2", cardinal_sine, mp.mpf(0), mp.mpf("0.2501"),
               {32: 5, 64: 9}),
    )  # fmt: skip


def special_series() -> tuple[Series, ...]:
    """The approximations of the error and gamma functions."""
    one, stirling = mp.mpf(1), mp.mpf("0.04001")
    return (
        Series("ERF", "erf(x)/x - 1, z = x^2", erf_excess, mp.mpf(0), mp.mpf("0.92") ** 2,
               {32: 5, 64: 12}),
        Series("ERF_FAR", "log2(erfc(x))/x", erfc_exponent, mp.mpf("0.919"), mp.mpf("3.93"),
               {32: 6}, crowding=1.2),
        Series("ERF_FAR_WIDE", "log2(erfc(x))/x", erfc_exponent, mp.mpf("0.919"), mp.mpf("5.95"),
               {64: 20}, crowding=1.4),
        Series("EXP2", "2^r", lambda r: mp.mpf(2) ** r, mp.mpf("-0.5"), mp.mpf("0.5"),
               {32: 6, 64: 11}),
        Series("ERFC", "erfc(x) exp(x^2) (x + 5/2), u = (x - 5/2)/(x + 5/2)", scaled_erfc,
               mp.mpf(-2) / 3, mp.mpf("0.8323"), {32: 11, 64: 24}),
        Series("ERFINV", "erfinv(x)/x, u = w - 5/2, w = -log(1 - x^2)",
               lambda u: erfinv_quotient(u + mp.mpf("2.5")), mp.mpf("-2.5"), mp.mpf("2.5"),
               {32: 9, 64: 19}),
        Series("ERFINV_FAR", "erfinv(x)/x, u = sqrt(w) - 3, w = -log(1 - x^2)",
               lambda u: erfinv_quotient((u + 3) ** 2), mp.mpf("-0.764"), mp.mpf(1),
               {32: 9, 64: 19}),
        Series("ERFINV_FARTHEST", "erfinv(x)/x, u = sqrt(w) - 5, w = -log(1 - x^2)",
               lambda u: erfinv_quotient((u + 5) ** 2), mp.mpf(-1), mp.mpf("1.01"), {64: 16}),
        Series("LGAMMA", "log(gamma(y + 2))/((y + 1) y)", log_gamma_quotient, -one, one, {64: 27}),
        Series("LGAMMA_COARSE", "log(gamma(y + 2))/((y + 1) y)", log_gamma_quotient, -one, one,
               {64: 13}),
        Series("LGAMMA_FAR", "(log(gamma(x)) - Stirling's formula) x, w = 1/x^2",
               log_gamma_correction, mp.mpf(0), stirling, {64: 8}),
        Series("LGAMMA_FAR_COARSE", "(log(gamma(x)) - Stirling's formula) x, w = 1/x^2",
               log_gamma_correction, mp.mpf(0), stirling, {64: 2}),
        Series("DIGAMMA", "digamma(y + 2)/(y + 2 - x0)", digamma_quotient, -one, one, {64: 27}),
        Series("DIGAMMA_COARSE", "digamma(y + 2)/(y + 2 - x0)", digamma_quotient, -one, one,
               {64: 15}),
        Series("DIGAMMA_FAR", "(log(x) - 1/(2x) - digamma(x)) x^2, w = 1/x^2",
               digamma_correction, mp.mpf(0), stirling, {64: 9}),
        Series("DIGAMMA_FAR_COARSE", "(log(x) - 1/(2x) - digamma(x)) x^2, w = 1/x^2",
               digamma_correction, mp.mpf(0), stirling, {64: 3}),
    )  # fmt: skip


def render() -> dict[str, str]:
    """The files of coefficients, by name, and what is in them."""
    with mp.workdps(DIGITS):
        elementary = [*map(_render_series, elementary_series()), _render_two_over_pi()]
        special = map(_render_series, special_series())
        return {
            "coefficients.py": HEADER.format("elementary") + "\n".join(elementary),
            "special_coefficients.py": HEADER.format("special") + "\n".join(special),
        }


def _render_two_over_pi() -> str:
    with mp.workprec(TWO_OVER_PI_BITS + 64):
        digits = f"{int(mp.floor(mp.ldexp(2 / mp.pi, TWO_OVER_PI_BITS))):x}"
    lines = [f'    "{digits[i : i + 64]}"' for i in range(0, len(digits), 64)]
    return (
        "\n".join(
            [
                f"# floor(2/pi * 2**{TWO_OVER_PI_BITS})",
                f"TWO_OVER_PI_BITS = {TWO_OVER_PI_BITS}",
                "TWO_OVER_PI = int(",
                *lines[:-1],
                f"{lines[-1]},",
                "    16,",
                ")",
            ]
        )
        + "\n"
    )


def _render_series(series: Series) -> str:
    lines = [f"# {series.formula} on [{float(series.low):.4g}, {float(series.high):.4g}]"]
    rows = []
    for bits, degree in series.degrees.items():
        coefficients = [rounded(c, bits) for c in interpolate(series, degree)]
        error = largest_error(series, coefficients)
        rows.append(f"    # degree {degree}, error {error:.1e}")
        rows.append(f"    {bits}: (")
        rows.extend(f"        {coefficient!r}," for coefficient in coefficients)
        rows.append("    ),")
    lines.append(f"{series.name}: dict[int, tuple[float, ...]] = {{")
    return "\n".join([*lines, *rows, "}"]) + "\n"


if __name__ == "__main__":
    for name, text in render().items():
        Path(__file__).with_name(name).write_text(text, encoding="utf-8")
