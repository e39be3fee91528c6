"""Trains a model of a public module for a few steps on made-up numbers."""

from __future__ import annotations

from typing import Any


def _outputs(torch: Any, found: Any) -> list[Any]:
    if isinstance(found, torch.Tensor):
        return [found] if found.is_floating_point() else []
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        return [one for each in found for one in _outputs(torch, each)]
    return []


def run(torch: Any, code: str) -> None:
    """Run the code that makes `model` and `inputs`; then train.

    `loss`, a function of what the model returns, is the mean of squares unless the code has one.
    Code without a `model` does all that is compared by itself.
    """
    scope: dict[str, Any] = {"torch": torch, "__name__": "drive"}
    exec(compile(code, "drive", "exec"), scope)
    if "model" not in scope:
        return
    model = scope["model"]
    parameters = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=scope.get("lr", 0.01), momentum=0.9)
    model.train()
    while True:
        optimizer.zero_grad()
        found = model(*scope["inputs"])
        if "loss" in scope:
            loss = scope["loss"](found)
        else:
            loss = sum(((one - 0.5) ** 2).mean() for one in _outputs(torch, found))
        loss.backward()
        optimizer.step()
