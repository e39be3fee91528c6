"""Ours, eager: `dynamic`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def load(_task: Mapping[str, object]) -> tuple[Any, str]:
    """The package; it has the version of the distribution, which `staticgraph` states."""
    import dynamic

    return dynamic, ""


def prepare(
    dynamic: Any, task: Mapping[str, object], model: Any, arrays: Mapping[str, object], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Make the tensors; the graph is recorded anew by every call."""
    with timed("build"):
        tensors = {name: dynamic.tensor(array) for name, array in arrays.items()}
        parameters = [tensors[name].requires_grad_(True) for name in model.PARAMETERS]

    def gradients() -> tuple[Any, Any]:
        loss = model.loss(dynamic, **tensors)
        return loss.item(), dynamic.autograd.grad(loss, parameters)

    def train() -> Any:
        loss, taken = gradients()
        with dynamic.no_grad():
            for parameter, gradient in zip(parameters, taken, strict=True):
                parameter -= task["rate"] * gradient
        return loss

    def results() -> list[Any]:
        if model.UPDATED:
            return [train(), *(parameter.detach().numpy() for parameter in parameters)]
        loss, taken = gradients()
        return [loss, *(gradient.numpy() for gradient in taken)]

    return train if model.UPDATED else gradients, results
