"""Mixed precision (torch.amp): `autocast` and `GradScaler`, as on a machine without a GPU."""

from __future__ import annotations

from staticgraph.dynamic.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
)
from staticgraph.dynamic.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype",
    "is_autocast_available", "is_autocast_enabled",
]  # fmt: skip
