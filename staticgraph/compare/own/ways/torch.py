"""PyTorch, eager or with the function compiled by `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Way:
    """The user's function on PyTorch's tensors."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        import torch

        torch.set_num_threads(task["threads"])
        self.framework = self.torch = torch
        self.mode = task["mode"]
        self.version = str(torch.__version__)
        self.compiled: Any = None
        self.substitutes = task["load"](task["substitutes"], "substitutes")

    def module(self, name: str) -> Any:
        """What stands for a module of ours."""
        return self.substitutes.for_torch(name, self.torch)

    def begin(
        self, call: Callable[..., list[Any]], arrays: Sequence[Any], by: Sequence[int], timed: Any
    ) -> None:
        """Make the tensors; `torch.compile` compiles at the first call."""
        with timed("build"):
            self.tensors = [self.torch.tensor(array) for array in arrays]
            self.by = [self.tensors[i].requires_grad_(True) for i in by]
            if self.compiled is None:
                self.compiled = self.torch.compile(call) if self.mode == "compile" else call

    def run(self) -> tuple[list[Any], Sequence[Any]]:
        """Values, and gradients of the sum of all that is floating."""
        values = self.compiled(*self.tensors)
        return values, self._gradients(values) if self.by else ()

    def _gradients(self, values: Sequence[Any]) -> Sequence[Any]:
        torch = self.torch
        roots = [one for one in values if getattr(one, "requires_grad", False)]
        if not roots:
            return [torch.zeros_like(one) for one in self.by]
        seeds = [torch.ones_like(one) for one in roots]
        found = torch.autograd.grad(roots, self.by, seeds, allow_unused=True)
        pairs = zip(found, self.by, strict=True)
        return [torch.zeros_like(x) if g is None else g for g, x in pairs]

    def results(self) -> list[Any]:
        """Of a call, as arrays."""
        values, gradients = self.run()
        return [
            one.detach().numpy() if hasattr(one, "detach") else one for one in [*values, *gradients]
        ]

    def look(self, _file: str) -> dict[str, Any]:
        """Nothing: other tools look into PyTorch."""
        return {}
