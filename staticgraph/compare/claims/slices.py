"""A hundred arrays put together: a script for `server.py`, with our eager engine or PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

COUNT, SIDE = 100, 256


def contender(package: str) -> tuple[None, dict[str, Callable[[], None]]]:
    """The two ways of the claim, value and gradient."""
    torch: Any = importlib.import_module(package)
    torch.manual_seed(0)
    parts = [torch.randn(SIDE, SIDE, requires_grad=True) for _ in range(COUNT)]

    def cat() -> None:
        whole = torch.cat([part[None] for part in parts], dim=0)
        whole.sum().backward()

    def assign() -> None:
        whole = torch.empty(COUNT, SIDE, SIDE)
        for i, part in enumerate(parts):
            whole[i] = part
        whole.sum().backward()

    return None, {"cat": cat, "assign": assign}


def static_forms(count: int = 10) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same two for `count` parts as compiled graphs, value and gradients: op by op."""
    import numpy as np

    import staticgraph as sg

    given = [np.ones((SIDE, SIDE), "float32") for _ in range(count)]
    parts = [sg.placeholder(f"part{i}", (SIDE, SIDE)) for i in range(count)]
    together = sg.concatenate([sg.expand_dims(part, 0) for part in parts], axis=0)
    assigned: Any = sg.zeros((count, SIDE, SIDE), "float32")
    for i, part in enumerate(parts):
        place = sg.constant(np.array([i]))
        assigned = sg.index_copy(assigned, place, sg.expand_dims(part, 0), axis=0)
    made = []
    for whole in (together, assigned):
        total = sg.sum(whole * whole)
        made.append(sg.compile(parts, [total, *sg.grad(total, parts)]))
    return (lambda: made[0](*given)), (lambda: made[1](*given))
