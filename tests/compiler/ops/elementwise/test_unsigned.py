"""Unsigned integers of every width against NumPy, in kernels of both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
PAIRS = (
    "add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "maximum", "minimum",
    "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "left_shift", "right_shift", "power",
)  # fmt: skip
SINGLE = ("negative", "abs", "sign", "square", "bitwise_not")
ALONG = ("sum", "prod", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "sort")
OTHERS = ("bool", *UNSIGNED, "int8", "int16", "int32", "int64", "float32", "float64")


def _numbers(dtype: str) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    most = np.iinfo(dtype).max
    edges = np.array([0, 1, 2, 3, most, most - 1, most // 2, most // 2 + 1], dtype)
    a = np.concatenate([edges, random.integers(0, most, 40, dtype, endpoint=True)])
    counts = np.array([0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 65, 200], dtype)
    return a, random.permutation(a), np.resize(counts, a.size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "backend"), [*((d, "llvm") for d in UNSIGNED), ("uint64", "numba")]
)
def test_kernels_compute_what_numpy_does(dtype: str, backend: str) -> None:
    a, b, counts = _numbers(dtype)
    x, y, n = (sg.placeholder(name, (None,), dtype) for name in "xyn")
    floats = np.array([0.0, 1.9, 250.0, -1.0, -2.7, 3.0] + [65535.0, 4e9, 1.8e19] * 14)
    floats = floats[floats <= float(np.iinfo(dtype).max)]
    f = sg.placeholder("f", (None,), "float64")
    shifts = ("left_shift", "right_shift", "power")
    made = {name: getattr(sg, name)(x, n if name in shifts else y) for name in PAIRS}
    made |= {name: getattr(sg, name)(x) for name in (*SINGLE, *ALONG)}
    made |= {f"as {other}": sg.astype(x, other) for other in OTHERS}
    made |= {"of floats": sg.astype(f, dtype), "bits": sg.bitwise_count(x), "mean": sg.mean(x)}
    kernel = sg.compile([x, y, n, f], made, backend=backend)
    found = kernel(a, b, counts, floats)
    with np.errstate(all="ignore"):
        expected = {
            name: getattr(np, name)(a, counts if name in shifts else b) for name in PAIRS
        } | {name: getattr(np, name)(a) for name in (*SINGLE, *ALONG)}
        expected |= {f"as {other}": a.astype(other) for other in OTHERS}
        signed = np.where(floats < 0, floats, 0).astype(np.int64).astype(dtype)
        expected["of floats"] = np.where(floats < 0, signed, np.maximum(floats, 0).astype(dtype))
        expected["bits"] = np.bitwise_count(a).astype(dtype)
    np.testing.assert_allclose(found.pop("mean"), a.astype(np.longdouble).mean(), 1e-12)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, name, strict=True)


def test_uint64_and_signed_integers_are_compared_exactly() -> None:
    a = np.array([2**63, 2**64 - 1, 5, 0, 2**53 + 1, 7], np.uint64)
    b = np.array([-(2**63), -1, 5, -1, 2**53, 2**62], np.int64)
    x, y = sg.placeholder("x", (None,), "uint64"), sg.placeholder("y", (None,), "int64")
    names = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    made = [getattr(sg, name)(*pair) for name in names for pair in ((x, y), (y, x))]
    expected = [getattr(np, name)(*pair) for name in names for pair in ((a, b), (b, a))]
    for found, value in zip(sg.compile([x, y], made)(a, b), expected, strict=True):
        np.testing.assert_array_equal(found, value, strict=True)
    assert (x + y).dtype == "float64"


def test_sums_may_be_asked_for_in_unsigned_integers() -> None:
    x = sg.placeholder("x", (None,), "uint8")
    assert sg.sum(x, dtype="uint64").dtype == sg.prod(x).dtype == "uint64"
    assert sg.sum(x, dtype="uint32").dtype == "uint32"
