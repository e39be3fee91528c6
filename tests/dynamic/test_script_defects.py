"""What public scripts found: calls that PyTorch takes, with its results."""

from __future__ import annotations

import io

import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.nn import functional


def test_the_output_of_a_pool_may_be_overwritten() -> None:
    """PyTorch keeps the operand and indices: the gradient is that of the values before."""
    x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
    pooled = functional.max_pool2d(x * 2, 2)
    pooled += 100
    pooled.sum().backward()
    assert x.grad.nonzero()[:, 2:].tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]
    assert x.grad.sum().item() == 8.0
    y = torch.tensor([0.5, 1.0], requires_grad=True)
    z = torch.sinc(y * 1)
    z.zero_()
    (slope,) = torch.autograd.grad(z.sum() + torch.sinc(y).sum(), y)
    assert slope.isfinite().all()


def test_an_overwritten_operand_of_a_pool_is_still_refused() -> None:
    x = torch.ones(1, 1, 2, 2, requires_grad=True) * 1
    pooled = functional.max_pool2d(x, 2)
    x += 1
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation"):
        pooled.sum().backward()


def test_randint_takes_its_size_by_name() -> None:
    assert torch.randint(5, size=(3,)).shape == (3,)
    assert torch.randint(2, 3, size=(2, 2)).tolist() == [[2, 2], [2, 2]]
    assert torch.randint(low=1, high=2, size=(1,)).tolist() == [1]
    assert torch.randint(high=1, size=(2,)).tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"randint\(\): the argument 'size'"):
        torch.randint(5)


def test_a_convolution_has_filters() -> None:
    with pytest.raises(RuntimeError, match=r"expected weight to be at least 1 at dimension 0"):
        functional.conv2d(torch.ones(1, 2, 3, 3), torch.ones(0, 2, 1, 1))


def test_onnx_export_writes_what_staticgraph_reads() -> None:
    file = io.BytesIO()
    layer = torch.nn.Linear(2, 3)
    x = torch.ones(4, 2)
    torch.onnx.export(layer, x, file, opset_version=18)
    file.seek(0)
    assert abs(sg.onnx.load(file)(x.numpy()) - layer(x).detach().numpy()).max() < 1e-6


def test_vectors_of_nothing_are_joined_with_any_shape() -> None:
    """Scripts begin with `torch.Tensor()` what a loop joins rows to."""
    rows = torch.ones(2, 3)
    assert torch.cat([torch.Tensor(), rows]).tolist() == rows.tolist()
    assert torch.cat([rows, torch.ones(0), rows], 1).shape == (2, 6)
    assert torch.cat([torch.ones(0), rows.long()]).dtype == torch.float32
    assert torch.cat([torch.ones(0), torch.ones(0)]).shape == (0,)
    with pytest.raises(RuntimeError, match=r"number of dimensions: got 2 and 1"):
        torch.cat([torch.ones(0, 3), rows[0]])


@pytest.mark.parametrize(
    ("product", "words"),
    [
        (lambda x, y: x @ y, "expected m1 and m2 to have the same dtype, but got: float != double"),
        (torch.mm, "expected m1 and m2 to have the same dtype, but got: float != double"),
        (lambda x, y: torch.bmm(x[None], y[None]), "expected scalar type Float but found Double"),
        (functional.linear, "expected m1 and m2 to have the same dtype, but got: float != double"),
        (
            lambda x, y: functional.conv2d(x[None, None], y[None, None]),
            "expected scalar type Float but found Double",
        ),
    ],
)
def test_operands_of_products_have_one_dtype(product, words) -> None:
    x, y = torch.ones(2, 2), torch.ones(2, 2).double()
    with pytest.raises(RuntimeError, match=f"^{words}"):
        product(x, y)
    with pytest.raises(RuntimeError, match=words):
        sg.function(product)(x, y)


def test_tensors_in_lists_are_numbers() -> None:
    found = torch.tensor([[torch.tensor([1.5])], [torch.tensor([[2.5]])]])
    assert found.tolist() == [[1.5], [2.5]] and found.dtype == torch.float32
    with pytest.raises(ValueError, match=r"only one element tensors can be .* shape \[2\]: stack"):
        torch.tensor([torch.ones(2), torch.ones(2)])


def test_pytorchs_files_of_modules_can_be_imported() -> None:
    from dynamic.nn.modules.linear import NonDynamicallyQuantizableLinear
    from dynamic.nn.modules.module import Module

    assert Module is torch.nn.Module
    assert issubclass(NonDynamicallyQuantizableLinear, torch.nn.Linear)
    assert torch.nn.modules.sparse.Embedding is torch.nn.Embedding


def test_spmm_is_the_product_of_dense_matrices() -> None:
    assert torch.spmm(torch.eye(2) * 3, torch.ones(2, 1)).tolist() == [[3.0], [3.0]]


def test_pytorchs_files_of_distributions_can_be_imported() -> None:
    from dynamic.distributions.bernoulli import Bernoulli
    from dynamic.distributions.studentT import StudentT

    assert Bernoulli is torch.distributions.Bernoulli
    assert StudentT is torch.distributions.StudentT
