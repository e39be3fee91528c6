"""Hooks on gradients in captured functions: called as eagerly, or refused at their lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg


def _leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_a_hook_multiplies_what_goes_on() -> None:
    w = _leaf()

    def step(x: Any) -> Any:
        y = w * x
        handle = y.register_hook(lambda g: 3 * g)
        y.register_hook(lambda g: g + 1)
        y.retain_grad()
        first = y.sum()
        first.backward(retain_graph=True)
        handle.remove()
        first.backward()
        return y.grad

    found = sg.function(step)(torch.tensor([1.0, 10.0]))
    np.testing.assert_array_equal(found.numpy(), [6.0, 6.0])  # (3 + 1) + (1 + 1)
    np.testing.assert_array_equal(w.grad.numpy(), [6.0, 60.0])


def test_hooks_of_parameters_are_those_of_each_call() -> None:
    w = _leaf()
    opt = torch.optim.SGD([w], lr=1.0)

    @sg.function
    def step(x: Any) -> None:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()

    x = torch.ones(2)
    step(x)
    handle = w.register_hook(lambda g: 10 * g)
    step(x)
    handle.remove()
    step(x)
    np.testing.assert_array_equal(w.detach().numpy(), [1.0 - 12.0, 2.0 - 12.0])


def _put_on_outside(w: Any, x: Any) -> None:
    w.register_hook(lambda g: g)


def _put_on_a_node(w: Any, x: Any) -> None:
    _NODE.register_prehook(lambda g: None)


_NODE = (_leaf() * 2).grad_fn


def _returned(w: Any, x: Any) -> Any:
    y = w * x
    y.register_hook(lambda g: 2 * g)
    return y * y


def _on_a_side(w: Any, x: Any) -> Any:
    def hooked() -> Any:
        y = w * x
        y.register_hook(lambda g: g)
        return y.sum()

    return sg.cond(x.sum() > 0, hooked, lambda: x.sum())


def _on_an_argument(w: Any, x: Any) -> Any:
    return x.register_hook(lambda g: g)


def _after_accumulation(w: Any, x: Any) -> None:
    w.grad = None
    (w * x).sum().backward()


def _no_gradient(w: Any, x: Any) -> None:
    (x * 2).detach().register_hook(lambda g: g)


def _nothing_to_retain(w: Any, x: Any) -> None:
    (x * 2).detach().retain_grad()


REFUSED = {
    _put_on_outside: "puts a hook on a tensor from outside, or retains its gradient: once",
    _put_on_a_node: "puts a hook on a tensor from outside, or retains its gradient: once",
    _on_an_argument: "puts a hook on a tensor from outside, or retains its gradient: once",
    _returned: "hooks a tensor, or retains its gradient, in the history of what is returned",
    _on_a_side: "register_hook in a branch or the body of a loop",
    _after_accumulation: "reaches a tensor with hooks around its node, or after its gradient",
    _no_gradient: "cannot register a hook on a tensor that doesn't require gradient",
    _nothing_to_retain: "can't retain_grad on Tensor that has requires_grad=False",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__.strip("_"))
def test_hooks_that_a_graph_cannot_have_are_refused(f: Callable[..., Any]) -> None:
    w = _leaf()
    if f is _after_accumulation:
        w.register_post_accumulate_grad_hook(lambda one: None)
    with pytest.raises((sg.CaptureError, RuntimeError), match=REFUSED[f]):
        sg.function(lambda x: f(w, x))(torch.ones(2, requires_grad=f is _on_an_argument))
