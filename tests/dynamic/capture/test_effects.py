"""What a captured function does beside computing results: as eagerly, at each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn
from staticgraph.dynamic.nn import functional

HERE = r"test_effects\.py:\d+: "
World = tuple[Callable[..., Any], list[Any]]
"""A function, and the tensors and modules that it may change."""


def same(make: Callable[[], World], calls: list[tuple[Any, ...]], debug: bool = True) -> None:
    """Each call has the same results, gradients and effects eagerly and captured."""
    torch.manual_seed(0)
    eager, world = make()
    torch.manual_seed(0)
    function, captured_world = make()
    captured = sg.function(function, debug=debug)
    for i, shapes in enumerate(calls):
        expected = _after(eager, world, shapes, i)
        found = _after(captured, captured_world, shapes, i)
        assert [name for name, _ in found] == [name for name, _ in expected]
        for (name, one), (_, other) in zip(found, expected, strict=True):
            if isinstance(one, np.ndarray):
                assert other is not None, name
                assert one.dtype == other.dtype, name
                assert one.shape == other.shape, name
                np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6, err_msg=name)
            else:
                assert one == other, name


def _after(function: Any, world: list[Any], shapes: tuple[Any, ...], seed: int) -> list[Any]:
    """Everything that a call gives and leaves."""
    torch.manual_seed(100 + seed)
    rng = np.random.default_rng(seed)
    args = [torch.tensor(rng.normal(size=shape)).requires_grad_() for shape in shapes]
    seen: list[Any] = []
    result = function(*args)
    results = [one for one in _flat(result) if isinstance(one, torch.Tensor)]
    for i, one in enumerate(results):
        seen += [(f"result {i}", one.detach().numpy().copy()), (f"needs {i}", one.requires_grad)]
        for j, arg in enumerate(args):
            seen.append((f"memory {i} {j}", np.shares_memory(one._array, arg._array)))
    total = sum(one.square().sum() for one in results if one.requires_grad)
    if isinstance(total, torch.Tensor):
        try:
            total.backward()
        except RuntimeError as error:
            seen.append(("error", str(error)))
    for i, one in enumerate([*args, *_tensors(world)]):
        seen.append((f"tensor {i}", one.detach().numpy().copy()))
        grad = one.grad if one.is_leaf else None
        seen.append((f"gradient {i}", None if grad is None else grad.detach().numpy().copy()))
    seen.append(("next random number", torch.rand(1).item()))
    return seen


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [one for part in value for one in _flat(part)]
    if isinstance(value, dict):
        return _flat(list(value.values()))
    return [value]


def _tensors(world: list[Any]) -> list[Any]:
    found: list[Any] = []
    for one in world:
        found += [*one.parameters(), *one.buffers()] if isinstance(one, nn.Module) else [one]
    return found


ROWS = [((3, 4),), ((5, 4),), ((3, 4),)]
PAIRS = [((3, 4), (3, 2)), ((5, 4), (5, 2)), ((3, 4), (3, 2))]


def _net(*middle: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 6), *middle, nn.Tanh(), nn.Linear(6, 2)).double()


# the training step


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_usual_training_step(name: str) -> None:
    def make() -> World:
        model = _net()
        opt = OPTIMIZERS[name](model.parameters())

        def step(x: Any, y: Any) -> Any:
            opt.zero_grad()
            loss = functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
            return loss

        return step, [model]

    same(make, PAIRS)


@pytest.mark.slow
def test_a_training_step_is_compiled() -> None:
    def make() -> World:
        model = _net(nn.BatchNorm1d(6), nn.Dropout(0.5))
        opt = torch.optim.Adam(model.parameters())

        def step(x: Any, y: Any) -> Any:
            loss = (model(x.detach()) - y.detach()).square().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
            return loss.detach()

        return step, [model]

    same(make, PAIRS, debug=False)


def test_gradients_are_cleared_after_the_step() -> None:
    def make() -> World:
        model = _net()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)

        def step(x: Any, y: Any) -> Any:
            loss = functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            schedule.step()
            return loss

        return step, [model]

    same(make, PAIRS)


def test_a_module_and_its_optimizer_as_arguments() -> None:
    model, twin = _net(), _net()
    twin.load_state_dict(model.state_dict())
    opts = [torch.optim.Adam(one.parameters()) for one in (model, twin)]

    def step(model: Any, x: Any, opt: Any) -> Any:
        opt.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        opt.step()
        return loss

    captured = sg.function(step, debug=True)
    for i, rows in enumerate((3, 2, 3)):
        x = torch.tensor(np.random.default_rng(i).normal(size=(rows, 4)))
        expected, found = step(twin, x, opts[1]), captured(model, x, opts[0])
        np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-9)
        for one, other in zip(model.parameters(), twin.parameters(), strict=True):
            np.testing.assert_allclose(one.detach(), other.detach(), rtol=1e-9)


def test_gradients_accumulate_over_calls_and_reach_the_arguments() -> None:
    def make() -> World:
        model = _net()

        def backward(x: Any) -> Any:
            loss = model(x).sum()
            loss.backward()
            return loss.detach()

        return backward, [model]

    same(make, ROWS)


def test_a_reverse_pass_goes_on_outside() -> None:
    captured = sg.function(lambda y: (y.square().sum().backward(), y * 1)[1], debug=True)
    for size in (2, 3, 2):
        w = torch.arange(1.0, 1.0 + size).requires_grad_()
        captured(w * 3)
        np.testing.assert_allclose(w.grad, 18 * w.detach())


def test_steps_by_hand() -> None:
    def make() -> World:
        w = torch.tensor(np.ones((4, 2)), requires_grad=True)
        b = torch.zeros(2).double().requires_grad_()

        def step(x: Any, y: Any) -> Any:
            w.grad = b.grad = None
            loss = (x.detach() @ w + b - y.detach()).square().mean()
            loss.backward()
            with torch.no_grad():
                w.sub_(w.grad, alpha=0.1)
                b.add_(-0.1 * b.grad)
            return loss.detach(), (x.detach() @ w).sum()

        return step, [w, b]

    same(make, PAIRS)


def test_gradients_inside() -> None:
    def make() -> World:
        def penalty(x: Any) -> Any:
            y = (x * x * x).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            z = x.detach().requires_grad_()
            z.exp().sum().backward()
            return y + g.square().sum(), z.grad

        return penalty, []

    same(make, ROWS)


def test_a_graph_is_freed_by_a_pass() -> None:
    def twice(x: Any) -> Any:
        y = x.exp().sum()
        y.backward()
        y.backward()

    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        sg.function(twice, debug=True)(torch.ones(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        sg.function(lambda x: x.sum().backward(), debug=True)(torch.ones(3))


# state


def test_random_numbers_are_those_of_the_stream() -> None:
    def make() -> World:
        def draw(x: Any) -> Any:
            noise = torch.randn(x.shape[0], 4) + torch.rand(4) + torch.rand_like(x)
            y = functional.dropout(x, 0.3) + functional.alpha_dropout(x, 0.2, training=True)
            z = x.detach().clone()
            z.uniform_(0.5, 1.0)
            y = y + functional.rrelu(x, training=True) + torch.randint(0, 5, (4,))
            return noise * y, z, functional.gumbel_softmax(x), torch.empty(2).normal_()

        return draw, []

    same(make, ROWS)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm_in_training(momentum: Any) -> None:
    def make() -> World:
        model = _net(nn.BatchNorm1d(6, momentum=momentum))
        return model, [model]

    same(make, ROWS)


def test_a_model_in_a_closure_is_read_at_each_call() -> None:
    def make() -> World:
        model = _net(nn.BatchNorm1d(6))
        scale = torch.tensor([2.0, 3.0]).double().requires_grad_()
        return (lambda x: model(x) * scale), [model, scale]

    same(make, ROWS)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1).double())
        self.register_buffer("last", torch.zeros(4).double())

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.last = x.detach().mean(0)
        return x * self.count + self.last


def test_buffers_that_are_assigned() -> None:
    def make() -> World:
        model = Counting()
        return model, [model]

    same(make, ROWS)
    model = Counting()
    captured = sg.function(lambda x: model(x), debug=True)
    for i in range(1, 4):
        captured(torch.ones(3, 4).double())
        assert model.count.item() == i


# memory


def _arguments_written(x: Any) -> Any:
    y = x.detach()
    y += 1
    row = y[0]
    row += 5
    y[1, 1:3] = 7.0
    return x * 2


def _recorded(x: Any) -> Any:
    y = x * 2
    z = y
    z += 1
    first = y[0]
    first *= 3
    with torch.no_grad():
        y -= 0.5
    y.detach()[1] = 9.0
    return y * y


def _views(x: Any) -> Any:
    y = x * 2
    return x, x[0], x.t(), y, y[1:], y, x.detach(), x.reshape(-1)


def _views_unrecorded(x: Any) -> Any:
    with torch.no_grad():
        y, z = x[0], x.t()
    return y, z, x[0].detach(), x[1:]


def _buffer(x: Any) -> Any:
    buffer = torch.zeros(x.shape[0], 4, dtype=torch.float64)
    buffer[0] = x[1]
    buffer[:, 1] += x[:, 0]
    return buffer


@pytest.mark.parametrize(
    "function", [_arguments_written, _recorded, _views, _views_unrecorded, _buffer]
)
def test_memory(function: Any) -> None:
    same(lambda: (function, []), ROWS)


def test_an_argument_that_is_recorded_is_written() -> None:
    def add(x: Any, y: Any) -> Any:
        x.mul_(y)
        return x.sum()

    found = []
    for function in (add, sg.function(add, debug=True)):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([3.0, 5.0], requires_grad=True)
        x = w * 2
        function(x, v).backward()
        x2 = w * 2
        function(x2, v)
        (x2 * x2).sum().backward()
        found.append((x.detach().numpy(), w.grad.numpy(), v.grad.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other)
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in"):
        sg.function(add, debug=True)(leaf, v)
    np.testing.assert_array_equal(leaf.detach(), [1, 1])


def test_what_is_written_is_nothing_else() -> None:
    def add(x: Any, y: Any) -> Any:
        x += 1
        return x * y

    captured, x = sg.function(add, debug=True), torch.ones(3)
    captured(x, torch.ones(3))
    with pytest.raises(sg.CaptureError, match=r"\.py:\d+: .*shares memory with another"):
        captured(x, x)
    with pytest.raises(sg.CaptureError, match="shares memory"):
        captured(x, x[:1].expand(3))
    np.testing.assert_array_equal(x, [2, 2, 2])


# what is asked


def test_modes_and_flags_are_those_of_the_call() -> None:
    def asked(x: Any, y: Any) -> Any:
        scale = 2.0 if x.requires_grad else 3.0
        shift = 10.0 if torch.is_grad_enabled() else 20.0
        with torch.no_grad():
            z = y * 2 if not torch.is_grad_enabled() and not (y * 2).requires_grad else y
        return x * scale + shift + z

    captured = sg.function(asked, debug=True)
    for i in range(2):
        for needed in (True, False, True):
            x = torch.full((2 + i,), 1.0).requires_grad_(needed)
            assert captured(x, x.detach()).tolist() == asked(x, x.detach()).tolist()
            with torch.no_grad():
                assert captured(x, x.detach()).tolist() == asked(x, x.detach()).tolist()
    assert len(captured.traces) == 4


def test_results_require_grad_as_eagerly() -> None:
    def several(x: Any, y: Any) -> Any:
        with torch.no_grad():
            a = x * 2
        return a, x.detach() * 3, x * y, y + 1, x.argmax(), torch.ones(2)

    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    found = [one.requires_grad for one in sg.function(several, debug=True)(x, y)]
    assert found == [one.requires_grad for one in several(x, y)]


class Remembering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(4)

    def forward(self, x: Any) -> Any:
        self.last = self.last + x.sum()
        return x * self.last


REFUSALS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "read after the step": (
        lambda m: _stepping(m, lambda m, x: m(x)), "hands on a tensor with a history",
    ),
    "closure": (
        lambda m: _stepping(m, lambda m, x: x, lambda: 0), "with a closure",
    ),
    "an optimizer made inside": (
        lambda m: lambda x: (m(x).sum().backward(), torch.optim.SGD(m.parameters()).step()),
        "makes an optimizer",
    ),
    "in a branch": (
        lambda m: lambda x: sg.cond(x.sum() > 0, lambda v: v + torch.rand(4), lambda v: v, x),
        "draws random numbers in a branch",
    ),
    "an attribute assigned": (lambda m: Remembering(), "assigns a tensor to 'last' of a module"),
    "hooks": (lambda m: _hooked(m), "has hooks"),
}  # fmt: skip


def _stepping(model: Any, after: Any, *closure: Any) -> Any:
    opt = torch.optim.SGD(model.parameters())

    def step(x: Any) -> Any:
        opt.zero_grad()
        model(x).sum().backward()
        opt.step(*closure)
        return after(model, x)

    return step


def _hooked(model: Any) -> Any:
    model.weight.register_hook(lambda g: g * 2)

    def step(x: Any) -> Any:
        model(x).sum().backward()  # outside, where the hook is called
        return model.weight.grad * 2

    return step


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_names_the_line(name: str) -> None:
    make, text = REFUSALS[name]
    with pytest.raises(sg.CaptureError, match=HERE + f".*({text})"):
        sg.function(make(nn.Linear(4, 4)), debug=True)(torch.ones(3, 4))


def test_what_is_looked_into_has_all_operands() -> None:
    scale = torch.tensor([2.0, 3.0])
    captured = sg.function(lambda x: functional.dropout(x, 0.5) * scale, name="f")
    x = torch.ones(2)
    compiled, operands = captured.captured(x)
    assert len(operands) == len(compiled.trace.inputs) == 3
    assert captured.executable(x).definition.inputs
    torch.manual_seed(0)
    found = captured.step(x, commands=["continue"])
    torch.manual_seed(0)
    np.testing.assert_array_equal(found, captured(x))
