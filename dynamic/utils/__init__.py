"""PyTorch's torch.utils: checkpointing."""

from __future__ import annotations

from dynamic.utils import checkpoint

__all__ = ["checkpoint"]
