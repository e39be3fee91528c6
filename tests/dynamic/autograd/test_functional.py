"""autograd.functional: closed forms, PyTorch's forms of results, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.autograd import functional

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
Y = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)
ONE = torch.tensor(1.0, dtype=torch.float64)
ONES = torch.ones(3, requires_grad=True)


def same(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), rtol=1e-12, atol=1e-14)


MODES = [
    {},
    {"create_graph": True},
    {"vectorize": True},
    {"vectorize": True, "create_graph": True},
    {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
]


@pytest.mark.parametrize("options", MODES, ids=str)
class TestJacobian:
    def test_one_to_one(self, options):
        found = functional.jacobian(lambda x: x**3, X, **options)
        assert type(found) is torch.Tensor
        same(found, np.diag([3.0, 12.0, 27.0]))

    def test_tuples_of_inputs_and_outputs(self, options):
        # d(y x) / dx = y; d(y x) / dy = x in the row's block; d sum(x) / dx = 1
        (a, b), (c, d) = functional.jacobian(lambda x, y: (y @ x, x.sum()), (X, Y), **options)
        same(a, Y.numpy())
        expected = np.zeros((2, 2, 3))
        expected[0, 0] = expected[1, 1] = X.numpy()
        same(b, expected)
        same(c, np.ones(3))
        same(d, np.zeros((2, 3)))

    def test_tuple_of_one(self, options):
        found = functional.jacobian(lambda x: (x.sum(),), (X,), **options)
        assert isinstance(found, tuple) and isinstance(found[0], tuple)
        same(found[0][0], np.ones(3))

    def test_output_without_input_is_zero(self, options):
        same(
            functional.jacobian(lambda x: torch.ones(2, dtype=torch.float64), X, **options),
            np.zeros((2, 3)),
        )

    def test_empty_output(self, options):
        assert functional.jacobian(lambda x: x[:0], X, **options).shape == (0, 3)

    def test_scalars(self, options):
        same(functional.jacobian(lambda x: x.exp(), ONE, **options), np.e)

    def test_graph(self, options):
        x = X.clone().requires_grad_()
        found = functional.jacobian(lambda x: x**3, x, **options)
        assert found.requires_grad == options.get("create_graph", False)
        if found.requires_grad:
            found.sum().backward()
            same(x.grad, 6 * X.numpy())
        else:
            assert x.grad is None


HESSIANS = [
    {},
    {"vectorize": True},
    {"create_graph": True},
    {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
]


@pytest.mark.parametrize("options", HESSIANS, ids=str)
class TestHessian:
    def test_closed_form(self, options):
        found = functional.hessian(lambda x: (x**3).sum() + x[0] * x[1], X, **options)
        expected = np.diag([6.0, 12.0, 18.0])
        expected[0, 1] = expected[1, 0] = 1
        same(found, expected)

    def test_tuples(self, options):
        (a, b), (c, d) = functional.hessian(lambda x, y: (y @ x).square().sum(), (X, Y), **options)
        x, y = X.numpy(), Y.numpy()
        same(a, 2 * y.T @ y)
        expected = np.empty((3, 2, 3))
        for k in range(3):
            for i in range(2):
                for j in range(3):
                    expected[k, i, j] = 2 * (y[i, k] * x[j] + (y @ x)[i] * (j == k))
        same(b, expected)
        same(c, expected.transpose(1, 2, 0))
        expected = np.zeros((2, 3, 2, 3))
        expected[0, :, 0] = expected[1, :, 1] = 2 * np.outer(x, x)
        same(d, expected)

    def test_one_element_of_any_rank(self, options):
        same(functional.hessian(lambda x: (x**2).sum().reshape(1, 1), X, **options), 2 * np.eye(3))

    def test_linear(self, options):
        same(functional.hessian(lambda x: x.sum(), X, **options), np.zeros((3, 3)))


def test_products_with_vectors():
    v = torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    out, found = functional.vjp(lambda x: Y @ x, X, torch.tensor([1.0, 2.0], dtype=torch.float64))
    same(out, Y.numpy() @ X.numpy())
    same(found, np.array([1.0, 2.0]) @ Y.numpy())
    out, found = functional.jvp(lambda x: Y @ x**2, X, v)
    same(out, Y.numpy() @ X.numpy() ** 2)
    same(found, Y.numpy() @ (2 * X.numpy() * v.numpy()))
    for product in (functional.hvp, functional.vhp):
        out, found = product(lambda x: (x**3).sum() + x[0] * x[1], X, v)
        same(out, 38.0)
        same(found, 6 * X.numpy() * v.numpy() + np.array([-1.0, 1.0, 0.0]))
        assert not out.requires_grad and not found.requires_grad


def test_products_of_tuples_and_without_a_vector():
    out, (a, b) = functional.vjp(lambda x, y: (x * y).sum(), (X, X + 1))
    same(out, 20.0)
    same(a, X.numpy() + 1)
    same(b, X.numpy())
    _, (along_product, along_second) = functional.jvp(lambda x, y: (x * y, y), (X, X), (X, X))
    same(along_product, 2 * X.numpy() ** 2)
    same(along_second, X.numpy())
    same(functional.jvp(lambda x: x.exp(), ONE)[1], np.e)
    _, (a, b) = functional.vhp(lambda x, y: (x**3 * y).sum(), (X, X), (X, X))
    same(a, 6 * X.numpy() ** 3 + 3 * X.numpy() ** 3)
    same(b, 3 * X.numpy() ** 3)


@pytest.mark.parametrize(
    "product", [functional.vjp, functional.jvp, functional.vhp, functional.hvp]
)
def test_products_are_recorded_on_request(product):
    x = X.clone().requires_grad_()
    v = None if product is functional.vjp else X
    out, found = product(lambda x: (x**4).sum(), x, v, create_graph=True)
    assert out.requires_grad and found.requires_grad
    values = X.numpy()
    slopes = {  # of 4 x^3, of sum(4 x^3 v), and of 12 x^2 v, where v is x
        functional.vjp: 12 * values**2,
        functional.jvp: 12 * values**3,
        functional.vhp: 24 * values**2,
        functional.hvp: 24 * values**2,
    }
    same(torch.autograd.grad(found.sum(), x)[0], slopes[product])


def test_the_grad_mode_outside_does_not_matter():
    with torch.no_grad():
        same(functional.jacobian(lambda x: x**2, X), np.diag(2 * X.numpy()))
        same(functional.hessian(lambda x: (x**2).sum(), X, vectorize=True), 2 * np.eye(3))


ERRORS = {
    "does not require gradients": (
        lambda: functional.jacobian(lambda x: torch.ones(3), X, strict=True),
        RuntimeError, "Output 0 of the user-provided function does not require gradients. The",
    ),
    "independent": (
        lambda: functional.jacobian(lambda x: ONES.clone(), X, strict=True),
        RuntimeError, "Output 0 of the user-provided function is independent of input 0. This",
    ),
    "constant jacobian": (
        lambda: functional.jacobian(lambda x: x * 2, X, strict=True, create_graph=True),
        RuntimeError, "The jacobian of the user-provided function is independent of input 0.",
    ),
    "output type": (
        lambda: functional.jacobian(lambda x: 3.0, X),
        TypeError, "The outputs of the user-provided function given to jacobian must be either",
    ),
    "output type forward": (
        lambda: functional.jacobian(lambda x: [x], X, strategy="forward-mode"),
        TypeError, "The outputs of the user-provided function given to jacobian must be either",
    ),
    "input type": (
        lambda: functional.jacobian(lambda x: x, 3.0),
        TypeError, "The inputs given to jacobian must be either a Tensor or a tuple of Tensors but",
    ),
    "input in tuple": (
        lambda: functional.vjp(lambda x, y: x, (X, 3.0)),
        TypeError, "the value at index 1 has type <class 'float'>",
    ),
    "strict forward": (
        lambda: functional.jacobian(lambda x: x, X, strict=True, strategy="forward-mode"),
        RuntimeError, '`strict=True` and `strategy="forward-mode"` are not supported together',
    ),
    "strict vectorized": (
        lambda: functional.jacobian(lambda x: x, X, strict=True, vectorize=True),
        RuntimeError, "`strict=True` and `vectorized=True` are not supported together",
    ),
    "strategy": (
        lambda: functional.jacobian(lambda x: x, X, strategy="sideways"),
        ValueError, 'Expected strategy to be either "forward-mode" or "reverse-mode". Hint',
    ),
    "hessian strategy": (
        lambda: functional.hessian(lambda x: x.sum(), X, outer_jacobian_strategy="sideways"),
        ValueError, "Expected strategy to be either",
    ),
    "hessian of a vector": (
        lambda: functional.hessian(lambda x: x * x, X),
        RuntimeError,
        "The Tensor returned by the function given to hessian should contain a single element",
    ),
    "hessian of two": (
        lambda: functional.hessian(lambda x: (x.sum(), x.sum()), X),
        RuntimeError, "The function given to hessian should return a single Tensor",
    ),
    "hessian of a linear function": (
        lambda: functional.hessian(lambda x: x.sum(), X, strict=True),
        RuntimeError,
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input 0 is independent of the input.",
    ),
    "hessian of a constant": (
        lambda: functional.hessian(lambda x: torch.ones(()), X, strict=True),
        RuntimeError, "Output 0 of the user-provided function does not require gradients.",
    ),
    "hvp of a linear function": (
        lambda: functional.hvp(lambda x: x.sum(), X, X, strict=True),
        RuntimeError, "While computing the hessian, found that the jacobian",
    ),
    "vjp without v": (
        lambda: functional.vjp(lambda x: x * x, X),
        RuntimeError,
        "The vector v can only be None if the user-provided function returns a single Tensor with",
    ),
    "jvp without v": (
        lambda: functional.jvp(lambda x: x * x, X),
        RuntimeError,
        "The vector v can only be None if the input to the user-provided function is a single",
    ),
    "size of v": (
        lambda: functional.vjp(lambda x: x * x, X, torch.ones(2)),
        RuntimeError, r"v has invalid size: should be torch.Size([3]) but got torch.Size([2]).",
    ),
    "single v": (
        lambda: functional.vjp(lambda x: x * x, X, (X, X)),
        RuntimeError, "The given v should contain a single Tensor.",
    ),
    "length of v": (
        lambda: functional.jvp(lambda x, y: x, (X, X), (X,)),
        RuntimeError, "v is a tuple of invalid length: should be 2 but got 1.",
    ),
    "entry of v": (
        lambda: functional.jvp(lambda x, y: x, (X, X), (X, Y)),
        RuntimeError, "Entry 1 in v has invalid size: should be torch.Size([3]) but got",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
