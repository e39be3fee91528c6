"""The stated accuracy of every function, and how it is measured.

Checked by `tests/compiler/llvm/test_vecmath.py`; `benchmarks/vecmath_ulp.py` goes over every
float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from staticgraph.compiler.reference import inverse_error, special_functions

Floats = npt.NDArray[Any]

# Largest error in units in the last place of the exact result, per function and dtype name.
# float64 sin, cos and tan: plus 2**-96 of absolute error in the reduced angle, which is more than
# an ulp only for arguments above 2**52 that are within 2**-43 of a multiple of pi/2.
# float64 lgamma and digamma of negative numbers: plus NEAR_ZEROS.
ULP_BOUND: dict[str, dict[str, float]] = {
    "acos": {"float32": 1.4, "float64": 1.4},
    "acosh": {"float32": 2.1, "float64": 2.1},
    "asin": {"float32": 1.5, "float64": 1.5},
    "asinh": {"float32": 1.9, "float64": 1.9},
    "atan": {"float32": 1.6, "float64": 1.6},
    "atan2": {"float32": 1.7, "float64": 1.7},
    "atanh": {"float32": 2.1, "float64": 2.1},
    "cos": {"float32": 0.9, "float64": 0.9},
    "cosh": {"float32": 1.5, "float64": 1.5},
    "digamma": {"float32": 0.6, "float64": 4.0},
    "erf": {"float32": 1.4, "float64": 1.2},
    "erfc": {"float32": 4.2, "float64": 4.0},
    "erfinv": {"float32": 3.9, "float64": 7.5},
    "exp": {"float32": 1.0, "float64": 1.0},
    "exp2": {"float32": 1.0, "float64": 1.1},
    "expm1": {"float32": 1.4, "float64": 1.5},
    "hypot": {"float32": 0.6, "float64": 1.1},
    "lgamma": {"float32": 0.6, "float64": 3.0},
    "log": {"float32": 0.9, "float64": 0.9},
    "log10": {"float32": 0.6, "float64": 0.6},
    "log1p": {"float32": 0.9, "float64": 0.9},
    "log2": {"float32": 1.9, "float64": 1.9},
    "logit": {"float32": 4.1, "float64": 4.1},
    "pow": {"float32": 0.6, "float64": 1.2},
    "rsqrt": {"float32": 1.5, "float64": 1.5},
    "sigmoid": {"float32": 1.8, "float64": 1.9},
    "sin": {"float32": 0.9, "float64": 0.9},
    "sinc": {"float32": 2.4, "float64": 2.4},
    "sinh": {"float32": 1.8, "float64": 1.9},
    "softplus": {"float32": 1.8, "float64": 1.9},
    "tan": {"float32": 2.4, "float64": 2.5},
    "tanh": {"float32": 1.9, "float64": 1.9},
}

NEAR_ZEROS = 2.0**-46
"""The absolute error of float64 lgamma and digamma below 0, where they have a zero per unit."""


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e**-x) without overflow."""
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, e, 1) / (1 + e))


def softplus(x: Floats) -> Floats:
    """log(1 + e**x) without overflow."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def erf(x: Floats) -> Floats:
    """erf by the C library, where it is neither its first two terms nor 1."""
    small, large = np.abs(x) < 2.0**-14, np.abs(x) > 6
    result = np.where(large, np.sign(x), x * (2 - x * x * (2 / 3)) / math.sqrt(math.pi))
    between = ~(small | large)
    result[between] = [math.erf(one) for one in x[between]]
    return result


def erfc(x: Floats) -> Floats:
    """erfc by the C library, where it is neither 0 nor 2, nor as good as 1 - erf(x)."""
    result = np.where(x < 0, 2.0, 0.0)
    between = ~(np.abs(x) > 28)
    small = np.abs(x) < 2.0**-14
    result[small] = 1 - erf(x[small])
    between &= ~small
    result[between] = [math.erfc(one) for one in x[between]]
    return result


# For float32 results these are references: an error of an ulp here is 2**-29 of one there.
FLOAT64_REFERENCE: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "digamma": special_functions.digamma,
    "erf": erf,
    "erfc": erfc,
    "erfinv": inverse_error.erfinv,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "hypot": np.hypot,
    "lgamma": special_functions.lgamma,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logit": lambda x: np.log(x / (1 - x)),
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "sin": np.sin,
    "sinc": special_functions.sinc,
    "sinh": np.sinh,
    "softplus": softplus,
    "tan": np.tan,
    "tanh": np.tanh,
}


def ulp_error(got: Floats, reference: Floats) -> Floats:
    """Errors of `got` against float64 `reference`, in ulp of the reference in the dtype of `got`.

    Zero where both are nan or both overflow alike, infinite where only one does.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = reference.astype(got.dtype)
        _, exponent = np.frexp(np.abs(reference))
        spacing = np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)
        error = np.abs(got.astype("float64") - reference) / spacing
    same = (np.isnan(got) & np.isnan(rounded)) | (np.isinf(rounded) & (got == rounded))
    return np.asarray(np.where(same, 0.0, np.where(np.isnan(error), np.inf, error)))
