"""The old place of `hub.load_state_dict_from_url` (torch.utils.model_zoo)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["load_url"]


def load_url(url: str, model_dir: str | None = None, **options: Any) -> Any:
    """What `hub.load_state_dict_from_url` gives."""
    return import_module("staticgraph.dynamic.hub").load_state_dict_from_url(
        url, model_dir, **options
    )
