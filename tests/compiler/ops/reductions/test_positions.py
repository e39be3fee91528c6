"""argmax and argmin in kernels: the first of equals wins, and the first nan before all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.combinations import some

DTYPES = ("float32", "float64", "int64", "int8", "uint8", "bool")
AXES = (0, 1, None)


def with_ties(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Few different values, so that most extremes occur more than once."""
    values = np.random.default_rng(seed).integers(0, 5, shape)
    return (values - (2 if np.dtype(dtype).kind in "fi" else 0)).astype(dtype)


def check(x: np.ndarray, axis: int | None, **options: Any) -> None:
    argument = sg.placeholder("x", (None, None), x.dtype)
    outputs = [sg.argmax(argument, axis=axis), sg.argmin(argument, axis=axis)]
    largest, smallest = sg.compile([argument], outputs, **options)(x)
    np.testing.assert_array_equal(largest, x.argmax(axis))
    np.testing.assert_array_equal(smallest, x.argmin(axis))


@pytest.mark.slow
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", some(DTYPES, 3))
def test_the_first_of_equals_wins(dtype: str, axis: int | None) -> None:
    for columns in (1, 7, 16, 33, 150):
        check(with_ties((9, columns), dtype, columns), axis)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_nan_wins(dtype: str, axis: int | None) -> None:
    x = with_ties((12, 40), dtype, 1)
    x[np.random.default_rng(2).random(x.shape) < 0.05] = np.nan
    x[3] = np.nan
    check(x, axis)


@pytest.mark.parametrize("axis", AXES)
def test_infinities_and_zeros_of_either_sign(axis: int | None) -> None:
    check(np.full((3, 20), -np.inf), axis)
    check(np.full((3, 20), np.inf), axis)
    check(np.where(np.arange(60).reshape(3, 20) % 2, 0.0, -0.0), axis)


@pytest.mark.parametrize("axis", AXES)
def test_any_number_of_threads_finds_the_same(axis: int | None) -> None:
    x = with_ties((700, 900), "float32", 3)
    for threads in (1, 2, 5):
        check(x, axis, threads=threads)


@pytest.mark.slow
def test_numbas_kernels_find_the_same() -> None:
    x = with_ties((30, 41), "float32", 4)
    x[5, 7] = np.nan
    for axis in AXES:
        check(x, axis, backend="numba")


def test_without_an_axis_keepdims_keeps_all_axes() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    e = sg.placeholder("e", (None, 3, None), "float64")
    forms = [
        sg.argmax(x, keepdims=True), np.asarray(dynamic.tensor(x).argmax(keepdim=True)),
        np.asarray(np.argmax(dynamic.tensor(x, requires_grad=True), keepdims=True)),
        sg.compile([e], sg.argmax(e, keepdims=True))(x),
        sg.vmap(lambda one: sg.argmax(one, keepdims=True))(x[None])[0],
    ]  # fmt: skip
    for found in forms:
        np.testing.assert_array_equal(found, x.argmax(keepdims=True), strict=True)
    assert (
        dynamic.tensor(3.0).argmin(keepdim=True).shape == sg.argmin(1.5, keepdims=True).shape == ()
    )
