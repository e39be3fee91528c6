"""Bessel and Airy functions and orthogonal polynomials against mpmath: units in the last place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.reference.orthogonal import FAMILIES
from tests.combinations import some

rng = np.random.default_rng(3)
SIZES = np.concatenate([rng.uniform(0.01, 30, 40), [1e-8, 2.0, 8.0, 100.0]])
BOTH = np.concatenate([-SIZES, SIZES])


def _waves(x: np.ndarray) -> np.ndarray:
    return np.sqrt(2 / (np.pi * abs(x)))


def _airy_waves(x: np.ndarray) -> np.ndarray:
    return np.where(x < -1, abs(x) ** -0.25 / math.sqrt(np.pi), 0)


def _nothing(x: np.ndarray) -> np.ndarray:
    return x * 0


CASES: dict[str, tuple[np.ndarray, Callable[[Any], Any], Callable[[Any], Any], float]] = {
    "bessel_j0": (BOTH, lambda x: mp.besselj(0, x), _waves, 12),
    "bessel_j1": (BOTH, lambda x: mp.besselj(1, x), _waves, 6),
    "bessel_y0": (SIZES, lambda x: mp.bessely(0, x), _waves, 12),
    "bessel_y1": (SIZES, lambda x: mp.bessely(1, x), _waves, 6),
    "modified_bessel_k0": (SIZES, lambda x: mp.besselk(0, x), _nothing, 7),
    "modified_bessel_k1": (SIZES, lambda x: mp.besselk(1, x), _nothing, 5),
    "scaled_modified_bessel_k0": (SIZES, lambda x: mp.exp(x) * mp.besselk(0, x), _nothing, 7),
    "scaled_modified_bessel_k1": (SIZES, lambda x: mp.exp(x) * mp.besselk(1, x), _nothing, 5),
    "spherical_bessel_j0": (BOTH, mp.sinc, _nothing, 2),
    "airy_ai": (BOTH[abs(BOTH) < 60], mp.airyai, _airy_waves, 6),
}
"""Where, the function, its envelope, and the units in the last place of the larger of both."""


@pytest.mark.slow
@pytest.mark.parametrize("name", some(CASES, 4))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_are_units_in_the_last_place_of_value_or_envelope(name: str, dtype: str) -> None:
    places, exact, envelope, units = CASES[name]
    x = places.astype(dtype)
    with mp.workdps(40):
        expected = np.array([float(exact(mp.mpf(float(one)))) for one in x])
    kept = abs(expected) > 1e-30 if dtype == "float32" else abs(expected) > 0
    found = getattr(sg.special, name)(x)
    assert found.dtype == dtype
    size = np.maximum(abs(expected), envelope(x.astype("float64")))
    assert np.max((abs(found - expected) / size)[kept]) <= units * np.finfo(dtype).eps
    compiled = sg.function(getattr(sg.special, name))(x)
    assert np.max((abs(compiled - expected) / size)[kept]) <= units * np.finfo(dtype).eps


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_edges() -> None:
    s, inf, nan = sg.special, math.inf, math.nan
    at = np.array([0.0, inf, -inf, nan])
    for name, expected in {
        "bessel_j0": [1, 0, 0, nan], "bessel_j1": [0, 0, 0, nan],
        "bessel_y0": [-inf, 0, nan, nan], "bessel_y1": [-inf, 0, nan, nan],
        "modified_bessel_k0": [inf, 0, nan, nan], "modified_bessel_k1": [inf, 0, nan, nan],
        "scaled_modified_bessel_k0": [inf, 0, nan, nan],
        "scaled_modified_bessel_k1": [inf, 0, nan, nan],
        "spherical_bessel_j0": [1, 0, 0, nan],
        "airy_ai": [0.355028053887817239, 0, 0, nan],
    }.items():  # fmt: skip
        assert_allclose(getattr(s, name)(at), expected, rtol=1e-15, err_msg=name)
        assert_allclose(sg.function(getattr(s, name))(at), expected, rtol=1e-15, err_msg=name)
    assert_array_equal(s.bessel_y0(np.array([-1.0])), nan)
    for name, slope in {
        "bessel_y0": inf, "bessel_y1": inf, "modified_bessel_k0": -inf, "modified_bessel_k1": -inf,
        "scaled_modified_bessel_k0": -inf, "scaled_modified_bessel_k1": -inf,
    }.items():  # fmt: skip
        assert sg.grad(getattr(s, name))(np.array(0.0)) == slope, name
    assert s.airy_ai(1.5) == s.airy_ai(np.array(1.5))
    assert s.j0 is s.bessel_j0
    assert s.k1e is s.scaled_modified_bessel_k1


@pytest.mark.slow
def test_far_waves_of_airy_ai_keep_their_phase_and_size() -> None:
    at = np.array([-1e5, -1e7, -1e9, -1e12, -1e15])
    with mp.workdps(60):
        expected = np.array([float(mp.airyai(mp.mpf(float(one)))) for one in at])
    for compute in (sg.special.airy_ai, sg.function(sg.special.airy_ai)):
        assert np.max(abs(compute(at) - expected) / _airy_waves(at)) < 1e-9
        assert abs(compute(np.array(-1e200))) < 1e-50
        assert abs(compute(np.array(-3e38, "float32"))) < 1e-5


EXACT: dict[str, Callable[[int, Any], Any]] = {
    "chebyshev_polynomial_t": mp.chebyt, "chebyshev_polynomial_u": mp.chebyu,
    "chebyshev_polynomial_v": lambda n, x: mp.jacobi(n, -0.5, 0.5, x) / mp.jacobi(n, -0.5, 0.5, 1),
    "chebyshev_polynomial_w":
        lambda n, x: (2 * n + 1) * mp.jacobi(n, 0.5, -0.5, x) / mp.jacobi(n, 0.5, -0.5, 1),
    "hermite_polynomial_h": mp.hermite,
    "hermite_polynomial_he":
        lambda n, x: mp.hermite(n, x / mp.sqrt(2)) / mp.sqrt(mp.mpf(2) ** n),
    "laguerre_polynomial_l": lambda n, x: mp.laguerre(n, 0, x),
    "legendre_polynomial_p": mp.legendre,
}  # fmt: skip
SCIPYS = {
    "eval_chebyt": ("chebyshev_polynomial_t", False),
    "eval_chebyu": ("chebyshev_polynomial_u", False),
    "eval_sh_chebyt": ("chebyshev_polynomial_t", True),
    "eval_sh_chebyu": ("chebyshev_polynomial_u", True),
    "eval_hermite": ("hermite_polynomial_h", False),
    "eval_hermitenorm": ("hermite_polynomial_he", False),
    "eval_laguerre": ("laguerre_polynomial_l", False),
    "eval_legendre": ("legendre_polynomial_p", False),
    "eval_sh_legendre": ("legendre_polynomial_p", True),
}


@pytest.mark.parametrize("name", EXACT)
def test_polynomials_and_their_slopes_are_mpmaths(name: str) -> None:
    function, exact = getattr(sg.special, name), EXACT[name]
    x, n = np.array([-0.8, 0.3, 0.95, 1.7]), np.array([[0], [1], [2], [7]])
    with mp.workdps(40):
        values, slopes = (
            np.array([[float(each(int(k[0]), mp.mpf(one))) for one in x] for k in n])
            for each in (exact, lambda k, at: mp.diff(lambda y: exact(k, y), at))
        )
    assert_allclose(function(x, n), values, rtol=1e-13, atol=1e-14)
    tensor = dynamic.tensor(np.broadcast_to(x, values.shape).copy(), requires_grad=True)
    found = getattr(dynamic.special, name)(tensor, dynamic.tensor(n))
    found.sum().backward()
    assert_array_equal(found.detach().numpy(), function(x, n))
    assert_allclose(tensor.grad.numpy(), slopes, rtol=1e-12, atol=1e-12)
    at, degrees = sg.placeholder("x", (None,), "float64"), sg.placeholder("n", (None, 1), "int64")
    assert_array_equal(sg.compile([at, degrees], function(at, degrees))(x, n), function(x, n))
    rows = sg.vmap(lambda k: function(x, k))(n)
    assert_array_equal(rows, function(x, n))
    assert_array_equal(function(x, -1), np.zeros(4))
    if name.startswith("chebyshev"):
        shifted = getattr(sg.special, f"shifted_{name}")
        assert_array_equal(shifted(x, n), function(2 * x - 1, n))


@pytest.mark.parametrize("name", SCIPYS)
def test_scipys_names_have_the_degree_first(name: str) -> None:
    other, shifted = SCIPYS[name]
    x = np.array([-0.8, 0.3, 1.7])
    exact = [float(EXACT[other](5, mp.mpf(2 * one - 1 if shifted else one))) for one in x]
    assert_allclose(getattr(sg.special, name)(5, x), exact, rtol=1e-12)


def test_polynomials_of_what_is_no_degree_are_refused() -> None:
    x = np.array([0.5])
    with pytest.raises(DTypeError, match="degrees are integers, got float64"):
        sg.special.legendre_polynomial_p(x, 1.5)
    with pytest.raises(DTypeError, match="degrees are integers, got float64"):
        sg.special.orthogonal_polynomial.infer_type(
            sg.TensorType((1,), "float64"), sg.TensorType((1,), "float64"), family="x", order=0
        )
    with pytest.raises(OptionError, match="family='gegenbauer' is none of chebyshev_t"):
        sg.special.orthogonal_polynomial(x, 2, "gegenbauer")
    with pytest.raises(OptionError, match="order=-1 is negative"):
        sg.special.orthogonal_polynomial(x, 2, "legendre_p", -1)
    assert sg.special.legendre_polynomial_p(np.array([1, 2]), 2).tolist() == [1.0, 5.5]
    assert sg.special.legendre_polynomial_p(np.array([1, 2], "float32"), 2).dtype == "float32"
    assert len(FAMILIES) == 8
