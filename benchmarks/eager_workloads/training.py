"""Training steps of small models, and of the same ones when they are larger."""

from __future__ import annotations

import itertools
from typing import Any

from benchmarks.eager_workloads.common import (
    Makers,
    Step,
    integers,
    tensor,
    training,
    with_values,
)


def mlp(torch: Any, batch: int, *widths: int, optimizer: str = "") -> Step:
    """Relu layers written out, cross entropy, and SGD by hand or an optimizer."""
    x, labels = tensor(torch, batch, widths[0], grad=False), integers(torch, widths[-1], batch)
    layers = [
        (tensor(torch, m, n, scale=0.1), tensor(torch, n, scale=0.1))
        for m, n in itertools.pairwise(widths)
    ]
    parameters = [parameter for layer in layers for parameter in layer]

    def loss_of() -> Any:
        h = x
        for w, b in layers[:-1]:
            h = torch.relu(h @ w + b)
        w, b = layers[-1]
        return torch.nn.functional.cross_entropy(h @ w + b, labels)

    def by_hand() -> Any:
        loss = loss_of()
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p -= 0.001 * p.grad
                p.grad = None
        return loss

    if not optimizer:
        return by_hand
    return training(loss_of, getattr(torch.optim, optimizer)(parameters, lr=1e-5))


def module_mlp(torch: Any, batch: int, *widths: int, optimizer: str) -> Step:
    """The same of modules."""
    nn = torch.nn
    x, labels = tensor(torch, batch, widths[0], grad=False), integers(torch, widths[-1], batch)
    layers: list[Any] = []
    for m, n in itertools.pairwise(widths):
        layers += [nn.Linear(m, n), nn.ReLU()]
    model = with_values(torch, nn.Sequential(*layers[:-1]))
    criterion = nn.CrossEntropyLoss()
    chosen = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-5)
    return training(lambda: criterion(model(x), labels), chosen)


def regression(torch: Any) -> Step:
    """Least squares, with Adam."""
    x, y = tensor(torch, 32, 8, grad=False), tensor(torch, 32, 1, grad=False, seed=1)
    model = with_values(torch, torch.nn.Linear(8, 1))
    chosen = torch.optim.Adam(model.parameters(), lr=1e-5)
    return training(lambda: torch.nn.functional.mse_loss(model(x), y), chosen)


def character_rnn(torch: Any) -> Step:
    """A GRU cell over 16 characters."""
    nn = torch.nn
    text = integers(torch, 30, 17, 4)
    embedding, cell, head = nn.Embedding(30, 16), nn.GRUCell(16, 32), nn.Linear(32, 30)
    layers = nn.ModuleList([with_values(torch, one) for one in (embedding, cell, head)])

    def loss_of() -> Any:
        state = torch.zeros(4, 32)
        total = torch.zeros(())
        for t in range(16):
            state = cell(embedding(text[t]), state)
            total = total + nn.functional.cross_entropy(head(state), text[t + 1])
        return total

    return training(loss_of, torch.optim.Adam(layers.parameters(), lr=1e-5))


def small_steps(torch: Any) -> Makers:
    """Training steps of small models."""
    widths = (64, 64, 128, 10)
    return {
        "MLP 64-128-10 by hand": lambda: mlp(torch, *widths),
        "MLP 64-128-10, optim.SGD": lambda: mlp(torch, *widths, optimizer="SGD"),
        "MLP 64-128-10, optim.Adam": lambda: mlp(torch, *widths, optimizer="Adam"),
        "MLP 64-128-10 of modules, AdamW": lambda: module_mlp(torch, *widths, optimizer="AdamW"),
        "MLP 2-16-16-1 of modules, SGD": lambda: module_mlp(
            torch, 32, 2, 16, 16, 2, optimizer="SGD"
        ),
        "linear regression, Adam": lambda: regression(torch),
        "GRU cell over 16 characters, Adam": lambda: character_rnn(torch),
    }


def large_steps(torch: Any) -> Makers:
    """Training steps of larger perceptrons."""
    widths = (256, 784, 512, 512, 10)
    return {
        "MLP 784-512-512-10 by hand": lambda: mlp(torch, *widths),
        "MLP 784-512-512-10, optim.SGD": lambda: mlp(torch, *widths, optimizer="SGD"),
        "MLP 784-512-512-10 of modules, Adam": lambda: module_mlp(torch, *widths, optimizer="Adam"),
    }
