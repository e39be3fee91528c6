"""Logs for TensorBoard (torch.utils.tensorboard), written by the package tensorboardX."""

from __future__ import annotations

from typing import Any

from compiler.core.errors import MissingExtraError

__all__ = ["SummaryWriter"]


def __getattr__(name: str) -> Any:
    """`SummaryWriter`, tensorboardX's; MissingExtraError where that is not installed."""
    if name != "SummaryWriter":
        raise AttributeError(f"module 'dynamic.utils.tensorboard' has no attribute {name!r}")
    try:
        import tensorboardX
    except ImportError:
        raise MissingExtraError(
            "torch.utils.tensorboard: tensorboardX is not installed: pip install "
            "'staticgraph[tensorboard]'"
        ) from None
    return tensorboardX.SummaryWriter
