"""Functions of axes whose sizes are unknown until run time, beside NumPy's, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.core.errors import ShapeError
from tests.combinations import some

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
    "array_split before places": (
        lambda x: sg.array_split(x, [2, -1, 30])[1],
        lambda x: np.array_split(x, [2, -1, 30])[1],
        (LONG,),
    ),
    "split before places": (
        lambda x: sg.split(x, [2, -1])[1], lambda x: np.split(x, [2, -1])[1], (LONG,),
    ),
    "poly": (sg.poly, np.poly, (FOUR,)),
    "poly of no root": (sg.poly, lambda x: np.ones(1), (FOUR[:0],)),
    "vander": (sg.vander, np.vander, (FOUR,)),
    "vander at 0": (
        lambda x: sg.vander(x, increasing=True),
        lambda x: np.vander(x, increasing=True),
        (np.array([0.0, 2.0, 0.0]),),
    ),
    "polydiv": (lambda u, v: sg.polydiv(u, v)[0], lambda u, v: np.polydiv(u, v)[0], (LONG, SHORT)),
    "polydiv, the rest": (
        lambda u, v: sg.polydiv(u, v)[1][-2:], lambda u, v: np.polydiv(u, v)[1], (LONG, SHORT),
    ),
    "polydiv by a longer one": (
        lambda u, v: sg.polydiv(u, v)[1], lambda u, v: np.polydiv(u, v)[1], (SHORT, LONG),
    ),
    "resize": (lambda x: sg.resize(x, (3, 7)), lambda x: np.resize(x, (3, 7)), (LONG,)),
    "interp with a period": (
        lambda x, y: sg.interp(x, sg.cumsum(sg.abs(y)), y, period=2.0),
        lambda x, y: np.interp(x, np.cumsum(abs(y)), y, period=2.0),
        (LONG, SHORT),
    ),
    **{
        f"delete {places}": (
            lambda x, at=places: sg.delete(x, at), lambda x, at=places: np.delete(x, at), (LONG,),
        )
        for places in ([3, 1, 3], [-1, -4], slice(1, 7, 3), slice(None, 2, -2), slice(4, 2))
    },
    **{
        f"insert {places}": (
            lambda x, at=places, new=new: sg.insert(x, at, new),
            lambda x, at=places, new=new: np.insert(x, at, new),
            (LONG,),
        )
        for places, new in (
            ([3, -1, 3], [1.0, 2.0, 3.0]), ([2], [1.0, 2.0]), (slice(6, 1, -2), [1.0, 2.0, 3.0]),
        )
    },
    "insert rows": (
        lambda x: sg.insert(x, [0, 2], OTHERS[:2], axis=0),
        lambda x: np.insert(x, [0, 2], OTHERS[:2], axis=0),
        (ROWS,),
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


@pytest.mark.parametrize("name", some(CASES, 10))
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


INTEGERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "intersect1d": (lambda x, y: sg.intersect1d(x, y, size=2), np.intersect1d),
    "setdiff1d": (lambda x, y: sg.setdiff1d(x, y, size=2), np.setdiff1d),
    "setxor1d": (lambda x, y: sg.setxor1d(x, y, size=3), np.setxor1d),
    "unique of as many": (
        lambda x, y: sg.unique(x, size=x.shape[0], fill_value=0), lambda x, y: [1, 2, 3, 7, 0],
    ),
    "nonzero of as many": (
        lambda x, y: sg.nonzero(x > 2, size=x.shape[0])[0], lambda x, y: [0, 3, 4, 0, 0],
    ),
    "packbits": (
        lambda x, y: sg.packbits(sg.concatenate([x, x]) % 2, bitorder="little"),
        lambda x, y: np.packbits(np.concatenate([x, x]) % 2, bitorder="little"),
    ),
    "unpackbits": (
        lambda x, y: sg.unpackbits(sg.astype(x, "uint8"), count=-3),
        lambda x, y: np.unpackbits(x.astype("uint8"), count=-3),
    ),
    "unpackbits of more": (
        lambda x, y: sg.unpackbits(sg.astype(x, "uint8"), count=50),
        lambda x, y: np.unpackbits(x.astype("uint8"), count=50),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGERS)
def test_sets_places_and_bits_of_unknown_sizes(name: str) -> None:
    ours, numpys = INTEGERS[name]
    x, y = (sg.placeholder(one, (None,), "int64") for one in "xy")
    given = np.array([3, 1, 2, 3, 7]), np.array([2, 3, 9])
    call = sg.compile([x, y], ours(x, y), on_unused_input="ignore")
    assert call(*given).tolist() == list(numpys(*given))


def test_rows_that_differ_of_an_unknown_number() -> None:
    x = sg.placeholder("x", (None, 2), "int64")
    rows = np.array([[1, 2], [0, 1], [1, 2]])
    assert sg.compile([x], sg.unique(x, axis=0, size=2))(rows).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("name", ["insert", "delete"])
def test_places_that_are_not_there_are_refused(name: str) -> None:
    x = sg.placeholder("x", (None,), "float64")
    more = (9.0,) if name == "insert" else ()
    for places in ([1, 20], [-20, -1]):
        call = sg.compile([x], getattr(sg, name)(x, places, *more))
        with pytest.raises(ShapeError, match="go past 9"):
            call(LONG)


def test_sizes_that_do_not_fit_are_refused_when_they_are_known() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    call = sg.compile([x], sg.cross(x, x))
    with pytest.raises(ShapeError, match=r"reshape: .*test_unknown_sizes"):
        call(np.ones((2, 4)))
    call = sg.compile([x], sg.gradient(x, axis=1))
    with pytest.raises(ShapeError, match=r"go past 1|goes past 1"):
        call(np.ones((2, 1)))


def test_a_slice_that_may_be_empty_does_not_broadcast_and_says_what_does() -> None:
    x, ones = sg.placeholder("x", (None, 3)), np.ones((4, 3), "float32")
    for cut in (x[:1], x[-1:], x[1:2]):
        with pytest.raises(ShapeError, match=r"such as x\[:1\].* is written x\[0\]\[None\]"):
            sg.compile([x], cut * x)(ones)
    assert sg.compile([x], x[0][None] * x)(ones).shape == (4, 3)
