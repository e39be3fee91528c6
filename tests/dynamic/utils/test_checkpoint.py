"""Checkpointing: the same gradients with less saved, and what it notices in the second run."""

from __future__ import annotations

import functools
import gc
import itertools
import warnings
import weakref

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional
from staticgraph.dynamic.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def leaf(*shape, seed=0):
    values = np.random.default_rng(seed).uniform(0.4, 1.4, shape)
    return torch.tensor(values, requires_grad=True)


def network(*sizes, seed=0):
    torch.manual_seed(seed)
    layers = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(fan_in, fan_out), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers).double()


def gradients(model, x, run):
    for one in (x, *model.parameters()):
        one.grad = None
    run(model, x).square().sum().backward()
    return [one.grad.numpy().copy() for one in (x, *model.parameters())]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_the_same(reentrant):
    model, x = network(3, 5, 4, 2), leaf(6, 3)
    expected = gradients(model, x, lambda m, x: m(x))
    runs = [
        lambda m, x: checkpoint(m, x, use_reentrant=reentrant),
        lambda m, x: checkpoint_sequential(m, 3, x, use_reentrant=reentrant),
        lambda m, x: checkpoint(
            lambda y: m[2:](checkpoint(m[:2], y * 1, use_reentrant=reentrant)),
            x,
            use_reentrant=reentrant,
        ),
    ]
    for run in runs:
        for found, wanted in zip(gradients(model, x, run), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_the_reentrant_form_is_for_backward_alone():
    x = leaf(3)
    for start in (lambda y: torch.autograd.grad(y, x), lambda y: y.backward(inputs=x)):
        y = checkpoint(torch.exp, x, use_reentrant=True).sum()
        with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\) or passing"):
            start(y)
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward()
    np.testing.assert_array_equal(x.grad, x.detach().exp())

    frozen = checkpoint(lambda x: x.detach() * 2, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        frozen.sum().backward()


def test_what_needs_no_gradient_is_the_same_tensor_in_the_second_run():
    seen = []

    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.save_for_backward(other)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g * 2, None

    other = torch.ones(3)
    checkpoint(Keeps.apply, leaf(3), other, use_reentrant=False).sum().backward()
    assert seen[0] is other


def test_autograd_grad_and_higher_orders():
    x = leaf(3)
    y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False).sum()
    values = x.detach().numpy()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    np.testing.assert_allclose(g.detach(), np.exp(values) * (values + 1))
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h, np.exp(values) * (values + 2))


def test_values_are_computed_once_more_and_only_if_needed():
    runs = []

    def function(x):
        runs.append(torch.is_grad_enabled())
        return (x.exp().sin() * x).tanh()

    x = leaf(3)
    y = checkpoint(function, x, use_reentrant=False).sum()
    assert runs == [True]
    y.backward(retain_graph=True)
    assert runs == [True, True]
    y.backward()
    assert len(runs) == 3
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    with torch.no_grad():
        assert not checkpoint(function, x, use_reentrant=False).requires_grad
    assert checkpoint(lambda x: x + 1, x, use_reentrant=False).sum().backward() is None


def test_nothing_inside_stays_in_memory():
    held = []

    def function(x):
        for _ in range(5):
            x = x.exp() * 0.1
            held.append(weakref.ref(x._array))
        return x

    x = leaf(4)
    y = checkpoint(function, x, use_reentrant=False)
    gc.collect()
    assert [one() is None for one in held] == [True] * 4 + [False]  # the last one is the result
    y.sum().backward()
    y = None
    gc.collect()
    assert all(one() is None for one in held)


def test_an_outer_checkpoint_drops_the_arguments_of_an_inner_one():
    held = []

    def outer(x):
        y = x.exp()
        held.append(weakref.ref(y._array))
        return checkpoint(lambda y: y.sin().exp(), y, use_reentrant=False) * 2

    x = leaf(4)
    result = checkpoint(outer, x, use_reentrant=False)
    assert held[0]() is None
    result.sum().backward()
    values = x.detach().numpy()
    inner = np.exp(np.sin(np.exp(values)))
    np.testing.assert_allclose(x.grad, 2 * inner * np.cos(np.exp(values)) * np.exp(values))


@pytest.mark.parametrize("early_stop", [True, False])
def test_random_numbers_are_the_same_in_both_runs(early_stop):
    x = leaf(50)

    def function(x):
        return functional.dropout(x * x, 0.5) * 3

    y = checkpoint(function, x, use_reentrant=False, early_stop=early_stop)
    dropped = y.detach().numpy() == 0
    torch.manual_seed(5)
    y.sum().backward()
    drawn = torch.rand(3)
    assert 0 < dropped.sum() < 50
    np.testing.assert_array_equal(x.grad.numpy() == 0, dropped)
    torch.manual_seed(5)
    np.testing.assert_array_equal(drawn, torch.rand(3))  # backward put the state back


def test_keyword_arguments_other_values_and_contexts():
    x, entered = leaf(3), []

    class Entered:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exception):
            entered.append("end")

    y = checkpoint(
        lambda x, n, *, scale: (x**n * scale, n),
        x,
        3,
        scale=2.0,
        use_reentrant=False,
        context_fn=lambda: (Entered("forward"), Entered("again")),
    )
    assert y[1] == 3
    y[0].sum().backward()
    np.testing.assert_allclose(x.grad, 6 * x.detach().numpy() ** 2)
    assert entered == ["forward", "end", "again", "end"]


def changing(*functions):
    """A function that is another one at each call."""
    calls = iter(functions)
    return lambda x: next(calls)(x)


DIFFERENT = {
    "number": (
        (lambda x: x.exp().sin().exp(), lambda x: x + 1),
        "A different number of tensors was saved during the original forward and recomputation."
        "\nNumber of tensors saved during forward: 3\nNumber of tensors saved during "
        "recomputation: 0.\nRecorded op 0 is add, and was exp.",
    ),
    "metadata": (
        (lambda x: x.exp(), lambda x: x[:2].exp()),
        "Recomputed values for the following tensors have different metadata than during the "
        "forward pass.\ntensor at position 0:\nsaved metadata: {'shape': torch.Size([3]), 'dtype': "
        "torch.float64}\nrecomputed metadata: {'shape': torch.Size([2])",
    ),
    "function that saves more in one op": (
        (lambda x: x.exp(), lambda x: (x * x).exp()),
        "A different number of tensors was saved during the original forward and recomputation."
        "\nNumber of tensors saved during forward: 1\nNumber of tensors saved during "
        "recomputation: 2.\nRecorded op 0 is multiply, and was exp.",
    ),
    "function with the same metadata": (
        (lambda x: x.exp(), lambda x: x.sin().exp()),
        "A different function was recomputed than ran during the forward pass.\nRecorded op 0 is "
        "sin, and was exp.",
    ),
}


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("name", DIFFERENT)
def test_a_second_run_that_differs_is_noticed(name, reentrant):
    functions, text = DIFFERENT[name]
    y = checkpoint(changing(*functions), leaf(3), use_reentrant=reentrant).sum()
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    assert f"torch.utils.checkpoint: {text}" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_what_differs_may_be_allowed():
    x = leaf(3)
    functions = (lambda x: x.exp(), lambda x: x.sin().exp())
    y = checkpoint(changing(*functions), x, use_reentrant=False, determinism_check="none")
    y.sum().backward()
    # sin saves its argument first, and exp reads that as its own value
    np.testing.assert_array_equal(x.grad, x.detach())
    y = checkpoint(
        changing(*DIFFERENT["number"][0]), x, use_reentrant=False, determinism_check="none"
    )
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        y.sum().backward()


def test_arguments_that_were_modified_in_place():
    x = leaf(3) * 1
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=False).sum()
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation: a tensor"):
        y.backward()


def test_warnings():
    x = leaf(3)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda x: x.exp(), x)
    with pytest.warns(UserWarning, match=r"checkpoint_sequential: the use_reentrant parameter"):
        checkpoint_sequential([lambda x: x.exp(), lambda x: x * 2], 2, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients"):
        y = checkpoint(network(3, 2), x.detach(), use_reentrant=True)
    assert not y.requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint(network(3, 2), x.detach(), use_reentrant=False).requires_grad


def test_errors():
    x = leaf(3)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(lambda x: x, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="Passing `context_fn` or `debug` is only supported when"):
        checkpoint(lambda x: x, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match=r"one of \['default', 'none'\], but got strict"):
        checkpoint(lambda x: x, x, use_reentrant=False, determinism_check="strict")
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint_sequential([lambda x: x], 1, x, use_reentrant=False, scale=2)


def test_inside_transforms():
    x = leaf(4).detach()

    def loss(x):
        return checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum()

    values = x.numpy()
    slopes = np.cos(np.exp(values)) * np.exp(values)
    np.testing.assert_allclose(torch.func.grad(loss)(x), slopes)
    np.testing.assert_allclose(torch.vmap(torch.func.grad(loss))(x), slopes)
    np.testing.assert_allclose(torch.func.jvp(loss, (x,), (x,))[1], (slopes * values).sum())


def test_a_policy_is_refused_with_what_to_use_instead() -> None:
    from dynamic.utils import checkpoint as module

    make = functools.partial(module.create_selective_checkpoint_contexts, [])
    with pytest.raises(RuntimeError, match=r"no ops of ATen.* call checkpoint\(\.\.\.\) on the"):
        module.checkpoint(torch.sin, torch.ones(1, requires_grad=True), use_reentrant=False,
                          context_fn=make)  # fmt: skip
    assert module.CheckpointPolicy.MUST_SAVE.value == 0
    assert module.SelectiveCheckpointContext(is_recompute=True).is_recompute
