"""Which dtypes operands become: NumPy's rules, PyTorch's of tensors, weak numbers, the default."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.types import DTYPES
from staticgraph.listing.promotion import NUMBERS, eager_table, markdown, static_table
from tests.paths import ROOT

C = sg.placeholder("c", (3,), "bool")
X = {name: sg.placeholder(name, (3,), name) for name in DTYPES}


def test_the_page_is_what_is_done() -> None:
    assert (ROOT / "docs" / "promotion.md").read_text(encoding="utf-8") == markdown()


def test_expressions_are_promoted_as_by_numpy() -> None:
    for name, row in static_table().items():
        for other, found in row.items():
            if "bfloat16" in (name, other):
                continue
            met = NUMBERS[other] if other in NUMBERS else np.dtype(other)
            expected = np.result_type(np.dtype(name), met)
            assert np.dtype(found) == expected, (name, other)
            array = np.ones(3, name)
            value = NUMBERS[other] if other in NUMBERS else np.ones(3, other)
            assert np.where(array != 0, array, value).dtype == expected, (name, other)


def test_bfloat16_is_promoted_as_float16_is() -> None:
    table = static_table()
    for other, found in table["float16"].items():
        if other not in ("float16", "bfloat16"):
            assert table["bfloat16"][other] == found.replace("float16", "bfloat16")
            if other not in NUMBERS:
                assert table[other]["bfloat16"] == table["bfloat16"][other]
    assert table["bfloat16"]["float16"] == table["float16"]["bfloat16"] == "float32"
    assert table["bfloat16"]["bfloat16"] == "bfloat16"


def test_tensors_are_promoted_as_by_pytorch() -> None:
    recorded = ROOT / "tests" / "data" / "torch_promotion.json"
    # complex32, which PyTorch calls experimental, is not there
    text = recorded.read_text(encoding="utf-8").replace("complex32", "complex64")
    assert eager_table() == json.loads(text)


NUMBERS_ALONE: dict[str, Any] = {
    "where": lambda: sg.where(C, 1.0, 0.1),
    "integers": lambda: sg.where(C, 1, 0),
    "sum": lambda: sg.sum(sg.where(C, 1.0, 0.1)),
    "moved": lambda: sg.reshape(sg.where(C, 1.0, 0.1)[::-1], (3, 1))[:, 0],
    "computed": lambda: sg.exp(sg.where(C, 1.0, 0.1) * 2.0) - 0.5,
    "nested": lambda: sg.where(C, sg.where(C, 1, 0), 0.5),
    "select": lambda: sg.select([C], [1.0], 0.5),
    "branch": lambda: sg.cond(C[0], lambda: sg.where(C, 1.0, 0.5), lambda: sg.where(C, 2.0, 0.1)),
    "checkpoint": lambda: sg.checkpoint(lambda c: sg.where(c, 1.0, 0.1), C),
    "maximum": lambda: sg.maximum(sg.where(C, 1.0, 0.1), 0.3),
}


@pytest.mark.parametrize("name", NUMBERS_ALONE)
def test_what_is_made_of_numbers_takes_the_dtype_of_what_it_meets(name: str) -> None:
    number = NUMBERS_ALONE[name]()
    for dtype in ("float32", "float64"):
        assert (number * X[dtype]).dtype == dtype
        assert (X[dtype] + number).dtype == dtype
        assert sg.maximum(number, X[dtype]).dtype == dtype
        assert sg.einsum("...,i->...i", number, X[dtype]).dtype == dtype
        assert sg.result_type(number, X[dtype]) == dtype
    assert sg.astype(number, "float64").dtype == (sg.astype(number, "float64") * X["float32"]).dtype
    assert (number * X["int8"]).dtype == np.result_type("int8", 0.0 if name != "integers" else 0)


def test_values_are_those_of_numbers_rounded_once() -> None:
    given = [sg.where(C, 1.0, 0.1) * X["float32"], sg.where(C, 1.0, 0.1) * X["float64"],
             sg.where(C, 1.0, 0.1) / 3 + X["float32"], sg.where(C, 1.0, 0.1)]  # fmt: skip
    f = sg.compile([C, X["float32"], X["float64"]], given)
    mask, x = np.array([True, False, True]), np.array([1.0, 3.0, 5.0])
    numbers = np.where(mask, 1.0, 0.1)
    one, two, three, alone = f(mask, x.astype("float32"), x)
    np.testing.assert_array_equal(one, numbers.astype("float32") * x.astype("float32"))
    np.testing.assert_array_equal(two, numbers * x)
    np.testing.assert_array_equal(three, (numbers / 3).astype("float32") + x.astype("float32"))
    np.testing.assert_array_equal(alone, numbers, strict=True)
    (slope,) = sg.grad(sg.sum(given[0]), [X["float32"]])
    assert slope.dtype == "float32"
    compiled = sg.function(lambda c, x: sg.where(c, 1.0, 0.1) * x)
    assert compiled(mask, x.astype("float32")).dtype == "float32"
    tensor = dynamic.tensor(mask)
    assert (sg.where(tensor, 1.0, 0.1) * dynamic.ones(3)).dtype == dynamic.float32


def test_a_variable_takes_numbers_in_its_dtype() -> None:
    v = sg.variable(np.zeros(3, "float32"))
    sg.compile([C], [], updates={v: sg.where(C, 1.0, 0.1)})(np.array([True, False, True]))
    np.testing.assert_array_equal(v.value, np.array([1.0, 0.1, 1.0], "float32"))
    with pytest.raises(sg.GraphError, match=r"the update of variable .* is float64"):
        sg.compile([C], [], updates={sg.variable(np.zeros(3, "int64")): sg.where(C, 1.0, 0.1)})


def test_a_chosen_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(sg.DTypeError, match="add: 300 does not fit uint8"):
        sg.where(C, 300, 1) + X["uint8"]


def _made() -> dict[str, Any]:
    key = sg.random.key(0)
    return {
        "zeros": sg.zeros((2,)), "ones": sg.ones((2,)), "full": sg.full((2,), 1), "eye": sg.eye(2),
        "empty": sg.empty((2,)), "tri": sg.tri(2), "constant": sg.constant([0.1]),
        "array": sg.array(0.1), "variable": sg.variable(0.5), "placeholder": sg.placeholder("p"),
        "arange": sg.arange(0.0, 1.0, 0.5), "linspace": sg.linspace(0, 1, 3),
        "logspace": sg.logspace(0, 1, 3), "geomspace": sg.geomspace(1, 8, 4),
        "hanning": sg.hanning(4), "one_hot": sg.one_hot(np.array([1]), 2),
        "fromfunction": sg.fromfunction(lambda i: i, (2,)),
        **{name: getattr(sg.random, name)(key, (2,))
           for name in ("uniform", "normal", "exponential", "gumbel")},
        "gamma": sg.random.gamma(key, 2.0, (2,)), "beta": sg.random.beta(key, 1.0, 2.0, (2,)),
        "truncated_normal": sg.random.truncated_normal(key, -1.0, 1.0, (2,)),
    }  # fmt: skip


@pytest.mark.slow
def test_the_default_dtype_is_that_of_all_that_is_made_without_one() -> None:
    assert sg.get_default_dtype() == "float32"
    assert {name: one.dtype.name for name, one in _made().items()} == dict.fromkeys(
        _made(), "float32"
    )
    seen: list[Any] = []
    with sg.default_dtype("float64"):
        made = _made()
        assert {name: one.dtype.name for name, one in made.items()} == dict.fromkeys(
            made, "float64"
        )
        thread = threading.Thread(target=lambda: seen.append(sg.get_default_dtype()))
        thread.start()
        thread.join()
        assert sg.run(made["constant"])[0] == 0.1
        with sg.default_dtype("float32"):
            assert sg.zeros(()).dtype == "float32"
    assert seen == [np.dtype("float32")]
    sg.set_default_dtype(np.float64)
    try:
        assert sg.zeros(()).dtype == "float64"
    finally:
        sg.set_default_dtype("float32")
    for call in (sg.set_default_dtype, lambda dtype: sg.default_dtype(dtype).__enter__()):
        with pytest.raises(sg.DTypeError, match="default_dtype: int32 is no dtype of floats"):
            call("int32")


def test_captured_functions_see_the_default_dtype_of_each_call() -> None:
    f = sg.function(lambda x: x + sg.ones((2,)), name="f")
    x = np.ones(2, "float32")
    assert [f(x).dtype.name for _ in range(2)] == ["float32"] * 2
    with sg.default_dtype("float64"):
        assert [f(x).dtype.name for _ in range(2)] == ["float64"] * 2
    assert f(x).dtype == "float32"
    sg.set_default_dtype("float64")
    try:
        assert [f(x).dtype.name for _ in range(2)] == ["float64"] * 2
    finally:
        sg.set_default_dtype("float32")
    assert f(x).dtype == "float32"
