"""PyTorch, eager or with the loss compiled by `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def load(task: Mapping[str, object]) -> tuple[Any, str]:
    """The package, told how many threads to use, and its version."""
    import torch

    torch.set_num_threads(task["threads"])
    return torch, torch.__version__


def prepare(
    torch: Any, task: Mapping[str, object], model: Any, arrays: Mapping[str, object], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Make the tensors; `torch.compile` compiles at the first call."""
    with timed("build"):
        tensors = {name: torch.tensor(array) for name, array in arrays.items()}
        parameters = [tensors[name].requires_grad_(True) for name in model.PARAMETERS]
        step = _step(torch, model.OPTIMIZER, parameters) if model.OPTIMIZER else None

        def loss_of(**given: Any) -> Any:
            return model.torch_loss(torch, **given)

        if task["mode"] == "compile":
            loss_of = torch.compile(loss_of)

    def values() -> Any:
        return loss_of(**tensors)

    def gradients() -> tuple[Any, Any]:
        loss = values()
        return loss.item(), torch.autograd.grad(loss, parameters)

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


def _step(torch: Any, given: Mapping[str, Any], parameters: list[Any]) -> Callable[[Any], None]:
    """What updates the parameters: its fused optimizers, or a line where that is faster."""
    options = dict(given)
    kind, rate = options.pop("name"), options.pop("lr")
    if kind == "SGD" and not options:

        def descend(loss: Any) -> None:
            taken = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for parameter, gradient in zip(parameters, taken, strict=True):
                    parameter -= rate * gradient

        return descend
    optimizer = getattr(torch.optim, kind)(parameters, lr=rate, fused=True, **options)

    def step(loss: Any) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
