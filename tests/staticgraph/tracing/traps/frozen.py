"""Parameters that are frozen and thawed, and tensors that get another dtype, shape or layout."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _linear(t: Any, rows: int = 3, columns: int = 2, value: float = 0.5) -> Any:
    layer = t.nn.Linear(rows, columns)
    with t.xp.no_grad():
        layer.weight.fill_(value)
        layer.bias.fill_(0.25)
    return layer


def _descend(model: Any, opt: Any, x: Any) -> Any:
    opt.zero_grad()
    loss = (model(x) - 1.0).pow(2).sum()
    loss.backward()
    opt.step()
    return loss.detach()


@trap(*TENSORS)
def the_dtype_of_a_model_and_back(t: Any) -> Any:
    model = _linear(t)
    f = t.capture(lambda x: model(x.to(model.weight.dtype)).detach())
    yield f(t.x)
    model.double()
    yield f(t.x)
    model.float()
    yield f(t.x)


@trap(*TENSORS)
def a_table_of_activations(t: Any) -> Any:
    table = {"act": "relu"}

    def run(x: Any) -> Any:
        return getattr(t.nn.functional, table["act"])(x)

    f = t.capture(run)
    yield f(t.x)
    table["act"] = "tanh"
    yield f(t.x)


@trap(*TENSORS)
def parameters_that_are_frozen_in_turn(t: Any) -> Any:
    model = t.nn.Sequential(_linear(t, 3, 3), _linear(t, 3, 1))
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)
    f = t.capture(lambda x: _descend(model, opt, x))
    for part in (0, 1, 0):
        for one in model.parameters():
            one.requires_grad_(True)
        for one in model[part].parameters():
            one.requires_grad_(False)
        yield f(t.x), model[0].weight, model[1].weight


@trap(*TENSORS)
def a_mask_of_attention_is_exchanged(t: Any) -> Any:
    attention = t.nn.functional.scaled_dot_product_attention
    held = {"mask": None}
    q = t.xp.arange(8.0).reshape(1, 1, 4, 2) / 8
    f = t.capture(lambda x: attention(q * x.sum(), q, q, attn_mask=held["mask"]))
    yield f(t.x)
    held["mask"] = t.xp.ones(4, 4).tril().bool()
    yield f(t.x)
    held["mask"][3, 0] = False
    yield f(t.x)


@trap(*TENSORS)
def a_functional_call_with_other_weights(t: Any) -> Any:
    model = _linear(t)
    weights = {key: value.detach() * 2 for key, value in model.named_parameters()}
    f = t.capture(lambda x: t.xp.func.functional_call(model, weights, (x,)).detach())
    yield f(t.x)
    weights["bias"] = t.xp.zeros(2)
    yield f(t.x)
    weights["weight"].mul_(2.0)
    yield f(t.x), model(t.x)


@trap(*TENSORS)
def a_context_that_freezes(t: Any) -> Any:
    model = _linear(t)

    @contextlib.contextmanager
    def frozen() -> Any:
        for one in model.parameters():
            one.requires_grad_(False)
        try:
            yield
        finally:
            for one in model.parameters():
                one.requires_grad_(True)

    def run(x: Any) -> Any:
        with frozen():
            kept = model(x)
        return kept, model(x).requires_grad, kept.requires_grad

    f = t.capture(run)
    yield f(t.x)
    yield f(t.x * 2), model.weight.requires_grad


@trap(*TENSORS)
def a_cached_mask_by_size(t: Any) -> Any:
    @functools.lru_cache(None)
    def mask(n: int) -> Any:
        return t.xp.ones(n, n).tril()

    f = t.capture(lambda x: mask(x.shape[0]) @ x)
    yield f(t.x)
    yield f(t.xp.ones(4))
    mask(3).fill_(2.0)
    yield f(t.x)


@trap(*TENSORS)
def positions_that_grow_when_needed(t: Any) -> Any:
    class Positions(t.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = t.xp.arange(2.0)

        def forward(self, x: Any) -> Any:
            if x.shape[0] > self.table.shape[0]:
                self.table = t.xp.arange(float(x.shape[0]))
            return x + self.table[: x.shape[0]]

    layer = Positions()
    f = t.capture(lambda x: layer(x))
    yield f(t.x), layer.table
    yield f(t.xp.ones(5)), layer.table
    yield f(t.x), layer.table


@trap(*TENSORS)
def labels_from_a_list_that_grows(t: Any) -> Any:
    labels = [0.0, 1.0, 2.0]
    f = t.capture(lambda x: x * t.xp.tensor(labels))
    yield f(t.x)
    labels[1] = 5.0
    yield f(t.x)
    labels[:] = [1, 2, 3]
    yield f(t.x)


@trap(*TENSORS)
def a_list_of_arrays_that_grows(t: Any) -> Any:
    rows = [np.ones(3, "float32")]
    f = t.capture(lambda x: x @ t.xp.tensor(np.stack(rows)).T)
    yield f(t.x)
    rows.append(np.arange(3, dtype="float32"))
    yield f(t.x)
    rows[0][1] = 7.0
    yield f(t.x)


def _two(t: Any) -> tuple[Any, Any]:
    return _linear(t, 3, 3), _linear(t, 3, 1)


def _freeze(model: Any, value: bool) -> None:
    for one in model.parameters():
        one.requires_grad_(value)


@trap(*TENSORS)
def two_networks_that_are_frozen_in_turn(t: Any) -> Any:
    made, judged = _two(t)
    first = t.xp.optim.SGD(made.parameters(), lr=0.1)
    second = t.xp.optim.SGD(judged.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        _freeze(judged, True)
        second.zero_grad()
        (judged(x) - judged(made(x).detach())).sum().backward()
        second.step()
        _freeze(judged, False)
        first.zero_grad()
        judged(made(x)).sum().backward()
        first.step()
        return x * 1

    f = t.capture(step)
    for _ in range(3):
        f(t.x)
        yield made.weight, judged.weight, judged.weight.requires_grad


@trap(*TENSORS)
def a_loss_of_a_network_while_it_is_frozen(t: Any) -> Any:
    made, judged = _two(t)

    def step(x: Any) -> Any:
        _freeze(judged, False)
        loss = judged(made(x)).sum()
        _freeze(judged, True)
        (loss + judged(x).pow(2).sum()).backward()
        return loss.detach()

    f = t.capture(step)
    for _ in range(2):
        yield f(t.x), made.weight.grad, judged.weight.grad


@trap(*TENSORS)
def a_network_that_is_frozen_before_the_reverse_pass(t: Any) -> Any:
    made, judged = _two(t)

    def step(x: Any) -> Any:
        loss = judged(made(x)).sum()
        _freeze(judged, False)
        loss.backward()
        _freeze(judged, True)
        return loss.detach()

    f = t.capture(step)
    for _ in range(2):
        yield f(t.x), made.weight.grad, judged.weight.grad is None


@trap(*TENSORS)
def a_network_that_is_thawed_inside(t: Any) -> Any:
    made, judged = _two(t)
    _freeze(judged, False)

    def step(x: Any) -> Any:
        loss = judged(made(x)).sum()
        _freeze(judged, True)
        (loss + judged(x).sum() * 2).backward()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), made.weight.grad, judged.weight.grad
    yield f(t.x), made.weight.grad, judged.weight.grad
    _freeze(judged, False)
    yield f(t.x), made.weight.grad, judged.weight.grad


@trap(*TENSORS)
def what_is_thawed_is_returned(t: Any) -> Any:
    w = t.xp.ones(3)

    def run(x: Any) -> Any:
        w.requires_grad_(True)
        return w * x

    f = t.capture(run)
    y = f(t.x)
    y.sum().backward()
    yield y, w.grad


@trap(*TENSORS)
def a_weight_is_written_while_it_is_frozen(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()

    def run(x: Any) -> Any:
        y = (w * x).sum()
        w.requires_grad_(False)
        w.mul_(2.0)
        w.requires_grad_(True)
        z = (w * x * x).sum()
        z.backward()
        return y.detach(), z.detach()

    f = t.capture(run)
    yield f(t.x), w, w.grad
    yield f(t.x), w, w.grad


@trap(*TENSORS)
def only_the_dtype_of_a_weight(t: Any) -> Any:
    model = _linear(t)
    f = t.capture(lambda x: x.to(model.weight.dtype))
    yield f(t.x), f(t.x)
    model.double()
    yield f(t.x), f(t.x)
    model.float()
    yield f(t.x)


@trap(*TENSORS)
def only_the_shape_of_a_tensor(t: Any) -> Any:
    w = t.xp.ones(2, 3)
    f = t.capture(lambda x: x * w.shape[0] + w.numel())
    yield f(t.x), f(t.x)
    for rows in range(5, 0, -1):
        w.data = t.xp.ones(rows, 3)
        yield f(t.x), f(t.x)
    w.unsqueeze_(0)
    yield f(t.x)


@trap(*TENSORS)
def a_tensor_of_other_precision(t: Any) -> Any:
    w = t.xp.ones(3)
    f = t.capture(lambda x: x * w)
    yield f(t.x), f(t.x)
    for dtype in (t.xp.float64, t.xp.float32, t.xp.int64, t.xp.float64, t.xp.float32):
        w.data = w.data.to(dtype)
        yield f(t.x), f(t.x)


@trap(*TENSORS)
def a_tensor_of_a_list_of_other_precision(t: Any) -> Any:
    held = [t.xp.ones(3)]
    f = t.capture(lambda x: held[0].to(t.xp.float32) * x / held[0].shape[0] + held[0].itemsize)
    yield f(t.x), f(t.x)
    held[0].data = held[0].data.double()
    yield f(t.x), f(t.x)


@trap(*TENSORS)
def only_the_layout_of_a_tensor(t: Any) -> Any:
    w = t.xp.arange(9.0).reshape(3, 3)
    f = t.capture(lambda x: x * w.stride(0) if w.is_contiguous() else -x * w.stride(0))
    yield f(t.x), f(t.x)
    w.data = t.xp.arange(9.0).reshape(3, 3).t()
    yield f(t.x), f(t.x)
