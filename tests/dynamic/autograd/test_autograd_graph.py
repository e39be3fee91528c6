"""The graph from outside: what nodes keep, gradient edges, hooks on several tensors, mutation."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from typing import Any

import pytest

import dynamic as torch
from staticgraph.dynamic.autograd import Function
from staticgraph.dynamic.autograd.graph import (
    GradientEdge,
    allow_mutation_on_saved_tensors,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    save_on_cpu,
)
from tests.data.autograd_texts import SAVED, saved
from tests.paths import TESTS

RECORDED: dict[str, Any] = json.loads((TESTS / "data" / "autograd_texts.json").read_text())["saved"]


def vector(*values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


@pytest.mark.parametrize("expression", SAVED)
def test_what_a_node_keeps_is_what_it_keeps_in_pytorch(expression: str) -> None:
    ours, theirs = saved(torch, expression), RECORDED[expression]
    shared = ours.keys() & theirs.keys()
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
    assert {name for name, text in theirs.items() if text.startswith("tensor")} <= shared


def test_raw_saved_tensors_take_hooks_of_their_own() -> None:
    x = vector()
    y = x.exp()
    raw = y.grad_fn._raw_saved_result
    assert raw.data.tolist() == y.tolist() and "_raw_saved_result" in dir(y.grad_fn)
    raw.register_hooks(lambda tensor: tensor.tolist(), lambda listed: torch.tensor(listed) * 2)
    with pytest.raises(RuntimeError, match=r"^Calling register_hooks on a saved tensor whose ho"):
        raw.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
    expected = [2 * value for value in y.tolist()]
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(expected)
    with pytest.raises(RuntimeError, match=r"^Calling register_hooks on a saved tensor after it"):
        raw.register_hooks(print, print)
    for read in (lambda: raw.data, lambda: y.grad_fn._raw_saved_result):
        with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second"):
            read()


def test_a_saved_tensor_that_was_modified_is_not_shown() -> None:
    y = vector().exp()
    node = y.grad_fn
    assert node._saved_result.tolist() == y.tolist()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.* ExpBackward0"):
        _ = node._saved_result


def test_raw_saved_tensors_guard_the_others() -> None:
    x, w = vector(), vector()
    a, b = x * 1, w * 1
    y = a * b
    y.grad_fn._raw_saved_self.register_hooks(lambda tensor: tensor.clone(), lambda kept: kept)
    a.zero_()
    y.sum().backward(retain_graph=True)
    assert w.grad.tolist() == [1.0, 2.0, 3.0]
    b.zero_()
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda raw: raw.register_hooks(3, 3), TypeError, r"incompatible function arguments: two"),
        (lambda raw: raw.register_hooks(print, print), RuntimeError, r"with value None is forbid"),
    ],
)
def test_what_raw_saved_tensors_refuse(call: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        call((vector() * 2).grad_fn._raw_saved_self)


def test_raw_saved_tensors_of_a_function() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * (2 * x + 0 * y)

    x = vector()
    y = Square.apply(x)
    first, second = y.grad_fn._raw_saved_tensors
    first.register_hooks(lambda tensor: tensor * 10, lambda kept: kept)
    second.register_hooks(lambda tensor: tensor.tolist(), lambda listed: torch.tensor(listed))
    with pytest.raises(RuntimeError, match=r"hooks have already been set"):
        second.register_hooks(lambda tensor: tensor, lambda kept: kept)
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 40.0, 60.0]
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        y.grad_fn._raw_saved_tensors  # noqa: B018 - reading it raises


@pytest.mark.slow
def test_packed_raw_tensors_go_with_their_graph() -> None:
    gc.collect()
    gc.disable()
    try:
        y = vector().exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_gradients_at_and_from_edges() -> None:
    x = vector()
    y = x * 2
    edge = get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0
    loss = (y * y).sum()
    assert torch.autograd.grad(loss, edge, retain_graph=True)[0].tolist() == [4.0, 8.0, 12.0]
    (g,) = torch.autograd.grad(edge, x, torch.ones(3), retain_graph=True)
    assert g.tolist() == [2.0, 2.0, 2.0]
    torch.autograd.backward(get_gradient_edge(loss), None, True, inputs=get_gradient_edge(x))
    assert x.grad.tolist() == [8.0, 16.0, 24.0]
    first, second = vector(1.0, 2.0).unbind()
    numbered = get_gradient_edge(second)
    assert numbered.output_nr == 1
    found = torch.autograd.grad(first + 3 * second, [get_gradient_edge(first), numbered])
    assert [one.item() for one in found] == [1.0, 3.0]
    by_hand = GradientEdge(y.grad_fn, 0)
    assert torch.autograd.grad((y * 3).sum(), by_hand)[0].tolist() == [3.0, 3.0, 3.0]
    torch.autograd.backward((y * 2).sum(), inputs=[edge])  # no tensor takes the gradient
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_what_edges_refuse() -> None:
    edge = get_gradient_edge(vector() * 2)
    with pytest.raises(RuntimeError, match=r"^grad can be implicitly created only for scalar out"):
        torch.autograd.backward(edge)
    with pytest.raises(RuntimeError, match=r"^Mismatch in shape: grad_output\[0\] has a shape of"):
        torch.autograd.backward(edge, torch.ones(2))
    with pytest.raises(RuntimeError, match=r"^materialize_grads cannot be used when the given inp"):
        torch.autograd.grad(vector().sum(), edge, materialize_grads=True)


def test_a_hook_on_all_gradients_runs_once_with_what_the_pass_reaches() -> None:
    a, b, c = vector(), vector(), vector()
    seen: list[Any] = []

    def note(gradients: Any) -> None:
        seen.append([None if g is None else g.tolist() for g in gradients])

    with register_multi_grad_hook((a, b, c), note):
        (a * b).sum().backward()
        (a * b * c).sum().backward()
        torch.autograd.grad((a * b).sum(), a)
        y = a * 2
        torch.autograd.grad((y * b).sum(), [a, b])
    assert seen[0] == [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], None]
    assert seen[1] == [[1.0, 4.0, 9.0]] * 3
    assert seen[2][0] == [1.0, 2.0, 3.0] and seen[2][2] is None
    assert len(seen) == 4
    a.sum().backward()
    assert len(seen) == 4


def test_a_hook_on_any_gradient_runs_with_the_first() -> None:
    a, b = vector(), vector()
    frozen = torch.ones(3)
    seen: list[Any] = []
    handle = register_multi_grad_hook([a, b, frozen], lambda g: seen.append(g.tolist()), mode="any")
    ((a * 3).exp() * 0 + b).sum().backward()
    b.sum().backward()
    assert len(seen) == 2 and seen[1] == [1.0, 1.0, 1.0]
    handle.remove()
    handle.remove()
    b.sum().backward()
    assert len(seen) == 2


def test_hooks_on_several_gradients_in_threads_and_nested_passes() -> None:
    a, b = vector(), vector()
    counts: list[int] = []

    def inner(gradients: Any) -> None:
        counts.append(len(gradients))
        if len(counts) == 1:
            with torch.enable_grad():
                (a * b).sum().backward()

    with register_multi_grad_hook([a, b], inner):
        threads = [threading.Thread(target=lambda: (a + b).sum().backward()) for _ in range(2)]
        for thread in threads:
            thread.start()
            thread.join()
    assert counts == [2, 2, 2]


def test_what_hooks_on_several_tensors_refuse() -> None:
    with pytest.raises(ValueError, match=r"^Expects mode to be one of \('all', 'any'\) but got x$"):
        register_multi_grad_hook([vector()], print, mode="x")
    a = vector()
    with register_multi_grad_hook([a], print):
        (hook,) = a._node.hooks.tensor.values()
        with pytest.raises(RuntimeError, match=r"^expected this hook to be called inside a backwa"):
            hook(torch.ones(3))


def test_saved_tensors_that_may_be_mutated() -> None:
    with allow_mutation_on_saved_tensors():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
    assert a.grad.tolist() == [[2.0] * 3] * 2
    x = vector()
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y.exp() * y).sum()
        view = y[1:]
        view.mul_(0)
        w = (y * y).sum()
        with torch.no_grad():
            x += 1
        z.backward(retain_graph=True)
        slope = x.grad.clone()
        x.grad = None
        w.backward()
    before = torch.tensor([1.0, 2.0, 3.0])
    assert torch.allclose(slope, before.exp() * (1 + before))
    assert x.grad.tolist() == [2.0, 0.0, 0.0]


def test_saved_constants_that_may_be_mutated() -> None:
    for change in (
        lambda w: w.add_(1), lambda w: w.zero_(), lambda w: w.fill_(3), lambda w: w.mul_(w),
        lambda w: w.copy_(torch.ones(3)), lambda w: w[1:].sub_(1), lambda w: w.__setitem__(0, 9.0),
    ):  # fmt: skip
        x = vector()
        with allow_mutation_on_saved_tensors():
            w = torch.tensor([4.0, 5.0, 6.0])
            y = (x * w).sum()
            change(w)
            with torch.no_grad():
                x.add_(1)
            y.backward()
        assert x.grad.tolist() == [4.0, 5.0, 6.0]


def test_only_what_is_mutated_is_copied() -> None:
    with allow_mutation_on_saved_tensors() as allowed:
        y, w = vector() * 1, vector() * 1
        y * w
        product = y * w
        kept = [one.value.tensor for one in product.grad_fn.saved[:2]]
        y.zero_()
        assert kept[0]._array is not y._array and kept[1]._array is w._array
        allowed.clear()


def test_where_mutation_of_saved_tensors_ends() -> None:
    with allow_mutation_on_saved_tensors():
        y = (vector() * 1).exp().sum()
        with (
            pytest.raises(RuntimeError, match=r"^allow_mutation_on_saved_tensors contexts cannot"),
            allow_mutation_on_saved_tensors(),
        ):
            pass
        z = (vector() * 1).exp().sum()
        z.backward()
    with pytest.raises(AssertionError, match=r"^Trying to backward outside of the 'allow_mutat"):
        y.backward()


def test_versions_counted_by_hand() -> None:
    x = vector() * 1
    y, z = x.exp(), x.sin()
    z.detach().numpy()[:] = 0
    increment_version(y)
    increment_version([z, z])
    assert y._version == 1 and z._version == 2
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        y.sum().backward()


def test_copies_are_saved_on_the_cpu() -> None:
    x = vector()
    with save_on_cpu():
        y = x.exp()
    y.detach().zero_()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(x.exp().tolist())


def test_an_output_that_is_packed_is_one_of_its_node_meanwhile() -> None:
    seen, kept = [], []

    def pack(tensor: Any) -> Any:
        seen.append((tensor.requires_grad, tensor.is_leaf, str(tensor.grad_fn).partition(" ")[0]))
        kept.append(tensor)
        return tensor

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = x.exp()
    assert seen == [(True, False, "<ExpBackward0")]
    assert kept[0].tolist() == y.tolist()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
