"""Types: broadcasting and unification of sizes, axes, dtypes, and what is assumed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from staticgraph.compiler.core.dims import Dim, unknown
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.types import (
    DTYPES,
    TensorType,
    as_dtype,
    broadcast_shapes,
    collecting_assumptions,
    fits,
    is_static,
    normalise_axes,
    type_of,
    unify,
)

N, M = unknown("n"), unknown("m")


def float64(*shape: Any) -> TensorType:
    return TensorType(shape, np.dtype("float64"))


@settings(deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=4, min_side=0, max_side=4))
def test_known_sizes_broadcast_as_numpys(shapes: Any) -> None:
    types = [float64(*shape) for shape in shapes.input_shapes]
    assert broadcast_shapes("op", *types) == shapes.result_shape


@pytest.mark.parametrize(
    ("shapes", "expected", "assumed"),
    [
        ([(N,), (1,)], (N,), []),
        ([(N,), ()], (N,), []),
        ([(N,), (N,)], (N,), []),
        ([(N,), (5,)], (5,), [(N, 5)]),
        ([(5,), (N,)], (5,), [(5, N)]),
        ([(N,), (M,)], (N,), [(N, M)]),
        ([(2, N), (N,)], (2, N), []),
        ([(1, N), (3, 1)], (3, N), []),
        ([(N,), (M,), (4,)], (4,), [(N, M), (N, 4)]),
    ],
)
def test_unknown_sizes_that_meet_are_assumed_equal(
    shapes: Any, expected: Any, assumed: Any
) -> None:
    with collecting_assumptions() as pairs:
        assert broadcast_shapes("op", *(float64(*shape) for shape in shapes)) == expected
    assert pairs == assumed


def test_assumptions_are_collected_by_the_innermost_block() -> None:
    with collecting_assumptions() as outer:
        with collecting_assumptions() as inner:
            unify(N, 3)
        unify(N, M)
    assert inner == [(N, 3)]
    assert outer == [(N, M)]
    assert unify(N, 3) == 3


def test_unify() -> None:
    assert unify(3, 3) == 3
    assert unify(3, 4) is None
    assert unify(1, 4) is None
    assert unify(N + 1, N + 1) == N + 1
    assert unify(4, N) == 4


@pytest.mark.parametrize(
    ("size", "bound", "known"),
    [
        (2, 3, True), (3, 3, True), (4, 3, False), (0, N, True), (N, N + 1, True),
        (N + 1, N, False), (N // 2, N, True), (N, 2 * N, True),
    ],
)  # fmt: skip
def test_fits_where_it_is_known(size: Any, bound: Any, known: bool) -> None:
    with collecting_assumptions() as pairs:
        assert fits(size, bound) is known
    assert not pairs


def test_fits_is_assumed_where_it_is_not_known() -> None:
    with collecting_assumptions() as pairs:
        assert fits(3, N)
    ((largest, bound),) = pairs
    assert bound == N
    assert isinstance(largest, Dim)


def test_the_text_of_a_type() -> None:
    assert str(float64(2, N)) == repr(float64(2, N)) == "float64[2, n]"
    assert str(TensorType((), np.dtype(bool))) == "bool[]"
    assert float64(2, 3).size == 6
    assert float64(N, 3).size == 3 * N
    assert not is_static((2, N))
    assert is_static((2, 0))


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_known_by_every_name(name: str) -> None:
    own = ml_dtypes if name == "bfloat16" else np
    assert as_dtype(name) is as_dtype(np.dtype(name)) is as_dtype(getattr(own, name.rstrip("_")))
    assert as_dtype(np.dtype(name).newbyteorder("=")) == np.dtype(name)
    assert type_of(np.zeros((2, 0), name)) == TensorType((2, 0), np.dtype(name))


def test_axes_are_sorted_and_counted_from_the_front() -> None:
    assert normalise_axes("op", (-1, 0), 3) == (0, 2)
    assert normalise_axes("op", np.int64(-1), 2) == (1,)
    assert normalise_axes("op", [1], 2) == (1,)
    assert normalise_axes("op", None, 2) == (0, 1)
    assert normalise_axes("op", (), 2) == ()
    with pytest.raises(ShapeError, match="op: axis 0 is out of range for 0 axes"):
        normalise_axes("op", 0, 0)
