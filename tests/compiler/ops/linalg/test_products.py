"""Products of stacks with a vector, a column and a row, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph.compiler.ops.linalg import products

RNG = np.random.default_rng(0)
STACK = RNG.normal(size=(40, 3, 4))
SHAPES = [
    ((40, 3, 4), (4,)), ((40, 3, 4), (4, 1)), ((40, 3, 1), (1, 5)), ((5, 8, 3, 4), (4,)),
    ((40, 3, 1), (40, 1, 5)), ((3, 1), (40, 1, 5)), ((4,), (40, 4, 3)), ((3, 4), (4,)),
    ((2, 3, 4), (4,)), ((4,), (4,)), ((4,), (4, 3)), ((40, 0, 4), (4,)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_products_and_their_gradients_are_numpys(first: Any, second: Any) -> None:
    a, b = RNG.normal(size=first), RNG.normal(size=second)
    x, y = (dynamic.tensor(one, requires_grad=True) for one in (a, b))
    made = x @ y
    expected = np.matmul(a, b)
    assert_allclose(made.detach().numpy(), expected, atol=1e-12)
    assert made.shape == expected.shape
    g = RNG.normal(size=expected.shape)
    rows = a[None] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    whole = np.reshape(g, np.matmul(rows, columns).shape)
    wanted = [
        _summed(whole @ columns.swapaxes(-1, -2), rows).reshape(first),
        _summed(rows.swapaxes(-1, -2) @ whole, columns).reshape(second),
    ]
    for create_graph in (False, True):
        found = dynamic.autograd.grad(x @ y, [x, y], dynamic.tensor(g), create_graph=create_graph)
        for one, value in zip(found, wanted, strict=True):
            assert_allclose(one.detach().numpy(), value, atol=1e-12)


def _summed(value: Any, like: Any) -> Any:
    lead = value.ndim - like.ndim
    return value.sum(tuple(range(lead)))


def test_a_stack_with_a_vector_is_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    def matmul(a: Any, b: Any) -> Any:
        raise AssertionError("a product for each matrix of the stack")

    x, q = (dynamic.tensor(one, requires_grad=True) for one in (STACK, STACK[0, 0]))
    with monkeypatch.context() as patch:
        patch.setattr(products.np, "matmul", matmul)
        for y in (x @ q, x @ q[:, None]):
            y.sum().backward()


def test_a_vector_times_a_transposed_stack_has_its_gradients() -> None:
    g = RNG.normal(size=(40, 3))
    x, q = (dynamic.tensor(one, requires_grad=True) for one in (STACK, STACK[0, 0]))
    by_x, by_q = dynamic.autograd.grad(q @ x.mT, [x, q], dynamic.tensor(g))
    assert_allclose(by_x.numpy(), g[..., None] * STACK[0, 0], atol=1e-12)
    assert_allclose(by_q.numpy(), np.einsum("bmk,bm->k", STACK, g), atol=1e-12)
    assert by_x.is_contiguous()
    (alone,) = dynamic.autograd.grad(q.detach() @ x.mT, x, dynamic.tensor(g))
    assert_allclose(alone.numpy(), by_x.numpy(), atol=1e-12)
    (alone,) = dynamic.autograd.grad(q @ x.detach().mT, q, dynamic.tensor(g))
    assert_allclose(alone.numpy(), by_q.numpy(), atol=1e-12)


def test_the_graph_of_a_gradient_has_pytorchs_nodes() -> None:
    x, q = (dynamic.tensor(one, requires_grad=True) for one in (STACK, STACK[0, 0]))
    by_x, by_q = dynamic.autograd.grad((x @ q).sum(), [x, q], create_graph=True)
    assert "Mul" in by_x.grad_fn.name()
    assert by_q.grad_fn.name() == "MvBackward0"


def test_the_compiled_gradient_is_the_same() -> None:
    q = STACK[0, 0]
    loss = lambda x, q: (sg.tanh(x @ q)).sum()  # noqa: E731
    value, (by_x, by_q) = sg.value_and_grad(loss, argnums=(0, 1))(STACK, q)
    slope = 1 - np.tanh(STACK @ q) ** 2
    assert_allclose(value, np.tanh(STACK @ q).sum())
    assert_allclose(by_x, slope[..., None] * q, atol=1e-12)
    assert_allclose(by_q, np.einsum("bmk,bm->k", STACK, slope), atol=1e-12)
