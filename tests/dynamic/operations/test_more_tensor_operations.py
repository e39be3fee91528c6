"""Further functions of tensors and linear algebra: values, gradients and texts as PyTorch's."""

from __future__ import annotations

import builtins
import json
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from tests.data import linalg_cases, more_nn_cases, more_tensor_cases
from tests.dynamic.words import begins_as_recorded
from tests.expressions import check, evaluate, recorded, text
from tests.paths import TESTS

DATA = TESTS / "data"
MODULES: dict[str, ModuleType] = {
    "more_tensor": more_tensor_cases,
    "linalg": linalg_cases,
    "more_nn": more_nn_cases,
}
EXPECTED = {name: recorded(DATA / f"{name}_values.npz") for name in MODULES}
RECORDED = {name: json.loads((DATA / f"{name}_texts.json").read_text()) for name in MODULES}


def each(kind: str) -> Any:
    return pytest.mark.parametrize(
        ("name", "expression"),
        [(name, one) for name, module in MODULES.items() for one in getattr(module, kind)],
    )


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@each("VALUES")
def test_values_and_gradients_are_those_of_pytorch(name: str, expression: str) -> None:
    check(torch, expression, EXPECTED[name][expression])


@each("TEXTS")
def test_texts_are_those_of_pytorch(name: str, expression: str) -> None:
    assert text(torch, expression) == RECORDED[name]["texts"][expression]


@each("ERRORS")
def test_errors_are_those_of_pytorch(name: str, expression: str) -> None:
    kind, message = RECORDED[name]["errors"][expression]
    # an error of the linear algebra is a RuntimeError; a wrong value is never an assertion
    names = {"_LinAlgError": "RuntimeError", "AssertionError": "ValueError"}
    expected = getattr(builtins, names.get(kind, kind))
    with pytest.raises(expected) as raised:
        evaluate(torch, expression)
    assert begins_as_recorded(str(raised.value), message)


def _matrix(*shape: int) -> Any:
    torch.manual_seed(sum(shape))
    made = torch.randn(*shape, dtype=torch.float64)
    return (made + 2 * torch.eye(shape[-2], shape[-1], dtype=torch.float64)).requires_grad_()


def _symmetric(a: Any) -> Any:
    return a + a.mT


TWICE = {
    "inv": lambda a: torch.linalg.inv(a),
    "det": lambda a: torch.linalg.det(a),
    "slogdet": lambda a: torch.linalg.slogdet(a)[1],
    "solve": lambda a: torch.linalg.solve(a, a[:, :1] * 2 + 1),
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.mT),
    "qr": lambda a: torch.linalg.qr(a)[0] * torch.linalg.qr(a)[1],
    "eigh": lambda a: torch.linalg.eigh(_symmetric(a))[1] ** 2,
    "eigvalsh": lambda a: torch.linalg.eigvalsh(_symmetric(a)),
    "svd": lambda a: torch.linalg.svd(a)[0] ** 2,
    "pinv": lambda a: torch.linalg.pinv(a[:, :2]),
    "norm": lambda a: torch.linalg.norm(a, "nuc") + torch.linalg.vector_norm(a, 3),
    "matrix_exp": lambda a: torch.matrix_exp(a * 0.1),
    "scatter_reduce": lambda a: torch.scatter_reduce(
        a, 0, torch.tensor([[0, 1, 1]]), a[:1] * 2, "prod"
    ),
    "cdist": lambda a: torch.cdist(a, a * 2 + 1),
    "quantile": lambda a: torch.quantile(a, 0.4, 1) ** 2,
    "sinc": lambda a: torch.sinc(a),
}


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    assert torch.autograd.gradgradcheck(TWICE[name], (_matrix(3, 3),))


def test_more_second_derivatives_of_factors() -> None:
    assert torch.autograd.gradgradcheck(lambda a: torch.linalg.qr(a)[0], (_matrix(4, 2),))
    assert torch.autograd.gradgradcheck(lambda a: torch.linalg.qr(a)[1], (_matrix(2, 3),))
    for place in range(3):
        assert torch.autograd.gradgradcheck(
            lambda a, place=place: torch.linalg.svd(a, full_matrices=False)[place] ** 2,
            (_matrix(3, 2),),
        )


def test_what_has_no_gradient_says_so() -> None:
    a = _matrix(3, 2)
    assert torch.linalg.qr(a, mode="r").R.shape == (2, 2)
    torch.linalg.svd(a).S.sum().backward()
    assert a.grad is not None
    with pytest.raises(RuntimeError, match=r"^svd_backward: The singular vectors with full_matri"):
        torch.linalg.svd(_matrix(3, 2))[0].sum().backward()
    with pytest.raises(RuntimeError, match=r"a vector of 2 elements for matrices of 3 columns$"):
        torch.linalg.solve(_matrix(3, 3), torch.ones(2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match=r"^linalg.norm: order fro can only be used with matri"):
        torch.linalg.norm(torch.ones(3), "fro")
    with pytest.raises(RuntimeError, match=r"^reduce argument must be either sum, prod, mean, am"):
        torch.scatter_reduce(torch.ones(1), 0, torch.tensor([0]), torch.ones(1), "median")
    with pytest.raises(RuntimeError, match=r"^cdist only supports non-negative p values$"):
        torch.cdist(torch.ones(1, 1), torch.ones(1, 1), -1)
    with pytest.raises(RuntimeError, match=r"^pdist only supports non-negative p values$"):
        torch.pdist(torch.ones(2, 1), -1)
    with pytest.raises(RuntimeError, match=r"^no dimension of size 3 in input$"):
        torch.cross(torch.ones(2), torch.ones(2))
    with pytest.raises(
        RuntimeError, match=r"^quantile\(\) q values must be in the range \[0, 1\]$"
    ):
        torch.quantile(torch.ones(2), torch.tensor([0.5, 2.0]))
    with pytest.raises(RuntimeError, match=r"^dimensions must larger than 1$"):
        torch.ones(2).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match=r"^all dimensions of input must be of equal length$"):
        torch.ones(2, 2, 3).fill_diagonal_(1)
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)


def test_shapes_changed_in_place_keep_the_memory_and_the_history() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = x * 1
    z = y.t_()
    assert z is y and y.shape == (3, 2) and y.stride() == (1, 3)
    y[0] = 0
    y.unsqueeze_(0).squeeze_()
    (y * torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [[0.0, 3.0, 5.0], [0.0, 4.0, 6.0]]
    base = torch.zeros(2, 3)
    part = base[:, 1:]
    part.t_().mul_(2).add_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert base.tolist() == [[0.0, 1.0, 3.0], [0.0, 2.0, 4.0]]
    assert part.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_views_from_before_a_change_of_shape() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    base = torch.ones(3, 3) * w
    view = base[0]
    base.t_()
    base.mul_(torch.arange(9.0).reshape(3, 3))
    view.sum().backward(retain_graph=True)
    assert view.tolist() == [0.0, 6.0, 12.0] and w.grad.item() == 9.0
    view.mul_(w)
    base.sum().backward()
    # w times 36 in all, and of that the column that the view is, 9, times w again
    assert w.grad.item() == 9.0 + 27.0 + 4.0 * 9.0


def test_triangles_of_bools_are_bools() -> None:
    for name in ("triu", "tril"):
        found = getattr(torch, name)(torch.ones(3, 4, dtype=torch.bool), 1)
        assert found.dtype is torch.bool
        np.testing.assert_array_equal(found.numpy(), getattr(np, name)(np.ones((3, 4), bool), 1))


def test_nothing_is_scattered_from_nothing() -> None:
    x, source = torch.ones(2, 3), torch.zeros(0, requires_grad=True)
    found = x.masked_scatter(torch.zeros(2, 3, dtype=torch.bool), source)
    assert found.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    source = torch.zeros(0, 3, requires_grad=True)
    x.scatter(0, torch.zeros(0, 3, dtype=torch.int64), source).sum().backward()
    assert tuple(source.grad.shape) == (0, 3)


def test_logdet_of_complex_matrices() -> None:
    rng = np.random.default_rng(3)
    array = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    x = torch.tensor(array, requires_grad=True)
    found = torch.logdet(x)
    np.testing.assert_allclose(found.detach().numpy(), np.log(np.linalg.det(array)), rtol=1e-12)
    found.real.sum().backward()
    expected = np.linalg.inv(array).conj().swapaxes(-1, -2)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-11)
