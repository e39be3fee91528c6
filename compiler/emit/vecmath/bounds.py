"""The stated accuracy of every function, checked by `tests/test_vecmath.py`."""

from __future__ import annotations

# Largest error in units in the last place of the exact result, per function and dtype name.
ULP_BOUND: dict[str, dict[str, float]] = {
    "exp": {"float32": 1.0, "float64": 1.0},
    "expm1": {"float32": 1.4, "float64": 1.5},
    "log": {"float32": 0.9, "float64": 0.9},
    "log1p": {"float32": 0.9, "float64": 0.9},
    "rsqrt": {"float32": 1.5, "float64": 1.5},
    "sigmoid": {"float32": 1.8, "float64": 1.8},
    "softplus": {"float32": 1.8, "float64": 1.8},
    "tanh": {"float32": 1.8, "float64": 1.8},
}
