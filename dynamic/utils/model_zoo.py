"""The old place of `hub.load_state_dict_from_url` (torch.utils.model_zoo)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["load_url"]


def load_url(url: str, model_dir: str | None = None, **options: Any) -> Any:
    """What `hub.load_state_dict_from_url` gives.

    Example:
        >>> from pathlib import Path
        >>> dynamic.save({"w": dynamic.ones(2)}, "w.safetensors")
        >>> address = Path("w.safetensors").resolve().as_uri()
        >>> dynamic.utils.model_zoo.load_url(address, "kept")["w"]
        tensor([1., 1.])
    """
    return import_module("staticgraph.dynamic.hub").load_state_dict_from_url(
        url, model_dir, **options
    )
