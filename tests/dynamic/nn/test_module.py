"""Module: registration, traversal, state dicts, hooks, casts, copies; and the containers."""

from __future__ import annotations

import copy
import math
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import nn


class Shared(nn.Module):
    """Two layers that share a weight, a persistent buffer and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("kept", torch.zeros(3))
        self.register_buffer("dropped", torch.zeros(4), persistent=False)
        self.seen = nn.Buffer(torch.tensor([1]))

    def forward(self, x: Any, times: float = 1.0) -> Any:
        return self.second(torch.tanh(self.first(x))) * self.scale * times


def test_parameters_are_listed_once_in_order() -> None:
    names = [name for name, _ in Shared().named_parameters()]
    assert names == ["scale", "first.weight", "first.bias", "second.bias"]
    all_names = [name for name, _ in Shared().named_parameters(remove_duplicate=False)]
    assert all_names == ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]
    assert [name for name, _ in Shared().named_parameters("p", recurse=False)] == ["p.scale"]


def test_buffers_modules_and_children_are_listed() -> None:
    model = Shared()
    assert [name for name, _ in model.named_buffers()] == ["kept", "dropped", "seen"]
    assert [name for name, _ in model.named_modules()] == ["", "first", "second"]
    assert [name for name, _ in model.named_children()] == ["first", "second"]
    assert list(model.children()) == [model.first, model.second]
    assert model.get_submodule("first") is model.first
    assert model.get_parameter("first.weight") is model.first.weight
    assert model.get_buffer("kept") is model.kept
    assert {"first", "scale", "kept"} <= set(dir(model))


def test_state_dict_has_every_name_and_no_dropped_buffer() -> None:
    model = Shared()
    state = model.state_dict(prefix="p.")
    assert list(state) == [
        "p.scale", "p.kept", "p.seen", "p.first.weight", "p.first.bias", "p.second.weight",
        "p.second.bias",
    ]  # fmt: skip
    assert isinstance(state, OrderedDict)
    assert not state["p.scale"].requires_grad
    assert model.state_dict(keep_vars=True)["scale"] is model.scale
    destination: dict[str, Any] = {"x": 1}
    assert model.state_dict(destination=destination) is destination
    assert "scale" in destination


def test_state_dict_shares_memory_and_loading_copies() -> None:
    model, other = nn.Linear(2, 3), nn.Linear(2, 3)
    version = model.weight._version
    weight = model.weight
    assert str(model.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert model.weight is weight
    assert weight._version > version
    assert np.array_equal(weight.detach().numpy(), other.weight.detach().numpy())
    model.state_dict()["bias"].fill_(5.0)
    assert model.bias.tolist() == [5.0, 5.0, 5.0]
    assert other.bias.tolist() != [5.0, 5.0, 5.0]


def test_loading_can_take_the_tensors_over() -> None:
    model = nn.Linear(2, 1)
    weight = torch.ones(1, 2, dtype=torch.float64)
    keys = model.load_state_dict({"weight": weight}, strict=False, assign=True)
    assert keys.missing_keys == ["bias"]
    assert keys.unexpected_keys == []
    assert repr(keys) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])"
    assert isinstance(model.weight, nn.Parameter)
    assert np.shares_memory(model.weight.detach().numpy(), weight.numpy())


def test_state_dict_and_module_survive_pickling() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    state = pickle.loads(pickle.dumps(model.state_dict()))
    other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other.load_state_dict(state)
    third = pickle.loads(pickle.dumps(model))
    x = torch.randn(4, 2)
    expected = model.eval()(x).detach().numpy()
    assert np.array_equal(other.eval()(x).detach().numpy(), expected)
    assert np.array_equal(third.eval()(x).detach().numpy(), expected)
    assert isinstance(third[0].weight, nn.Parameter)
    assert third[0].weight.requires_grad


def test_deepcopy_is_independent_and_keeps_what_is_shared() -> None:
    model = Shared()
    model(torch.ones(1, 2)).sum().backward()
    other = copy.deepcopy(model)
    assert other.second.weight is other.first.weight
    assert other.first.weight is not model.first.weight
    assert isinstance(other.seen, nn.Buffer)
    assert "dropped" not in other.state_dict()
    with torch.no_grad():
        other.first.weight.fill_(0.0)
    assert model.first.weight.abs().sum().item() > 0
    other(torch.ones(1, 2)).sum().backward()
    assert other.first.bias.grad is not None


def test_deleting_and_replacing_attributes() -> None:
    model = Shared()
    del model.kept
    del model.scale
    del model.first
    assert not hasattr(model, "kept")
    assert not hasattr(model, "scale")
    assert not hasattr(model, "first")
    model.second.bias = None
    assert [name for name, _ in model.named_parameters()] == ["second.weight"]
    model.plain = 5
    model.plain = nn.Parameter(torch.ones(1))
    assert "plain" in model._parameters
    assert "plain" not in model.__dict__
    model.plain = None
    model.second = None
    assert list(model.children()) == []
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        del model.absent


def test_train_eval_apply_and_requires_grad() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Linear(1, 1)))
    assert model.training
    assert not any(module.training for module in model.eval().modules())
    assert all(module.training for module in model.train().modules())
    order: list[str] = []
    assert model.apply(lambda module: order.append(module._get_name())) is model
    assert order == ["Dropout", "Linear", "Sequential", "Sequential"]
    assert not any(p.requires_grad for p in model.requires_grad_(False).parameters())


def test_zero_grad_drops_or_zeroes() -> None:
    model = nn.Linear(2, 1)
    model(torch.ones(2)).sum().backward()
    grad = model.weight.grad
    model.zero_grad(set_to_none=False)
    assert model.weight.grad is grad and grad.tolist() == [[0.0, 0.0]]
    model.weight.grad = torch.ones(1, 2, requires_grad=True) * 2
    model.zero_grad(set_to_none=False)
    assert not model.weight.grad.requires_grad and model.weight.grad.sum().item() == 0.0
    model.zero_grad()
    assert model.weight.grad is None


def test_casts_keep_parameters_and_cast_gradients() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    weight = model[0].weight
    model(torch.randn(4, 2)).sum().backward()
    assert model.double() is model
    assert model[0].weight is weight
    assert weight.dtype == weight.grad.dtype == torch.float64
    assert model[1].running_mean.dtype == torch.float64
    assert model[1].num_batches_tracked.dtype == torch.int64
    before = weight.grad.clone()
    model(torch.randn(4, 2, dtype=torch.float64)).square().sum().backward()
    assert not np.array_equal(weight.grad.numpy(), before.numpy())
    model.to(torch.float32)
    assert weight.dtype == torch.float32
    assert model.to("cpu").cpu().to(torch.ones(1, dtype=torch.float64)) is model
    assert model.float()[0].bias.dtype == torch.float32
    assert nn.Embedding(2, 2).type(torch.float64).weight.dtype == torch.float64


def test_forward_hooks_run_in_order_and_replace() -> None:
    model = Shared()
    x = torch.ones(1, 2)
    plain = model(x).item() if model(x).numel() == 1 else model(x).detach().numpy()
    calls: list[str] = []
    handles = [
        model.register_forward_pre_hook(lambda m, args: calls.append("pre")),
        model.register_forward_hook(lambda m, args, out: calls.append("post")),
        model.register_forward_hook(lambda m, args, out: out * 2, prepend=True),
        model.register_forward_pre_hook(lambda m, args: (args[0] * 1,), prepend=True),
        model.register_forward_pre_hook(
            lambda m, args, kwargs: (args, {"times": 3.0}), with_kwargs=True
        ),
        model.register_forward_hook(
            lambda m, args, kwargs, out: calls.append(str(kwargs["times"])), with_kwargs=True
        ),
    ]
    np.testing.assert_allclose(model(x).detach().numpy(), np.multiply(plain, 6), rtol=1e-6)
    assert calls == ["pre", "post", "3.0"]
    for handle in handles:
        handle.remove()
        handle.remove()
    np.testing.assert_allclose(model(x).detach().numpy(), plain, rtol=1e-6)
    with model.register_forward_pre_hook(lambda m, args: args[0] * 0):
        np.testing.assert_allclose(
            model(x).detach().numpy(), model(torch.zeros(1, 2)).detach().numpy()
        )
    assert not model._forward_pre_hooks


def test_hooks_that_are_always_called_see_an_exception() -> None:
    model = nn.Linear(2, 1)
    calls: list[Any] = []
    model.register_forward_hook(lambda m, args, out: calls.append(out), always_call=True)
    model.register_forward_hook(lambda m, args, out: calls.append("not called"))
    with pytest.raises(RuntimeError, match="last axis 3 != 2"):
        model(torch.ones(3))
    assert calls == [None]


def test_sequential_is_a_list() -> None:
    relu, tanh, linear = nn.ReLU(), nn.Tanh(), nn.Linear(1, 1)
    model = nn.Sequential(OrderedDict(a=relu, b=tanh))
    assert model.a is relu
    assert model[-1] is tanh
    assert len(model) == 2
    model.append(linear)
    assert list(model._modules) == ["a", "b", "2"]
    assert list(model[1:]._modules) == ["b", "2"]
    model[0] = linear
    assert model.a is linear
    del model[1]
    assert list(model) == [linear, linear]
    assert model.pop(0) is linear
    model.insert(0, relu)
    model.extend([tanh])
    assert list(model) == [relu, linear, tanh]
    assert list(model + nn.Sequential(relu)) == [relu, linear, tanh, relu]
    assert len(model) == 3
    model += nn.Sequential(relu)
    assert len(model) == 4
    assert len(nn.Sequential(relu, tanh) * 2) == len(2 * nn.Sequential(relu, tanh)) == 4
    del model[::2]
    assert list(model) == [linear, relu]


def test_module_list_and_dict() -> None:
    relu, tanh = nn.ReLU(), nn.Tanh()
    modules = nn.ModuleList([relu])
    modules.append(tanh).extend([relu]).insert(0, tanh)
    assert list(modules) == [tanh, relu, tanh, relu]
    assert list(modules[1:3]._modules) == ["0", "1"]
    assert (modules + nn.ModuleList([relu]))[-1] is relu
    modules += [tanh]
    assert modules[-1] is tanh
    named = nn.ModuleDict({"a": relu})
    named.update([("b", tanh)])
    named.update(nn.ModuleDict({"c": relu}))
    named["d"] = tanh
    assert list(named) == list(named.keys()) == ["a", "b", "c", "d"]
    assert list(named.values()) == [relu, tanh, relu, tanh]
    assert dict(named.items())["b"] is tanh
    assert named.pop("b") is tanh
    del named["a"]
    assert "a" not in named
    assert len(named) == 2
    named.clear()
    assert not len(named)


def test_parameter_list_and_dict() -> None:
    parameters = nn.ParameterList([torch.ones(1), nn.Parameter(torch.zeros(2)), 5])
    parameters.append(torch.ones(3))
    parameters += [torch.ones(4)]
    parameters[1] = torch.ones(5)
    assert [p.numel() for p in parameters.parameters()] == [1, 5, 3, 4]
    assert parameters[2] == 5
    assert len(parameters) == 5
    assert [p.numel() for p in parameters[3:]] == [3, 4]
    assert list(parameters.state_dict()) == ["0", "1", "3", "4"]
    named = nn.ParameterDict({"a": torch.ones(1), "b": 2})
    named.update([("c", torch.ones(3))])
    assert named.keys() == list(named) == ["a", "b", "c"]
    assert named.values()[1] == named.get("b") == named.pop("b") == 2
    assert named.get("b", 7) == 7
    assert [name for name, _ in named.items()] == ["a", "c"]
    assert [p.numel() for p in named.parameters()] == [1, 3]
    del named["a"]
    named.clear()
    assert len(named) == 0
    assert "c" not in named


def test_parameter_is_a_leaf_that_requires_grad_whatever_the_mode() -> None:
    data = torch.ones(2)
    with torch.no_grad():
        parameter = nn.Parameter(data)
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert np.shares_memory(parameter.detach().numpy(), data.numpy())
    assert type(parameter * 1) is torch.Tensor
    assert nn.Parameter().numel() == 0
    assert not nn.Parameter(torch.tensor([1]), requires_grad=False).requires_grad
    assert nn.Buffer().persistent
    with pytest.raises(TypeError, match="Parameter: data is a int, not a Tensor"):
        nn.Parameter(5)
    with pytest.raises(TypeError, match="Buffer: data is a int, not a Tensor"):
        nn.Buffer(5)


def test_dropout_keeps_the_mean_and_the_seed() -> None:
    layer = nn.Dropout(0.3)
    x = torch.ones(200, 500, requires_grad=True)
    torch.manual_seed(3)
    y = layer(x)
    torch.manual_seed(3)
    assert np.array_equal(layer(x).detach().numpy(), y.detach().numpy())
    values = y.detach().numpy()
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / 0.7)}
    kept = np.count_nonzero(values) / values.size
    assert abs(kept - 0.7) < 5 * math.sqrt(0.3 * 0.7 / values.size)
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), values)
    z = torch.ones(50)
    assert nn.Dropout(1.0, inplace=True)(z) is z
    assert z.sum().item() == 0


def test_hardsigmoid_is_its_formula() -> None:
    # PyTorch's gradient has 1/6 in float32 whatever the dtype: not a reference in float64
    x = torch.tensor([-4.0, -3.0, -1.5, 0.0, 2.0, 3.0, 5.0], dtype=torch.float64)
    x.requires_grad_(True)
    y = nn.Hardsigmoid()(x)
    y.sum().backward()
    np.testing.assert_allclose(y.detach().numpy(), [0, 0, 0.25, 0.5, 5 / 6, 1, 1], rtol=1e-15)
    slopes = [0, 0, 1 / 6, 1 / 6, 1 / 6, 0, 0]
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-15)


def test_activations_in_place_change_the_tensor_and_not_a_leaf() -> None:
    x = torch.tensor([-1.0, 2.0])
    assert nn.functional.elu(x, inplace=True) is x
    np.testing.assert_allclose(x.numpy(), [math.expm1(-1), 2], rtol=1e-6)
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        nn.ELU(inplace=True)(leaf)


def test_a_network_with_every_kind_of_state_trains() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(10, 4), nn.Flatten(), nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU(),
        nn.Dropout(0.1), nn.Linear(16, 2),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    x = torch.randint(0, 10, (64, 2))
    y = (x[:, 0] > x[:, 1]).long()
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
    assert model[3].num_batches_tracked.item() == 60


def test_embedding_from_pretrained() -> None:
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(weight)
    assert not layer.weight.requires_grad
    assert layer(torch.tensor([1])).tolist() == [[3.0, 4.0]]
    assert nn.Embedding.from_pretrained(weight, freeze=False).weight.requires_grad


def test_batch_norm_forgets_its_batches() -> None:
    layer = nn.BatchNorm1d(2)
    layer(torch.randn(8, 2))
    layer.reset_parameters()
    assert layer.running_mean.tolist() == [0.0, 0.0]
    assert layer.running_var.tolist() == [1.0, 1.0]
    assert layer.num_batches_tracked.item() == 0


def test_what_else_is_refused() -> None:
    functional = nn.functional
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"probabilities of shape \[3, 2\] for an input of"):
        functional.cross_entropy(x, torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        functional.binary_cross_entropy(x * 2, x)
    assert functional.one_hot(torch.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(TypeError, match="must be int, not float"):
        functional.one_hot(torch.tensor([2, 0]), 3.0)
    with pytest.raises((TypeError, RuntimeError)):
        functional.one_hot(torch.tensor([2.0, 0.0]), 3)


def test_dropout_between_recurrent_layers() -> None:
    torch.manual_seed(0)
    layer = nn.GRU(2, 3, 2, dropout=0.5)
    x = torch.randn(4, 1, 2)
    first, second = (layer(x)[0].detach().numpy() for _ in range(2))
    assert not np.array_equal(first, second)
    layer.eval()
    first, second = (layer(x)[0].detach().numpy() for _ in range(2))
    assert np.array_equal(first, second)


def test_modules_that_are_shared_are_walked_once() -> None:
    relu = nn.BatchNorm1d(1)
    model = nn.Sequential(relu, relu)
    assert list(model.modules()) == [model, relu]
    assert len(list(model.buffers())) == 3
    assert len(model.state_dict()) == 10
    model[0].running_mean = torch.ones(1)
    loaded = {key: value + 1 for key, value in model.state_dict().items()}
    model.load_state_dict(loaded, assign=True)
    assert relu.running_mean.tolist() == [2.0]
    assert "running_mean" in relu._buffers


def test_a_module_loads_as_its_own_method_says_and_older_hooks_count() -> None:
    class Renamed(nn.Linear):
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    model = nn.Sequential(Renamed(2, 1), nn.ReLU())
    seen: list[object] = []
    model._register_load_state_dict_pre_hook(lambda *rest: seen.append(len(rest)))
    model._register_load_state_dict_pre_hook(lambda *rest: seen.append(len(rest)), with_module=True)
    state = {"0.kernel": torch.ones(1, 2), "0.bias": torch.ones(1)}
    assert str(model.load_state_dict(state)) == "<All keys matched successfully>"
    assert model[0].weight.tolist() == [[1.0, 1.0]] and seen == [7, 8]
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict({"0.kernel": torch.ones(1, 2)})
    model._register_state_dict_hook(lambda module, state, prefix, metadata: {"all": len(state)})
    assert model.state_dict() == {"all": 2}
    groups = [{"params": [model[0].weight]}, {"params": [model[0].bias], "lr": 2}]
    assert "\n\nParameter Group 1\n" in repr(torch.optim.SGD(groups, lr=1))
