"""The compiled kernel of many ops against NumPy at the edges of what numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.inspect.interpret import interpret
from tests.samples import elementwise

INF, NAN = np.inf, np.nan
EDGES = np.array([
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.0, INF, -INF, NAN,
    1e-300, 5e-324, 1e300, 30.0, -30.0, 800.0, -800.0,
])  # fmt: skip
ROWS = np.array([
    [1, 3, 3], [NAN, 1, 2], [0.0, -0.0, 0.0], [INF, INF, 1],
    [-INF, -INF, -INF], [1, INF, NAN], [INF, -INF, 0], [0, 5, 0],
])  # fmt: skip
UNARY = (*elementwise(1), "gelu", "elu", "leaky_relu", "logit")
BINARY = elementwise(2)
REDUCTIONS = (
    "sum", "prod", "max", "min", "argmax", "argmin", "mean", "var", "std", "logsumexp", "softmax",
    "log_softmax",
)  # fmt: skip
INTEGER = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "floor_divide",
    "equal", "less", "fmod", "gcd", "fmax", "fmin", "heaviside",
)  # fmt: skip


def _agree(names: tuple[str, ...], arrays: list[np.ndarray], rtol: float, **options: int) -> None:
    """The named functions, compiled together for unknown sizes, give NumPy's values."""
    leaves = [
        sg.placeholder(f"x{i}", shape=(None,) * array.ndim, dtype=array.dtype)
        for i, array in enumerate(arrays)
    ]
    outputs = [getattr(sg, name)(*leaves, **options) for name in names]
    expected = interpret(outputs, dict(zip(leaves, arrays, strict=True)))
    values = sg.compile(leaves, outputs)(*arrays)
    for name, value, other in zip(names, values, expected, strict=True):
        assert value.dtype == other.dtype
        # near 0 it is a difference of larger numbers, of which either may be rounded once
        atol = 2 * np.finfo(value.dtype).eps if name == "log_softmax" else 0
        assert_allclose(value, other, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "rtol", "axes"), [("float64", 1e-14, (0, 1)), ("float32", 2e-6, (1,))]
)
def test_kernel_agrees_with_numpy_at_the_edges(
    dtype: str, rtol: float, axes: tuple[int, ...]
) -> None:
    with np.errstate(over="ignore"):
        edges = EDGES.astype(dtype)
    _agree(UNARY, [edges], rtol)
    _agree(BINARY, [grid.ravel() for grid in np.meshgrid(edges, edges)], rtol)
    for axis in axes:
        _agree(REDUCTIONS, [ROWS.astype(dtype)], rtol, axis=axis)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_kernel_wraps_and_divides_integers_as_numpy(dtype: str) -> None:
    info = np.iinfo(dtype)
    edges = np.array([0, 1, 2, 3, 7, 100, info.max, info.min, info.min + 1], dtype)
    if info.min:
        edges = np.append(edges, np.array([-1, -2, -3, -100], dtype))
    _agree(INTEGER, [grid.ravel() for grid in np.meshgrid(edges, edges)], 0)
