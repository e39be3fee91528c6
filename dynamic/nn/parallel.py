"""Modules on several devices (torch.nn.parallel): there is one."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.data_parallel import DataParallel
from staticgraph.dynamic.nn.module import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


class DistributedDataParallel(Module):
    """RuntimeError: there is no group of processes."""

    def __init__(self, module: Any, *args: Any, **options: Any) -> None:
        super().__init__()
        raise AutogradError(
            "DistributedDataParallel: there is one process here, and no group of them: use the "
            "module itself"
        )
