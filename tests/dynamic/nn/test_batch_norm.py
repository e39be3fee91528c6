"""Batch normalisation as one node gives what it gives in ops, in blocks as well as whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
from staticgraph.dynamic.autograd import gradcheck, gradgradcheck
from staticgraph.dynamic.nn import functional as F  # noqa: N812
from staticgraph.dynamic.nn.functional import fused_batch_norm
from tests.combinations import some

SHAPES = [(7, 3), (5, 3, 4), (2, 3, 4, 5), (1, 3, 8), (3000, 100), (40, 8, 30, 40)]


def tensor(*shape: int, seed: int = 0, shift: float = 0.0) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape) + shift
    return torch.from_numpy(values).requires_grad_(True)


def run(x: Any, weight: Any, bias: Any, training: bool) -> list[Any]:
    """The value, the running statistics, and the gradients of a weighted sum."""
    mean, var = tensor(x.shape[1], seed=3).detach(), tensor(x.shape[1], seed=4).detach() ** 2
    out = F.batch_norm(x, mean, var, weight, bias, training, 0.3, 0.01)
    g = torch.from_numpy(np.cos(np.arange(float(out.numel()))).reshape(out.shape))
    leaves = [one for one in (x, weight, bias) if one is not None]
    return [out, mean, var, *torch.autograd.grad(out, leaves, g)]


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("affine", some([True, False], 1), ids=["affine", "plain"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_node_gives_what_the_ops_give(shape, affine, training, monkeypatch):
    x = tensor(*shape, shift=5.0)
    weight = tensor(shape[1], seed=1) if affine else None
    bias = tensor(shape[1], seed=2) if affine else None
    found = run(x, weight, bias, training)
    results = [run(x.T.contiguous().T, weight, bias, training)] if len(shape) == 2 else []
    monkeypatch.setattr(fused_batch_norm, "fits", lambda *operands: False)
    for other in (run(x, weight, bias, training), *results):
        for one, same in zip(found, other, strict=True):
            assert_allclose(one.detach().numpy(), same.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4)], ids=str)
def test_gradients_to_second_order_are_difference_quotients(shape, training):
    mean, var = tensor(3, seed=3).detach(), tensor(3, seed=4).detach() ** 2 + 1

    def normalised(x: Any, weight: Any, bias: Any) -> Any:
        return F.batch_norm(x, mean.clone(), var.clone(), weight, bias, training)

    operands = tensor(*shape), tensor(3, seed=1), tensor(3, seed=2)
    assert gradcheck(normalised, operands)
    assert gradgradcheck(normalised, operands)


def test_second_gradients_in_evaluation_use_the_statistics_of_the_call():
    x, mean, var = tensor(5, 3), torch.zeros(3).double(), torch.ones(3).double()
    out = F.batch_norm(x, mean, var, eps=0.0)
    var.fill_(4.0)
    (first,) = torch.autograd.grad((out**2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert_allclose(second.numpy(), np.full((5, 3), 2.0), rtol=1e-12)


def test_results_do_not_depend_on_the_number_of_threads():
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        x, weight, bias = tensor(40, 8, 30, 40), tensor(8, seed=1), tensor(8, seed=2)
        results.append(run(x, weight, bias, True))
    torch.set_num_threads(before)
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert_array_equal(one.detach().numpy(), same.detach().numpy())


def test_the_variance_is_exact_far_from_zero():
    x = tensor(40, 8, 30, 40, shift=1e6).detach()
    var = torch.zeros(8).double()
    F.batch_norm(x, torch.zeros(8).double(), var, training=True, momentum=1.0)
    assert_allclose(var.numpy(), x.numpy().var((0, 2, 3), ddof=1), rtol=1e-9)


def test_an_infinite_gradient_stays_where_it_is_in_evaluation():
    x = tensor(2, 3)
    out = F.batch_norm(x, torch.zeros(3).double(), torch.ones(3).double(), eps=0.0)
    g = torch.ones(2, 3).double()
    g[0, 0] = np.inf
    (found,) = torch.autograd.grad(out, x, g)
    assert_array_equal(found.numpy(), g.numpy())


def test_transforms_see_the_ops():
    x = tensor(4, 3).detach()

    def normalised(x: Any) -> Any:
        return F.batch_norm(x, None, None, training=True)

    tangent = tensor(4, 3, seed=5).detach()
    found = torch.func.jvp(normalised, (x,), (tangent,))[1]
    quotient = (normalised(x + 1e-6 * tangent) - normalised(x - 1e-6 * tangent)) / 2e-6
    assert_allclose(found.numpy(), quotient.numpy(), rtol=1e-6, atol=1e-8)
    both = torch.func.vmap(normalised)(torch.stack([x, tangent]))
    assert_allclose(both[1].numpy(), normalised(tangent).numpy(), rtol=1e-12)
