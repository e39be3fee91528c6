"""The stated accuracy of every function, checked by `tests/test_vecmath.py`."""

from __future__ import annotations

# Largest error in units in the last place of the exact result, per function and dtype name.
# float64 sin, cos and tan: plus 2**-96 of absolute error in the reduced angle, which is more than
# an ulp only for arguments above 2**52 that are within 2**-43 of a multiple of pi/2.
ULP_BOUND: dict[str, dict[str, float]] = {
    "acos": {"float32": 1.4, "float64": 1.4},
    "asin": {"float32": 1.5, "float64": 1.5},
    "atan": {"float32": 1.8, "float64": 1.8},
    "atan2": {"float32": 1.8, "float64": 1.8},
    "cos": {"float32": 0.9, "float64": 0.9},
    "cosh": {"float32": 1.5, "float64": 1.5},
    "erf": {"float32": 1.2, "float64": 1.2},
    "erfc": {"float32": 4.0, "float64": 4.0},
    "exp": {"float32": 1.0, "float64": 1.0},
    "exp2": {"float32": 1.0, "float64": 1.1},
    "expm1": {"float32": 1.4, "float64": 1.5},
    "log": {"float32": 0.9, "float64": 0.9},
    "log1p": {"float32": 0.9, "float64": 0.9},
    "log2": {"float32": 1.9, "float64": 1.9},
    "pow": {"float32": 0.6, "float64": 1.0},
    "rsqrt": {"float32": 1.5, "float64": 1.5},
    "sigmoid": {"float32": 1.8, "float64": 1.8},
    "sin": {"float32": 0.9, "float64": 0.9},
    "sinh": {"float32": 1.8, "float64": 1.8},
    "softplus": {"float32": 1.8, "float64": 1.8},
    "tan": {"float32": 2.4, "float64": 2.4},
    "tanh": {"float32": 1.8, "float64": 1.8},
}
