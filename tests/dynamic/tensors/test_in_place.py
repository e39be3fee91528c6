"""Every in-place method gives what the op gives, in the same memory, with the same gradient."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.compiler import ops
from staticgraph.dynamic.core.pytorch import PYTORCH
from staticgraph.dynamic.tensors.strided import Region
from tests.samples import elementwise

BINARY = {*elementwise(2), "logical_and", "logical_or", "logical_xor"}
OF_INTEGERS = {"gcd", "lcm"}
UNDERIVED = {"acosh", "asinh", "atanh", "floor_divide", "heaviside"}
"""Those whose form in place has no derivative, as in PyTorch."""
CASES = [
    (op.name, name)
    for op, row in PYTORCH.items()
    for name in row.in_place
    if op.name not in OF_INTEGERS and name != "floor_divide"  # which has no derivative
]


@pytest.mark.parametrize(("op", "name"), CASES)
def test_the_table(op, name):
    values = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3, 4))
    others = [torch.tensor(values[1])] if op in BINARY else []
    if op == "logical_not" or op.startswith("logical"):
        others = [other > 0.5 for other in others]
    x, twin = (torch.tensor(values[0], requires_grad=True) for _ in range(2))
    y = x * 1
    assert getattr(y, f"{name}_")(*others) is y and y._version == 1
    expected = getattr(ops, op)(*(one.detach() for one in (twin, *others)))
    np.testing.assert_array_equal(y.detach().numpy(), expected.numpy())
    assert y.requires_grad
    if op in UNDERIVED:
        with pytest.raises((RuntimeError, NotImplementedError), match="is not implemented"):
            y.sum().backward()
        return
    with torch.set_lint("off"):
        y.sum().backward()
    made = getattr(ops, op)(twin * 1, *others)
    gradient = torch.autograd.grad(made.sum(), twin)[0].numpy() if made.requires_grad else 0
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(gradient, x.shape))


@pytest.mark.parametrize("change", [lambda y: y.floor_divide_(2), lambda y: y[1:].floor_divide_(2)])
def test_who_differentiates_a_quotient_rounded_in_place_is_told(change):
    x = torch.tensor([5.0, -3.0], requires_grad=True)
    y = x * 1
    change(y)
    assert y.requires_grad and y._version == 1
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide_ is not implemented"):
        y.sum().backward()
    with torch.no_grad():
        assert change(x * 1).tolist()[-1:] == [-2.0]


@pytest.mark.parametrize("op", sorted(OF_INTEGERS))
def test_of_integers(op):
    x = torch.tensor([4, 6, -9])
    other = torch.tensor([6, 9, 3])
    expected = getattr(torch, op)(x, other).tolist()
    assert getattr(x, f"{op}_")(other) is x and x.tolist() == expected


def test_the_rest():
    x = torch.arange(6.0).reshape(2, 3).clone()
    assert x.masked_fill_(x > 3, -1.0).tolist() == [[0.0, 1.0, 2.0], [3.0, -1.0, -1.0]]
    index = torch.tensor([2, 0])
    assert x.index_fill_(1, index, 5.0)[0].tolist() == [5.0, 1.0, 5.0]
    assert x.index_copy_(0, torch.tensor([1]), torch.ones(1, 3))[1].tolist() == [1.0, 1.0, 1.0]
    assert x.index_put_([torch.tensor([0]), torch.tensor([1])], torch.tensor(9.0))[0, 1].item() == 9
    assert x.masked_scatter_(x == 1, torch.arange(5.0)).tolist() == [
        [5.0, 9.0, 5.0],
        [0.0, 1.0, 2.0],
    ]
    assert x.scatter_(1, torch.tensor([[2], [0]]), 7.0).tolist() == [
        [5.0, 9.0, 7.0],
        [7.0, 1.0, 2.0],
    ]
    source = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x.scatter_(1, torch.tensor([[0], [1]]), source)
    assert x.tolist() == [[1.0, 9.0, 7.0], [7.0, 3.0, 2.0]]
    assert x.clamp_(2, 5).tolist() == [[2.0, 5.0, 5.0], [5.0, 3.0, 2.0]]
    assert x.clamp_min_(3).clamp_max_(4).tolist() == [[3.0, 4.0, 4.0], [4.0, 3.0, 3.0]]
    assert x.addcmul_(torch.ones(3), torch.ones(3), value=2)[0].tolist() == [5.0, 6.0, 6.0]
    assert x.addcdiv_(torch.ones(3), torch.ones(3), value=-1)[0].tolist() == [4.0, 5.0, 5.0]
    assert x.lerp_(torch.zeros(3), 0.5)[0].tolist() == [2.0, 2.5, 2.5]
    assert x.div_(2, rounding_mode="floor")[0].tolist() == [1.0, 1.0, 1.0]
    assert x.sub_(4).div_(2, rounding_mode="trunc")[0].tolist() == [-1.0, -1.0, -1.0]
    assert x.add_(0.128).round_(decimals=2)[0, 0].item() == pytest.approx(-0.87)
    with pytest.raises(
        RuntimeError, match=r"^div expected rounding_mode to be one of None, 'trunc', o"
    ):
        x.div_(2, rounding_mode="up")
    with pytest.raises(RuntimeError, match=r"At least one of 'min' or 'max' must not be None"):
        x.clamp_()
    with pytest.raises(
        RuntimeError, match=r"^fill_ only supports 0-dimension value tensor but got"
    ):
        x.fill_(torch.ones(2))
    with pytest.raises(
        RuntimeError, match=r"^shape mismatch: value tensor of shape \[2\] cannot be"
    ):
        x[0] = torch.ones(2)
    n = torch.arange(4)
    n &= 2
    n |= 1
    n ^= 3
    assert n.tolist() == [2, 2, 0, 0] and (n == 2).logical_not_().tolist() == [
        False,
        False,
        True,
        True,
    ]
    with pytest.raises(NotImplementedError, match=r"bitwise_and_cpu. not implemented for .Float"):
        x.bitwise_and_(1)
    flags = torch.tensor([True, False])
    flags &= torch.tensor([True, True])
    assert flags.tolist() == [True, False]
    assert x.resize_as_(torch.ones(3, 2)).shape == (3, 2)


def test_random_numbers_in_place():
    torch.manual_seed(0)
    x = torch.empty(10_000)
    assert abs(x.normal_(2.0, 3.0).mean().item() - 2) < 0.1
    assert abs(x.uniform_(1.0, 3.0).mean().item() - 2) < 0.1 and x.min().item() >= 1.0
    assert abs(x.exponential_(2.0).mean().item() - 0.5) < 0.1
    assert abs(x.bernoulli_(0.25).mean().item() - 0.25) < 0.1
    assert set(x.random_(2, 4).tolist()) == {2.0, 3.0} and x.random_(3).max().item() == 2.0
    assert torch.empty(4, dtype=torch.int8).random_().min().item() >= 0
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    y.uniform_().sum().backward()
    assert w.grad.tolist() == [0.0, 0.0, 0.0]


def test_gradients_of_filling_where_a_mask_holds():
    x = torch.ones(3, requires_grad=True)
    value = torch.tensor(5.0, requires_grad=True)
    y = x * 2
    y.masked_fill_(torch.tensor([True, False, True]), value)
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 8.0, 0.0] and value.grad.item() == 20.0


def test_a_chain_of_slice_assignments_does_not_change_what_others_hold():
    parts = [torch.full((2,), float(i), requires_grad=True) for i in range(4)]
    y = torch.zeros(4, 2)
    middle = None
    for i, part in enumerate(parts):
        y[i] = part * 2
        if i == 1:
            middle = y.clone()
    y.retain_grad()
    g = torch.arange(8.0).reshape(4, 2).clone()
    (y.sum() * 0 + (y * g).sum() + middle.sum()).backward()
    assert [part.grad.tolist() for part in parts] == [
        [2.0, 4.0], [6.0, 8.0], [8.0, 10.0], [12.0, 14.0],
    ]  # fmt: skip
    assert y.grad.tolist() == g.tolist()
    kept = torch.ones(4, 2)
    z = torch.zeros(4, 2)
    for i, part in enumerate(parts):
        z[i] = part
    z.backward(kept)
    assert kept.tolist() == torch.ones(4, 2).tolist()


def test_an_op_on_a_slice_touches_only_its_part_of_the_gradient():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    y = x * 1
    y[1:].mul_(w)
    y[:2].exp_()
    y.sum().backward()
    e = np.exp([1.0, 6.0])
    np.testing.assert_allclose(x.grad.numpy(), [e[0], 3 * e[1], 3.0], rtol=1e-6)
    assert w.grad.item() == pytest.approx(2 * e[1] + 3.0, rel=1e-6)


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("hook", [None, "tensor", "before", "after"])
def test_slice_assignments_that_overlap(column, hook):
    x = torch.ones(4, requires_grad=True)
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    y = torch.ones(4, 2) * x[:, None] if column else x * 1
    target = y[:, 1] if column else y
    target[0:2] = a
    middle = y * 1
    first = y.grad_fn
    target[1:3] = b * 2
    y.register_hook(lambda g: g * 1)
    if hook == "before":
        first.register_prehook(lambda given: (given[0] * 1,))
    elif hook == "after":
        y.grad_fn.register_hook(lambda found, given: found)
    target[0] *= 3
    if hook == "tensor":
        y.register_hook(lambda g: g * 1)
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    (target * weight).sum().backward(retain_graph=True)
    assert a.grad.tolist() == [3.0, 0.0] and b.grad.tolist() == [4.0, 6.0]
    assert x.grad.tolist() == [0.0, 0.0, 0.0, 4.0]
    (middle.sum() + (target * weight).sum()).backward()
    assert a.grad.tolist() == [7.0, 1.0] and b.grad.tolist() == [8.0, 12.0]
    assert x.grad.tolist() == ([1.0, 1.0, 2.0, 10.0] if column else [0.0, 0.0, 1.0, 9.0])


def test_the_gradient_of_a_slice_that_is_wanted_itself():
    x = torch.ones(3, requires_grad=True)
    y = torch.zeros(3)
    y[0] = x[0]
    first = y.grad_fn
    before = y * 1
    y[1] = x[1]
    y[2] = x[2]
    assert first.next_functions[0] == (None, 0)
    (g,) = torch.autograd.grad(y.sum() + before.sum(), x)
    assert g.tolist() == [2.0, 1.0, 1.0]
    z = x * 1
    z.retain_grad()
    w = z * 1
    w[0] = 5.0
    w[1:] = x[1:]
    torch.autograd.backward(w.sum(), inputs=[z])
    assert z.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("overwrite", [lambda v: v.mul_(2.0), lambda v: v.__setitem__((), 1.5)])
@pytest.mark.parametrize("view", [lambda y: y[:], lambda y: y.unsqueeze(0), lambda y: y * 1])
def test_the_gradient_retained_is_that_of_the_values_written_last(overwrite, view):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = view(x * 1)
    v.retain_grad()
    before = v.sum()
    overwrite(v)
    before.backward(retain_graph=True)
    assert v.grad is None
    v.sum().backward()
    assert v.retains_grad
    assert v.grad.tolist() == torch.ones_like(v).tolist()


def test_a_region_cuts_and_spreads_cotangents():
    base = np.arange(12.0).reshape(3, 4).T  # column-major
    for view in (base[1:3], base[::-1], base[:, 1], base[2, 2:2], base.reshape(-1, order="F")[::2]):
        region = Region(view, base)
        whole, part = region.arranged(base * 2)
        assert whole.strides == base.strides
        np.testing.assert_array_equal(part, view * 2)
        np.testing.assert_array_equal(base.reshape(-1)[region.places()], view)
        spread = region.spread(np.ones(view.shape))
        assert spread.sum() == view.size and (spread != 0).sum() == view.size
    windows = np.lib.stride_tricks.sliding_window_view(base[:, 0], 2)
    rows = np.broadcast_to(base[0], (5, 3))
    for view, counts in ((windows, [1, 2, 2, 1]), (rows, [5, 5, 5])):
        spread = Region(view, base).spread(np.ones(view.shape))
        assert spread[spread != 0].tolist() == counts
    with pytest.raises(
        RuntimeError, match=r"^a view reaches beyond the memory of its base: as_str"
    ):
        Region(base, base[1:])


def test_expanded_tensors():
    x = torch.zeros(3)
    view = x.expand(2, 3)
    assert view.fill_(2).tolist() == [[2.0] * 3] * 2 and x.tolist() == [2.0] * 3 and x._version == 1
    with torch.no_grad():
        view[0, 1] = 2
    assert x.tolist() == [2.0] * 3 and x._version == 2
    view[0] = 5
    assert view.zero_().sum().item() == 0 and x._version == 4
    text = (
        r"^unsupported operation: more than one element of the written-to tensor refers to a singl"
    )
    for change in (
        lambda: view.copy_(torch.ones(3)), lambda: view.normal_(), lambda: view.clamp_(0),
        lambda: view[:, :1].add_(1),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            change()
    w = torch.ones(3, requires_grad=True)
    base = w * 1
    row = base.expand(2, 3)[1]
    row[:2] = w[1:] * 4
    (base * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert w.grad.tolist() == [0.0, 4.0, 11.0]
