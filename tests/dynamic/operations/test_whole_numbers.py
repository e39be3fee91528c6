"""What functions of floats make of integers, bools and complex numbers: PyTorch 2.13's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

F = dynamic.nn.functional
SINGLE = ["entr", "erfcx", "log_ndtr", "ndtr"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("captured", [False, True])
def test_special_functions_of_integers_are_of_the_default_dtype(name: str, captured: bool) -> None:
    function = getattr(dynamic.special, name)
    function = sg.function(function) if captured else function
    assert function(dynamic.tensor([1, 2])).dtype == dynamic.float32
    assert function(dynamic.tensor([True])).dtype == dynamic.float32
    assert function(dynamic.tensor([1.0], dtype=dynamic.float64)).dtype == dynamic.float64


@pytest.mark.parametrize("name", ["xlog1py", "zeta"])
def test_special_functions_of_two_have_the_dtype_of_the_floats(name: str) -> None:
    function, whole = getattr(dynamic.special, name), dynamic.tensor([2, 3])
    assert function(whole, whole).dtype == dynamic.float32
    assert function(whole, dynamic.tensor([2.0, 3.0])).dtype == dynamic.float32
    assert function(dynamic.tensor([2.0]).double(), whole).dtype == dynamic.float64
    assert function(dynamic.tensor([2.0]).half(), whole).dtype == dynamic.float16


def test_angles_of_integers_are_of_the_default_dtype() -> None:
    found = dynamic.angle(dynamic.tensor([1, -1]))
    assert found.dtype == dynamic.float32
    np.testing.assert_allclose(found, [0, np.pi], rtol=1e-6)


def test_ldexp_takes_exponents_that_are_no_integers() -> None:
    found = dynamic.ldexp(dynamic.tensor([3, 1]), dynamic.tensor([0.5, -1.5]))
    assert found.dtype == dynamic.float32
    np.testing.assert_allclose(found, [3 * 2**0.5, 2**-1.5], rtol=1e-6)
    x, n = dynamic.tensor([1.0]).half(), dynamic.tensor([0.5], requires_grad=True)
    found = dynamic.ldexp(x, n)
    assert found.dtype == dynamic.float32
    found.sum().backward()
    np.testing.assert_allclose(n.grad, [np.log(2) * 2**0.5], rtol=1e-6)


def test_sums_without_nan_are_exact_of_integers() -> None:
    assert dynamic.nansum(dynamic.tensor([2**24 + 1, 1])).item() == 2**24 + 2
    assert dynamic.nansum(dynamic.tensor([True, True])).dtype == dynamic.int64


def test_powers_of_bytes_do_not_wrap() -> None:
    found = dynamic.vander(dynamic.tensor([200, 3], dtype=dynamic.uint8), 3)
    assert found.tolist() == [[40000, 200, 1], [9, 3, 1]]


def test_covariances_of_integers_and_complex_numbers() -> None:
    rows = np.array([[1, 2, 4], [3, 5, 1]])
    counts, weights = np.array([1, 2, 1]), np.array([0.5, 0.5, 1.0])
    given = {"fweights": dynamic.tensor(counts), "aweights": dynamic.tensor(weights)}
    expected = np.cov(rows, fweights=counts, aweights=weights)
    np.testing.assert_allclose(dynamic.cov(dynamic.tensor(rows), **given), expected, rtol=1e-6)
    turned = rows + 1j * rows[:, ::-1]
    found = dynamic.cov(dynamic.tensor(turned))
    np.testing.assert_allclose(found, np.cov(turned), rtol=1e-12)
    found = dynamic.corrcoef(dynamic.tensor(turned))
    np.testing.assert_allclose(found, np.corrcoef(turned), rtol=1e-12)
    assert dynamic.corrcoef(dynamic.tensor([[1.0, 2.0, 4.0]])).shape == ()


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("other", ["float16", "bool", "int32", "float32"])
def test_truth_of_floats_of_16_bits(name: str, other: str) -> None:
    x, y = (
        dynamic.tensor([0.5, 0.0, 2.0]).half(),
        dynamic.tensor([1, 1, 0], dtype=getattr(dynamic, other)),
    )
    expected = getattr(np, f"logical_{name}")([1, 0, 1], [1, 1, 0]).tolist()
    assert getattr(dynamic, f"logical_{name}")(x, y).tolist() == expected
    assert getattr(y, f"logical_{name}")(x).tolist() == expected


def test_distances_of_complex_numbers_are_real() -> None:
    x, y = dynamic.tensor([[3 + 4j, 0j]]), dynamic.tensor([[0j, 0j]])
    found = F.pairwise_distance(x, y, eps=0.0)
    assert not found.is_complex()
    assert found.tolist() == [5]
    np.testing.assert_allclose(F.normalize(x), [[0.6 + 0.8j, 0]], rtol=1e-6)


@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "max_pool3d"])
@pytest.mark.parametrize("options", [{}, {"padding": 1}, {"ceil_mode": True}, {"dilation": 2}])
def test_the_largest_of_integers_stay_what_they_are(name: str, options: dict[str, Any]) -> None:
    axes = int(name[-2])
    size = (1,) * (axes - 1) + (3,)
    edge = {key: (0,) * (axes - 1) + (1,) for key in options if key == "padding"}
    x = dynamic.tensor([2**53 + 1, -5, -7, -6, -5, -6]).reshape((1, 1, *size[:-1], 6))
    found = getattr(F, name)(x, size, **{**options, **edge})
    assert found.dtype == dynamic.int64
    assert found.flatten()[0].item() == 2**53 + 1
    assert getattr(F, name)(x.bool(), size).dtype == dynamic.bool


def test_what_takes_no_integers_says_so() -> None:
    with pytest.raises(NotImplementedError, match="\"rms_norm\" not implemented for 'Long'"):
        F.rms_norm(dynamic.tensor([1, 2]), (2,))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotients_are_flat_where_the_quotient_has_no_slope(mode: str) -> None:
    def quotient(x: dynamic.Tensor, y: dynamic.Tensor) -> dynamic.Tensor:
        return dynamic.div(x, y, rounding_mode=mode)

    for f in (quotient, sg.function(quotient, lint="off")):
        x = dynamic.tensor([3.0, 0.0, -2.0], requires_grad=True)
        y = dynamic.tensor([2.0, 0.0, np.inf], requires_grad=True)
        f(x, y).sum().backward()
        assert (x.grad.tolist(), y.grad.tolist()) == ([0, 0, 0], [0, 0, 0])
