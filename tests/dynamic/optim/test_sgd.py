"""SGD takes PyTorch's steps and refuses what PyTorch refuses."""

from __future__ import annotations

import pytest

import dynamic as torch

# After four steps from [1, -2] on the gradients [0.5, -1], [0.25, 1], [-2, 0.5], [1, 1]; the
# figures are PyTorch 2.13's.
STEPS = [
    ({"lr": 0.1}, [1.024999976158142, -2.1499998569488525]),
    ({"lr": 0.1, "momentum": 0.9}, [1.0403000116348267, -2.1220998764038086]),
    (
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        [0.8742924928665161, -1.768786907196045],
    ),
    ({"lr": 0.1, "momentum": 0.9, "nesterov": True}, [1.061269998550415, -2.259890079498291]),
    (
        {"lr": 0.1, "momentum": 0.5, "maximize": True, "weight_decay": 0.2},
        [0.8157056570053101, -1.5958515405654907],
    ),
]


def parameter():
    return torch.tensor([1.0, -2.0], requires_grad=True)


def run(**options):
    p = parameter()
    optimizer = torch.optim.SGD([p], **options)
    for g in ([0.5, -1.0], [0.25, 1.0], [-2.0, 0.5], [1.0, 1.0]):
        optimizer.zero_grad()
        assert p.grad is None
        (p * torch.tensor(g)).sum().backward()
        optimizer.step()
    return p, optimizer


@pytest.mark.parametrize(("options", "expected"), STEPS)
def test_steps(options, expected):
    p, _ = run(**options)
    assert p.detach().tolist() == pytest.approx(expected, rel=1e-6)


def test_the_first_buffer_is_the_gradient_whatever_the_dampening():
    p = parameter()
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, dampening=0.5)
    p.sum().backward()
    optimizer.step()
    assert optimizer.state[p]["momentum_buffer"].tolist() == [1.0, 1.0]
    assert p.grad.tolist() == [1.0, 1.0]


def test_steps_change_the_parameter_in_place_and_count_as_a_version():
    p = parameter()
    memory, version = p.detach(), p._version
    loss = (p * p).sum()
    optimizer = torch.optim.SGD([p], lr=0.5)
    p.grad = torch.ones(2)
    optimizer.step()
    assert memory.tolist() == [0.5, -2.5] and p._version == version + 1 and p.is_leaf
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation"):
        loss.backward()


def test_groups_and_closure():
    p, q = parameter(), parameter()
    optimizer = torch.optim.SGD([{"params": [p]}, {"params": q, "lr": 1.0}], lr=0.0)

    def closure():
        optimizer.zero_grad()
        loss = p.sum() + q.sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == -2.0
    assert p.tolist() == [1.0, -2.0] and q.tolist() == [0.0, -3.0]
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0, 0.0]


def test_what_is_refused():
    p = parameter()
    sgd = torch.optim.SGD
    for params, options, kind, text in [
        ([p * 2], {}, ValueError, "can't optimize a non-leaf Tensor"),
        ([], {}, ValueError, "optimizer got an empty parameter list"),
        (
            [p],
            {"nesterov": True},
            ValueError,
            "Nesterov momentum requires a momentum and zero damp",
        ),
        ([p], {"lr": -1}, ValueError, "Invalid learning rate: -1"),
        ([p], {"momentum": -1}, ValueError, "Invalid momentum value: -1"),
        ([p], {"weight_decay": -1}, ValueError, "Invalid weight_decay value: -1"),
        ([3], {}, TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (p, {}, TypeError, "should be an iterable of Tensors or dicts, but got torch.FloatTensor"),
        (
            [{"params": [p]}, {"params": [p]}],
            {},
            ValueError,
            "appear in more than one parameter gr",
        ),
    ]:
        with pytest.raises(kind, match=text):
            sgd(params, **options)
    with pytest.warns(UserWarning, match=r"duplicate parameters"):
        sgd([p, p], lr=0.1)


def test_repr_lists_the_options_in_order():
    lines = repr(torch.optim.SGD([parameter()], lr=0.5)).split("\n")
    assert lines[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"]
    assert lines[-2:] == ["    weight_decay: 0", ")"]
    assert "    lr: 0.5" in lines and lines[2:-1] == sorted(lines[2:-1])
