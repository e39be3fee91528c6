"""Hooks, closures and helpers that scripts hand to tensors, layers and optimizers."""

from __future__ import annotations

from typing import Any

from .trap import TENSORS, trap


def _model(t: Any) -> tuple[Any, Any]:
    layer = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.0)
    return layer, t.xp.optim.SGD(layer.parameters(), lr=0.01)


def _step(model: Any, opt: Any, x: Any) -> Any:
    opt.zero_grad()
    loss = (model(x) - 1.0).pow(2).sum()
    loss.backward()
    opt.step()
    return loss


@trap(*TENSORS)
def features_that_a_hook_keeps(t: Any) -> Any:
    model, _ = _model(t)
    kept: dict[str, Any] = {}
    model.register_forward_hook(lambda module, args, result: kept.update(out=result.detach()))
    f = t.capture(lambda x: model(x))
    for k in range(2):
        yield f(t.x * k), kept["out"]


@trap(*TENSORS)
def a_hook_of_a_tensor_scales_its_gradient(t: Any) -> Any:
    model, opt = _model(t)
    scale = [0.5]

    def step(x: Any) -> Any:
        opt.zero_grad()
        y = model(x)
        y.register_hook(lambda g: g * scale[0])
        y.sum().backward()
        opt.step()
        return y.detach()

    f = t.capture(step)
    yield f(t.x), model.weight
    scale[0] = 2.0
    yield f(t.x), model.weight


@trap(*TENSORS)
def a_hook_of_a_tensor_keeps_its_gradient(t: Any) -> Any:
    kept: list[Any] = []
    w = t.xp.ones(3).requires_grad_()

    def step(x: Any) -> Any:
        y = w * x
        y.register_hook(lambda g: kept.append(g))
        (y * y).sum().backward()
        return y.detach()

    f = t.capture(step)
    for k in range(2):
        yield f(t.x * (k + 1)), kept[-1], w.grad


@trap(*TENSORS)
def a_hook_of_a_parameter_made_outside(t: Any) -> Any:
    model, opt = _model(t)
    handle = model.weight.register_hook(lambda g: g * 0.0)
    f = t.capture(lambda x: _step(model, opt, x).detach())
    yield f(t.x), model.weight
    handle.remove()
    yield f(t.x), model.weight


@trap(*TENSORS)
def the_gradient_of_what_is_between(t: Any) -> Any:
    model, _ = _model(t)

    def f(x: Any) -> Any:
        y = model(x)
        y.retain_grad()
        (y * y).sum().backward()
        return y.grad

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x * 2)


@trap(*TENSORS)
def a_closure_that_the_optimizer_calls(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        def closure() -> Any:
            opt.zero_grad()
            loss = (model(x) - 1.0).pow(2).sum()
            loss.backward()
            return loss

        return opt.step(closure).detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), model.weight


@trap(*TENSORS)
def a_closure_that_is_captured_within_an_optimizer_outside(t: Any) -> Any:
    model, _ = _model(t)
    opt = t.xp.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

    def closure_of(x: Any) -> Any:
        opt.zero_grad()
        loss = (model(x) - 1.0).pow(2).sum()
        loss.backward()
        return loss

    f = t.capture(closure_of)
    for k in range(1, 3):
        yield opt.step(lambda k=k: f(t.x * k)).detach(), model.weight


@trap(*TENSORS)
def the_whole_of_an_optimizer_of_many_evaluations(t: Any) -> Any:
    model, _ = _model(t)
    opt = t.xp.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

    def step(x: Any) -> Any:
        def closure() -> Any:
            opt.zero_grad()
            loss = (model(x) - 1.0).pow(2).sum()
            loss.backward()
            return loss

        return opt.step(closure)

    f = t.capture(step)
    yield f(t.x).detach(), model.weight


@trap(*TENSORS)
def a_scaler_around_a_step(t: Any) -> Any:
    model, opt = _model(t)
    scaler = t.xp.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (model(x) - 1.0).pow(2).sum()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        return loss.detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), model.weight, scaler.get_scale()


@trap(*TENSORS)
def weights_are_made_again_inside(t: Any) -> Any:
    model, _ = _model(t)

    def f(x: Any) -> Any:
        t.nn.init.constant_(model.weight, 2.0)
        return model(x)

    g = t.capture(f)
    yield g(t.x), model.weight
    with t.xp.no_grad():
        model.weight.fill_(1.0)
    yield g(t.x), model.weight


@trap(*TENSORS)
def a_mask_of_pruning(t: Any) -> Any:
    model, _ = _model(t)
    mask = t.xp.ones(1, 3)

    def f(x: Any) -> Any:
        with t.xp.no_grad():
            model.weight.mul_(mask)
        return model(x)

    g = t.capture(f)
    yield g(t.x), model.weight
    mask[0, 1] = 0.0
    yield g(t.x), model.weight


@trap(*TENSORS)
def a_curriculum_by_the_epoch(t: Any) -> Any:
    class Trainer:
        epoch = 0

        def __init__(self) -> None:
            self.model, self.opt = _model(t)
            self.weights = [0.1, 1.0, 10.0]

        def step(self, x: Any) -> Any:
            return _step(self.model, self.opt, x * self.weights[self.epoch]).detach()

    trainer = Trainer()
    f = t.capture(trainer.step)
    for trainer.epoch in range(3):
        yield f(t.x), trainer.model.weight


@trap(*TENSORS)
def a_property_that_picks_the_device(t: Any) -> Any:
    model, _ = _model(t)

    def f(x: Any) -> Any:
        x = x.to(next(model.parameters()).device, non_blocking=True)
        return model(x.to(next(model.parameters()).dtype))

    g = t.capture(f)
    yield g(t.x)
    model.double()
    yield g(t.x)
