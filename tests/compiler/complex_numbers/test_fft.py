"""Discrete Fourier transforms: NumPy's values, and gradients, in both paradigms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 8))
Z = X + 1j * RNG.normal(size=(3, 8))
ALONG_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


def given(name: str) -> Any:
    return X if name in ("rfft", "ihfft") else Z


@pytest.mark.parametrize("name", ALONG_ONE)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms_along_an_axis_are_numpys(name: str, norm: str | None) -> None:
    a = given(name)
    for n in (None, 5, 11):
        for axis in (-1, 0):
            expected = getattr(np.fft, name)(a, n, axis, norm)
            for found in (
                getattr(sg.fft, name)(a, n, axis, norm),
                getattr(dynamic.fft, name)(dynamic.tensor(a), n, axis, norm).numpy(),
            ):
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ALONG_ONE)
def test_gradients_are_difference_quotients(name: str) -> None:
    a, n, norm = given(name), 7, "ortho"
    transform = getattr(np.fft, name)
    c = RNG.normal(size=transform(a, n, -1, norm).shape) * (1 + 0.5j)

    def loss(at: Any) -> float:
        return float((np.conj(c) * transform(at, n, -1, norm)).real.sum())

    def ours(at: Any) -> Any:
        return sg.sum(sg.real(np.conj(c) * getattr(sg.fft, name)(at, n, -1, norm)))

    found = sg.grad(ours)(a)
    step = 1e-6
    for place in ((0, 0), (1, 3), (2, 7)):
        unit = np.zeros_like(a)
        unit[place] = 1
        quotient: complex = (loss(a + step * unit) - loss(a - step * unit)) / (2 * step)
        if a.dtype.kind == "c":
            turned = 1j * step * unit
            quotient += 1j * (loss(a + turned) - loss(a - turned)) / (2 * step)
        assert abs(quotient - found[place]) < 1e-8
    tensor = dynamic.tensor(a, requires_grad=True)
    spectrum = getattr(dynamic.fft, name)(tensor, n, -1, norm)
    (dynamic.tensor(np.conj(c)) * spectrum).real.sum().backward()
    np.testing.assert_allclose(tensor.grad.numpy(), found, rtol=1e-12, atol=1e-14)


def test_second_derivatives() -> None:
    def loss(x: Any) -> Any:
        spectrum = sg.fft.rfft(x)
        return sg.sum(sg.real(spectrum * sg.conj(spectrum)) ** 2)

    x, step = X[0, :4], 1e-5
    rows = [
        (sg.grad(loss)(x + step * one) - sg.grad(loss)(x - step * one)) / (2 * step)
        for one in np.eye(4)
    ]
    np.testing.assert_allclose(sg.hessian(loss)(x), rows, rtol=1e-7)


@pytest.mark.parametrize(
    "name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
)
def test_transforms_along_several_axes_are_numpys(name: str) -> None:
    a = RNG.normal(size=(2, 4, 6)) + (0 if name[0] == "r" else 1j)
    expected, ours = getattr(np.fft, name), getattr(sg.fft, name)
    for args in ((), ((3, 5), (-2, -1)), ((5, 3), (2, 0))):
        np.testing.assert_allclose(ours(a, *args), expected(a, *args), rtol=1e-12, atol=1e-14)


def test_shifts_and_frequencies_are_numpys() -> None:
    for n in (5, 6):
        a = np.arange(n * 4.0).reshape(n, 4)
        np.testing.assert_array_equal(sg.fft.fftshift(a), np.fft.fftshift(a))
        np.testing.assert_array_equal(sg.fft.ifftshift(a, 0), np.fft.ifftshift(a, 0))
        np.testing.assert_array_equal(np.asarray(sg.fft.fftfreq(n, 0.5)), np.fft.fftfreq(n, 0.5))
        np.testing.assert_array_equal(np.asarray(sg.fft.rfftfreq(n)), np.fft.rfftfreq(n))
        assert dynamic.fft.fftfreq(n).dtype is dynamic.float32
        np.testing.assert_allclose(dynamic.fft.rfftfreq(n).numpy(), np.fft.rfftfreq(n), rtol=1e-7)


def test_sizes_need_not_be_known() -> None:
    x = sg.placeholder("x", (None,), "float64")
    back = sg.fft.irfft(sg.fft.rfft(x), x.shape[0])
    run = sg.compile([x], [sg.fft.fft(x), sg.fft.rfft(x), back, sg.fft.fftshift(x)])
    for n in (1, 2, 7):
        v = X[0, :n]
        expected = np.fft.fft(v), np.fft.rfft(v), v, np.fft.fftshift(v)
        for found, value in zip(run(v), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-14)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: sg.fft.fft(X, 0), "fft"),
    (lambda: sg.fft.fft(X, norm="x"), "norm"),
    (lambda: sg.fft.fft(X, 2.5), r"fft: a size is an integer, not 2\.5"),
    (lambda: sg.fft.rfft(Z), "rfft"),
    (lambda: sg.fft.fft(np.zeros((3, 0))), "fft"),
    (lambda: sg.fft.fft(X, axis=5), "axis"),
    (lambda: sg.fft.fftn(X, (2, 3, 4)), "axis is repeated"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(sg.StaticGraphError, match=text):
        call()


def test_gradients_of_real_numbers_of_unknown_size() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    slope = sg.compile([x], sg.grad(sg.sum(sg.abs(sg.fft.rfft(x)) ** 2), x))
    for size in (1, 2, 6, 7):
        given = np.random.default_rng(size).normal(size=(2, size))
        whole = np.fft.rfft(given)
        whole = np.concatenate([whole, np.zeros((2, size - size // 2 - 1))], 1)
        expected = 2 * size * np.fft.ifft(whole).real
        np.testing.assert_allclose(slope(given), expected, rtol=1e-12, atol=1e-12)
