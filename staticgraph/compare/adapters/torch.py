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

        def loss_of(**given: Any) -> Any:
            return model.torch_loss(torch, **given)

        if task["mode"] == "compile":
            loss_of = torch.compile(loss_of)

    def gradients() -> tuple[Any, Any]:
        loss = loss_of(**tensors)
        return loss.item(), torch.autograd.grad(loss, parameters)

    def train() -> Any:
        loss, taken = gradients()
        with torch.no_grad():
            for parameter, gradient in zip(parameters, taken, strict=True):
                parameter -= task["rate"] * gradient
        return loss

    def results() -> list[Any]:
        if model.UPDATED:
            return [train(), *(parameter.detach().numpy() for parameter in parameters)]
        loss, taken = gradients()
        return [loss, *(gradient.numpy() for gradient in taken)]

    return train if model.UPDATED else gradients, results
