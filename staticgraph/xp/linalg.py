"""The extension `linalg` of the array API standard, of expressions."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.array_api import LINALG
from staticgraph.compiler.array_api.examples import document
from staticgraph.compiler.core.published import published

__all__ = list(LINALG)

_TABLE = LINALG
published(__name__, _TABLE)
document(_TABLE, of_tensors=False, place="linalg.")


def __getattr__(name: str) -> Any:
    """A function of the table."""
    if name not in _TABLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TABLE[name]
