"""Functions of axes whose sizes are unknown until run time, beside NumPy's, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.core.errors import ShapeError

rng = np.random.default_rng(5)
LONG, SHORT, FOUR = rng.normal(size=9), rng.normal(size=3), rng.normal(size=4)
ROWS, OTHERS = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))

CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "cross": (sg.cross, np.cross, (ROWS, OTHERS)),
    "gradient": (sg.gradient, np.gradient, (LONG,)),
    "gradient of two": (sg.gradient, np.gradient, (LONG[:2],)),
    "gradient at places": (sg.gradient, np.gradient, (LONG, np.cumsum(abs(LONG)))),
    "gradient along both axes": (
        lambda x: sg.stack(sg.gradient(x, edge_order=2)),
        lambda x: np.stack(np.gradient(x, edge_order=2)),
        (ROWS,),
    ),
    "polyval": (sg.polyval, np.polyval, (SHORT, LONG)),
    "polyval at 0": (sg.polyval, np.polyval, (FOUR, np.zeros(2))),
    "polyder": (lambda p: sg.polyder(p, 2), lambda p: np.polyder(p, 2), (FOUR,)),
    "polyint": (
        lambda p: sg.polyint(p, 2, [1.0, 2.0]), lambda p: np.polyint(p, 2, [1, 2]), (FOUR,),
    ),
    "polyadd": (sg.polyadd, np.polyadd, (SHORT, LONG)),
    "polysub": (sg.polysub, np.polysub, (LONG, SHORT)),
    "polymul": (sg.polymul, np.polymul, (SHORT, LONG)),
    "associative_scan": (
        lambda x: sg.associative_scan(sg.multiply, x, axis=1), lambda x: np.cumprod(x, 1), (ROWS,),
    ),
    "associative_scan backwards": (
        lambda x: sg.associative_scan(sg.add, x, reverse=True),
        lambda x: np.cumsum(x[::-1])[::-1],
        (LONG,),
    ),
    "associative_scan of one": (
        lambda x: sg.associative_scan(sg.add, x), lambda x: x, (LONG[:1],),
    ),
    "insert": (lambda x: sg.insert(x, 2, 9.0), lambda x: np.insert(x, 2, 9.0), (LONG,)),
    "insert columns": (
        lambda x: sg.insert(x, -1, [[1.0], [2.0]], axis=1),
        lambda x: np.insert(x, -1, [[1.0], [2.0]], axis=1),
        (ROWS[:2],),
    ),
    "delete": (lambda x: sg.delete(x, -2), lambda x: np.delete(x, -2), (LONG,)),
    "array_split": (
        lambda x: sg.array_split(x, 4)[1], lambda x: np.array_split(x, 4)[1], (LONG,),
    ),
    **{
        f"{name} {mode} {len(a)} {len(v)}": (
            lambda a, v, name=name, mode=mode: getattr(sg, name)(a, v, mode=mode),
            lambda a, v, name=name, mode=mode: getattr(np, name)(a, v, mode=mode),
            (a, v),
        )
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for a, v in ((LONG, SHORT), (FOUR, LONG))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys_and_gradients_those_of_known_sizes(name: str) -> None:
    ours, numpys, arrays = CASES[name]
    inputs = [sg.placeholder(f"x{i}", (None,) * x.ndim, "float64") for i, x in enumerate(arrays)]
    found = ours(*inputs)
    loss = lambda found: sg.sum(sg.sin(found))  # noqa: E731
    call = sg.compile(inputs, [found, *sg.grad(loss(found), inputs)])
    value, *slopes = call(*arrays)
    assert_allclose(value, numpys(*arrays), rtol=1e-12, atol=1e-13)
    places = tuple(range(len(arrays)))
    known = sg.grad(lambda *x: loss(ours(*x)), argnums=places)(*arrays)
    for one, other in zip(slopes, known, strict=True):
        assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_unique_of_an_unknown_size() -> None:
    x = sg.placeholder("x", (None,), "int64")
    call = sg.compile([x], [*sg.unique(x, return_inverse=True, size=5)])
    given = np.array([4, 1, 1, 3, 4])
    for one, other in zip(call(given), sg.unique(given, return_inverse=True, size=5), strict=True):
        assert_allclose(one, other)


def test_sizes_that_do_not_fit_are_refused_when_they_are_known() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    call = sg.compile([x], sg.cross(x, x))
    with pytest.raises(ShapeError, match=r"reshape: .*test_unknown_sizes"):
        call(np.ones((2, 4)))
    call = sg.compile([x], sg.gradient(x, axis=1))
    with pytest.raises(ShapeError, match=r"go past 1|goes past 1"):
        call(np.ones((2, 1)))
