"""Executables: what nobody can do to them."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg


@pytest.mark.parametrize(
    "name", ["definition", "restructure", "name", "options", "runner", "_idle", "anything"]
)
def test_an_executable_cannot_be_modified(name: str) -> None:
    x = sg.placeholder("x", (None,), "float64")
    square = sg.compile([x], x * x, name="square")
    with pytest.raises(AttributeError, match=f"square: an executable cannot be modified: .*{name}"):
        setattr(square, name, None)
    with pytest.raises(AttributeError, match=f"square: an executable cannot be modified: .*{name}"):
        delattr(square, name)
    assert square(np.array([3.0])) == [9.0]


def test_an_error_of_the_first_call_has_no_other_one_behind_it() -> None:
    x = sg.placeholder("x", (None,), "float64")
    square = sg.compile([x], x * x, name="square")
    with pytest.raises(sg.ShapeError, match="has 2 axes") as caught:
        square(np.ones((2, 2)))
    assert caught.value.__context__ is None
