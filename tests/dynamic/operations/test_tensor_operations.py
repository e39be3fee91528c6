"""Functions and methods of tensors: values, gradients and texts against those of PyTorch."""

from __future__ import annotations

import builtins
import json
from inspect import unwrap

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import operations
from tests.data.tensor_cases import ERRORS, TEXTS, VALUES
from tests.dynamic.words import begins_as_recorded
from tests.expressions import check, evaluate, recorded, text
from tests.paths import TESTS

DATA = TESTS / "data"
EXPECTED = recorded(DATA / "tensor_values.npz")
RECORDED = json.loads((DATA / "tensor_texts.json").read_text())


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero):RuntimeWarning")
@pytest.mark.parametrize("expression", VALUES)
def test_values_and_gradients_are_those_of_pytorch(expression):
    check(torch, expression, EXPECTED[expression])


@pytest.mark.parametrize("expression", TEXTS)
def test_texts_are_those_of_pytorch(expression):
    assert text(torch, expression) == RECORDED["texts"][expression]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_those_of_pytorch(expression):
    kind, message = RECORDED["errors"][expression]
    with pytest.raises(getattr(builtins, kind)) as raised:
        evaluate(torch, expression)
    assert begins_as_recorded(str(raised.value), message)


def test_every_function_is_exported_and_has_a_docstring():
    for name in operations.FUNCTIONS:
        assert unwrap(getattr(torch, name)) is unwrap(operations.FUNCTIONS[name])
        assert name in torch.__all__
        doc = getattr(operations.FUNCTIONS[name], "doc", operations.FUNCTIONS[name].__doc__)
        assert doc


def test_in_place_methods_change_the_tensor_and_leave_the_saved_values_alone():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    z = y.exp().sum()
    before = y.clone()
    assert y.cumsum_(0) is y
    assert y.tolist() == [1.0, 3.0, 6.0] and before.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad"):
        x.cumsum_(0)
    (z + y.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2, 3]) + np.array([3, 2, 1]), rtol=1e-6)


def test_second_derivatives_of_products_of_all_elements():
    x = torch.tensor([2.0, 0.0, 3.0, -1.5], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.cumprod(x, 0).sum(), x, create_graph=True)
    # sum of prefixes: the slope by x[1] is 2 (1 + 3 (1 - 1.5)), which x[3] changes by 2 * 3
    assert g.tolist() == pytest.approx([1.0, -1.0, 0.0, 0.0])
    (second,) = torch.autograd.grad(g[1], x)
    assert second.tolist() == pytest.approx([-0.5, 0.0, -1.0, 6.0])


def test_bernoulli():
    torch.manual_seed(1)
    drawn = torch.bernoulli(torch.full((20000,), 0.3))
    assert set(drawn.tolist()) == {0.0, 1.0} and drawn.dtype == torch.float32
    assert drawn.mean().item() == pytest.approx(0.3, abs=0.02)
    assert torch.bernoulli(torch.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError, match=r"p_in >= 0 && p_in <= 1"):
        torch.bernoulli(torch.tensor([1.5]))


def test_multinomial():
    torch.manual_seed(2)
    weights = torch.tensor([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    drawn = torch.multinomial(weights, 20000, replacement=True)
    assert drawn.shape == (2, 20000) and drawn.dtype == torch.int64
    counts = np.stack([np.bincount(row, minlength=3) for row in drawn.numpy()]) / 20000
    np.testing.assert_allclose(counts, [[0.25, 0, 0.75], [0.5, 0.5, 0]], atol=0.02)
    firsts = [torch.multinomial(weights[0], 2)[0].item() for _ in range(4000)]
    assert np.mean(firsts) == pytest.approx(2 * 0.75, abs=0.06)
    every = torch.multinomial(torch.ones(5), 5)
    assert sorted(every.tolist()) == [0, 1, 2, 3, 4]


def test_normal_and_poisson():
    torch.manual_seed(3)
    drawn = torch.normal(torch.tensor([0.0, 10.0]), 2.0)
    assert drawn.shape == (2,) and drawn.dtype == torch.float32
    many = torch.normal(5.0, 2.0, (20000,))
    assert many.mean().item() == pytest.approx(5, abs=0.1)
    assert many.std().item() == pytest.approx(2, abs=0.1)
    assert torch.normal(torch.zeros(3), torch.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match=r"^normal expects std >= 0.0, but found std -1$"):
        torch.normal(0.0, -1.0, (2,))
    counts = torch.poisson(torch.full((20000,), 3.0))
    assert counts.mean().item() == pytest.approx(3, abs=0.1) and counts.dtype == torch.float32


def test_the_usual_choice_of_a_device():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.ones(2, 3, device=device).to(device)
    assert repr(x.device) == "device(type='cpu')" and str(device) == device.type == "cpu"
    assert x.device == device and not x.is_cuda and torch.cuda.device_count() == 0
    assert torch.nn.Linear(3, 1).to(device)(x).shape == (2, 1)
    assert repr(torch.device("cuda:0")) == "device(type='cuda', index=0)"
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        x.to("cuda:0")


def test_memory_and_new_tensors():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert x.t().stride() == (1, 3) and x.stride(0) == 3
    assert (x.nbytes, x.itemsize, x.element_size(), x.ndimension()) == (48, 8, 8, 2)
    made = [x.new_zeros(2), x.new_ones((1, 2)), x.new_full((2,), 3), x.new_tensor([1, 2])]
    assert [one.tolist() for one in made] == [[0.0, 0.0], [[1.0, 1.0]], [3.0, 3.0], [1.0, 2.0]]
    assert all(one.dtype == torch.float64 for one in made)
    assert x.new_empty(4, dtype=torch.int64).dtype == torch.int64
    assert x.reshape_as(torch.ones(6)).shape == (6,)


def test_shared_ops_are_methods():
    x = torch.tensor([1.0, float("nan"), float("inf")])
    assert x.isnan().tolist() == [False, True, False]
    assert x.isfinite().logical_not().tolist() == [False, True, True]
    assert torch.tensor([5, -5]).remainder(3).tolist() == [2, 1]
    assert torch.tensor([2.0]).subtract(1).multiply(3).tolist() == [3.0]


@pytest.mark.parametrize("name", ["cumsum", "sort", "median", "diff", "log2", "tril"])
def test_functions_run_batched(name):
    x = torch.tensor(np.sin(np.arange(1.0, 25.0)).reshape(2, 3, 4))
    options = {"tril": (), "diff": (1, 0), "log2": ()}.get(name, (0,))

    def function(x):
        result = getattr(torch, name)(x * x, *options)
        return getattr(result, "values", result)

    one_by_one = np.stack([function(row).numpy() for row in x])
    np.testing.assert_array_equal(torch.vmap(function)(x).numpy(), one_by_one)


def test_index_put_accumulates_in_place_and_out_of_place():
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    values = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    key = (torch.tensor([0, 0, 1]), torch.tensor([2, 2, -3]))
    y = (x * 1).index_put_(key, values, accumulate=True)
    assert y.tolist() == [[0.0, 1.0, 5.0], [7.0, 4.0, 5.0]]
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 10.0], [14.0, 8.0, 10.0]]
    assert values.grad.tolist() == [10.0, 10.0, 14.0]
    column = torch.index_put(x, (None, torch.tensor([1, 1])), values[:1], True)
    assert column.tolist() == [[0.0, 3.0, 2.0], [3.0, 6.0, 5.0]]
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes"):
        torch.zeros(3).index_put_((torch.tensor([0]),), values[:1], accumulate=True)
