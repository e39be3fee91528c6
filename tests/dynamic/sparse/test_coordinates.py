"""Sparse tensors: values and texts of PyTorch 2.13, products against dense ones."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import sparse

PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]


def made() -> Any:
    values = torch.tensor([3.0, 4.0, 5.0, 1.0], dtype=torch.float64)
    return torch.sparse_coo_tensor(torch.tensor(PLACES), values, (2, 3))


DENSE = np.array([[0.0, 0.0, 4.0], [4.0, 0.0, 5.0]])


def test_copies_are_sparse() -> None:
    for given in (made(), made().coalesce()):
        for copied in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
            found = copied(given)
            assert repr(found) == repr(given)
            assert found.is_coalesced() == given.is_coalesced()
    given = made().coalesce()
    shared, own = copy.copy(given), copy.deepcopy(given)
    given.values()[0] = 9
    assert (shared.values()[0].item(), own.values()[0].item()) == (9, 4)


def test_texts_are_pytorchs() -> None:
    assert repr(made()) == (
        "tensor(indices=tensor([[0, 1, 1, 0],\n"
        "                       [2, 0, 2, 2]]),\n"
        "       values=tensor([3., 4., 5., 1.]),\n"
        "       size=(2, 3), nnz=4, dtype=torch.float64, layout=torch.sparse_coo)"
    )
    assert repr(torch.eye(2).to_sparse()) == (
        "tensor(indices=tensor([[0, 1],\n"
        "                       [0, 1]]),\n"
        "       values=tensor([1., 1.]),\n"
        "       size=(2, 2), nnz=2, layout=torch.sparse_coo)"
    )


def test_places_that_occur_twice_are_added() -> None:
    x = made()
    assert not x.is_coalesced() and x._nnz() == 4
    once = x.coalesce()
    assert once.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert once.values().tolist() == [4.0, 4.0, 5.0]
    np.testing.assert_array_equal(x.to_dense(), DENSE)
    assert x.to_dense(torch.float32).dtype is torch.float32
    assert (x.sparse_dim(), x.dense_dim(), tuple(x.shape)) == (2, 0, (2, 3))
    assert x._indices().tolist() == PLACES and x._values().tolist() == [3.0, 4.0, 5.0, 1.0]
    assert x.is_sparse and x.layout == torch.sparse_coo and once.coalesce() is once
    assert x.to_sparse() is x


def test_products_and_their_gradients() -> None:
    w = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    for product in (torch.mm, torch.sparse.mm, torch.spmm, lambda a, b: a @ b):
        y = product(made(), w)
        np.testing.assert_array_equal(y.detach(), DENSE @ w.detach().numpy())
        (g,) = torch.autograd.grad((y**2).sum(), w)
        np.testing.assert_array_equal(g, 2 * DENSE.T @ (DENSE @ w.detach().numpy()))
    v = torch.ones(3, dtype=torch.float64)
    np.testing.assert_array_equal(made() @ v, DENSE.sum(1))
    left = torch.ones(4, 2, dtype=torch.float64)
    np.testing.assert_array_equal(left @ made(), np.ones((4, 2)) @ DENSE)
    both = made() @ made().t()
    assert both.is_sparse
    np.testing.assert_array_equal(both.to_dense(), DENSE @ DENSE.T)
    found = torch.sparse.addmm(torch.ones(2, 2).double(), made(), w.detach(), beta=2.0, alpha=3.0)
    np.testing.assert_array_equal(found, 2 + 3 * DENSE @ w.detach().numpy())


def test_gradients_are_of_second_order_too() -> None:
    w = torch.tensor(np.linspace(-1, 1, 6).reshape(3, 2)).requires_grad_()
    assert torch.autograd.gradcheck(lambda w: (made() @ w).tanh(), w)
    assert torch.autograd.gradgradcheck(lambda w: (made() @ w).tanh(), w)


def test_sums_multiples_and_casts() -> None:
    x, dense = made(), torch.ones(2, 3, dtype=torch.float64)
    for found, wanted in (
        ((x * 2), DENSE * 2), (2 * x, DENSE * 2), (x / 2, DENSE / 2), (-x, -DENSE),
        (x + x, DENSE * 2), (x + dense, DENSE + 1), (dense - x, 1 - DENSE), (x * dense, DENSE),
        (x.clone(), DENSE), (x.detach(), DENSE), (x.transpose(0, 1), DENSE.T),
        (x.sum(0), DENSE.sum(0)), (torch.sum(x), DENSE.sum()), (sparse.sum(x), DENSE.sum()),
        (sparse.sum(x, 1), DENSE.sum(1)),
    ):  # fmt: skip
        found = found.to_dense() if isinstance(found, sparse.SparseTensor) else found
        np.testing.assert_array_equal(found, wanted)
    assert x.float().dtype is torch.float32 and x.to("cpu") is x
    typed = torch.sparse.FloatTensor(torch.tensor(PLACES), torch.ones(4), torch.Size([2, 3]))
    assert typed.dtype is torch.float32
    whole = torch.sparse_coo_tensor(PLACES, [1.0, 2.0, 3.0, 4.0], dtype=torch.int64)
    assert whole.dtype is torch.int64 and tuple(whole.shape) == (2, 3)
    assert torch.tensor(2.0).to_sparse().to_dense().item() == 2.0
    assert torch.zeros(2, 2).to_sparse().mm(torch.ones(2, 2)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_what_is_not_here_says_so() -> None:
    with pytest.raises(NotImplementedError, match="exp: there is no form of it for sparse tens"):
        made().exp()
    with pytest.raises(NotImplementedError, match="reshape: there is no form of it"):
        made().reshape(3, 2)
    with pytest.raises(NotImplementedError, match="divide: of sparse tensors by numbers alone"):
        made() / made()
    with pytest.raises(RuntimeError, match="Cannot get values on an uncoalesced tensor, please"):
        made().values()
    with pytest.raises(RuntimeError, match="to_sparse: sparse tensors have no gradient here"):
        torch.ones(2, requires_grad=True).to_sparse()
    with pytest.raises(RuntimeError, match="to_sparse: 1 sparse axes of 2, layout None: here all"):
        torch.ones(2, 2).to_sparse(1)
    with pytest.raises(RuntimeError, match="sparse_coo_tensor: sparse tensors have no gradient"):
        torch.sparse_coo_tensor(PLACES, torch.ones(4), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"need as many values as they have columns, but got"):
        torch.sparse_coo_tensor(PLACES, torch.ones(3))
    with pytest.raises(RuntimeError, match="indices of 2 axes for a size of 3"):
        torch.sparse_coo_tensor(PLACES, torch.ones(4), (2, 3, 4))
    with pytest.raises(RuntimeError, match=r"indices are outside of the size \[2, 2\]"):
        torch.sparse_coo_tensor(PLACES, torch.ones(4), (2, 2))
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied \(\(2, 3\) and \(2, 2\)"):
        torch.sparse.mm(made(), torch.ones(2, 2).double())
    with pytest.raises(RuntimeError, match="have incompatible tensor type"):
        torch.ones(2, 3).double().data = made()
    with pytest.raises(RuntimeError, match="assigned grad has data of a different type"):
        torch.ones(2, 3).double().grad = made()
    with pytest.raises(RuntimeError, match=r"sparse\.sum: expected a sparse tensor"):
        sparse.sum(torch.ones(2))


def test_a_function_of_ones_own_may_use_sparse_tensors_of_what_is_recorded() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, places, values, x):
            ctx.save_for_backward(x)
            return torch.matmul(torch.sparse_coo_tensor(places, values, (2, 2)), x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return None, (g @ x.t()).ravel(), None

    values = torch.ones(4, requires_grad=True)
    places = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 1]])
    x = torch.arange(4.0).reshape(2, 2)
    found = Product.apply(places, values, x)
    assert found.tolist() == [[2.0, 4.0], [2.0, 4.0]]
    found.sum().backward()
    assert values.grad.tolist() == [1.0, 5.0, 1.0, 5.0]
    with torch.no_grad():
        assert x.requires_grad_().to_sparse().to_dense().tolist() == x.tolist()


def test_captures_refuse_them() -> None:
    sparse = torch.eye(2).to_sparse()
    with pytest.raises(sg.CaptureError, match="matmul of a sparse tensor: take its to_dense"):
        sg.function(lambda w: sparse @ w)(torch.ones(2, 2))
