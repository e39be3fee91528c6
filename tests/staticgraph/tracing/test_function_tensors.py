"""`sg.function` on eager tensors: one node of the tape, gradients by compiled code."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.graph.evaluate import evaluate
from tests.combinations import some

API = """
import dynamic, staticgraph as sg

def energy(x, w):                  # ops of either package are the same objects: dynamic.tanh is sg.tanh
    return (sg.tanh(x @ w) ** 2).sum()

x = dynamic.tensor([[1., 2.], [3., 4.]], requires_grad=True)
w = dynamic.tensor([[0.5], [-0.5]], requires_grad=True)
energy(x, w).backward()            # eager: x.grad, w.grad

compiled = sg.function(energy)     # traced once per dtypes and ranks, compiled, any sizes
compiled(x.detach().numpy(), w.detach().numpy())             # ndarrays in, ndarray out
compiled(x, w).backward()          # eager tensors in: one node of the eager tape, gradients by compiled code
sg.value_and_grad(energy, argnums=(0, 1))(x.detach().numpy(), w.detach().numpy())
sg.grad(energy), sg.hessian(energy), sg.jacobian(energy), sg.jvp, sg.vjp, sg.vmap(energy)

model = dynamic.nn.Sequential(dynamic.nn.Linear(2, 16), dynamic.nn.Tanh(), dynamic.nn.Linear(16, 1))
fast = sg.function(model)          # parameters stay the model's own: an eager optimizer step is seen by the next call
"""  # noqa: E501 - as the contract has it


def energy(x: Any, w: Any) -> Any:
    return (sg.tanh(x @ w) ** 2).sum()


def _tensor(*shape: int, seed: int = 0) -> Any:
    data = np.random.default_rng(seed).normal(size=shape)
    return dynamic.from_numpy(data).requires_grad_()


def _close(left: Any, right: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(left.detach().numpy(), right.detach().numpy(), rtol=rtol, atol=1e-14)


def test_the_contract_runs_as_it_stands() -> None:
    names: dict[str, Any] = {}
    exec(API, names)
    x, w = names["x"], names["w"]
    gradient = x.grad.clone()  # eager and compiled, added up
    x.grad = w.grad = None
    energy(x, w).backward()
    _close(gradient, 2 * x.grad, rtol=1e-5)
    _close(names["fast"](x), names["model"](x), rtol=1e-5)


def test_values_and_gradients_are_those_of_the_eager_function() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2, seed=1)
    value = sg.function(energy)(x, w)
    expected = energy(x, w)
    _close(value, expected)
    found = dynamic.autograd.grad(value, [x, w])
    for one, other in zip(found, dynamic.autograd.grad(expected, [x, w]), strict=True):
        _close(one, other)


def test_a_call_is_one_node() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2)
    value = sg.function(energy)(x, w)
    node = value.grad_fn
    assert node.name() == "energyBackward"
    first, second = (edge.variable for edge, _ in node.next_functions)
    assert first is x
    assert second is w
    assert not value.is_leaf
    assert value.requires_grad


def test_only_what_requires_grad_gets_a_gradient() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2)
    compiled = sg.function(energy)
    compiled(x, w.detach()).backward()
    expected = dynamic.autograd.grad(energy(x, w), x)[0]
    _close(x.grad, expected)
    assert w.grad is None
    assert compiled(x.detach(), w.detach()).grad_fn is None
    with dynamic.no_grad():
        assert compiled(x, w).grad_fn is None


def test_tensors_meet_arrays_and_numbers() -> None:
    def f(x: Any, w: Any, scale: Any) -> Any:
        return ((x @ w) * scale).sum()

    x, w = _tensor(4, 3), np.ones((3, 2))
    value = sg.function(f)(x, w, 2.0)
    value.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((4, 3), 4.0))
    assert type(value) is type(x)


def test_several_results_in_a_structure() -> None:
    def f(x: Any, w: Any) -> Any:
        h = sg.tanh(x @ w)
        return sg.sum(h, axis=0), {"hidden": h, "best": sg.argmax(h, axis=-1)}

    x, w = _tensor(4, 3), _tensor(3, 2)
    sums, rest = sg.function(f)(x, w)
    expected, others = f(x, w)
    _close(sums, expected)
    _close(rest["hidden"], others["hidden"])
    assert not rest["best"].requires_grad
    loss = (sums * 2).sum() + (rest["hidden"] ** 2).sum()
    eager = (expected * 2).sum() + (others["hidden"] ** 2).sum()
    for one, other in zip(
        dynamic.autograd.grad(loss, [x, w]), dynamic.autograd.grad(eager, [x, w]), strict=True
    ):
        _close(one, other)
    alone, _ = sg.function(f)(x, w)
    expected, _ = f(x, w)
    _close(dynamic.autograd.grad(alone.sum(), w)[0], dynamic.autograd.grad(expected.sum(), w)[0])


@pytest.mark.slow
def test_higher_derivatives_run_compiled_functions() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2)
    compiled = sg.function(energy)

    def derivatives(f: Any) -> list[Any]:
        found, value = [], f(x, w)
        for _ in range(3):
            (value,) = dynamic.autograd.grad(value, [w], create_graph=True)
            found.append(value)
            value = (value * value).sum()
        return found

    own = derivatives(compiled)
    for one, other in zip(own, derivatives(energy), strict=True):
        _close(one, other, rtol=1e-10)
    assert own[0].grad_fn.name() == "energy_pullbackBackward"


@pytest.mark.slow
def test_gradcheck_holds_to_second_order() -> None:
    f = sg.function(lambda x, w: sg.softmax(x @ w).prod(axis=1) * sg.exp(x).sum(axis=1))
    x, w = _tensor(2, 3), _tensor(3, 2)
    assert dynamic.autograd.gradcheck(f, (x, w))
    assert dynamic.autograd.gradgradcheck(f, (x, w))


def test_the_reverse_pass_may_run_again_only_where_the_graph_is_kept() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2)
    value = sg.function(energy)(x, w)
    value.backward(retain_graph=True)
    value.backward()
    (once,) = dynamic.autograd.grad(energy(x, w), x)
    _close(x.grad, 2 * once)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        value.backward()


def test_operands_that_changed_in_place_are_noticed() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2)
    value = sg.function(energy)(x, w)
    with dynamic.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace.*energyBackward saved it"):
        value.backward()


def test_hooks_see_the_node() -> None:
    x, w = _tensor(4, 3), _tensor(3, 2)
    value = sg.function(energy)(x, w)
    seen: list[Any] = []
    value.grad_fn.register_hook(lambda grads, outs: seen.append((len(grads), outs[0].item())))
    (value * 3).backward()
    assert seen == [(2, 3.0)]


@pytest.mark.slow
def test_nothing_is_kept_once_the_result_is_gone() -> None:
    gc.collect()
    gc.disable()
    try:
        x, w = _tensor(4, 3), _tensor(3, 2)
        value = sg.function(energy)(x, w)
        node = weakref.ref(value.grad_fn)
        operand = weakref.ref(x)
        value.backward()
        del value, x
        assert node() is None
        assert operand() is None
    finally:
        gc.enable()


def test_transforms_of_the_eager_engine_take_compiled_functions() -> None:
    compiled = sg.function(energy)
    x, w = _tensor(4, 3).detach(), _tensor(3, 2).detach()
    batch = _tensor(5, 3, 2, seed=2).detach()
    found = dynamic.func.vmap(compiled, in_dims=(None, 0))(x, batch)
    for i, one in enumerate(found):
        _close(one, energy(x, batch[i]))
    for transform in (dynamic.func.grad, dynamic.func.hessian):
        _close(transform(compiled)(x, w), transform(energy)(x, w), rtol=1e-10)
    own, other = (dynamic.func.jvp(f, (x, w), (x, w)) for f in (compiled, energy))
    _close(own[0], other[0])
    _close(own[1], other[1])


def test_views_and_unaligned_layouts() -> None:
    x = _tensor(3, 8)
    compiled = sg.function(lambda a: (a * a).sum(axis=0))
    view = x.t()[::2]
    _close(compiled(view), (view * view).sum(0))
    compiled(view).sum().backward()
    expected = dynamic.autograd.grad((view * view).sum(), x)[0]
    _close(x.grad, expected)


def test_an_operand_that_is_returned() -> None:
    x = _tensor(3)
    once, twice, square = sg.function(lambda x: (x, x, x * x))(x)
    (once.sum() + 2 * twice.sum() + square.sum()).backward()
    _close(x.grad, 3 + 2 * x.detach())
    x.grad = None
    sg.function(lambda x: x)(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(3))


def test_an_index_out_of_range_is_told() -> None:
    x, index = _tensor(3), np.array([0, 5])
    with pytest.raises(
        sg.OutOfRangeError, match=r"take: index 5 is out of range for axis 0 of .*py:"
    ):
        sg.function(lambda x, index: sg.take(x, index, 0))(x, index)


def test_an_integer_result_has_no_gradient() -> None:
    x = _tensor(4, 3)
    best = sg.function(lambda x: sg.argmax(x, axis=1))(x)
    assert best.grad_fn is None
    assert best.tolist() == x.argmax(1).tolist()


def test_a_result_that_does_not_depend_on_the_operand() -> None:
    x, w = _tensor(2), _tensor(2, seed=1)
    sg.function(lambda x, w: (x * x).sum(), name="f")(x, w).backward()
    _close(x.grad, 2 * x)
    assert w.grad is None


def test_what_is_dear_to_compute_is_kept_for_the_reverse_pass() -> None:
    compiled = sg.function(lambda x, w: sg.tanh(x @ w).sum())
    x, w = _tensor(4, 3), _tensor(3, 2)
    node = compiled(x, w).grad_fn
    assert [kept.shape for kept in node._kept] == [(4, 2)]  # the product
    backward = node._reverse._backward.executable
    products = [d for _, d in backward.graph.nodes(data=True) if d["op"].name == "matmul"]
    assert len(products) == 2  # not three


def test_second_derivatives_where_an_operand_is_not_read() -> None:
    compiled = sg.function(lambda x, b: (x**3).sum() * 2 + b.sum())
    x, b = _tensor(3), _tensor(2, seed=1)
    by_x, by_b = dynamic.autograd.grad(compiled(x, b), [x, b], create_graph=True)
    np.testing.assert_array_equal(by_b.detach().numpy(), np.ones(2))
    (found,) = dynamic.autograd.grad(by_x.sum(), x)
    _close(found, 12 * x)


def test_variables_of_graphs_are_those_of_the_forward_pass() -> None:
    scale = sg.variable(np.full(3, 2.0), name="scale")
    compiled = sg.function(lambda x: (x * x * scale).sum())
    x = _tensor(3)
    value = compiled(x)
    scale.value = np.full(3, 5.0)
    value.backward()
    _close(x.grad, 4 * x)
    batch = _tensor(2, 3).detach()
    _close(dynamic.func.vmap(compiled)(batch), (batch * batch * 5).sum(1))


def test_expressions_are_evaluated_on_any_operands() -> None:
    x, y = sg.placeholder("x", (None, 3), "float64"), sg.placeholder("y", (3,), "float64")
    result = sg.reshape(x * y, (-1,)) + sg.arange(x.shape[0] * 3)
    data, other = np.ones((2, 3)), np.arange(3.0)
    (found,) = evaluate([result], {x: data, y: other})
    np.testing.assert_array_equal(found, np.tile(other, 2) + np.arange(6))
    with pytest.raises(sg.GraphError, match=r"<placeholder 'y': float64\[3\]> .* has no value"):
        evaluate([result], {x: data})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["all", "amax", "amin", "any", "argmax", "argmin", "logsumexp", "max", "mean", "min", "prod",
     "std", "sum", "var"],
)  # fmt: skip
@pytest.mark.parametrize("keeps", some([True, False], 1))
def test_reductions_take_numpys_names(name: str, keeps: bool) -> None:
    """Seed 60407 of the campaign of captures: amax and amin took them in eager code alone."""

    def reduced(x: Any) -> Any:
        found = getattr(x, name)(axis=0, keepdims=keeps)
        return found[0] if isinstance(found, tuple) else found

    x = dynamic.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=dynamic.float64)
    eager, captured = reduced(x), sg.function(reduced)(x)
    assert eager.shape == captured.shape == ((1, 2) if keeps else (2,))
    np.testing.assert_array_equal(eager.numpy(), captured.numpy())
