"""Ops on floats take integers: arrays alone are cast as the placeholders of a graph are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.combinations import some

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": sg.exp, "sinh": sg.sinh, "softplus": sg.softplus, "lgamma": sg.lgamma, "frac": sg.frac,
    "polygamma": lambda x: sg.polygamma(1, x), "logit": lambda x: sg.logit(x, 0.1),
    "logsumexp": sg.logsumexp, "logcumsumexp": lambda x: sg.logcumsumexp(x, 0),
    "vector_norm": sg.linalg.vector_norm, "pinv": sg.linalg.pinv, "det": sg.linalg.det,
    "hypot": lambda x: sg.hypot(x, x), "logaddexp": lambda x: sg.logaddexp(x, 3),
    "xlogy": lambda x: sg.xlogy(x[:, :1], x), "mse_loss": lambda x: sg.mse_loss(x, x[::-1]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dtype", some(["bool", "uint8", "int8", "int16", "int64"], 2))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_integer_arrays_are_computed_in_float64(name: str, dtype: str) -> None:
    function = FUNCTIONS[name]
    array = np.array([[100, 120], [127, 1]]).astype(dtype)
    found = np.asarray(function(array))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, function(array.astype(np.float64)), 1e-13)
    x = sg.placeholder("x", (2, 2), dtype)
    np.testing.assert_allclose(found, sg.compile([x], function(x))(array), 1e-12)


def test_integers_beside_floats_take_the_common_dtype() -> None:
    x, y = np.array([3, 120], np.int8), np.array([4, 5], np.float32)
    assert sg.hypot(x, y).dtype == np.float32
    assert sg.hypot(x.astype(np.int32), y).dtype == np.float64
    np.testing.assert_allclose(sg.hypot(x, 4), np.hypot([3.0, 120.0], 4))
