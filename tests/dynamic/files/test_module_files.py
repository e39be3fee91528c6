"""Modules in files, made again from their classes and what they hold."""

from __future__ import annotations

import io
from typing import Any

import pytest

import dynamic as torch
from staticgraph.dynamic import nn


class Net(nn.Module):
    """A module with parts of every kind."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.again = self.first
        self.norm = nn.BatchNorm1d(width)
        self.layers = nn.ModuleList([nn.Linear(width, 2)])
        self.activation, self.kind = nn.functional.relu, nn.Linear
        self.width, self.scales = width, (1.0, [2.0])
        self.register_buffer("shift", torch.ones(width), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.layers[0](self.norm(self.activation(self.again(self.first(x))) + self.shift))


class Own:
    """No module."""


def written(value: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def test_a_module_is_made_again() -> None:
    net = Net(3)
    net(torch.randn(5, 3))
    net.first.bias.requires_grad_(False)
    found = torch.load(written({"net": net, "epoch": 3}), weights_only=False)["net"]
    assert type(found) is Net and found.again is found.first and found.norm.training
    assert repr(found) == repr(net) and found.scales == (1.0, [2.0]) and found.kind is nn.Linear
    assert not found.first.bias.requires_grad and "shift" not in found.state_dict()
    x = torch.randn(4, 3)
    assert found.eval()(x).tolist() == net.eval()(x).tolist()
    for (name, one), (own, other) in zip(
        found.state_dict().items(), net.state_dict().items(), strict=True
    ):
        assert name == own and one.tolist() == other.tolist()


def test_a_class_has_to_be_allowed() -> None:
    file = written(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match=r"Weights only load failed.*nn.linear:Linear.*_globals"):
        torch.load(file)
    file.seek(0)
    with torch.serialization.safe_globals([nn.Linear]):
        assert torch.serialization.get_safe_globals() == [nn.Linear]
        assert torch.load(file).in_features == 2
    assert torch.serialization.get_safe_globals() == []
    torch.serialization.add_safe_globals([nn.Linear])
    file.seek(0)
    assert torch.load(file).in_features == 2
    torch.serialization.clear_safe_globals()
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"Weights only load failed"):
        torch.load(file)


def changed(old: bytes, new: bytes) -> io.BytesIO:
    """A file with a linear layer, whose class has another name of the same length."""
    content = written(nn.Linear(2, 2)).getvalue()
    assert len(old) == len(new) and old in content
    return io.BytesIO(content.replace(old, new))


def test_what_is_no_class_of_modules_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"the file needs .*:Linaer: .*no attribute"):
        torch.load(changed(b":Linear", b":Linaer"), weights_only=False)
    with pytest.raises(RuntimeError, match=r"is no class and no function"):
        torch.load(changed(b"nn.linear:Linear", b"nn.module:_NOUNS"), weights_only=False)
    with pytest.raises(RuntimeError, match=r"is no class of modules"):
        content = written(Net(2)).getvalue().replace(b"files:Net", b"files:Own")
        torch.load(io.BytesIO(content), weights_only=False)


def test_what_cannot_be_found_again_is_not_saved() -> None:
    class Local(nn.Module):
        pass

    with pytest.raises(TypeError, match=r"cannot save .*Local.* at the top: .* is not it"):
        torch.save(Local(), io.BytesIO())
    net = Net(2)
    net.activation = lambda x: x
    with pytest.raises(TypeError, match=r"cannot save <function .* at activation"):
        torch.save(net, io.BytesIO())
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(print)
    with pytest.raises(TypeError, match=r"save: the Linear at the top has _forward_hooks"):
        torch.save(hooked, io.BytesIO())


def test_pytorchs_files_of_classes_are_named() -> None:
    assert nn.modules.sparse.Embedding is nn.Embedding
    assert nn.modules.container.ModuleList is nn.ModuleList
