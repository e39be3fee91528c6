"""Pictures that scripts write: nothing is written."""

from __future__ import annotations

from typing import Any


def save_image(*args: Any, **options: Any) -> None:
    """Nothing."""


def make_grid(tensor: Any, *args: Any, **options: Any) -> Any:
    """The first image."""
    return tensor[0]
