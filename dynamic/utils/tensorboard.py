"""Logs for TensorBoard (torch.utils.tensorboard), written by the package tensorboardX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from staticgraph.compiler.core.errors import MissingExtraError


def __getattr__(name: str) -> Any:
    """`SummaryWriter`, tensorboardX's; MissingExtraError where that is not installed."""
    if name != "SummaryWriter":
        raise AttributeError(f"module 'dynamic.utils.tensorboard' has no attribute {name!r}")
    try:
        writers: Any = import_module("tensorboardX")
    except ImportError:
        raise MissingExtraError(
            "torch.utils.tensorboard: tensorboardX is not installed: pip install "
            "'staticgraph[tensorboard]'"
        ) from None
    return writers.SummaryWriter
