"""All cases."""

from __future__ import annotations

from tests.derivatives.arrays import ARRAYS
from tests.derivatives.elements import ELEMENTS
from tests.derivatives.others import OTHERS

CASES = [*ELEMENTS, *ARRAYS, *OTHERS]

WITHOUT = dict.fromkeys(
    ("random_gamma", "random_log_gamma", "random_truncated"),
    "numbers at a fixed quantile: tests/staticgraph/random compares their slopes",
)
"""Differentiable ops that are compared elsewhere."""
