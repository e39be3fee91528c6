"""A graph has no reference cycles, saves what its rules read and no more, and lets go of it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.dynamic.autograd import Function
from staticgraph.dynamic.autograd.graph import (
    allow_mutation_on_saved_tensors,
    register_multi_grad_hook,
    saved_tensors_hooks,
)
from staticgraph.dynamic.core import activity
from staticgraph.dynamic.utils.checkpoint import checkpoint


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """What earlier tests have left need not be looked at by each collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def in_place(x, w):
    y = x * w
    y.exp_()
    z = y * w
    y.add_(z)
    y[0] = y[1] * w[0]
    y.mul_(y.detach())
    return y


class Cube(Function):
    """Saves an input and an output."""

    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y, x * 2

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * 3 * y / x + h * 2


def hooked(x, w):
    y = x * w
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda found, given: None)
    y.sum().backward(retain_graph=True)
    return y


def packed(x, w):
    with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        return ((x * w).exp() * Cube.apply(w)[0]).sum()


def watched(x, w):
    with torch.autograd.set_detect_anomaly(True):
        y = Cube.apply(x)[0] * w
        return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def sliced(x, w):
    y = torch.zeros(3)
    y[0] = x[1]
    y[1:] *= w[0]
    return y


MODULES = {
    "net": nn.Sequential(
        nn.Linear(3, 4), nn.ReLU(inplace=True), nn.LayerNorm(4), nn.Dropout(0.5), nn.Linear(4, 3)
    ),
    "batch norm": nn.Sequential(nn.Conv1d(1, 2, 2), nn.BatchNorm1d(2), nn.MaxPool1d(2)),
    "lstm": nn.LSTM(3, 4, num_layers=2, batch_first=True),
    "attention": nn.MultiheadAttention(3, 1, batch_first=True),
}


def module(name):
    def graph(x, w):
        given = (x * w).reshape(1, 1, 3)
        handle = MODULES[name].register_forward_hook(lambda module, args, output: None)
        arguments = (given,) * 3 if name == "attention" else (given,)
        result = MODULES[name](*arguments)
        handle.remove()
        return result[0] if isinstance(result, tuple) else result

    return graph


def backward_twice(x, w):
    (slope,) = torch.autograd.grad((x**3 * w).sum(), x, create_graph=True)
    (slope * slope).sum().backward(retain_graph=True)
    return slope.exp()


def checkpointed(x, w):
    y = checkpoint(lambda a, b: (a * b).tanh(), x, w, use_reentrant=False)
    y.sum().backward(retain_graph=True)
    return y


def views_of_views(x, w):
    base = torch.zeros(2, 3) * 1
    base[0].add_(x)
    part = base[:, 1:].t()
    part.mul_(w[0])
    return part[0].detach().add_(1) + part.sum()


def hooked_module(x, w):
    net = nn.Linear(3, 3)
    net.register_full_backward_hook(lambda module, given, found: (given[0] * 2,))
    net.register_full_backward_pre_hook(lambda module, given: None)
    result = net(x * w)
    result.sum().backward(retain_graph=True)
    return result


def packed_sequences(x, w):
    packed = nn.utils.rnn.pack_sequence([(x * w).reshape(1, 3), x.reshape(1, 3)])
    return nn.GRU(3, 2)(packed)[0].data


def several_hooks(x, w):
    with register_multi_grad_hook([x, w], lambda found: None):
        y = x.exp() * w
        y.grad_fn._raw_saved_self.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
        y.sum().backward(retain_graph=True)
    return y


def mutated(x, w):
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y * y * w).sum()
        y.zero_()
        z.backward(retain_graph=True)
        return z


def decomposed(x, w):
    a = torch.diag(x + 1) @ torch.diag(w + 1)
    u, s, v = torch.linalg.svd(a)
    (slope,) = torch.autograd.grad((u * s) @ v, x, torch.ones(3, 3), create_graph=True)
    return slope + torch.linalg.eigh(a)[1].sum() + torch.linalg.cholesky(a @ a.T).sum()


GRAPHS = {
    "backward hooks of modules": hooked_module,
    "packed sequences": packed_sequences,
    "hooks on several gradients": several_hooks,
    "mutated": mutated,
    "decomposed": decomposed,
    "transposed in place": lambda x, w: (torch.outer(x, w).t_().unsqueeze_(0) * w).exp_(),
    **{name: module(name) for name in MODULES},
    "double backward": backward_twice,
    "checkpoint": checkpointed,
    "views of views": views_of_views,
    "vmap": lambda x, w: torch.vmap(lambda a, b: (a * b).sin())(x, w),
    "function": lambda x, w: sum(Cube.apply(x)) * w,
    "function recorded": lambda x, w: torch.autograd.grad(
        Cube.apply(x)[0].sum(), x, create_graph=True
    )[0],
    "hooks": hooked,
    "packed": packed,
    "anomaly": watched,
    "slices": sliced,
    "several views": lambda x, w: sum(x.unbind()) * w.split(1)[0],
    "chain": lambda x, w: (x * w).tanh().exp().sum(),
    "saved outputs": lambda x, w: (x.sigmoid() * w).softmax(0).logsumexp(0),
    "views": lambda x, w: (x[1:] * w[:-1]).reshape(-1, 1).T,
    "in place": in_place,
    "views in place": lambda x, w: torch.zeros(3).add(0)[1:].add_(x[1:]),
    "second order": lambda x, w: torch.autograd.grad((x**3 * w).sum(), x, create_graph=True)[0],
}


@pytest.fixture
def no_new_machine_code(monkeypatch):
    """What compiles a small op meanwhile leaves cycles, once."""
    monkeypatch.setattr(activity, "ENOUGH", 10**9)


@pytest.mark.usefixtures("no_new_machine_code")
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_that_goes_out_of_scope_is_freed_without_the_collector(name):
    x, w = (torch.tensor([0.1, 0.2, 0.3], requires_grad=True) for _ in range(2))
    node = weakref.ref(GRAPHS[name](x, w).grad_fn)  # fills the caches of the engine
    gc.collect()
    for _ in range(3):
        result = GRAPHS[name](x, w)
        node = weakref.ref(result.grad_fn)
        del result
        assert node() is None
    assert gc.collect() == 0


def test_backward_frees_what_was_saved():
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    y = x.exp()
    array = weakref.ref(y.grad_fn.saved[-1])
    loss = (y * y).sum()
    del y
    assert array() is not None
    loss.backward()
    assert array() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "kept"),
    [
        (lambda x, c: x + c, 0),
        (lambda x, c: x * c, 1),
        (lambda x, c: x @ c, 1),
        (lambda x, c: torch.cat([x, c]), 0),
        (lambda x, c: x.exp(), 1),
        (lambda x, c: x.sum(), 0),
        (lambda x, c: x.log(), 1),
        (lambda x, c: torch.relu(x), 1),
        (lambda x, c: x.reshape(-1), 0),
    ],
)
def test_a_frozen_operand_costs_no_buffer(op, kept):
    x = torch.rand(4, 4, requires_grad=True)
    saved = op(x, torch.rand(4, 4)).grad_fn.saved
    assert sum(isinstance(value, np.ndarray) for value in saved) == kept


def test_a_frozen_parameter_saves_no_activation():
    x = torch.rand(4, 4, requires_grad=True)
    frozen, trained = torch.rand(4, 4), torch.rand(4, 4, requires_grad=True)
    assert (x @ frozen).grad_fn.saved[0] is x._node
    assert (x @ trained).grad_fn.saved[0] is x._array


def test_nothing_is_recorded_without_grad():
    y = torch.rand(4, 4) * 2
    assert y.grad_fn is None and y.is_leaf
    with torch.no_grad():
        assert (torch.rand(3, requires_grad=True) * 2).grad_fn is None


@pytest.mark.slow
def test_a_long_graph_neither_recurses_nor_stays():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_a_tensor_does_not_hold_its_views():
    x = torch.zeros(3)
    view = x[0]
    held = weakref.ref(view)
    del view
    assert held() is None


def test_the_gradient_goes_to_a_leaf_that_only_the_graph_knows():
    y = torch.ones(2, requires_grad=True) * 2
    y.sum().backward()
    assert y.grad_fn.next_functions[0][0].grad.tolist() == [2.0, 2.0]
