"""Gradients of complex numbers, dL/dx + i dL/dy, against difference quotients along both axes.

Each loss is given in NumPy too, is differentiated as expressions and on tensors, and of what has
eigenvectors or singular vectors depends on their directions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.trace import symbolic

RNG = np.random.default_rng(0)
STEP = 1e-6


def _normal(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


A, B, C, TALL = _normal(3, 3), _normal(3, 2), _normal(3, 3), _normal(4, 3)
WIDE = TALL.T.copy()


def _squares(x: Any) -> Any:
    return sg.sum(sg.abs(x) ** 2)


def _fourth(x: Any) -> Any:
    return sg.sum(sg.abs(x) ** 4)


def _hermitian(a: Any) -> Any:
    return sg.matmul(a, sg.conj(sg.swapaxes(a, -1, -2))) + np.eye(3)


def _eigh(a: Any) -> Any:
    values, vectors = sg.linalg.eigh(_hermitian(a))
    return sg.sum(values**3) + _fourth(C @ vectors)


def _eig(a: Any) -> Any:
    values, vectors = sg.linalg.eig(a)
    return _squares(values - 1) + _fourth(C @ vectors)


def _svd(a: Any) -> Any:
    u, s, vh = sg.linalg.svd(a, full_matrices=False)
    return (
        sg.sum(s**3) + _fourth(u) + _fourth(vh) + _squares(u @ vh - 1) + _squares((u * s**2) @ vh)
    )


def _qr(a: Any) -> Any:
    q, r = sg.linalg.qr(a)
    return _fourth(q) + sg.sum(sg.abs(r) ** 3)


def _elements(a: Any) -> Any:
    found = sg.tanh(a) + sg.atan(a) + sg.asin(a) * sg.acosh(a) + sg.acos(a) - sg.asinh(a)
    found = found * sg.atanh(a) + a**1.5 + a**a + 2**a + sg.log10(a) + sg.log1p(a) + sg.expm1(a)
    return _squares(found + sg.exp2(a) + sg.tan(a) + 1 / a + a / C + sg.sqrt(a) + sg.log2(a))


def _parts(a: Any) -> Any:
    found = sg.real(a) * sg.imag(a) + sg.angle(a) + sg.real(sg.sign(a) * C) + sg.abs(sg.sin(a))
    return sg.sum(found) + sg.abs(sg.complex(sg.imag(a), 2.0)[0, 0]) + sg.var(a) + sg.std(a)


def _reductions(a: Any) -> Any:
    found = sg.abs(sg.prod(a)) + sg.abs(sg.mean(a)) + _squares(sg.cumprod(a, 0) - 1)
    return found + sg.sum(sg.abs(sg.cumsum(a))) + sg.linalg.norm(a) + sg.linalg.norm(a, 1)


def _moves(a: Any) -> Any:
    found = sg.concatenate([sg.flip(a, 0), a.T[:, ::2]], axis=1)[1:]
    found = sg.where(sg.abs(found) > 0.5, found, 2 * found)
    return _squares(sg.take(found, np.array([0, 0, 1]), 1) * 1j) + _fourth(sg.pad(a, 1).reshape(-1))


PLACES = np.array([2, 0, 2])


def _writes(a: Any) -> Any:
    found = sg.index_add(C, PLACES, a * a) + sg.index_copy(a, PLACES, sg.conj(a) * C)
    below = np.array([[0, 1, 2], [2, 2, 0]])
    found = sg.scatter_add(found, below, a[:2], 0) * sg.scatter(a, below, 2j, 0)
    found = sg.put(found, PLACES, a[:, 1]) + sg.index_fill(a, PLACES[:1], a[1, 1], 0)
    return _fourth(found / 10) + _squares(sg.sigmoid(a) + sg.logsumexp(a, 1))


def _views(a: Any) -> Any:
    return _squares(sg.view_as_real(a)) + _fourth(sg.view_as_complex(sg.view_as_real(a) ** 2))


LOSSES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "elements": (_elements, A),
    "parts": (_parts, A),
    "reductions": (_reductions, A),
    "moves": (_moves, A),
    "views": (_views, A),
    "writes": (_writes, A),
    "matmul": (
        lambda a: _fourth(a @ B) + sg.abs(sg.vdot(a, C)) + _squares(sg.outer(a[0], a[1])),
        A,
    ),
    "einsum": (lambda a: _squares(sg.einsum("ij,jk,lk->il", a, C, sg.conj(a))), A),
    "inv": (lambda a: _squares(sg.linalg.inv(a) - C), A),
    "solve": (lambda a: _squares(sg.linalg.solve(a, B) - 1), A),
    "expm": (lambda a: _squares(sg.linalg.expm(a) - C), A),
    "triangular": (lambda a: _squares(sg.linalg.solve_triangular(a, B)), A),
    "det": (lambda a: _squares(sg.linalg.det(a) - 1j), A),
    "slogdet": (lambda a: sg.real(sg.linalg.slogdet(a)[0] * (1 + 2j)) + sg.linalg.slogdet(a)[1], A),
    "cholesky": (lambda a: _squares(sg.linalg.cholesky(_hermitian(a)) - C), A),
    "eigh": (_eigh, A),
    "eigvalsh": (lambda a: sg.sum(sg.linalg.eigvalsh(_hermitian(a)) ** 3), A),
    "eig": (_eig, A),
    "eig of real matrices": (_eig, A.real.copy()),
    "eigvals": (lambda a: _squares(sg.linalg.eigvals(a) - 1), A),
    "svd": (_svd, TALL),
    "svd of wide ones": (_svd, WIDE),
    "svdvals": (lambda a: sg.sum(sg.linalg.svdvals(a) ** 3), TALL),
    "qr": (_qr, TALL),
    "qr of wide ones": (_qr, WIDE),
    "pinv": (lambda a: _squares(sg.linalg.pinv(a) - 1j), TALL),
    "pinv of wide ones": (lambda a: _squares(sg.linalg.pinv(a) - 1j), WIDE),
    "matrix_power": (lambda a: _squares(sg.linalg.matrix_power(a, -3)), A),
    "lstsq": (lambda a: _squares(sg.linalg.lstsq(a, TALL[:, :2] * 2j + 1).x), TALL),
}


COMPILED = ("elements", "parts", "reductions", "moves", "views", "matmul", "solve", "eigh")
"""What goes through other code when it is compiled: the others are steps of the same kinds."""


def quotients(loss: Callable[[Any], Any], at: Any) -> Any:
    """The gradient by differences along both axes."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        for way in (1, 1j) if at.dtype.kind == "c" else (1,):
            step[place] = way * STEP
            found[place] += way * (loss(at + step) - loss(at - step)) / (2 * STEP)
    return found


def _interpreted_gradient(loss: Callable[[Any], Any], at: Any) -> Any:
    leaf = symbolic(at)
    return interpret(gradients(loss(leaf), [leaf]), {leaf: at})[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_in_both_paradigms(name: str) -> None:
    loss, at = LOSSES[name]
    expected = quotients(loss, at)
    found = sg.grad(loss)(at) if name in COMPILED else _interpreted_gradient(loss, at)
    assert found.dtype == at.dtype
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=2e-8 * largest)
    tensor = dynamic.tensor(at, requires_grad=True)
    loss(tensor).backward()
    assert tensor.grad.dtype == tensor.dtype
    np.testing.assert_allclose(tensor.grad.numpy(), found, rtol=1e-10, atol=1e-12 * largest)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "parts",
        "inv",
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in ("elements", "writes", "matmul", "eigh")
        ),
    ],
)
def test_second_derivatives_and_forward_mode(name: str) -> None:
    loss, at = LOSSES[name]
    along = _normal(*at.shape)
    gradient = sg.grad(loss)
    ahead, behind = (gradient(at + way * STEP * along) for way in (1, -1))
    (_, tangent) = sg.jvp(loss, (at,), (along,))
    both = (np.conj(gradient(at)) * along).sum().real
    np.testing.assert_allclose(tangent, both, rtol=1e-9)
    _, second = sg.jvp(gradient, (at,), (along,))
    expected = (ahead - behind) / (2 * STEP)
    largest = np.abs(expected).max()
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-7 * largest)
    tensor = dynamic.tensor(at, requires_grad=True)
    (first,) = dynamic.autograd.grad(loss(tensor), tensor, create_graph=True)
    inner = (first.conj() * dynamic.tensor(along)).real.sum()
    (again,) = dynamic.autograd.grad(inner, tensor)
    np.testing.assert_allclose(again.numpy(), second, rtol=1e-8, atol=1e-9 * largest)
    _, eager = dynamic.func.jvp(loss, (dynamic.tensor(at),), (dynamic.tensor(along),))
    np.testing.assert_allclose(eager.numpy(), both, rtol=1e-9)


def test_of_a_zero_the_gradient_of_the_size_is_0() -> None:
    zero = np.zeros(2, complex)
    for loss in (sg.abs, sg.angle, sg.real, lambda z: sg.abs(sg.sign(z)), lambda z: sg.var(z)):
        assert np.isfinite(sg.grad(lambda z, loss=loss: sg.sum(loss(z)))(zero)).all()
    np.testing.assert_array_equal(sg.grad(lambda z: sg.sum(sg.abs(z)))(zero), zero)
