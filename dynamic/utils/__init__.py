"""PyTorch's torch.utils: checkpoints, data; what takes longer to import when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from staticgraph.dynamic.utils import checkpoint

if TYPE_CHECKING:
    from staticgraph.dynamic.utils import data as data, hooks as hooks

__all__ = ["checkpoint", "data", "hooks", "model_zoo", "tensorboard"]


def __getattr__(name: str) -> Any:
    if name not in __all__ and name not in ("_pytree", "_python_dispatch"):
        raise AttributeError(f"module 'dynamic.utils' has no attribute {name!r}")
    return import_module(f"staticgraph.dynamic.utils.{name}")
