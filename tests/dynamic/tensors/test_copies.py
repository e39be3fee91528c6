"""Copies of tensors, modules and what belongs to them: PyTorch 2.13 does what is asserted here."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from dynamic import nn


class Marked(nn.Parameter):
    pass


class Named(torch.Tensor):
    pass


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


ways = pytest.mark.parametrize("copied", [pickled, copy.deepcopy], ids=["pickle", "deepcopy"])


def hook(g: Any) -> Any:
    return 2 * g


def test_a_deep_copy_shares_memory_as_the_tensors_do() -> None:
    a = torch.zeros(2, 3)
    parts = a, a[1:], a.t(), a[:, ::2], a.detach(), a[2:]
    whole, row, turned, few, same, none = copy.deepcopy(parts)
    row.fill_(1)
    same[0, 0] = 5
    assert whole.tolist() == [[5, 0, 0], [1, 1, 1]]
    assert turned.stride() == (1, 3)
    assert turned.tolist() == [[5, 1], [0, 1], [0, 1]]
    assert few.tolist() == [[5, 0], [1, 1]]
    assert none.shape == (0, 3)
    assert a.sum() == 0
    z = torch.ones(2, dtype=torch.complex64)
    made, real = copy.deepcopy((z, z.real))
    real.zero_()
    assert made.tolist() == [0, 0]


def test_a_deep_copy_of_memory_of_numpy() -> None:
    turned = torch.from_numpy(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    made, part = copy.deepcopy((turned, turned[:, 1:]))
    assert made.stride() == (1, 2)
    part.zero_()
    assert made.tolist() == [[0, 0, 0], [3, 0, 0]]
    gaps = torch.from_numpy(np.frombuffer(bytearray(range(8)), np.uint8)[1::2])
    assert copy.deepcopy(gaps).tolist() == [1, 3, 5, 7]
    holes = np.ndarray((3,), np.uint8, bytearray(range(8)), 1, (2,))
    assert copy.deepcopy(torch.from_numpy(holes)).tolist() == [1, 3, 5]


def test_copies_that_share_memory_share_the_version() -> None:
    a = torch.ones(2, requires_grad=True)
    x, y = copy.deepcopy((a, a.detach()))
    total = (x * x).sum()
    y.fill_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_gradients_are_kept_by_a_deep_copy_alone() -> None:
    a = torch.ones(2, requires_grad=True)
    (a * a).sum().backward()
    made, gradient = copy.deepcopy((a, a.grad))
    assert made.grad is gradient is not a.grad
    assert gradient.tolist() == [2, 2]
    assert pickled(a).grad is None
    p = nn.Parameter(a.detach())
    p.sum().backward()
    assert copy.deepcopy(p).grad is None


def test_a_deep_copy_of_a_parameter_is_laid_out_as_it_is() -> None:
    p = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
    assert copy.deepcopy(p).stride() == p.stride() == (1, 3)
    assert copy.deepcopy(nn.Parameter(torch.arange(6.0)[::2])).stride() == (1,)


@ways
def test_subclasses_and_what_they_carry(copied: Any) -> None:
    for kind in (Marked, Named):
        one = kind(torch.ones(2))
        one.note = ["mine"]
        made = copied(one)
        assert type(made) is kind
        if kind is Named or copied is pickled:  # a parameter is copied without
            assert made.note == ["mine"]
            assert made.note is not one.note
        assert made.requires_grad == one.requires_grad
    buffer = copied(nn.Buffer(torch.ones(2), persistent=False))
    assert type(buffer) is nn.Buffer
    assert not buffer.persistent


def test_hooks_are_not_pickled_and_that_is_told() -> None:
    a = torch.ones(2, requires_grad=True)
    a.register_hook(hook)
    with pytest.warns(UserWarning, match="backward hook <function hook at .* not be serialized"):
        made = pickled(a)
    made.sum().backward()
    assert made.grad.tolist() == [1, 1]
    b = torch.ones(2, requires_grad=True)
    b.register_hook(torch.utils.hooks.unserializable_hook(lambda g: g))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickled(b)
        pickled(nn.Parameter(b.detach()))


@ways
def test_the_handle_of_a_hook_takes_off_that_of_the_copy(copied: Any) -> None:
    m = nn.Linear(1, 1)
    handle = m.register_forward_hook(print)
    other, another = copied((m, handle))
    another.remove()
    assert len(m._forward_hooks) == 1
    assert len(other._forward_hooks) == 0
    del m, other
    copied(handle).remove()


def test_the_graph_is_not_copied() -> None:
    node = (torch.ones(1, requires_grad=True) * 2).grad_fn
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle 'MulBackward0' object"):
            copied(node)


def test_a_module_that_keeps_a_tensor_of_a_call() -> None:
    m = nn.Linear(1, 1)
    m.seen = m(torch.ones(1, 1))
    assert pickled(m).seen.is_leaf
    with pytest.raises(RuntimeError, match="a tensor that it keeps of a call"):
        copy.deepcopy(m)


def test_parametrized_modules() -> None:
    m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(m)
    made = copy.deepcopy(m)
    nn.utils.parametrize.remove_parametrizations(made, "weight")
    assert type(made) is nn.Linear
    assert made.weight.equal(m.weight)
    m(torch.ones(1, 2)).sum().backward()


@ways
def test_a_scheduler_copied_with_its_optimizer_does_not_warn(copied: Any) -> None:
    m = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(m.parameters(), 0.1)
    given = optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    optimizer, scheduler = copied(given)
    assert scheduler.optimizer is optimizer
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_generators_have_no_stream_in_common() -> None:
    g = torch.Generator().manual_seed(3)
    for copied in (copy.copy, copy.deepcopy, pickled):
        made = copied(g)
        assert torch.rand(4, generator=made).equal(torch.rand(4, generator=g))


@ways
def test_formats_of_memory_are_themselves(copied: Any) -> None:
    for one in (torch.contiguous_format, torch.channels_last, torch.strided, torch.float16):
        assert copied(one) is one
