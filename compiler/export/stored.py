"""How an exported file writes dtypes of which memory has the bits: as NumPy's of their size."""

from __future__ import annotations

from staticgraph.compiler.core.dtypes import stored
from staticgraph.compiler.core.types import DType


def name_of(dtype: DType) -> str:
    """The name of a dtype in the file; plain kernels, which know bfloat16, have it by its own."""
    if dtype.kind == "V":
        return dtype.name
    return "np.bool_" if dtype.kind == "b" else f"np.{dtype.name}"


def viewed(text: str, dtype: DType) -> str:
    """An array of what memory holds, as one of the dtype."""
    return text if stored(dtype) == dtype else f"{text}.view({name_of(dtype)})"
