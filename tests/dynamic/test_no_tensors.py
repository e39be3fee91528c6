"""What is no tensor is refused by a TypeError in the function's own name, as by PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional

ROWS = [1.0, 2.0]
OF_NUMBERS = ("exp", "acos", "relu", "sigmoid", "sum", "max", "flatten")
"""Functions that take lists of numbers too, as NumPy's."""
OF_TENSORS = (
    "argsort", "sort", "median", "unique", "tril", "diag", "trace", "abs_", "sigmoid_",
    "zeros_like", "full_like", "det", "var_mean", "nan_to_num", "atleast_1d", "detach",
    "histc", "nonzero",
)  # fmt: skip


def _message(function: Callable[..., Any], *args: object) -> str:
    with pytest.raises(TypeError) as raised:
        function(*args)
    return str(raised.value)


@pytest.mark.parametrize("name", [*OF_NUMBERS, *OF_TENSORS])
@pytest.mark.parametrize("value", [None, "ab"])
def test_none_and_text_are_refused(name: str, value: object) -> None:
    text = _message(getattr(torch, name), value)
    assert re.match(rf"{name}\(\)(: argument|: expected|.* missing)", text), text
    assert "missing" in text or type(value).__name__ in text


@pytest.mark.parametrize("name", OF_TENSORS)
def test_lists_are_refused(name: str) -> None:
    text = _message(getattr(torch, name), ROWS)
    assert re.match(rf"{name}\(\)", text) and "list" in text, text


@pytest.mark.parametrize("name", ["abs_", "zeros_like", "detach", "argwhere", "nonzero"])
def test_arrays_are_refused_by_what_needs_a_tensor(name: str) -> None:
    assert "not ndarray" in _message(getattr(torch, name), np.ones(3))


def test_the_message_is_pytorchs() -> None:
    expected = "argsort(): argument 'input' (position 1) must be Tensor, not list"
    assert _message(torch.argsort, ROWS) == expected
    assert _message(torch.cat, ROWS) == (
        "cat(): expected Tensor as element 0 in argument 0, but got float"
    )
    assert (
        _message(functional.relu, ROWS)
        == "relu(): argument 1 must be a tensor or an array, not list"
    )
    assert _message(torch.linalg.svd, None) == (
        "svd(): argument 'A' (position 1) must be Tensor, not NoneType"
    )


def test_an_error_of_another_kind_stays_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torch.linalg.det(torch.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword"):
        torch.argsort(torch.ones(3), nothing=1)
