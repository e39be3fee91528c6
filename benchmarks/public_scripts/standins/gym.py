"""gym, by its newer name gymnasium."""

from typing import Any

import gymnasium


def __getattr__(name: str) -> Any:
    return getattr(gymnasium, name)
