"""Losses of a few elements in short ways, as `dynamic.fast_paths` has them of ops."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.op import Attrs
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels.dispatch import LARGE_ROWS
from staticgraph.dynamic.tensors.tensor import PLAIN

REDUCED: dict[str, Attrs] = {name: {"reduction": name} for name in ("none", "mean", "sum")}
"""Per reduction the attributes of a loss."""


def are_few(input: Any, target: Any, large: int = LARGE_ROWS) -> bool:
    """Whether these are plain tensors, and the first of a few floats: of less than are large."""
    if type(input) not in PLAIN or type(target) not in PLAIN:
        return False
    x = input._array
    return (x.dtype is F32 or x.dtype is F64) and 0 < x.size < large
