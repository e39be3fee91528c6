"""Plain tensors that are overwritten by dual numbers, against derivatives by hand."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from staticgraph import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.dynamic.autograd import forward_ad as fw
from staticgraph.dynamic.tensors.tensor import Tensor


def _dual(*values: float) -> Any:
    return fw.make_dual(torch.tensor(values), torch.tensor([10.0 * one for one in values]))


def _tangent(tensor: Any) -> Any:
    return fw.unpack_dual(tensor).tangent.tolist()


def test_what_is_overwritten_has_a_tangent_until_the_level_ends() -> None:
    out = torch.zeros(3)
    with fw.dual_level():
        x = _dual(1.0, 2.0)
        out[1] = x[1] * 3
        assert (out.tolist(), _tangent(out)) == ([0.0, 6.0, 0.0], [0.0, 60.0, 0.0])
        out *= 2
        assert _tangent(out) == [0.0, 120.0, 0.0]
        assert _tangent(out.sum()) == 120.0
    assert (type(out), out.tolist()) == (Tensor, [0.0, 12.0, 0.0])
    out += 1
    assert out.tolist() == [1.0, 13.0, 1.0]


def test_views_of_the_same_memory_have_their_part_of_it() -> None:
    base = torch.zeros(2, 2)
    row, transposed = base[0], base.t()
    with fw.dual_level():
        transposed[0].copy_(_dual(1.0, 2.0))
        assert _tangent(base) == [[10.0, 0.0], [20.0, 0.0]]
        assert _tangent(row) == [10.0, 0.0]
        row *= 3
        assert _tangent(base) == [[30.0, 0.0], [20.0, 0.0]]
        assert transposed._base is base
    gc.collect()
    assert (row._base is base, type(row), type(base)) == (True, Tensor, Tensor)
    assert base.tolist() == [[3.0, 0.0], [2.0, 0.0]]


def test_in_a_transform_too_and_on_the_tape() -> None:
    def function(x: Any) -> Any:
        out = torch.zeros(2)
        out[0] = x[1] * x[0]
        return out

    x = torch.tensor([2.0, 3.0])
    value, tangent = torch.func.jvp(function, (x,), (torch.tensor([1.0, 5.0]),))
    assert (value.tolist(), tangent.tolist()) == ([6.0, 0.0], [13.0, 0.0])
    assert torch.func.jacfwd(function)(x).tolist() == [[3.0, 2.0], [0.0, 0.0]]
    x.requires_grad_()
    with fw.dual_level():
        out = torch.zeros(2)
        out.copy_(fw.make_dual(x, torch.ones(2)) ** 2)
        fw.unpack_dual(out).tangent.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_batch_of_tangents_goes_where_the_whole_tensor_is_overwritten() -> None:
    def pushed(tangent: Any) -> Any:
        with fw.dual_level():
            out = torch.zeros(2)
            out.copy_(fw.make_dual(torch.ones(2), tangent) * 2)
            return fw.unpack_dual(out).tangent

    assert torch.vmap(pushed)(torch.eye(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]

    def of_a_part(tangent: Any) -> Any:
        with fw.dual_level():
            out = torch.from_numpy(np.zeros((2, 3), "float32", order="F"))
            out[0, 1:].copy_(fw.make_dual(torch.ones(2), tangent))
            return out

    with pytest.raises(RuntimeError, match="a view that is no batch of dual numbers"):
        torch.vmap(of_a_part)(torch.eye(2))


def test_other_classes_and_batches_are_refused() -> None:
    parameter = nn.Parameter(torch.zeros(2), requires_grad=False)
    with fw.dual_level(), pytest.raises(RuntimeError, match="a Parameter that is no dual number"):
        parameter.copy_(_dual(1.0, 2.0))
    with pytest.raises(RuntimeError, match="a tensor that is no batch is overwritten by one"):
        torch.vmap(lambda x: torch.zeros(2).add_(x))(torch.eye(2))


def test_each_example_has_its_own_zeros_and_ones() -> None:
    def function(x: Any) -> Any:
        whole = x.new_zeros(3)
        whole[:2].copy_(x)
        return whole + x.new_ones(3)

    expected = [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    assert torch.vmap(function)(torch.eye(2)).tolist() == expected


def test_a_tangent_is_laid_out_as_its_primal() -> None:
    with fw.dual_level():
        primal = torch.zeros(2, 3).t()
        alike, other = torch.ones(2, 3).t(), torch.arange(6.0).view(3, 2)
        assert fw.unpack_dual(fw.make_dual(primal, alike)).tangent is alike
        found = fw.unpack_dual(fw.make_dual(primal, other)).tangent
        assert found.stride() == primal.stride()
        assert_array_equal(found.numpy(), np.arange(6.0).reshape(3, 2))
        part = fw.unpack_dual(fw.make_dual(torch.zeros(5)[:4], torch.ones(4))).tangent
        assert part.untyped_storage().nbytes() == 20
