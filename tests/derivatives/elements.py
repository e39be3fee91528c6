"""Functions of single numbers, as mpmath has them or as they are defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.op import all_ops
from tests.derivatives.case import Case, Draw, M, between, logarithmic

_ANY = between(-3, 3)
_WIDE = between(-20, 20)
_POSITIVE = logarithmic(1e-6, 1e6)
_SHARE = between(0, 1)
_UNIT = between(-1, 1)
_RECORDS = {op.name: op for op in all_ops()}


def _op(
    name: str,
    exact: Callable[..., Any],
    *draws: Draw,
    edges: tuple[Any, ...] = (),
    ours: Callable[..., Any] | None = None,
    order: int = 2,
    order_of_tensors: int = 2,
) -> Case:
    function = ours or getattr(ops, name, None) or _RECORDS[name]
    points = tuple(one if isinstance(one, tuple) else (one,) for one in edges)
    each = np.frompyfunc(exact, len(draws), 1)
    return Case(name, function, each, draws, points, True, order, order_of_tensors)


def _zeta_slope(n: int) -> Callable[..., Any]:
    return lambda x: M.polygamma(n, x)


def _fmod(x: Any, y: Any) -> Any:
    return x - y * _trunc(x / y)


def _trunc(x: Any) -> Any:
    return M.floor(x) if x > 0 else M.ceil(x)


def _cross(x: Any, y: Any) -> Any:
    return -(y * M.log(x) + (1 - y) * M.log(1 - x))


def _lgamma(x: Any) -> Any:
    return M.log(abs(M.gamma(x)))


def _cbrt(x: Any) -> Any:
    return M.sign(x) * M.cbrt(abs(x))


def _clamp(x: Any, low: Any, high: Any) -> Any:
    return min(max(x, low), high)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + M.exp(-x))


def _ndtri(x: Any) -> Any:
    return M.sqrt(2) * M.erfinv(2 * x - 1)


def _bessel(n: int, scaled: bool) -> Callable[..., Any]:
    return lambda x: M.besseli(n, x) * (M.exp(-abs(x)) if scaled else 1)


def _gelu(x: Any) -> Any:
    return x * M.ncdf(x)


def _round(x: Any) -> Any:
    return M.nint(x)


def _base(b: int) -> Callable[..., Any]:
    return lambda x: M.log(x) / M.log(b)


def _gamma_slope(a: Any, x: Any) -> Any:
    def share(b: Any) -> Any:
        return M.gammainc(b, 0, x, regularized=True)

    step = M.mpf(10) ** -12  # its own quotient, so that the case's have thirty digits less
    by_a = (share(a + step) - share(a - step)) / (2 * step)
    return -by_a / (x ** (a - 1) * M.exp(-x) / M.gamma(a))


def _log1p_exp(x: Any) -> Any:
    return M.log1p(M.exp(-abs(x))) + max(x, 0)


def _dawsn(x: Any) -> Any:
    return M.sqrt(M.pi) / 2 * M.exp(-x * x) * M.erfi(x)


def _owens_t(h: Any, a: Any) -> Any:
    def integrand(x: Any) -> Any:
        return M.exp(-h * h * (1 + x * x) / 2) / (1 + x * x)

    return M.quad(integrand, [0, a / 2, a]) / (2 * M.pi)


def _logaddexp(x: Any, y: Any) -> Any:
    return max(x, y) + M.log1p(M.exp(-abs(x - y)))


_LN2 = M.log(2)

ELEMENTS = [
    _op("abs", abs, _ANY), _op("acos", M.acos, _UNIT), _op("asin", M.asin, _UNIT),
    _op("acosh", M.acosh, between(1, 30), edges=(1.0001, 1e6)), _op("asinh", M.asinh, _WIDE,
        edges=(0.0, 1e-9, -1e8)),
    _op("atan", M.atan, _WIDE, edges=(0.0, 1e9)), _op("atanh", M.atanh, _UNIT, edges=(0.0, 1e-9)),
    _op("cbrt", _cbrt, _ANY, edges=(1e-3, -1e9)), _op("ceil", M.ceil, _ANY),
    _op("floor", M.floor, _ANY), _op("trunc", _trunc, _ANY), _op("round", _round, _ANY),
    _op("frac", lambda x: x - _trunc(x), _ANY), _op("sign", M.sign, _ANY),
    _op("copy", lambda x: +x, _ANY), _op("astype", lambda x: +x, _ANY,
        ours=lambda x: sg.astype(x, "float64")),
    _op("cos", M.cos, _WIDE, edges=(0.0, 1e6)), _op("sin", M.sin, _WIDE, edges=(0.0, 1e6)),
    _op("tan", M.tan, _ANY, edges=(0.0,)), _op("cosh", M.cosh, _ANY, edges=(0.0, 100.0)),
    _op("sinh", M.sinh, _ANY, edges=(0.0, 1e-9, 100.0)),
    _op("tanh", M.tanh, _ANY, edges=(0.0, 1e-9, 30.0)),
    _op("deg2rad", M.radians, _WIDE), _op("rad2deg", M.degrees, _WIDE),
    _op("digamma", lambda x: M.psi(0, x), logarithmic(0.01, 100), edges=(-0.5, -2.3, 1.4616)),
    _op("lgamma", _lgamma, logarithmic(0.01, 100), edges=(1.0, 2.0, -0.5, -3.7)),
    _op("polygamma", _zeta_slope(2), logarithmic(0.1, 100), edges=(-0.5, -1.4),
        ours=lambda x: sg.polygamma(2, x)),
    _op("elu", lambda x: x if x > 0 else M.mpf("0.75") * M.expm1(x), _ANY,
        ours=lambda x: sg.elu(x, 0.75)),
    _op("erf", M.erf, _ANY, edges=(0.0, 6.0)), _op("erfc", M.erfc, _ANY, edges=(0.0, 20.0)),
    _op("erfinv", M.erfinv, between(-0.99, 0.99), edges=(0.0, 0.999)),
    _op("ndtri", _ndtri, between(0.01, 0.99), edges=(0.5, 0.001)),
    _op("exp", M.exp, _ANY, edges=(0.0, 300.0)), _op("exp2", lambda x: M.mpf(2) ** x, _ANY),
    _op("expm1", M.expm1, _ANY, edges=(0.0, 1e-12)),
    _op("gelu", _gelu, _ANY, edges=(0.0, 9.0, -9.0)),
    _op("hardshrink", lambda x: x if abs(x) > 0.5 else 0 * x, _ANY),
    _op("softshrink", lambda x: x - M.sign(x) / 2 if abs(x) > 0.5 else 0 * x, _ANY),
    _op("hardsigmoid", lambda x: _clamp(x + 3, M.mpf(0), M.mpf(6)) / 6, _WIDE,
        order_of_tensors=1),
    _op("hardtanh", lambda x: _clamp(x, M.mpf(-1), M.mpf(1)), _ANY),
    _op("threshold", lambda x: x if x > 0.5 else M.mpf(2), _ANY,
        ours=lambda x: sg.threshold(x, 0.5, 2.0)),
    _op("i0", _bessel(0, False), _WIDE, edges=(0.0, 1e-9)),
    _op("i1", _bessel(1, False), _WIDE, edges=(0.0, 1e-9)),
    _op("i0e", _bessel(0, True), _WIDE, edges=(1e-9, 300.0)),
    _op("i1e", _bessel(1, True), _WIDE, edges=(1e-9, 300.0)),
    _op("bessel_j0", lambda x: M.besselj(0, x), _WIDE, edges=(0.0, 1e-9, 8.0)),
    _op("bessel_j1", lambda x: M.besselj(1, x), _WIDE, edges=(0.0, 1e-9, 8.0)),
    _op("bessel_y0", lambda x: M.bessely(0, x), logarithmic(0.1, 20), edges=(8.0,)),
    _op("bessel_y1", lambda x: M.bessely(1, x), logarithmic(0.1, 20), edges=(8.0,)),
    _op("modified_bessel_k0", lambda x: M.besselk(0, x), logarithmic(0.1, 20), edges=(2.0,)),
    _op("modified_bessel_k1", lambda x: M.besselk(1, x), logarithmic(0.1, 20), edges=(2.0,)),
    _op("scaled_modified_bessel_k0", lambda x: M.exp(x) * M.besselk(0, x), logarithmic(0.1, 20)),
    _op("scaled_modified_bessel_k1", lambda x: M.exp(x) * M.besselk(1, x), logarithmic(0.1, 20)),
    _op("spherical_bessel_j0", lambda x: M.sinc(x), _WIDE, edges=(1e-9, 1.0)),
    _op("spherical_j1", lambda x: (M.sinc(x) - M.cos(x)) / x, _WIDE, edges=(1e-9, 1.0)),
    _op("airy_ai", M.airyai, _WIDE, edges=(0.0, -4.0, 2.0)),
    _op("airy_ai_slope", lambda x: M.airyai(x, derivative=1), _WIDE, edges=(0.0, -4.0, 2.0)),
    _op("dawsn", _dawsn, _WIDE, edges=(0.0, 1e-9, 3.0, 6.0, 1e3)),
    _op("dawsn_slope", lambda x: 1 - 2 * x * _dawsn(x), _WIDE, edges=(0.0, 1e-9, 3.0, 6.0)),
    _op("exp1", M.e1, logarithmic(0.01, 100), edges=(1.0, 5.0, 1e-9)),
    _op("expi", M.ei, _WIDE, edges=(0.375, 6.0, 24.0, -1.0, -5.0, 1e-9)),
    _op("hyp1f1", lambda x: M.hyp1f1(1.5, 2.75, x), _WIDE, edges=(0.0, -60.0),
        ours=lambda x: sg.special.hyp1f1(1.5, 2.75, x)),
    _op("hyp2f1", lambda x: M.hyp2f1(1.5, -0.75, 2.25, x), between(-3, 0.99), edges=(0.0, -60.0),
        ours=lambda x: sg.special.hyp2f1(1.5, -0.75, 2.25, x)),
    _op("expn", lambda x: M.expint(3, x), logarithmic(0.01, 100), edges=(1.0,),
        ours=lambda x: sg.special.expn(3, x)),
    _op("sine_integral", M.si, _WIDE, edges=(0.0, 1e-9, 3.0, 8.0, 1e3)),
    _op("cosine_integral", M.ci, logarithmic(0.01, 100), edges=(0.6, 3.0, 8.0, 1e3)),
    _op("fresnel_sine", M.fresnels, _WIDE, edges=(0.0, 1e-9, 1.5, 2.5, 100.0)),
    _op("fresnel_cosine", M.fresnelc, _WIDE, edges=(0.0, 1e-9, 1.5, 2.5, 100.0)),
    _op("fresnel_sine_slope", lambda x: M.sin(M.pi * x * x / 2), _WIDE, edges=(0.0, 100.0)),
    _op("fresnel_cosine_slope", lambda x: M.cos(M.pi * x * x / 2), _WIDE, edges=(0.0, 100.0)),
    _op("spence", lambda x: M.re(M.polylog(2, 1 - x)), logarithmic(0.01, 100),
        edges=(0.5, 0.999999, 1.0, 1.000001, 2.0)),
    _op("owens_t", _owens_t, _ANY, _ANY, edges=((0.0, 1.0), (1.0, 0.0), (2.0, 1.0), (0.67, 3.0))),
    _op("orthogonal_polynomial", lambda x: M.legendre(5, x), _ANY, edges=(1.0, -1.0),
        ours=lambda x: sg.special.orthogonal_polynomial(x, 5, "legendre_p")),
    _op("leaky_relu", lambda x: x if x > 0 else x / 4, _ANY,
        ours=lambda x: sg.leaky_relu(x, 0.25)),
    _op("log", M.log, _POSITIVE), _op("log10", _base(10), _POSITIVE),
    _op("log2", _base(2), _POSITIVE),
    _op("log1p", M.log1p, between(-0.99, 30), edges=(0.0, 1e-12, -1e-12)),
    _op("log_odds", lambda x: M.log(x / (1 - x)), between(1e-3, 0.999), edges=(0.5,)),
    _op("logit", lambda x: M.log(x / (1 - x)), between(1e-3, 0.999), edges=(0.5,)),
    _op("negative", lambda x: -x, _ANY), _op("relu", lambda x: max(x, 0 * x), _ANY),
    _op("reciprocal", lambda x: 1 / x, logarithmic(0.01, 100)),
    _op("rsqrt", lambda x: 1 / M.sqrt(x), logarithmic(0.01, 1e6)),
    _op("sqrt", M.sqrt, logarithmic(0.01, 1e6)), _op("square", lambda x: x * x, _WIDE),
    _op("sigmoid", _sigmoid, _WIDE, edges=(0.0, 40.0, -40.0)),
    _op("silu", lambda x: x * _sigmoid(x), _WIDE, edges=(0.0, 40.0, -40.0)),
    _op("sinc", lambda x: M.sincpi(x), _ANY, edges=(0.0, 1e-9, 1.0, -0.25)),
    _op("softplus", _log1p_exp, _WIDE, edges=(0.0, 50.0, -50.0)),
    _op("softsign", lambda x: x / (1 + abs(x)), _WIDE),
    _op("add", lambda x, y: x + y, _ANY, _ANY), _op("subtract", lambda x, y: x - y, _ANY, _ANY),
    _op("multiply", lambda x, y: x * y, _ANY, _ANY),
    _op("divide", lambda x, y: x / y, _ANY, logarithmic(0.1, 10), edges=((1.0, -3.0),)),
    _op("atan2", M.atan2, _ANY, _ANY, edges=((0.0, 1.0), (1.0, 0.0), (-1.0, 1e-9))),
    _op("hypot", M.hypot, _ANY, _ANY, edges=((0.0, 1.0), (1e-3, -1.0))),
    _op("copysign", lambda x, y: abs(x) * M.sign(y), _ANY, _ANY),
    _op("maximum", max, _ANY, _ANY), _op("minimum", min, _ANY, _ANY),
    _op("fmax", max, _ANY, _ANY), _op("fmin", min, _ANY, _ANY),
    _op("fmod", _fmod, _WIDE, between(0.5, 3)),
    _op("remainder", lambda x, y: x - y * M.floor(x / y), _WIDE, between(0.5, 3)),
    _op("logaddexp", _logaddexp, _ANY, _ANY, edges=((1.0, 1.0), (90.0, -90.0))),
    _op("logaddexp2", lambda x, y: _logaddexp(x * _LN2, y * _LN2) / _LN2, _ANY, _ANY,
        edges=((1.0, 1.0), (90.0, -90.0))),
    _op("power", M.power, logarithmic(0.1, 10), _ANY, edges=((2.0, 0.0), (1.0, 5.0), (3.0, 2.0))),
    _op("prelu", lambda x, y: x if x > 0 else x * y, _ANY, _ANY),
    _op("xlogy", lambda x, y: x * M.log(y), _ANY, logarithmic(0.1, 10), edges=((0.0, 2.0),)),
    _op("binary_cross_entropy", _cross, between(0.01, 0.99), _SHARE),
    _op("clamp", _clamp, _ANY, between(-2, -0.5), between(0.5, 2)),
    _op("where", lambda x, y: x, _ANY, _ANY, ours=lambda x, y: sg.where(np.True_, x, y)),
    _op("gammainc", lambda x: M.gammainc(2.5, 0, x, regularized=True), logarithmic(0.1, 20),
        ours=lambda x: sg.special.gammainc(2.5, x)),
    _op("gammaincc", lambda x: M.gammainc(2.5, x, M.inf, regularized=True), logarithmic(0.1, 20),
        ours=lambda x: sg.special.gammaincc(2.5, x)),
    _op("betainc", lambda x: M.betainc(2.5, 1.5, 0, x, regularized=True), between(0.01, 0.99),
        ours=lambda x: sg.special.betainc(2.5, 1.5, x)),
    _op("gamma_slope", _gamma_slope, between(0.5, 8), between(0.5, 8), order=1),
]  # fmt: skip
