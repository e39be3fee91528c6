"""Layers whose options, modes and statistics are changed between calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _rows(t: Any, k: float = 1.0) -> Any:
    """Two rows of three numbers."""
    return t.array(np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], "float32") * np.float32(k))


def _linear(t: Any, rows: int = 3, columns: int = 3) -> Any:
    layer = t.nn.Linear(rows, columns)
    with t.xp.no_grad():
        layer.weight.copy_(t.xp.arange(rows * columns).reshape(columns, rows) * 0.1)
        layer.bias.fill_(0.5)
    return layer


def _calls(t: Any, layer: Any, *changes: Any) -> Any:
    """What a captured layer gives, before each of some changes and after them."""
    f = t.capture(layer)
    yield f(_rows(t)), f(_rows(t, 2.0))
    for change in changes:
        change()
        yield f(_rows(t)), f(_rows(t, 2.0))


@trap(*TENSORS)
def the_momentum_of_statistics(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3)

    def slower() -> None:
        layer.momentum = 0.5

    yield from _calls(t, layer, slower, lambda: None)
    yield layer.running_mean, layer.running_var, layer.num_batches_tracked


@trap(*TENSORS)
def statistics_that_are_an_average(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3, momentum=None)
    yield from _calls(t, layer, lambda: None)
    yield layer.running_mean, layer.running_var, layer.num_batches_tracked


@trap(*TENSORS)
def momentum_becomes_none(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3)

    def average() -> None:
        layer.momentum = None

    yield from _calls(t, layer, average, lambda: None)
    yield layer.running_mean, layer.running_var


@trap(*TENSORS)
def statistics_are_reset(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3)
    yield from _calls(t, layer, layer.reset_running_stats, layer.eval)
    yield layer.running_mean, layer.num_batches_tracked


@trap(*TENSORS)
def a_batch_norm_without_statistics(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3, track_running_stats=False)
    yield from _calls(t, layer, layer.eval, layer.train)


@trap(*TENSORS)
def training_and_evaluation_in_turn(t: Any) -> Any:
    layer = t.nn.Sequential(_linear(t), t.nn.BatchNorm1d(3), t.nn.ReLU())
    yield from _calls(t, layer, layer.eval, layer.train, layer.eval)
    yield layer[1].running_mean


@trap(*TENSORS)
def one_part_in_evaluation(t: Any) -> Any:
    layer = t.nn.Sequential(t.nn.BatchNorm1d(3), t.nn.BatchNorm1d(3))
    yield from _calls(t, layer, layer[0].eval, layer[1].eval, layer.train)
    yield layer[0].running_mean, layer[1].running_mean


@trap(*TENSORS)
def a_batch_norm_called_twice(t: Any) -> Any:
    norm = t.nn.BatchNorm1d(3)

    def f(x: Any) -> Any:
        return norm(x) + norm(2 * x)

    g = t.capture(f)
    yield g(_rows(t)), norm.running_mean
    yield g(_rows(t, 3.0)), norm.running_mean, norm.num_batches_tracked


@trap(*TENSORS)
def statistics_are_read_between_two_calls(t: Any) -> Any:
    norm = t.nn.BatchNorm1d(3)

    def f(x: Any) -> Any:
        before = norm.running_mean.clone()
        norm(x)
        after = norm.running_mean * 1
        return before, after, norm.num_batches_tracked + 0

    g = t.capture(f)
    yield g(_rows(t))
    yield g(_rows(t, 3.0))


@trap(*TENSORS)
def the_rate_of_dropout(t: Any) -> Any:
    layer = t.nn.Dropout(0.5)

    def never() -> None:
        layer.p = 0.0

    def always() -> None:
        layer.p = 1.0

    f = t.capture(layer)
    t.xp.manual_seed(3)
    yield (f(t.xp.ones(64)) == 0).sum() > 0
    never()
    yield f(t.xp.ones(64))
    always()
    yield f(t.xp.ones(64))
    layer.eval()
    yield f(t.xp.ones(64))


@trap(*TENSORS)
def the_epsilon_of_a_norm(t: Any) -> Any:
    layer = t.nn.LayerNorm(3)

    def larger() -> None:
        layer.eps = 10.0

    yield from _calls(t, layer, larger)


@trap(*TENSORS)
def the_shape_of_a_norm(t: Any) -> Any:
    layer = t.nn.LayerNorm((2, 3), elementwise_affine=False)

    def rows() -> None:
        layer.normalized_shape = (3,)

    yield from _calls(t, layer, rows)


@trap(*TENSORS)
def the_groups_of_a_norm(t: Any) -> Any:
    layer = t.nn.GroupNorm(1, 4)
    f, x = t.capture(layer), t.xp.arange(16.0).reshape(2, 4, 2) ** 2
    yield f(x)
    layer.num_groups = 2
    yield f(x)


@trap(*TENSORS)
def a_slope_is_changed(t: Any) -> Any:
    layer = t.nn.LeakyReLU(0.1)

    def steeper() -> None:
        layer.negative_slope = 0.5

    yield from _calls(t, layer, steeper)


@trap(*TENSORS)
def an_axis_of_softmax(t: Any) -> Any:
    layer = t.nn.Softmax(dim=1)

    def columns() -> None:
        layer.dim = 0

    yield from _calls(t, layer, columns)


@trap(*TENSORS)
def the_reduction_of_a_loss(t: Any) -> Any:
    loss = t.nn.MSELoss()
    f = t.capture(lambda x: loss(x, 2 * x))
    yield f(_rows(t))
    loss.reduction = "sum"
    yield f(_rows(t))
    loss.reduction = "none"
    yield f(_rows(t))


@trap(*TENSORS)
def the_weights_of_a_loss(t: Any) -> Any:
    loss = t.nn.CrossEntropyLoss(weight=t.xp.tensor([1.0, 2.0, 3.0]))
    y = t.xp.tensor([0, 2])
    f = t.capture(lambda x: loss(x, y))
    yield f(_rows(t))
    loss.weight = t.xp.tensor([3.0, 2.0, 1.0])
    yield f(_rows(t))
    loss.weight.mul_(t.xp.tensor([1.0, 1.0, 9.0]))
    yield f(_rows(t))
    loss.label_smoothing = 0.3
    yield f(_rows(t))
    y.fill_(1)
    yield f(_rows(t))


@trap(*TENSORS)
def the_index_that_a_loss_ignores(t: Any) -> Any:
    loss = t.nn.CrossEntropyLoss()
    f = t.capture(lambda x, y: loss(x, y))
    y = t.xp.tensor([0, 2])
    yield f(_rows(t), y)
    loss.ignore_index = 2
    yield f(_rows(t), y)


@trap(*TENSORS)
def a_row_of_an_embedding_is_padding(t: Any) -> Any:
    layer = t.nn.Embedding(4, 2)
    with t.xp.no_grad():
        layer.weight.copy_(t.xp.arange(8.0).reshape(4, 2))

    def f(i: Any) -> Any:
        layer.zero_grad()
        layer(i).sum().backward()
        return layer.weight.grad * 1

    g, i = t.capture(f), t.xp.tensor([1, 0, 1])
    yield g(i)
    layer.padding_idx = 1
    yield g(i)


@trap(*TENSORS)
def an_embedding_gets_more_rows(t: Any) -> Any:
    layer = t.nn.Embedding(2, 2)
    f = t.capture(layer)
    with t.xp.no_grad():
        layer.weight.fill_(1.0)
    yield f(t.xp.tensor([1, 0]))
    layer.weight = t.nn.Parameter(t.xp.arange(8.0).reshape(4, 2))
    yield f(t.xp.tensor([3, 0]))


@trap(*TENSORS)
def a_stride_and_a_padding(t: Any) -> Any:
    layer = t.nn.Conv1d(1, 1, 2, bias=False)
    with t.xp.no_grad():
        layer.weight.copy_(t.xp.tensor([[[1.0, 2.0]]]))
    f, x = t.capture(layer), t.xp.arange(6.0).reshape(1, 1, 6)
    yield f(x)
    layer.stride = (2,)
    yield f(x)
    layer.padding = (1,)
    yield f(x)


@trap(*TENSORS)
def the_size_of_a_pool(t: Any) -> Any:
    layer = t.nn.MaxPool1d(2)
    f, x = t.capture(layer), t.xp.arange(8.0).reshape(1, 1, 8)
    yield f(x)
    layer.kernel_size = 4
    yield f(x)
    layer.stride = 1
    yield f(x)


@trap(*TENSORS)
def the_states_of_a_recurrent_layer(t: Any) -> Any:
    layer = t.nn.GRU(3, 2, batch_first=True)
    with t.xp.no_grad():
        for one in layer.parameters():
            one.fill_(0.1)
    state = t.xp.zeros(1, 1, 2)

    def f(x: Any) -> Any:
        y, new = layer(x, state)
        state.copy_(new.detach())
        return y

    g = t.capture(f)
    for k in range(3):
        yield g(_rows(t, k)[None]).detach(), state


@trap(*TENSORS)
def a_state_is_handed_on(t: Any) -> Any:
    cell = t.nn.LSTMCell(3, 2)
    with t.xp.no_grad():
        for one in cell.parameters():
            one.fill_(0.1)

    def f(x: Any, state: Any = None) -> Any:
        return cell(x, state)

    g, state = t.capture(f), None
    for k in range(3):
        state = g(_rows(t, k), state)
        yield [one.detach() for one in state]


@trap(*TENSORS)
def a_module_keeps_its_state(t: Any) -> Any:
    class Keeping(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.last: Any = t.xp.zeros(3)

        def forward(self, x: Any) -> Any:
            y = x + self.last
            self.last = y.detach()
            return y

    layer = Keeping()
    f = t.capture(layer)
    for _ in range(3):
        yield f(t.x), layer.last


@trap(*TENSORS)
def a_module_keeps_a_list(t: Any) -> Any:
    class Keeping(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []

        def forward(self, x: Any) -> Any:
            self.seen.append(x.sum())
            return x * len(self.seen)

    f = t.capture(Keeping())
    for _ in range(3):
        yield f(t.x)


@trap(*TENSORS)
def a_parametrization_is_added_and_removed(t: Any) -> Any:
    class Doubled(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return 2 * x

    layer = _linear(t)
    parametrize = t.nn.utils.parametrize
    yield from _calls(
        t, layer,
        lambda: parametrize.register_parametrization(layer, "weight", Doubled()),
        lambda: parametrize.remove_parametrizations(layer, "weight"),
    )  # fmt: skip


@trap(*TENSORS)
def the_original_of_a_parametrization(t: Any) -> Any:
    class Scaled(t.nn.Module):  # type: ignore[misc,name-defined]
        factor = 2.0

        def forward(self, x: Any) -> Any:
            return self.factor * x

    layer, scaled = _linear(t), Scaled()
    t.nn.utils.parametrize.register_parametrization(layer, "weight", scaled)

    def larger() -> None:
        scaled.factor = 3.0

    def halved() -> None:
        with t.xp.no_grad():
            layer.parametrizations.weight.original.mul_(0.5)

    yield from _calls(t, layer, larger, halved)


@trap("tensors", "torch")
def a_layer_is_deleted_inserted_and_taken_out(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Tanh(), t.nn.Sigmoid(), t.nn.ReLU())
    layers = t.nn.ModuleList([t.nn.Tanh(), t.nn.Sigmoid()])

    def both(x: Any) -> Any:
        x = model(x)
        for layer in layers:
            x = layer(x)
        return x

    f = t.capture(both)
    yield f(t.x)
    del model[1]
    yield f(t.x)
    model.insert(0, t.nn.Sigmoid())
    yield f(t.x)
    model.pop(0)
    yield f(t.x)
    del layers[0]
    yield f(t.x)
    layers.insert(0, t.nn.ReLU())
    yield f(t.x)
    layers.pop(1)
    yield f(t.x)
    del model[:]
    yield f(t.x)
