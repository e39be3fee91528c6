"""Recurrent layers: a whole sequence as one node gives what it gives step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn
from staticgraph.dynamic.autograd import forward_ad, gradcheck, gradgradcheck
from staticgraph.dynamic.core import gates
from staticgraph.dynamic.kernels import native
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.recurrent_cells import step_gru

KINDS: dict[str, Any] = {
    "tanh": lambda **options: nn.RNN(3, 4, dtype=torch.float64, **options),
    "relu": lambda **options: nn.RNN(3, 4, nonlinearity="relu", dtype=torch.float64, **options),
    "gru": lambda **options: nn.GRU(3, 4, dtype=torch.float64, **options),
    "lstm": lambda **options: nn.LSTM(3, 4, dtype=torch.float64, **options),
}
KINDS_OF_CELLS: dict[str, Any] = {"gru": lambda: nn.GRUCell(3, 4, dtype=torch.float64)}
OPTIONS: list[dict[str, Any]] = [
    {}, {"bias": False}, {"bidirectional": True}, {"num_layers": 2, "batch_first": True},
]  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    return KINDS[request.param]


def sequence(*shape: int, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.from_numpy(values).requires_grad_(True)


def states(layer: Any, batch: int) -> Any:
    directions = 2 if layer.bidirectional else 1
    shape = (layer.num_layers * directions, batch, 4)
    if isinstance(layer, nn.LSTM):
        return sequence(*shape, seed=1), sequence(*shape, seed=2)
    return sequence(*shape, seed=1)


def flat(results: Any) -> list[Any]:
    if isinstance(results, torch.Tensor):
        return [results]
    return [one for part in results for one in flat(part)]


def in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("staticgraph.dynamic.nn.recurrent_layers.fits", lambda *operands: False)


def values_and_gradients(layer: Any, inputs: list[Any], used: slice) -> list[Any]:
    """The results, and the gradients of a weighted sum of those of them that are `used`."""
    x, *state = inputs
    hx = tuple(state) if len(state) > 1 else state[0]
    results = flat(layer(x, hx))
    loss = sum(
        (one * torch.from_numpy(np.cos(np.arange(one.numel()) + i).reshape(one.shape))).sum()
        for i, one in enumerate(results[used])
    )
    leaves = [*inputs, *layer.parameters()]
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [*results, *found]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("used", [slice(None), slice(0, 1), slice(1, None)], ids=str)
def test_one_node_gives_what_the_steps_give(kind, options, used, monkeypatch):
    layer = kind(**options)
    inputs = [sequence(5, 5, 3), *flat(states(layer, 5))]
    found = values_and_gradients(layer, inputs, used)
    in_steps(monkeypatch)
    expected = values_and_gradients(layer, inputs, used)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == other.dtype
            assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-11, atol=1e-13)


def test_only_what_requires_grad_gets_a_gradient(kind):
    layer = kind()
    layer.weight_ih_l0.requires_grad_(False)
    layer.bias_hh_l0.requires_grad_(False)
    x = sequence(4, 2, 3).detach()
    layer(x)[0].sum().backward()
    assert x.grad is None
    assert layer.weight_ih_l0.grad is None
    assert layer.bias_hh_l0.grad is None
    assert layer.weight_hh_l0.grad.shape == layer.weight_hh_l0.shape
    assert layer.bias_ih_l0.grad.shape == layer.bias_ih_l0.shape


@pytest.mark.slow
def test_gradients_to_second_order_are_difference_quotients(kind):
    layer = kind(bidirectional=True)
    inputs = (sequence(3, 2, 3), *flat(states(layer, 2)))

    def run(x: Any, *state: Any) -> tuple[Any, ...]:
        return tuple(flat(layer(x, state if len(state) > 1 else state[0])))

    assert gradcheck(run, inputs)
    layer = kind()
    inputs = (sequence(2, 2, 3), *flat(states(layer, 2)))
    assert gradgradcheck(run, inputs)


def test_second_gradients_of_the_weights_are_those_of_the_steps(kind, monkeypatch):
    layer = kind()
    x = sequence(4, 2, 3)
    parameters = list(layer.parameters())

    def second() -> list[Any]:
        first = torch.autograd.grad((layer(x)[0] ** 2).sum(), [x, *parameters], create_graph=True)
        return list(torch.autograd.grad(sum((g**2).sum() for g in first), [x, *parameters]))

    found = second()
    in_steps(monkeypatch)
    for one, other in zip(found, second(), strict=True):
        assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


def test_transforms_and_forward_mode_see_the_steps(kind, monkeypatch):
    layer = kind()
    x, tangent = sequence(4, 2, 3).detach(), sequence(4, 2, 3, seed=3).detach()

    def run(x: Any) -> Any:
        return layer(x)[0]

    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(run(forward_ad.make_dual(x, tangent))).tangent
    by_jvp = torch.func.jvp(run, (x,), (tangent,))[1]
    batches = torch.stack([x, tangent])
    by_vmap = torch.func.vmap(run)(batches)
    gradient = torch.func.grad(lambda x: (run(x) ** 2).sum())(x)
    step = 1e-6
    quotient = (run(x + step * tangent) - run(x - step * tangent)) / (2 * step)
    in_steps(monkeypatch)
    assert_allclose(dual.detach().numpy(), quotient.detach().numpy(), rtol=1e-5, atol=1e-8)
    assert_allclose(by_jvp.detach().numpy(), dual.detach().numpy(), rtol=1e-12)
    for one, other in zip(by_vmap, batches, strict=True):
        assert_allclose(one.detach().numpy(), run(other).detach().numpy(), rtol=1e-12)
    expected = torch.func.grad(lambda x: (run(x) ** 2).sum())(x)
    assert_allclose(gradient.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_a_tensor_in_two_places_gets_both_gradients(kind):
    layer = kind()
    layer.bias_hh_l0 = layer.bias_ih_l0
    for create_graph in (False, True):
        out = layer(sequence(4, 2, 3))[0].sum()
        (both,) = torch.autograd.grad(out, layer.bias_ih_l0, create_graph=create_graph)
        shift = torch.zeros(both.shape, dtype=torch.float64)
        shift[1] = 1e-6
        bias = layer.bias_ih_l0.detach().clone()
        sums = []
        with torch.no_grad():
            for sign in (1, -1):
                layer.bias_ih_l0.copy_(bias + sign * shift)
                sums.append(layer(sequence(4, 2, 3))[0].sum().item())
            layer.bias_ih_l0.copy_(bias)
        assert_allclose(both[1].item(), (sums[0] - sums[1]) / 2e-6, rtol=1e-6)


def test_what_is_saved_is_freed_and_must_not_be_changed(kind):
    layer = kind()
    x = sequence(4, 2, 3)
    out = layer(x)[0]
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()
    out = layer(x)[0]
    with torch.no_grad():
        layer.weight_hh_l0.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_sequence_of_float32_stays_float32(kind):
    layer = kind().to(torch.float32)
    x = sequence(4, 2, 3).detach().to(torch.float32).requires_grad_(True)
    out = layer(x)[0]
    out.sum().backward()
    assert (out.dtype, x.grad.dtype) == (torch.float32, torch.float32)
    assert all(one.grad.dtype == torch.float32 for one in layer.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("used", [slice(0, 1), slice(None)], ids=["outputs", "all"])
def test_a_kernel_gives_what_numpy_gives(
    kind: Any, used: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = kind(bidirectional=True, bias=used.stop is None)
    inputs = [sequence(6, 2, 3), *flat(states(layer, 2))]
    expected = values_and_gradients(layer, inputs, used)
    monkeypatch.setattr("staticgraph.dynamic.nn.recurrent_kernels.LEAST_WORK", 1)
    computed = []
    run = native.run
    monkeypatch.setattr(native, "run", lambda *given: computed.append(run(*given)) or computed[-1])
    found = values_and_gradients(layer, inputs, used)
    assert len(computed) >= 4
    assert not any(one is None for one in computed)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            expected_values = other.detach().numpy()
            assert_allclose(one.detach().numpy(), expected_values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("packed", [False, True])
def test_weights_that_something_else_stands_in_for_are_used(packed: bool) -> None:
    """DropConnect, weight norm and parametrizations of a recurrent layer."""
    torch.manual_seed(0)
    layer, x = nn.LSTM(3, 2).double(), torch.randn(4, 2, 3, dtype=torch.float64)
    given = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 4])) if packed else x

    def sums(one: Any) -> Any:
        found = one(given)[0]
        return (found.data if packed else found).sum()

    wanted = nn.LSTM(3, 2).double()
    wanted.load_state_dict(layer.state_dict())
    with torch.no_grad():
        wanted.weight_hh_l0.mul_(2)
    weight = layer._parameters.pop("weight_hh_l0")
    layer.weight_hh_l0 = weight * 2  # no parameter
    assert torch.allclose(sums(layer), sums(wanted))
    sums(layer).backward()
    assert bool(weight.grad.abs().sum() > 0)

    normed = nn.LSTM(3, 2).double()
    nn.utils.weight_norm(normed, "weight_hh_l0")
    before = float(sums(normed))
    with torch.no_grad():
        normed.weight_hh_l0_g.mul_(2)
    assert abs(float(sums(normed)) - before) > 1e-6


@pytest.mark.parametrize("shape", [(5,), ()])
def test_the_gates_of_a_small_gru_cell_are_one_node(shape: tuple[int, ...]) -> None:
    """With the value and the gradients that the ops give which it stands for."""
    cell = KINDS_OF_CELLS["gru"]()
    x, h = sequence(*shape, 3), sequence(*shape, 4, seed=1)
    operands = [x, h, *cell.parameters()]
    found = cell(x, h)
    assert len(found.grad_fn.next_functions) == 3 and found.grad_fn.name() == "AddBackward0"
    parts = F.linear(x, cell.weight_ih, cell.bias_ih)
    expected = step_gru(parts, h, cell.weight_hh, cell.bias_hh)
    assert_allclose(found.detach(), expected.detach(), rtol=1e-14, atol=1e-15)
    pairs = [torch.autograd.grad((one**2).sum(), operands) for one in (found, expected)]
    for one, other in zip(*pairs, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    assert gradcheck(lambda *given: cell(*given[:2]), operands)
    assert gradgradcheck(lambda *given: cell(*given[:2]), operands)
    mixed = cell(x.detach(), h.detach().requires_grad_(True))
    assert mixed.requires_grad


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gates_of_many_rows_and_of_extremes(dtype: str) -> None:
    """Of more rows than a thread takes, and where exponentials overflow."""
    r = np.random.default_rng(0)
    h, g = r.standard_normal((2, 700, 16)).astype(dtype)
    x, own = r.standard_normal((2, 700, 48)).astype(dtype)
    x[::7] = 2000 * np.sign(x[::7])
    found = gates.gru_gates.evaluate(x, own, h)
    rule: Any = gates.gru_gates.vjp_arrays
    slopes = rule((0, 1, 2), g, None, x, own, h)
    wide = [torch.tensor(one.astype("f8"), requires_grad=True) for one in (x, own, h)]
    expected = gates._gru(*wide)
    exact = torch.autograd.grad(expected, wide, torch.tensor(g.astype("f8")))
    eps = float(np.finfo(dtype).eps)
    assert_allclose(found, expected.detach(), rtol=0, atol=16 * eps)
    for one, other in zip(slopes, exact, strict=True):
        assert one.dtype == dtype
        assert_allclose(one, other, rtol=0, atol=64 * eps)


def test_a_gru_cell_of_other_operands_is_computed_in_ops() -> None:
    cell = KINDS_OF_CELLS["gru"]()
    x, h = sequence(5, 3).detach(), sequence(5, 4, seed=1).detach()
    expected = cell(x, h).detach()
    found = torch.vmap(cell)(x, h).detach()
    assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    found = np.asarray(sg.function(cell)(x, h).detach())
    assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("cell", [nn.RNNCell(3, 4), nn.GRUCell(3, 4), nn.LSTMCell(3, 4)])
@pytest.mark.parametrize(
    ("inputs", "states", "message"),
    [
        ((2, 3), (3, 4), r"Input batch size 2 doesn't match (hidden|hx\[0\]) batch size 3"),
        ((2, 3), (1, 4), r"Input batch size 2 doesn't match (hidden|hx\[0\]) batch size 1"),
        ((1, 3), (2, 4), r"Input batch size 1 doesn't match (hidden|hx\[0\]) batch size 2"),
        ((2, 3), (4,), r"input of shape \[2, 3\] and (hidden|hx\[0\]) of \[4\]: one has no batch"),
        ((3,), (2, 4), r"input of shape \[3\] and (hidden|hx\[0\]) of \[2, 4\]: one has no batch"),
    ],
)
def test_a_cell_refuses_a_state_of_another_batch(
    cell: Any, inputs: tuple[int, ...], states: tuple[int, ...], message: str
) -> None:
    """Which would broadcast, and is no broadcast in PyTorch."""
    h = torch.zeros(*states)
    with pytest.raises(RuntimeError, match=message):
        cell(torch.zeros(*inputs), (h, h) if isinstance(cell, nn.LSTMCell) else h)
