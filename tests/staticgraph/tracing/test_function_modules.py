"""`sg.function` of modules: their parameters stay their own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.dynamic import nn


def _model() -> Any:
    dynamic.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).double()


def _data(rows: int = 5) -> Any:
    return dynamic.from_numpy(np.random.default_rng(rows).normal(size=(rows, 3)))


def _close(left: Any, right: Any) -> None:
    left, right = (x.detach().numpy() if hasattr(x, "detach") else x for x in (left, right))
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14)


def test_values_and_gradients_of_a_module() -> None:
    model, x = _model(), _data()
    fast = sg.function(model)
    for rows in (5, 2):
        x = _data(rows)
        _close(fast(x), model(x))
        found = dynamic.autograd.grad((fast(x) ** 2).sum(), list(model.parameters()))
        expected = dynamic.autograd.grad((model(x) ** 2).sum(), list(model.parameters()))
        for one, other in zip(found, expected, strict=True):
            _close(one, other)
    assert [type(one) for one in model.parameters()] == [nn.Parameter] * 4


def test_arrays_in_arrays_out() -> None:
    model, x = _model(), _data()
    result = sg.function(model)(x.numpy())
    assert type(result) is np.ndarray
    _close(result, model(x))


@pytest.mark.parametrize("make", [dynamic.optim.SGD, dynamic.optim.Adam])
def test_training_by_an_eager_optimizer(make: Any) -> None:
    model = _model()
    other = copy.deepcopy(model)
    fast = sg.function(model)
    optimizers = [make(one.parameters(), lr=0.05) for one in (model, other)]
    for step in range(5):
        x = _data(step + 1)
        for f, optimizer in zip((fast, other), optimizers, strict=True):
            optimizer.zero_grad()
            (f(x) ** 2).mean().backward()
            optimizer.step()
    for one, reference in zip(model.parameters(), other.parameters(), strict=True):
        _close(one, reference)


def test_loading_a_state_and_changing_data_are_seen() -> None:
    model, x = _model(), _data()
    fast = sg.function(model)
    fast(x)
    model.load_state_dict({key: value * 2 for key, value in model.state_dict().items()})
    _close(fast(x), model(x))
    model[0].weight.data = model[0].weight.data + 1
    _close(fast(x), model(x))
    _close(fast(x.numpy()), model(x))


@pytest.mark.slow
def test_changes_of_the_modules_are_seen() -> None:
    model, x = _model(), _data()
    fast = sg.function(model)
    fast(x)
    model[2] = nn.Linear(8, 4).double()
    assert fast(x).shape == (5, 4)
    _close(fast(x), model(x))
    model[0].bias = None
    _close(fast(x), model(x))
    model[0].bias = nn.Parameter(dynamic.ones(8).double())
    _close(fast(x), model(x))
    del model[0].bias
    with pytest.raises(AttributeError, match="no attribute 'bias'"):
        fast(x)
    model[0].bias = nn.Parameter(dynamic.zeros(8).double())
    _close(fast(x), model(x))
    model.append(nn.ReLU())
    _close(fast(x), model(x))
    model.float()
    assert fast(x.float()).dtype == dynamic.float32


def test_a_parameter_that_gets_another_shape_or_dtype_is_traced_again() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(dynamic.ones(3).double())

        def forward(self, x: Any) -> Any:
            return x * self.weight

    module, x = Scale(), _data()
    fast = sg.function(module)
    for data in (dynamic.ones(1).double() * 2, dynamic.ones(5, 1).double() * 3, dynamic.ones(3)):
        fast(x)
        module.weight.data = data
        _close(fast(x), module(x))


@pytest.mark.slow
def test_a_hook_that_comes_later_is_traced() -> None:
    model, x = _model(), _data()
    fast = sg.function(model)
    fast(x)
    handle = model[1].register_forward_hook(lambda module, args, output: output * 2)
    _close(fast(x), model(x))
    handle.remove()
    _close(fast(x), model(x))


def test_tied_weights_get_one_gradient_and_may_be_untied() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).double()
    model[1].weight = model[0].weight
    fast, x = sg.function(model), _data()
    (fast(x) ** 2).sum().backward()
    found = model[0].weight.grad.clone()
    model.zero_grad()
    (model(x) ** 2).sum().backward()
    _close(found, model[0].weight.grad)
    model[1].weight = nn.Parameter(model[0].weight.detach() * 2)
    _close(fast(x), model(x))


def test_frozen_parameters_get_no_gradient() -> None:
    model, x = _model(), _data()
    fast = sg.function(model)
    model[0].requires_grad_(False)
    fast(x).sum().backward()
    assert model[0].weight.grad is None
    found = model[2].weight.grad.clone()
    model.zero_grad()
    model(x).sum().backward()
    _close(found, model[2].weight.grad)


def test_training_and_evaluation_are_traced_apart() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if self.training else x

    module, x = Scaled(), _data()
    fast = sg.function(module)
    _close(fast(x), 2 * x)
    module.eval()
    _close(fast(x), x)
    module.train()
    _close(fast(x.numpy()), 2 * x)


def test_buffers_are_read() -> None:
    model = nn.BatchNorm1d(3).double().eval()
    fast, x = sg.function(model), _data()
    model.running_mean.add_(0.5)
    _close(fast(x), model(x))
    model.running_var.mul_(2)
    _close(fast(x), model(x))


def test_a_module_changes_its_buffers_at_each_call() -> None:
    model, twin = nn.BatchNorm1d(3).double(), nn.BatchNorm1d(3).double()
    fast = sg.function(model)
    for _ in range(3):
        _close(fast(_data()), twin(_data()))
        _close(model.running_mean, twin.running_mean)
        _close(model.running_var, twin.running_var)
    assert model.num_batches_tracked.item() == 3
    assert isinstance(model.running_mean, dynamic.Tensor)
    assert isinstance(model.weight, nn.Parameter)


@pytest.mark.slow
def test_a_module_as_an_argument() -> None:
    def loss(model: Any, x: Any, *, target: Any) -> Any:
        return ((model(x) - target) ** 2).mean()

    model, x, target = _model(), _data(), np.ones((5, 2))
    compiled = sg.function(loss)
    found = compiled(model, x, target=target)
    _close(found, loss(model, x, target=target))
    found.backward()
    assert all(one.grad is not None for one in model.parameters())
    other = copy.deepcopy(model)
    with dynamic.no_grad():
        other[0].weight.mul_(2)
    _close(compiled(other, x.numpy(), target=target), loss(other, x, target=target))


def test_a_module_given_twice() -> None:
    model, x = nn.Linear(3, 3).double(), _data()
    compiled = sg.function(lambda first, second, x: second(first(x)))
    compiled(model, model, x).sum().backward()
    found = model.weight.grad.clone()
    model.zero_grad()
    model(model(x)).sum().backward()
    _close(found, model.weight.grad)
    other = nn.Linear(3, 3).double()
    _close(compiled(model, other, x), other(model(x)))


def test_a_method_of_a_module() -> None:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2).double()

        def encode(self, x: Any, scale: float = 1.0) -> Any:
            return self.layer(x) * scale

    module, x = Encoder(), _data()
    encode = sg.function(module.encode)
    _close(encode(x, scale=3.0), module.encode(x, 3.0))
    encode(x).sum().backward()
    assert module.layer.weight.grad is not None


def test_names_of_parameters_are_those_of_the_executable() -> None:
    executable = sg.function(_model()).executable(_data())
    names = [feed.name for feed in executable.feeds]
    assert names == ["input", "0.weight", "0.bias", "2.weight", "2.bias"]
    assert str(executable.feeds[1].type) == "float64[8, 3]"


@pytest.mark.slow
def test_transforms_of_modules() -> None:
    model, x = _model(), _data()
    per_example = sg.vmap(sg.jacobian(model))(x)
    expected = dynamic.func.vmap(dynamic.func.jacrev(model))(x)
    _close(per_example, expected)
    _close(sg.vmap(sg.jacobian(model))(x.numpy()), expected)


def test_a_compiled_module_can_be_copied() -> None:
    model, x = _model(), _data()
    sg.function(model)(x)
    sg.jacobian(model)(x)
    _close(copy.deepcopy(model)(x), model(x))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2)), (2, 2, 8, 8)),
        (lambda: nn.LayerNorm(4), (3, 4)),
        (lambda: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
        (lambda: nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4)),
        pytest.param(
            lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.GELU()), (2, 4, 3), marks=pytest.mark.long
        ),
    ],
)
def test_layers(make: Any, shape: Any) -> None:
    dynamic.manual_seed(0)
    module = make().double()
    x = dynamic.from_numpy(np.random.default_rng(0).normal(size=shape))
    args = (x, x, x) if isinstance(module, nn.MultiheadAttention) else (x,)
    expected, found = module(*args), sg.function(module)(*args)
    expected, found = (one[0] if isinstance(one, tuple) else one for one in (expected, found))
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-10, atol=1e-12)
    parameters = list(module.parameters())
    own = dynamic.autograd.grad((found**2).sum(), parameters)
    for one, other in zip(own, dynamic.autograd.grad((expected**2).sum(), parameters), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
