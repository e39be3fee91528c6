"""Ours, eager: `dynamic`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def load(_task: Mapping[str, object]) -> tuple[Any, str]:
    """The package; it has the version of the distribution, which `staticgraph` states."""
    from staticgraph import dynamic

    return dynamic, ""


def prepare(
    dynamic: Any, _task: Mapping[str, object], model: Any, arrays: Mapping[str, object], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Make the tensors; the graph is recorded anew by every call."""
    with timed("build"):
        tensors = {name: dynamic.tensor(array) for name, array in arrays.items()}
        parameters = [tensors[name].requires_grad_(True) for name in model.PARAMETERS]
        step = _step(dynamic, model.OPTIMIZER, parameters) if model.OPTIMIZER else None
    loss_of = getattr(model, "eager_loss", model.loss)

    def values() -> Any:
        return loss_of(dynamic, **tensors)

    def gradients() -> tuple[Any, Any]:
        loss = values()
        return loss.item(), dynamic.autograd.grad(loss, parameters)

    def train() -> Any:
        loss = values()
        assert step is not None
        step(loss)
        return loss.item()

    def results() -> list[Any]:
        if step is not None:
            return [train(), *(parameter.detach().numpy() for parameter in parameters)]
        if not parameters:
            return [values().numpy()]
        loss, taken = gradients()
        return [loss, *(gradient.numpy() for gradient in taken)]

    if step is not None:
        return train, results
    return gradients if parameters else values, results


def _step(dynamic: Any, given: Mapping[str, Any], parameters: list[Any]) -> Callable[[Any], None]:
    """What updates the parameters, written out where it is one line."""
    options = dict(given)
    kind, rate = options.pop("name"), options.pop("lr")
    if kind == "SGD" and not options:

        def descend(loss: Any) -> None:
            taken = dynamic.autograd.grad(loss, parameters)
            with dynamic.no_grad():
                for parameter, gradient in zip(parameters, taken, strict=True):
                    parameter -= rate * gradient

        return descend
    optimizer = getattr(dynamic.optim, kind)(parameters, lr=rate, **options)

    def step(loss: Any) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
