"""Calls whose sizes alternate: validated once, and never taken for what they are not."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.compiler.runners import compiled
from staticgraph.compiler.runners.layouts import REMEMBERED

RNG = np.random.default_rng(5)


def executable() -> sg.Executable:
    x, y = sg.placeholder("x", (None,)), sg.placeholder("y", (None,))
    return sg.compile([x, y], sg.sum(x * y) + x)


def test_sizes_that_alternate_are_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    f = executable()
    pairs = [RNG.normal(size=(2, n)).astype("float32") for n in (4, 9)]
    expected = [f(*pair) for pair in pairs]

    def validated(*args: object) -> None:
        raise AssertionError("validated again")

    monkeypatch.setattr(compiled, "as_inputs", validated)
    for _ in range(3):
        for pair, value in zip(pairs, expected, strict=True):
            np.testing.assert_array_equal(f(*pair), value)


def test_known_shapes_of_other_arrays() -> None:
    f = executable()
    four, nine = (RNG.normal(size=(2, n)).astype("float32") for n in (4, 9))
    expected = f(*four)
    f(*nine)
    np.testing.assert_array_equal(f(*four.astype(">f4").astype("float32")), expected)
    f(*nine)
    with pytest.raises(DTypeError, match="float64"):
        f(*four.astype("float64"))
    f(*nine)
    wide = np.repeat(four, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(f(*wide), expected)
    f(*nine)
    np.testing.assert_allclose(f(four[0].tolist(), four[1]), expected)
    with pytest.raises(ShapeError):
        f(four[0], nine[1])
    np.testing.assert_array_equal(f(*four), expected)


def test_more_sizes_than_are_remembered() -> None:
    f = executable()
    for n in [*range(1, REMEMBERED + 10), 3, 1, REMEMBERED + 5]:
        ones = np.ones(n, "float32")
        np.testing.assert_array_equal(f(ones, ones), ones + n)
