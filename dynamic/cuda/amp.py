"""Mixed precision under the names that it had for GPUs alone (torch.cuda.amp)."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic import amp
from staticgraph.dynamic.amp import custom_bwd, custom_fwd
from staticgraph.dynamic.core.dtypes import float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """`amp.autocast("cuda")`: without a GPU it warns and changes nothing.

    Example:
        >>> with dynamic.cuda.amp.autocast(enabled=False):
        ...     dynamic.ones(2)
        tensor([1., 1.])
    """

    def __init__(
        self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler("cuda")`: without a GPU it warns and scales nothing.

    Example:
        >>> dynamic.cuda.amp.GradScaler(enabled=False).is_enabled()
        False
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
