"""Rounding to so many decimals, composed of ops: of functions and of the methods of handles."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.elementwise.arithmetic import astype, divide, multiply, round
from staticgraph.compiler.ops.elementwise.complex_numbers import (
    imaginary_part,
    make_complex,
    real_part,
)


def rounded(x: Any, decimals: int) -> Value:
    """The nearest number of so many decimals, halves to even; of tens and so on if negative."""
    x = as_operand(x)
    if np.dtype(x.dtype).kind == "c":
        return make_complex(*(rounded(part(x), decimals) for part in (real_part, imaginary_part)))
    if not is_float(x.dtype):
        if decimals >= 0:
            return x
        return astype(rounded(astype(x, "float64"), decimals), x.dtype)
    if not decimals:
        return round(x)
    scale = 10.0 ** min(abs(decimals), 308)
    if decimals < 0:
        return multiply(round(divide(x, scale)), scale)
    return divide(round(multiply(x, scale)), scale)
