"""The modules under the name of the package in which PyTorch has them (torch.nn.modules)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from staticgraph.dynamic.nn.module import Module

__all__ = ["Module"]


def __getattr__(name: str) -> Any:
    """What `torch.nn` has under the name."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("staticgraph.dynamic.nn"), name)
