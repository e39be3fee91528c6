"""Outputs and gradients of every layer, loss and function, against those that PyTorch recorded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dynamic
from tests.data.nn_cases import CASES, Case, run
from tests.paths import TESTS


def _recorded() -> dict[str, dict[str, Any]]:
    with np.load(TESTS / "data" / "nn_values.npz") as file:
        values, index = file["values"], json.loads(file["index"].tobytes())
    found: dict[str, dict[str, Any]] = {}
    start = 0
    for name, entries in index.items():
        found[name] = {}
        for key, dtype, shape in entries:
            stop = start + int(np.prod(shape, dtype=int))
            found[name][key] = values[start:stop].reshape(shape).astype(dtype)
            start = stop
    return found


RECORDED = _recorded()


def parts(arrays: dict[str, Any], kind: str) -> dict[str, Any]:
    return {
        key.removeprefix(kind + " "): a for key, a in arrays.items() if key.startswith(kind + " ")
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_and_gradients_are_those_of_pytorch(case: Case) -> None:
    expected = RECORDED[case.name]
    inputs = list(parts(expected, "in").values())
    actual = run(dynamic, case, inputs, parts(expected, "state"))
    assert list(actual) == [key for key in expected if not key.startswith("in ")]
    # a gradient may be a sum of larger terms that cancel: of the size of the largest one
    scale = max([1.0, *(float(np.abs(a).max(initial=0)) for a in expected.values())])
    for key, array in actual.items():
        assert array.dtype == expected[key].dtype, key
        np.testing.assert_allclose(
            array, expected[key], rtol=1e-12, atol=1e-14 * scale, err_msg=key
        )


# the sigmoid of 20 is 1 in float32, where the loss of its logarithm is another
IN_FLOAT32 = [case for case in CASES if "torch.sigmoid" not in case.make]


@pytest.mark.slow
@pytest.mark.parametrize("case", IN_FLOAT32, ids=lambda case: case.name)
def test_float32_stays_float32(case: Case) -> None:
    expected = RECORDED[case.name]
    inputs = list(parts(expected, "in").values())
    actual = run(dynamic, case, inputs, parts(expected, "state"), "float32")
    double = "float64" in case.make and not case.make.startswith("nn.")
    for key, array in actual.items():
        wanted = expected[key]
        if wanted.dtype.kind == "f" and not double:
            assert array.dtype == np.float32, key
        scale = max(1.0, float(np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(array, wanted, rtol=2e-4, atol=1e-5 * scale, err_msg=key)


def test_every_recorded_case_is_run() -> None:
    assert list(RECORDED) == [case.name for case in CASES]
