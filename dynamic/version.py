"""The version of PyTorch whose names and behaviour this package follows (torch.version)."""

from __future__ import annotations

__version__ = "2.13.0+cpu"
cuda: str | None = None
hip: str | None = None
git_version = "unknown"
debug = False
