"""The exponential of matrices beside SciPy's, with its derivatives, in all three worlds."""

import numpy as np
import pytest
import scipy.linalg

import dynamic
import staticgraph as sg

RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(3, 3))
TO, SEED = RNG.normal(size=(2, 3, 3))


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 10.0, 300.0])
def test_batches_of_matrices_of_any_norm(scale):
    x = RNG.normal(size=(3, 4, 4)) * scale
    x[1] -= x[1].T
    with np.errstate(over="ignore"):  # SciPy's
        expected = np.stack([scipy.linalg.expm(one) for one in x])
    symbol = sg.placeholder("x", (None, None, None), "float64")
    compiled = sg.compile([symbol], sg.linalg.expm(symbol), lint="off")
    worlds = [sg.linalg.expm(x), compiled(x), sg.linalg.expm(dynamic.tensor(x)).numpy()]
    for found in [*worlds, sg.vmap(sg.linalg.expm)(x)]:
        for one, wanted in zip(found, expected, strict=True):
            # an exponential is known to the rounding of its matrix: times the norm of that
            bound = 1e-15 * (4 + 4 * scale)
            np.testing.assert_allclose(one, wanted, rtol=0, atol=bound * np.abs(wanted).max())


def test_other_dtypes_and_no_matrix():
    rotated = SQUARE + 1j * TO
    np.testing.assert_allclose(sg.linalg.expm(rotated), scipy.linalg.expm(rotated), rtol=1e-13)
    single = sg.linalg.expm(SQUARE.astype("float32"))
    assert single.dtype == "float32"
    np.testing.assert_allclose(single, scipy.linalg.expm(SQUARE), rtol=2e-5)
    np.testing.assert_allclose(sg.linalg.expm(np.eye(2, dtype=int)), np.e * np.eye(2), rtol=1e-15)
    assert sg.linalg.expm(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    with np.errstate(all="ignore"):
        assert np.isnan(sg.linalg.expm(np.eye(2) * 1e6)).all()
    with pytest.raises(sg.ShapeError, match=r"expm: \(2, 3\) are no square matrices"):
        sg.linalg.expm(np.zeros((2, 3)))


def test_derivatives_to_the_second():
    def f(x):
        return sg.sum(SEED * sg.linalg.expm(x))

    slope = (scipy.linalg.expm_frechet(SQUARE, TO, compute_expm=False) * SEED).sum()
    assert abs((sg.grad(f)(SQUARE) * TO).sum() - slope) < 1e-12 * abs(slope)
    assert abs(sg.jvp(f, (SQUARE,), (TO,))[1] - slope) < 1e-12 * abs(slope)
    tensor = dynamic.tensor(SQUARE, requires_grad=True)
    f(tensor).backward()
    np.testing.assert_allclose(tensor.grad.numpy(), sg.grad(f)(SQUARE), rtol=1e-12)
    # the second one is a block of the exponential of a block matrix (Mathias 1996)
    zero = np.zeros((3, 3))
    blocks = np.block([[SQUARE, TO, TO, zero], [zero, SQUARE, zero, TO],
                       [zero, zero, SQUARE, TO], [zero, zero, zero, SQUARE]])  # fmt: skip
    second = (scipy.linalg.expm(blocks)[:3, 9:] * SEED).sum()
    found = (sg.hvp(f, (SQUARE,), (TO,))[0] * TO).sum()
    assert abs(found - second) < 1e-11 * abs(second)


def test_captured_functions_of_tensors():
    captured = sg.function(lambda x: dynamic.linalg.matrix_exp(x))
    found = captured(dynamic.tensor(SQUARE))
    np.testing.assert_allclose(found.numpy(), scipy.linalg.expm(SQUARE), rtol=1e-13)
