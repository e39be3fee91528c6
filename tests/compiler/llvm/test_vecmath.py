"""The vectorised maths functions against mpmath, float64 NumPy and the IEEE special values.

They are compiled as kernels have them: natively, in loops of vectors with a masked rest, and alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import staticgraph as sg
from benchmarks.vecmath_loops import LOOP, one_by_one, source, vectorised
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.llvm import native
from staticgraph.compiler.llvm.lower.rest import WHOLE
from staticgraph.compiler.llvm.vecmath import ARITY, FORMULAS, ULP_BOUND, derive
from staticgraph.compiler.llvm.vecmath.accuracy import FLOAT64_REFERENCE, NEAR_ZEROS, ulp_error
from tests.combinations import some
from tests.paths import ROOT
from tests.processors import machine_for
from tests.samples import elementwise

FLOAT_DTYPES = ("float32", "float64")
UNARY_BOUNDED = tuple(name for name in ULP_BOUND if ARITY[name] == 1)
BINARY_BOUNDED = tuple(name for name in ULP_BOUND if ARITY[name] == 2)
NEAR_IDENTITY = (
    "asin", "asinh", "atan", "atanh", "expm1", "log1p", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
IN_FLOAT64 = ("digamma", "lgamma", "log10")
"""Functions of float32 numbers that are computed in float64."""


MPMATH_REFERENCE: dict[str, Callable[..., Any]] = {
    "acos": mp.acos,
    "acosh": mp.acosh,
    "asin": mp.asin,
    "asinh": mp.asinh,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "atanh": mp.atanh,
    "cos": mp.cos,
    "cosh": mp.cosh,
    "digamma": mp.digamma,
    "erf": mp.erf,
    "erfc": lambda x: mp.erfc(max(min(x, mp.mpf(40)), mp.mpf(-40))),
    "erfinv": mp.erfinv,
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1,
    "hypot": mp.hypot,
    "lgamma": lambda x: mp.loggamma(x).real,
    "log": mp.log,
    "log10": lambda x: mp.log(x) / mp.log(10),
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2),
    "logit": lambda x: mp.log(x / (1 - x)),
    "pow": mp.power,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "sin": mp.sin,
    "sinc": lambda x: mp.sinpi(x) / (mp.pi * x),
    "sinh": mp.sinh,
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "tan": mp.tan,
    "tanh": mp.tanh,
}


def random_points(dtype: str, count: int, seed: int) -> np.ndarray:
    """Every magnitude (random bit patterns) and, more densely, the usual ranges."""
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 2 ** (31 if dtype == "float32" else 63), count, dtype=np.uint64)
    signed = patterns.astype("u4" if dtype == "float32" else "u8").view(dtype)
    exp_range = (-104.0, 89.0) if dtype == "float32" else (-746.0, 710.0)
    with np.errstate(invalid="ignore"):
        parts = [
            signed,
            -signed,
            rng.uniform(-1, 1, count),
            rng.uniform(-25, 25, count),
            rng.uniform(*exp_range, count),
            rng.normal(size=count) * 1e-3,
            1 + rng.normal(size=count) * 1e-2,
            np.exp(rng.uniform(-40, 40, count)),
        ]
        points = np.concatenate([part.astype(dtype) for part in parts])
    return points[np.isfinite(points)]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNARY_BOUNDED)
def test_float32_within_bound(name: str) -> None:
    x = random_points("float32", 40_000, seed=1)
    with np.errstate(all="ignore"):
        reference = FLOAT64_REFERENCE[name](x.astype("float64"))
    assert np.max(ulp_error(vectorised(name, x), reference)) <= ULP_BOUND[name]["float32"]


STRIDED = {"acosh", "asinh", "atanh", "digamma", "erfinv", "lgamma", "log10", "logit", "sinc"}
"""Of these every 251st argument was tried so far."""


def test_the_published_errors_are_of_many_float32_and_within_the_bounds() -> None:
    text = (ROOT / "docs" / "ulp.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| (\S+) \| ([\d,]+) \|", text, re.MULTILINE
    )
    assert sorted(name for name, *_ in rows) == sorted(UNARY_BOUNDED)
    for name, error, stated, argument, tried in rows:
        assert float(error) <= float(stated) == ULP_BOUND[name]["float32"]
        assert int(tried.replace(",", "")) >= (2**24 if name in STRIDED else 2**32)
        at = np.array([argument], "float32")
        reference = FLOAT64_REFERENCE[name](at.astype("float64"))
        (found,) = ulp_error(vectorised(name, at), reference)
        assert f"{found:.3f}" == error


def mpmath_error(got: Any, reference: Any, slack: float = 0.0) -> float:
    """Error in ulp of its dtype of one result against an mpmath number, beyond `slack`."""
    info = np.finfo(got.dtype)
    if isinstance(reference, mpmath.mpc) or mp.isnan(reference):
        return 0.0 if np.isnan(got) else math.inf
    if np.isnan(got):
        return math.inf
    limit = (mp.mpf(2) - mp.mpf(2) ** -(info.nmant + 1)) * mp.mpf(2) ** (info.maxexp - 1)
    if abs(reference) >= limit or np.isinf(got):
        same = np.isinf(got) and abs(reference) >= limit and (got > 0) == (reference > 0)
        return 0.0 if same else math.inf
    _, exponent = mp.frexp(abs(reference))
    spacing = mp.mpf(2) ** (max(int(exponent) - 1, int(info.minexp)) - info.nmant)
    return float(max(0, abs(mp.mpf(float(got)) - reference) - slack) / spacing)


def in_real_domain(name: str, x: float) -> bool:
    return not (
        (name in ("log", "log10", "log2", "rsqrt") and x <= 0)
        or (name == "log1p" and x <= -1)
        or (name in ("asin", "acos") and abs(x) > 1)
        or (name == "atanh" and abs(x) >= 1)
        or (name == "erfinv" and abs(x) >= 1)
        or (name == "acosh" and x < 1)
        or (name == "logit" and not 0 < x < 1)
        or (name in ("lgamma", "digamma") and x <= 0 and x == math.floor(x))
    )


def slack_of(name: str, x: Any) -> float:
    """The absolute error that the statement of the bounds allows."""
    below = name in ("lgamma", "digamma") and x < 0 and x.dtype == np.float64
    return NEAR_ZEROS if below else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", UNARY_BOUNDED)
@pytest.mark.parametrize("count", some([60, 500], 1))
def test_mpmath_within_bound(name: str, dtype: str, count: int) -> None:
    x = random_points(dtype, count // 2, seed=2)
    x = np.concatenate([x, np.random.default_rng(3).uniform(0, 6, count).astype(dtype)])
    x = np.array([value for value in x if in_real_domain(name, value)], dtype)
    got = vectorised(name, x)
    with mp.workdps(60):
        errors = [
            mpmath_error(g, MPMATH_REFERENCE[name](mp.mpf(float(v))), slack_of(name, v))
            for g, v in zip(got, x, strict=True)
        ]
    assert len(errors) > count
    assert max(errors) <= ULP_BOUND[name][dtype]


def log_uniform(rng: np.random.Generator, limit: float, count: int) -> np.ndarray:
    return np.exp(rng.uniform(-limit, limit, count))


def binary_points(name: str, dtype: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs over the whole range; for pow, such that the result covers the range of the dtype."""
    rng = np.random.default_rng(seed)
    limit = 85.0 if dtype == "float32" else 700.0
    if name in ("atan2", "hypot"):
        x = log_uniform(rng, limit, count) * rng.choice([-1, 1], count)
        near = x * log_uniform(rng, 3.0, count) * rng.choice([-1, 1], count)
        far = log_uniform(rng, limit, count) * rng.choice([-1, 1], count)
        return np.concatenate([x, x]).astype(dtype), np.concatenate([near, far]).astype(dtype)
    wide, near_one = log_uniform(rng, limit, count), 1 + rng.normal(size=count) * 1e-3
    x = np.concatenate([wide, near_one, rng.uniform(0, 9, count)]).astype(dtype)
    x[x == 1] = 1 + np.finfo(dtype).eps
    y = rng.uniform(-1.2 * limit, 1.2 * limit, x.size) / np.log(x.astype("float64"))
    negative_x, integer_y = -rng.uniform(0, 9, count), rng.integers(-20, 20, count)
    return (
        np.concatenate([x, negative_x]).astype(dtype),
        np.concatenate([y, integer_y]).astype(dtype),
    )


@pytest.mark.parametrize("name", BINARY_BOUNDED)
def test_binary_float32_within_bound(name: str) -> None:
    x, y = binary_points(name, "float32", 50_000, seed=3)
    with np.errstate(all="ignore"):
        reference = FLOAT64_REFERENCE[name](x.astype("float64"), y.astype("float64"))
    assert np.max(ulp_error(vectorised(name, x, y), reference)) <= ULP_BOUND[name]["float32"]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", BINARY_BOUNDED)
def test_binary_mpmath_within_bound(name: str, dtype: str) -> None:
    x, y = binary_points(name, dtype, 600, seed=4)
    got = vectorised(name, x, y)
    with mp.workdps(60):
        errors = [
            mpmath_error(g, MPMATH_REFERENCE[name](mp.mpf(float(a)), mp.mpf(float(b))))
            for g, a, b in zip(got, x, y, strict=True)
        ]
    assert max(errors) <= ULP_BOUND[name][dtype]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", BINARY_BOUNDED)
def test_binary_special_values(name: str, dtype: str) -> None:
    """Every pair of zeros, infinities, nan, odd, even, huge and fractional numbers, against C."""
    info = np.finfo(dtype)
    odd_limit = float(2 ** (info.nmant + 1) - 1)
    numbers = [0.0, 0.5, 0.9999, 1.0, 2.0, 2.5, 3.0, odd_limit, 2.0**80, math.inf]
    numbers += [float(info.smallest_subnormal), float(info.max)]
    values = [sign * number for number in numbers for sign in (1, -1)] + [math.nan]
    x, y = (grid.ravel().astype(dtype) for grid in np.meshgrid(values, values))
    got = vectorised(name, x, y)
    with np.errstate(all="ignore"):
        reference = FLOAT64_REFERENCE[name](x.astype("float64"), y.astype("float64"))
        rounded = reference.astype(dtype)
    assert np.max(ulp_error(got, reference)) <= ULP_BOUND[name][dtype] + 0.5
    number = ~np.isnan(rounded)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(rounded[number]))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_remainder_is_numpys(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, y = (
        np.concatenate([
            rng.normal(size=20_000) * scale,
            [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 6.0, -6.0],
        ]).astype(dtype)
        for scale in (1e6, 1.0)
    )  # fmt: skip
    y[-9:] = np.roll(y[-9:], 3)
    with np.errstate(all="ignore"):
        expected = np.remainder(x, y)
    assert_same_values_and_signs(vectorised("remainder", x, y), expected)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_trigonometric_functions_of_huge_arguments(name: str) -> None:
    """Neighbours of multiples of pi/2, and 6381956970095103 * 2**797, the worst case of float64
    (Muller, Elementary Functions, on range reduction), whose reduced angle is 2**-61.
    """
    rng = np.random.default_rng(6)
    multiples = np.floor(log_uniform(rng, 35.0, 400)) * (math.pi / 2)
    x = np.concatenate([multiples, [1e22, 2.0**1023, 1.7e308, 6381956970095103.0 * 2.0**797]])
    got = vectorised(name, x)
    with mp.workdps(400):
        for g, v in zip(got, x, strict=True):
            reference = MPMATH_REFERENCE[name](mp.mpf(float(v)))
            slack = mp.mpf(2) ** -96 * (1 + reference**2 if name == "tan" else 1)
            spacing = mp.mpf(float(np.spacing(abs(g))))
            assert abs(mp.mpf(float(g)) - reference) <= ULP_BOUND[name]["float64"] * spacing + slack


SPECIAL_ARGUMENTS = (0.0, -0.0, math.inf, -math.inf, math.nan)
AT_SPECIALS = {  # at 0, -0, inf, -inf; all are nan at nan
    "acos": (math.pi / 2, math.pi / 2, math.nan, math.nan),
    "acosh": (math.nan, math.nan, math.inf, math.nan),
    "asin": (0.0, -0.0, math.nan, math.nan),
    "asinh": (0.0, -0.0, math.inf, -math.inf),
    "atan": (0.0, -0.0, math.pi / 2, -math.pi / 2),
    "atanh": (0.0, -0.0, math.nan, math.nan),
    "cos": (1.0, 1.0, math.nan, math.nan),
    "cosh": (1.0, 1.0, math.inf, math.inf),
    "digamma": (-math.inf, math.inf, math.inf, math.nan),
    "erf": (0.0, -0.0, 1.0, -1.0),
    "erfc": (1.0, 1.0, 0.0, 2.0),
    "erfinv": (0.0, -0.0, math.nan, math.nan),
    "exp": (1.0, 1.0, math.inf, 0.0),
    "exp2": (1.0, 1.0, math.inf, 0.0),
    "expm1": (0.0, -0.0, math.inf, -1.0),
    "lgamma": (math.inf, math.inf, math.inf, math.inf),
    "log": (-math.inf, -math.inf, math.inf, math.nan),
    "log10": (-math.inf, -math.inf, math.inf, math.nan),
    "log2": (-math.inf, -math.inf, math.inf, math.nan),
    "log1p": (0.0, -0.0, math.inf, math.nan),
    "logit": (-math.inf, -math.inf, math.nan, math.nan),
    "rsqrt": (math.inf, -math.inf, 0.0, math.nan),
    "sigmoid": (0.5, 0.5, 1.0, 0.0),
    "sin": (0.0, -0.0, math.nan, math.nan),
    "sinc": (1.0, 1.0, math.nan, math.nan),
    "sinh": (0.0, -0.0, math.inf, -math.inf),
    "softplus": (math.log(2), math.log(2), math.inf, 0.0),
    "tan": (0.0, -0.0, math.nan, math.nan),
    "tanh": (0.0, -0.0, 1.0, -1.0),
    "floor": (0.0, -0.0, math.inf, -math.inf),
    "ceil": (0.0, -0.0, math.inf, -math.inf),
    "trunc": (0.0, -0.0, math.inf, -math.inf),
    "rint": (0.0, -0.0, math.inf, -math.inf),
    "sqrt": (0.0, -0.0, math.inf, math.nan),
    "fabs": (0.0, 0.0, math.inf, math.inf),
}


def assert_same_values_and_signs(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", sorted(AT_SPECIALS))
def test_special_values(name: str, dtype: str) -> None:
    got = vectorised(name, np.array(SPECIAL_ARGUMENTS, dtype))
    assert_same_values_and_signs(got, np.array([*AT_SPECIALS[name], math.nan], dtype))


def test_special_values_are_stated_for_every_bounded_function() -> None:
    assert set(UNARY_BOUNDED) <= set(AT_SPECIALS)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", NEAR_IDENTITY)
def test_tiny_arguments_are_returned_unchanged(name: str, dtype: str) -> None:
    info = np.finfo(dtype)
    tiny = np.array([info.smallest_subnormal, info.tiny, info.tiny * 3], dtype)
    x = np.concatenate([tiny, -tiny])
    assert_same_values_and_signs(vectorised(name, x), x)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize(
    ("name", "reference"),
    [("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rint", np.rint)],
)
def test_rounding_functions(name: str, reference: Any, dtype: str) -> None:
    halves = np.arange(-9, 10) / 2
    x = np.concatenate([halves, [2.0**22 + 0.5, 2.0**30, -0.3, 1e30]]).astype(dtype)
    assert_same_values_and_signs(vectorised(name, x), reference(x))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", ["maximum", "minimum", "copysign"])
def test_binary_selections(name: str, dtype: str) -> None:
    values = [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan]
    x, y = (grid.ravel().astype(dtype) for grid in np.meshgrid(values, values))
    expected = getattr(np, name)(x, y)
    np.testing.assert_array_equal(vectorised(name, x, y), expected)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_extrema_order_signed_zeros(dtype: str) -> None:
    x, y = np.array([0.0, -0.0], dtype), np.array([-0.0, 0.0], dtype)
    assert_same_values_and_signs(vectorised("maximum", x, y), np.array([0.0, 0.0], dtype))
    assert_same_values_and_signs(vectorised("minimum", x, y), np.array([-0.0, -0.0], dtype))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_at_its_poles_and_zeros(name: str, dtype: str) -> None:
    x = np.array([-1.0, -2.0, -1e6, -float(2**60), 1.0, 2.0], dtype)
    pole = math.inf if name == "lgamma" else math.nan
    ends = [0.0, 0.0] if name == "lgamma" else [-np.euler_gamma, 1 - np.euler_gamma]
    expected = np.array([pole] * 4 + ends)
    errors = ulp_error(vectorised(name, x), expected)
    assert max(errors) <= ULP_BOUND[name][dtype] + 0.5


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_decimal_logarithms_of_powers_of_ten_are_exact(dtype: str) -> None:
    exponents = np.arange(0, 11 if dtype == "float32" else 23)
    x = np.array([10**k for k in exponents.tolist()], dtype)
    np.testing.assert_array_equal(vectorised("log10", x), exponents)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_sinc_is_zero_at_integers(dtype: str) -> None:
    x = np.array([1.0, -2.0, 1e6, float(2**40), np.finfo(dtype).max], dtype)
    np.testing.assert_array_equal(vectorised("sinc", x), np.zeros(5))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool"])
def test_extrema_of_integers(dtype: str) -> None:
    top = 1 if dtype == "bool" else np.iinfo(dtype).max
    a, b = np.array([0, top, 1], dtype), np.array([top, 0, 1], dtype)
    x, y = sg.placeholder("x", (3,), dtype), sg.placeholder("y", (3,), dtype)
    larger, smaller = sg.compile([x, y], [sg.maximum(x, y), sg.minimum(x, y)])(a, b)
    np.testing.assert_array_equal(larger, np.maximum(a, b))
    np.testing.assert_array_equal(smaller, np.minimum(a, b))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_fma_rounds_once(dtype: str) -> None:
    x = np.full(3, 1 + np.finfo(dtype).eps, dtype)
    expected = np.full(3, np.finfo(dtype).eps ** 2, dtype)
    for way in (vectorised, one_by_one):
        np.testing.assert_array_equal(way("fma", x, x, -(x * x)), expected)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_isnan(dtype: str) -> None:
    x = np.array([0.0, math.nan, math.inf, -math.inf], dtype)
    np.testing.assert_array_equal(vectorised("isnan", x), np.isnan(x))


def points_for(name: str, dtype: str) -> list[np.ndarray]:
    """Operands of every magnitude, and the special values in all pairs."""
    count = ARITY[name]
    x = random_points(dtype, 50, seed=7)
    special = np.array([*SPECIAL_ARGUMENTS, 1.0, -1.5, np.finfo(dtype).max], dtype)
    grids = np.meshgrid(*[special] * count)
    return [
        np.concatenate([np.roll(x, 17 * i), grid.ravel()]).astype(dtype)
        for i, grid in enumerate(grids)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", some(FORMULAS, 20))
def test_vectors_their_rest_and_numbers_have_the_same_bits(name: str, dtype: str) -> None:
    """So the bounds, which are tested on loops, are those of whatever a kernel makes."""
    operands = points_for(name, dtype)
    whole = operands[0].size - operands[0].size % WHOLE
    operands = [one[:whole] for one in operands]
    in_vectors = vectorised(name, *operands)
    assert_same_bits(one_by_one(name, *operands), in_vectors)
    for length in range(1, WHOLE):
        for start in (0, whole - length):
            rest = slice(start, start + length)
            assert_same_bits(vectorised(name, *(one[rest] for one in operands)), in_vectors[rest])


def assert_same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """But for those of a nan, which IEEE 754 leaves open."""
    np.testing.assert_array_equal(got, expected)
    if got.dtype != bool:
        number = ~np.isnan(expected)
        assert got[number].tobytes() == expected[number].tobytes()


@pytest.mark.long  # test_backends.py and test_emitted.py compare them too
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_both_backends_give_the_same_bits(dtype: str) -> None:
    a, b = points_for("pow", dtype)
    x, y = sg.placeholder("x", (None,), dtype), sg.placeholder("y", (None,), dtype)
    results = [getattr(sg, name)(x) for name in elementwise(1)]
    results += [getattr(sg, name)(x, y) for name in elementwise(2)]
    ours, numbas = (
        sg.compile([x, y], results, backend=backend)(a, b) for backend in ("llvm", "numba")
    )
    for one, other in zip(ours, numbas, strict=True):
        assert_same_bits(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "cpu"), [("x86_64", "haswell"), ("aarch64", "generic")])
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", some([*UNARY_BOUNDED, "rint", "floor", "sqrt"], 6))
def test_loop_is_vectorised(
    name: str, dtype: str, kind: str, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On processors with FMA; the tests need not run on one."""
    texts = []
    optimise = native.optimise

    def seen(module: Any, machine: Any) -> None:
        optimise(module, machine)
        texts.append(str(module))

    monkeypatch.setattr(native, "optimise", seen)
    monkeypatch.setattr(native, "kernel_machine", lambda: machine_for(kind, cpu))
    native.compile_native([parsed_function(source(LOOP, name, 1, dtype))])
    operation = {"rint": "roundeven", "rsqrt": "sqrt"}.get(name, name)
    operation = operation if operation in ("roundeven", "floor", "sqrt") else "fma"
    scalar = "f64" if name in IN_FLOAT64 else "f" + dtype.removeprefix("float")
    assert re.search(rf"call <\d+ x \w+> @llvm\.{operation}\.v\d+{scalar}\(", texts[0])
    if kind == "x86_64" and operation == "fma":  # the rest too: it is masked
        assert not re.search(rf"@llvm\.fma\.{scalar}\(", texts[0])


@pytest.mark.long
def test_coefficients_are_the_derived_ones() -> None:
    for name, text in derive.render().items():
        assert Path(derive.__file__).with_name(name).read_text(encoding="utf-8") == text
