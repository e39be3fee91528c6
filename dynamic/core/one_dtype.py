"""Products, whose operands have one dtype: PyTorch promotes none of them."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.dynamic.core.dtypes import require_dtype

_WORDS = {
    "matmul": "expected m1 and m2 to have the same dtype, but got: {2} != {3}: matmul",
    "bmm": "expected scalar type {0} but found {1}: bmm",
}


def require_one_dtype(name: str, operands: Sequence[object]) -> None:
    """RuntimeError if the first two operands of a product have different dtypes."""
    words = _WORDS.get(name)
    if words is not None:
        require_dtype(words, operands[0], operands[1])
