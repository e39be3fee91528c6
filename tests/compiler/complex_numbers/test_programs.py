"""Programs of complex numbers: loops, branches, variables, batches, files, captured functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.compiler.complex_numbers.test_gradients import quotients

RNG = np.random.default_rng(3)


def _normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def test_a_variable_descends_along_the_gradient(tmp_path: Path) -> None:
    start, target = _normal(3), _normal(3)
    z = sg.variable(start, name="z")
    x = sg.placeholder("x", (3,), "complex128")
    loss = sg.sum(sg.square(sg.abs(z - x)))
    (gradient,) = sg.grad(loss, [z])
    step = sg.compile([x], loss, updates=[(z, z - 0.25 * gradient)])
    losses = [float(step(target)) for _ in range(3)]
    np.testing.assert_allclose(losses, [losses[0], losses[0] / 4, losses[0] / 16], rtol=1e-12)
    np.testing.assert_allclose(z.value, target + (start - target) / 8, rtol=1e-12)
    step.save(tmp_path / "step")
    again = sg.load(tmp_path / "step")
    assert float(again(target)) == float(step(target))
    out = np.empty(3, complex)
    doubled = sg.compile([x], x * 2)
    assert doubled(target, out=out) is out
    np.testing.assert_array_equal(out, target * 2)
    np.testing.assert_array_equal(doubled(np.repeat(target, 2)[::2]), target * 2)


def test_loops_and_branches_carry_complex_numbers() -> None:
    a, xs = _normal(3, 3) * 0.3, _normal(5, 3)
    q, p = sg.placeholder("q", (3, 3), "complex128"), sg.placeholder("p", (5, 3), "complex128")

    def body(h: sg.Expression, x: sg.Expression) -> tuple[sg.Expression, sg.Expression]:
        h = sg.sin(q @ h) + x
        return h, h * 1j

    last, ys = sg.scan(body, sg.constant(np.zeros(3, complex)), p)
    loss = sg.sum(sg.square(sg.abs(last)))
    _, power = sg.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] ** 2 + q), (0, q))
    chosen = sg.cond(sg.abs(q[0, 0]) > 0.1, lambda z: z * 2j, lambda z: z / 2, q)
    made = [last, ys, power, chosen, *sg.grad(loss, [q, p])]
    found = sg.compile([q, p], made)(a, xs)

    def run(a: np.ndarray, xs: np.ndarray) -> list[np.ndarray]:
        states = [np.zeros(3, complex)]
        for x in xs:
            states.append(np.sin(a @ states[-1]) + x)
        return states[1:]

    states, value = run(a, xs), a
    for _ in range(5):
        value = value**2 + a
    np.testing.assert_allclose(found[0], states[-1], rtol=1e-13)
    np.testing.assert_allclose(found[1], np.array(states) * 1j, rtol=1e-13)
    np.testing.assert_allclose(found[2], value, rtol=1e-13)
    np.testing.assert_allclose(found[3], a * 2j if abs(a[0, 0]) > 0.1 else a / 2)
    for i, gradient in enumerate(found[4:]):
        others = [a, xs]

        def loss_of(one: np.ndarray, i: int = i, others: list[np.ndarray] = others) -> float:
            given = [*others[:i], one, *others[i + 1 :]]
            return float((np.abs(run(given[0], given[1])[-1]) ** 2).sum())

        np.testing.assert_allclose(gradient, quotients(loss_of, others[i]), rtol=1e-6, atol=1e-7)


def test_products_batches_and_steps_of_numpy_in_one_kernel() -> None:
    a, b, m = _normal(4, 3), _normal(4, 3), _normal(2, 3, 3)
    x, y = (
        sg.placeholder("x", (None, 3), "complex128"),
        sg.placeholder("y", (None, 3), "complex128"),
    )
    z = sg.placeholder("z", (None, 3, 3), "complex128")
    made = [
        x @ sg.conj(y.T), sg.sum(x, axis=0), sg.mean(x), sg.var(x), sg.einsum("ij,kj->ik", x, y),
        sg.vmap(lambda p, q: sg.exp(p) @ q)(x, y), z @ z, sg.linalg.solve(z, z + 1), sg.tan(x),
        sg.linalg.eigvals(z), x[::2, 1:], sg.stack([x, y]), sg.prod(x, axis=1), sg.vdot(x, y),
        sg.cumsum(x, axis=0), sg.linalg.svd(z).S, x**0.5, 2**x, sg.real(x) * 1j,
    ]  # fmt: skip
    expected = [
        a @ b.conj().T, a.sum(0), a.mean(), np.var(a), a @ b.T, (np.exp(a) * b).sum(1), m @ m,
        np.linalg.solve(m, m + 1), np.tan(a), np.linalg.eigvals(m), a[::2, 1:], np.stack([a, b]),
        a.prod(1), np.vdot(a, b), a.cumsum(0), np.linalg.svd(m)[1], a**0.5, 2**a, a.real * 1j,
    ]  # fmt: skip
    f = sg.compile([x, y, z], made, name="many")
    for got, want in zip(f(a, b, m), expected, strict=True):
        assert got.dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    for got in f(a[:0], b[:0], m[:0])[:2]:
        assert got.dtype == complex
    debugged = sg.compile([x, y, z], made, debug=True)(a, b, m)
    for got, want in zip(debugged, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def test_python_numbers_are_weak() -> None:
    x32 = sg.placeholder("x", (2,), "float32")
    assert (x32 * 1j).dtype == np.complex64
    assert (sg.placeholder("x", (2,), "float64") + 1j).dtype == np.complex128
    assert (sg.placeholder("n", (2,), "int64") * 1j).dtype == np.complex128
    assert (sg.placeholder("z", (2,), "complex64") * 2.5).dtype == np.complex64
    assert (sg.placeholder("z", (2,), "complex64") + np.ones(2)).dtype == np.complex128
    assert sg.promote_types("float64", "complex64") == np.complex128


@pytest.mark.slow
def test_captured_functions_are_the_eager_ones() -> None:
    def loss(z: dynamic.Tensor, w: dynamic.Tensor) -> dynamic.Tensor:
        found = dynamic.exp(1j * (z @ w)) + z.conj().mT @ z
        return (found.abs() ** 2).mean() + found.real.sum() + dynamic.fft.fft(z).imag.sum()

    a, b = _normal(3, 3), _normal(3, 3)
    z, w = (dynamic.tensor(one, requires_grad=True) for one in (a, b))
    value = loss(z, w)
    value.backward()
    expected = [z.grad.numpy(), w.grad.numpy()]
    z.grad = w.grad = None
    captured = sg.function(loss)(z, w)
    captured.backward()
    np.testing.assert_allclose(captured.item(), value.item(), rtol=1e-12)
    for one, want in zip((z, w), expected, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(sg.function(lambda z: z * 1j + sg.real(z))(a), a * 1j + a.real)
