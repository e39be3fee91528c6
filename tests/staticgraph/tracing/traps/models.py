"""What happens to models, and to what trains them, between two calls of a captured step."""

from __future__ import annotations

import copy
import gc
from typing import Any

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


def _state(model: Any, factor: float) -> dict[str, Any]:
    return {key: value.clone() * factor for key, value in model.state_dict().items()}


@trap(*TENSORS)
def a_state_is_loaded(t: Any) -> Any:
    model = _linear(t)
    f = t.capture(lambda x: model(x).detach())
    yield f(t.x)
    model.load_state_dict(_state(model, 2.0))
    yield f(t.x)


@trap(*TENSORS)
def a_state_is_loaded_by_assignment(t: Any) -> Any:
    model = _linear(t)
    f = t.capture(lambda x: model(x).detach())
    yield f(t.x)
    model.load_state_dict(_state(model, 2.0), assign=True)
    yield f(t.x)
    with t.xp.no_grad():
        model.weight.fill_(1.0)
    yield f(t.x)


@trap(*TENSORS)
def a_state_is_loaded_into_the_optimizer(t: Any) -> Any:
    model = _linear(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    f = t.capture(lambda x: _descend(model, opt, x))
    yield f(t.x), f(t.x)
    kept = copy.deepcopy(opt.state_dict())
    yield f(t.x), f(t.x)
    opt.load_state_dict(kept)
    yield f(t.x), f(t.x), model.weight


@trap(*TENSORS)
def a_copy_of_the_model_takes_its_place(t: Any) -> Any:
    held = {"model": _linear(t)}
    f = t.capture(lambda x: held["model"](x).detach())
    yield f(t.x)
    other = copy.deepcopy(held["model"])
    with t.xp.no_grad():
        other.weight.mul_(3.0)
    held["model"] = other
    yield f(t.x)


@trap(*TENSORS)
def a_model_at_the_same_address(t: Any) -> Any:
    held = {"model": _linear(t)}
    f = t.capture(lambda x: held["model"](x).detach())
    for value in (1.0, 2.0, 3.0):
        held.clear()
        gc.collect()
        held["model"] = _linear(t, value=value)
        yield f(t.x)


@trap(*TENSORS)
def a_dict_of_parts_gets_another(t: Any) -> Any:
    parts = t.nn.ModuleDict({"a": _linear(t, 3, 3)})

    def run(x: Any) -> Any:
        for part in parts.values():
            x = part(x)
        return x.detach()

    f = t.capture(run)
    yield f(t.x)
    parts["b"] = _linear(t, 3, 2, 2.0)
    yield f(t.x)
    del parts["a"]
    yield f(t.x)


@trap(*TENSORS)
def a_list_of_parameters_grows(t: Any) -> Any:
    weights = t.nn.ParameterList([t.nn.Parameter(t.xp.ones(3))])

    def run(x: Any) -> Any:
        for one in weights:
            x = x * one
        return x.detach()

    f = t.capture(run)
    yield f(t.x)
    weights.append(t.nn.Parameter(t.xp.full((3,), 2.0)))
    yield f(t.x)
    weights[0] = t.nn.Parameter(t.xp.full((3,), 5.0))
    yield f(t.x)


@trap(*TENSORS)
def a_dict_of_parameters_is_updated(t: Any) -> Any:
    weights = t.nn.ParameterDict({"a": t.nn.Parameter(t.xp.ones(3))})

    def run(x: Any) -> Any:
        return sum(x * one for one in weights.values()).detach()

    f = t.capture(run)
    yield f(t.x)
    weights["b"] = t.nn.Parameter(t.xp.full((3,), 2.0))
    yield f(t.x)
    weights.pop("a")
    yield f(t.x)


@trap(*TENSORS)
def a_hook_is_removed_by_the_function(t: Any) -> Any:
    model = _linear(t)

    def run(x: Any) -> Any:
        handle = model.register_forward_hook(lambda module, args, result: result * 2)
        y = model(x)
        handle.remove()
        return y.detach(), model(x).detach()

    f = t.capture(run)
    yield f(t.x)
    yield f(t.x * 2), len(model._forward_hooks)


@trap(*TENSORS)
def a_hook_before_with_keywords(t: Any) -> Any:
    factor = [2.0]

    class Scaled(t.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any, *, scale: float = 1.0) -> Any:
            return x * scale

    def before(module: Any, args: Any, kwargs: Any) -> Any:
        return args, {"scale": factor[0]}

    model = Scaled()
    model.register_forward_pre_hook(before, with_kwargs=True)
    f = t.capture(lambda x: model(x))
    yield f(t.x)
    factor[0] = 3.0
    yield f(t.x)


@trap(*TENSORS)
def a_spectral_norm_moves_on(t: Any) -> Any:
    t.xp.manual_seed(0)
    model = t.nn.utils.spectral_norm(_linear(t, 3, 3))
    with t.xp.no_grad():
        model.weight_orig.copy_(t.xp.arange(9.0).reshape(3, 3))
        model.weight_u.copy_(t.xp.tensor([1.0, 0.0, 0.0]))
    f = t.capture(lambda x: model(x).detach())
    for _ in range(3):
        yield f(t.x), model.weight_u
    model.eval()
    yield f(t.x), model.weight_u


@trap(*TENSORS)
def a_weight_norm_is_taken_off(t: Any) -> Any:
    model = t.nn.utils.weight_norm(_linear(t))
    f = t.capture(lambda x: model(x).detach())
    yield f(t.x)
    with t.xp.no_grad():
        model.weight_g.mul_(2.0)
    yield f(t.x)
    t.nn.utils.remove_weight_norm(model)
    with t.xp.no_grad():
        model.weight.mul_(2.0)
    yield f(t.x)


@trap(*TENSORS)
def a_parametrization_is_registered(t: Any) -> Any:
    class Doubled(t.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, w: Any) -> Any:
            return 2 * w

    model = _linear(t)
    f = t.capture(lambda x: model(x).detach())
    yield f(t.x)
    t.nn.utils.parametrize.register_parametrization(model, "weight", Doubled())
    yield f(t.x)
    t.nn.utils.parametrize.remove_parametrizations(model, "weight")
    yield f(t.x)


@trap(*TENSORS)
def a_norm_stops_to_track(t: Any) -> Any:
    norm = t.nn.BatchNorm1d(3, momentum=None)
    x = t.xp.arange(6.0).reshape(2, 3)
    f = t.capture(lambda x: norm(x).detach())
    yield f(x), norm.running_mean, norm.num_batches_tracked
    yield f(x * 2), norm.running_mean, norm.num_batches_tracked
    norm.momentum = 0.5
    yield f(x * 3), norm.running_mean
    norm.track_running_stats = False
    norm.eval()
    yield f(x * 4), norm.running_mean
    norm.reset_running_stats()
    norm.track_running_stats = True
    yield f(x), norm.running_mean


@trap(*TENSORS)
def an_embedding_with_a_largest_norm(t: Any) -> Any:
    table = t.nn.Embedding(4, 2, max_norm=1.0)
    with t.xp.no_grad():
        table.weight.copy_(t.xp.arange(8.0).reshape(4, 2))
    f = t.capture(lambda i: table(i).detach())
    yield f(t.xp.tensor([1, 2])), table.weight
    yield f(t.xp.tensor([0, 3])), table.weight


@trap(*TENSORS)
def a_state_of_a_recurrent_layer_is_kept(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = t.nn.RNNCell(3, 2)
            self.h = t.xp.zeros(1, 2)
            with t.xp.no_grad():
                for one in self.cell.parameters():
                    one.fill_(0.1)

        def forward(self, x: Any) -> Any:
            h = self.cell(x[None], self.h)
            self.h = h.detach()
            return h.detach()

    net = Net()
    f = t.capture(lambda x: net(x))
    yield f(t.x), net.h
    yield f(t.x), net.h
    net.h = t.xp.zeros(1, 2)
    yield f(t.x), net.h


@trap(*TENSORS)
def a_queue_of_keys(t: Any) -> Any:
    class Queue(t.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("queue", t.xp.zeros(4))
            self.register_buffer("at", t.xp.zeros(1, dtype=t.xp.long))

        def forward(self, x: Any) -> Any:
            at = int(self.at)
            scores = self.queue * x.sum()
            self.queue[at : at + 2] = x[:2]
            self.at[0] = (at + 2) % 4
            return scores

    queue = Queue()
    f = t.capture(lambda x: queue(x))
    for k in range(4):
        yield f(t.x + k), queue.queue, queue.at


@trap(*TENSORS)
def a_queue_with_a_python_place(t: Any) -> Any:
    class Queue(t.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("queue", t.xp.zeros(4))
            self.at = 0

        def forward(self, x: Any) -> Any:
            scores = self.queue * x.sum()
            self.queue[self.at : self.at + 2] = x[:2]
            self.at = (self.at + 2) % 4
            return scores

    queue = Queue()
    f = t.capture(lambda x: queue(x))
    for k in range(4):
        yield f(t.x + k), queue.queue, queue.at


@trap(*TENSORS)
def parameters_as_one_vector(t: Any) -> Any:
    model = _linear(t)
    vector = t.nn.utils.parameters_to_vector
    f = t.capture(lambda x: vector(model.parameters()).detach() * x.sum())
    yield f(t.x)
    with t.xp.no_grad():
        model.bias.add_(1.0)
    yield f(t.x)


@trap(*TENSORS)
def a_vector_becomes_the_parameters(t: Any) -> Any:
    model = _linear(t)

    def run(x: Any, v: Any) -> Any:
        t.nn.utils.vector_to_parameters(v, model.parameters())
        return model(x).detach()

    f = t.capture(run)
    v = t.xp.arange(8.0)
    yield f(t.x, v), model.weight
    yield f(t.x, v * 2), model.weight, model.bias


@trap(*TENSORS)
def the_direction_of_an_optimizer(t: Any) -> Any:
    model = _linear(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)
    f = t.capture(lambda x: _descend(model, opt, x))
    yield f(t.x), model.weight
    opt.param_groups[0]["maximize"] = True
    yield f(t.x), model.weight
    opt.param_groups[0]["weight_decay"] = 0.5
    yield f(t.x), model.weight


@trap(*TENSORS)
def the_state_of_an_optimizer_is_dropped(t: Any) -> Any:
    model = _linear(t)
    opt = t.xp.optim.Adam(model.parameters(), lr=0.1)
    f = t.capture(lambda x: _descend(model, opt, x))
    yield f(t.x), f(t.x), model.weight
    opt.state.clear()
    yield f(t.x), f(t.x), model.weight


@trap(*TENSORS)
def gradients_are_zeroed_and_kept(t: Any) -> Any:
    model = _linear(t)

    def run(x: Any) -> Any:
        model.zero_grad(set_to_none=False)
        loss = model(x).sum()
        loss.backward()
        return loss.detach()

    f = t.capture(run)
    yield f(t.x), model.weight.grad
    kept = model.weight.grad
    yield f(t.x * 2), model.weight.grad, kept


@trap(*TENSORS)
def gradients_of_several_batches(t: Any) -> Any:
    model = _linear(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)
    f = t.capture(lambda x: (model(x).sum() / 2).backward())
    for k in range(4):
        f(t.x + k)
        yield model.weight.grad
        if k % 2:
            opt.step()
            opt.zero_grad()
            yield model.weight


@trap(*TENSORS)
def gradients_are_scaled_by_data(t: Any) -> Any:
    model = _linear(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def run(x: Any) -> Any:
        opt.zero_grad()
        model(x).sum().backward()
        for one in model.parameters():
            one.grad.data.mul_(0.5)
        opt.step()
        return model.bias.grad.clone()

    f = t.capture(run)
    yield f(t.x), model.weight
    yield f(t.x * 2), model.weight


@trap(*TENSORS)
def a_norm_of_gradients_is_returned(t: Any) -> Any:
    model = _linear(t)
    opt, largest = t.xp.optim.SGD(model.parameters(), lr=0.1), [0.1]

    def run(x: Any) -> Any:
        opt.zero_grad()
        model(x).pow(2).sum().backward()
        norm = t.nn.utils.clip_grad_norm_(model.parameters(), largest[0])
        opt.step()
        return norm

    f = t.capture(run)
    yield f(t.x), model.weight
    largest[0] = 100.0
    yield f(t.x), model.weight


@trap(*TENSORS)
def an_average_of_the_model(t: Any) -> Any:
    model = _linear(t)
    average = copy.deepcopy(model)
    opt, decay = t.xp.optim.SGD(model.parameters(), lr=0.1), [0.5]

    def run(x: Any) -> Any:
        loss = _descend(model, opt, x)
        with t.xp.no_grad():
            for mean, one in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(one, 1 - decay[0])
        return loss

    f = t.capture(run)
    yield f(t.x), average.weight
    decay[0] = 0.9
    yield f(t.x), average.weight


@trap(*TENSORS)
def an_averaged_model_of_the_library(t: Any) -> Any:
    model = _linear(t)
    average = t.xp.optim.swa_utils.AveragedModel(model)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def run(x: Any) -> Any:
        loss = _descend(model, opt, x)
        average.update_parameters(model)
        return loss

    f = t.capture(run)
    for _ in range(3):
        yield f(t.x), average.module.weight, average.n_averaged


@trap(*TENSORS)
def a_part_alone_is_set_to_evaluation(t: Any) -> Any:
    t.xp.manual_seed(0)
    model = t.nn.Sequential(t.nn.Dropout(0.5), _linear(t), t.nn.Dropout(1.0))
    f = t.capture(lambda x: model(x).detach())
    yield f(t.x)
    model[2].eval()
    model[0].eval()
    yield f(t.x)
    model.train()
    model[0].p = 0.0
    yield f(t.x)


@trap(*TENSORS)
def layers_are_initialised_inside(t: Any) -> Any:
    model = _linear(t)

    def run(x: Any) -> Any:
        t.nn.init.constant_(model.weight, 0.125)
        t.nn.init.zeros_(model.bias)
        return model(x).detach()

    f = t.capture(run)
    yield f(t.x)
    with t.xp.no_grad():
        model.weight.fill_(9.0)
    yield f(t.x), model.weight
