"""Kernels that SciPy's C code calls: integrals and filters, without the interpreter."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from scipy import LowLevelCallable, integrate, ndimage

import staticgraph as sg

X, A = (sg.placeholder(name, (), "float64") for name in "xa")
W = sg.placeholder("w", (None,), "float64")
DAMPED = sg.compile([X, A], sg.exp(-A * X * X) * sg.cos(X), name="damped")


def test_integrals_are_those_of_the_python_function() -> None:
    called = DAMPED.scipy({"x": 0.0, "a": 1.0}).low_level()
    assert isinstance(called, LowLevelCallable)
    for a in (0.5, 2.0):
        value, _ = integrate.quad(called, -8, 8, args=(a,), epsabs=1e-13)
        assert value == pytest.approx(np.sqrt(np.pi / a) * np.exp(-1 / (4 * a)), abs=1e-9)
    fixed = DAMPED.scipy(0.0, a=2.0).low_level()
    assert integrate.quad(fixed, -8, 8)[0] == integrate.quad(called, -8, 8, args=(2.0,))[0]
    bell = sg.compile([X, A], sg.exp(-X * X - A * A)).scipy({"x": 0.0, "a": 0.0}).low_level()
    assert integrate.nquad(bell, [(-6, 6), (-6, 6)])[0] == pytest.approx(np.pi, abs=1e-9)


def test_a_filter_of_windows() -> None:
    image = np.random.default_rng(0).normal(size=(20, 30))
    spread = sg.compile([W], sg.max(W) - sg.min(W)).scipy(np.zeros(9)).low_level("window")
    found = ndimage.generic_filter(image, spread, size=3)
    np.testing.assert_array_equal(found, ndimage.generic_filter(image, np.ptp, size=3))
    with pytest.raises(RuntimeError, match="error in filter function"):
        ndimage.generic_filter(image, spread, size=5)


def test_it_keeps_what_it_needs() -> None:
    table = np.linspace(0.0, 1.0, 100_000)
    called = sg.compile([W, X], sg.sum(sg.sin(W * X))).scipy({"x": 0.0}, w=table).low_level()
    expected = np.sum((1 - np.cos(table[1:])) / table[1:])
    del table
    gc.collect()
    others = [np.full(100_000, np.nan) for _ in range(4)]
    assert integrate.quad(called, 0, 1)[0] == pytest.approx(expected, rel=1e-9)
    assert all(np.isnan(one).all() for one in others)


def test_variables_are_read_at_each_call() -> None:
    v = sg.variable(np.array(2.0), name="v")
    called = sg.compile([X], v * X).scipy(0.0).low_level()
    assert integrate.quad(called, 0, 1)[0] == pytest.approx(1)
    v.value = np.array(4.0)
    assert integrate.quad(called, 0, 1)[0] == pytest.approx(2)


def test_a_loop_and_a_product() -> None:
    z = sg.placeholder("z", (None, None), "float64")
    power = sg.compile([z], sg.sum(z @ z)).scipy(np.zeros((2, 2))).low_level()
    # [[x, 1], [2, 3]] squared adds up to x^2 + 2 + x + 3 + 2x + 6 + 11
    assert integrate.quad(power, 0, 1, args=(1, 2, 3))[0] == pytest.approx(22 + 1 / 3 + 1.5)
    _, total = sg.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] + X), (0, X))
    called = sg.compile([X], total).scipy(0.0).low_level()
    assert integrate.quad(called, 0, 1)[0] == pytest.approx(500.5)


def test_another_number_of_values_gives_nan() -> None:
    called = DAMPED.scipy({"x": 0.0, "a": 1.0}).low_level()
    with pytest.warns(integrate.IntegrationWarning):
        assert np.isnan(integrate.quad(called, 0, 1)[0])


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = sg.placeholder("narrow", (None,))
    refused: list[tuple[Any, type, str]] = [
        (sg.compile([W], W * 2).scipy(np.ones(3)), sg.OutputError, "the value is float64.w.0."),
        (sg.compile([narrow], sg.sum(narrow)).scipy(np.ones(3)), sg.OptionError, "of float32, not"),
        (sg.compile([W], sg.sort(W)[0]).scipy(np.ones(3)), sg.OptionError, "function of Python's"),
    ]
    for functions, error, text in refused:
        with pytest.raises(error, match=text):
            functions.low_level()
    f = DAMPED.scipy(0.0, a=1.0)
    with pytest.raises(sg.OptionError, match="low_level: the kind is one of"):
        f.low_level("x")
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match="low_level: SciPy is not installed"):
        f.low_level()
