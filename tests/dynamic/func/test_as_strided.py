"""as_strided of examples and dual numbers, and beyond the tensor that it is of."""

from __future__ import annotations

import pytest

import dynamic as torch
import staticgraph as sg
from dynamic.autograd import forward_ad
from staticgraph.compiler.core.errors import CaptureError

jvp, vmap, grad = torch.func.jvp, torch.func.vmap, torch.func.grad
X = torch.arange(12.0).view(2, 6)


def corner(x):
    return x.as_strided((2, 2), (1, 2), 1) * 2


def first_two(x):
    return x.as_strided((2,), (1,))


def test_of_dual_numbers():
    value, slope = jvp(lambda x: corner(x * 3), (X[0],), (X[1],))
    assert value.tolist() == [[6, 18], [12, 24]] and slope.tolist() == [[42, 54], [48, 60]]
    turned = jvp(lambda x: x.as_strided((3,), (1,)), (X.T,), (torch.arange(12.0).view(6, 2),))
    assert [one.tolist() for one in turned] == [[0, 1, 2], [0, 2, 4]]  # laid out as the primal


def test_of_examples():
    assert vmap(first_two)(X).tolist() == [[0, 1], [6, 7]]
    assert vmap(lambda x: x.as_strided((3,), (2,), 1), in_dims=1)(X.view(6, 2)).tolist() == [
        [1, 3, 5],
        [2, 4, 6],
    ]
    nested = vmap(vmap(lambda x: x.as_strided((2,), (2,), 0)))(X.view(2, 2, 3))
    assert nested.tolist() == [[[0, 2], [3, 5]], [[6, 8], [9, 11]]]
    with pytest.raises(RuntimeError, match=r"can access memory outside of `tensor`.*\[0, 7\].*6\]"):
        vmap(lambda x: x.as_strided((7,), (1,), 0))(X)


def test_derivatives_of_examples_and_of_dual_numbers():
    def cubes(x):
        return (first_two(x) ** 3).sum()

    x = torch.arange(3.0)
    expected = [[0, 0, 0], [0, 6, 0], [0, 0, 0]]
    assert torch.func.hessian(cubes)(x).tolist() == expected
    assert torch.func.jacrev(grad(cubes))(x).tolist() == expected
    assert vmap(grad(cubes))(X).tolist() == [[0, 3, 0, 0, 0, 0], [108, 147, 0, 0, 0, 0]]
    value, slope = vmap(lambda x, t: jvp(corner, (x,), (t,)))(X, 2 * X)
    assert torch.equal(slope, 2 * value) and value[1].tolist() == [[14, 18], [16, 20]]


def test_beyond_the_tensor_no_cotangent_counts():
    x = torch.arange(6.0)[1:4].detach().requires_grad_()
    y = x.as_strided((3, 2), (1, 2), 0)
    assert y.tolist() == [[0, 2], [1, 3], [2, 4]]
    weights = torch.arange(6.0).view(3, 2)
    assert torch.autograd.grad((y * weights).sum(), x, retain_graph=True)[0].tolist() == [2, 5, 3]
    (g,) = torch.autograd.grad((y * y * weights).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [4, 10, 6]
    with pytest.raises(RuntimeError, match="a view reaches beyond the memory of its base"):
        torch.arange(5.0)[:4].detach().mul_(x.sum()).as_strided((5,), (1,), 0).mul_(2)


def test_beyond_a_primal_the_tangent_is_zero():
    primal, tangent = torch.arange(5.0)[:4].detach(), torch.ones(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(primal, tangent)
        found = forward_ad.unpack_dual(dual.as_strided((5,), (1,), 0))
        assert found.tangent.tolist() == [1, 1, 1, 1, 0] and found.primal.tolist() == [
            0,
            1,
            2,
            3,
            4,
        ]


def test_in_captured_functions_it_is_refused():
    with pytest.raises(CaptureError, match="depends on how a tensor lies in memory"):
        sg.function(first_two)(torch.arange(3.0))


def test_the_base_of_a_view_that_becomes_a_dual_number():
    view = torch.zeros(2, 2).transpose(0, 1)  # nothing else holds the base
    with forward_ad.dual_level():
        view.copy_(forward_ad.make_dual(torch.zeros(2, 2), torch.ones(2, 2)))
        tangent = forward_ad.unpack_dual(view).tangent
        assert tangent._base is forward_ad.unpack_dual(view._base).tangent
    assert view._base.tolist() == [[0, 0], [0, 0]]
