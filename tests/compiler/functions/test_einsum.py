"""The order of contractions: that of NumPy, which has it from opt_einsum; and its cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.graph.traversal import ancestors

SIZES = dict(zip("abcdefg", (2, 30, 4, 50, 6, 7, 8), strict=True))


def tensors(text: str) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=[SIZES[one] for one in part]) for part in text.split(",")]


@pytest.mark.parametrize(
    ("text", "optimize"),
    [("ab,bc,cd,de", "optimal"), ("ab,bc,cd,de,ef,fg", "greedy"), ("ab,ab,bc", "optimal")],
)
def test_the_order_is_numpys(text: str, optimize: Any) -> None:
    given = tensors(text)
    expected = np.einsum_path(text, *given, optimize=optimize)[0][1:]
    assert sg.einsum_path(text, *given, optimize=optimize) == expected
    assert_allclose(
        sg.einsum(text, *given, optimize=optimize), np.einsum(text, *given, optimize=True), 1e-11
    )


def test_from_left_to_right_if_asked() -> None:
    assert sg.einsum_path("ab,bc,cd", *tensors("ab,bc,cd"), optimize=False) == [(0, 1), (0, 1)]


def test_unknown_sizes_are_ordered_too() -> None:
    x = [sg.placeholder(name, (None, None), "float64") for name in "xyz"]
    found = sg.einsum("ab,bc,cd->ad", *x)
    given = tensors("ab,bc,cd")
    expected = np.linalg.multi_dot(given)
    assert_allclose(sg.run(found, dict(zip(x, given, strict=True))), expected, 1e-12)
    products = [node for node in ancestors([found]) if node.op.name == "matmul"]
    assert len(products) == 2
