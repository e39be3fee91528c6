"""Awkward inputs of the functions in NumPy's names: narrow integers, ends, nan, mixed dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError

inf, nan = np.inf, np.nan


def narrow(*values: int) -> Any:
    return np.array(values, "int8")


def small(*values: int) -> Any:
    return np.array(values, "uint8")


def real(*values: float) -> Any:
    return np.array(values, float)


BOTH: dict[str, Callable[[Any], Any]] = {
    "histogram of integer limits": lambda m: m.histogram(real(0.5, 1.7, -0.5), np.array([0, 1, 2])),
    "histogram of listed limits": lambda m: m.histogram(real(0.5, 1.7, -0.5), [0, 1, 2]),
    "histogram in density": lambda m: m.histogram(real(0, 1, 1), np.array([0, 1, 3]), density=True),
    "histogram of nothing": lambda m: m.histogram(real(), 2),
    "histogram at limits": lambda m: m.histogram(np.arange(-5, 6), 10),
    "histogram2d of shared limits": lambda m: m.histogram2d(
        real(0.5, 1.7, -0.5), real(1, 2, 3), np.array([0, 1, 2])
    ),
    "histogram2d of limits": lambda m: m.histogram2d(
        real(0.5, 1.7, -0.5), real(1, 2, 3), [np.array([0, 1, 2]), real(1, 2, 3, 4)]
    ),
    "gradient of unsigned": lambda m: m.gradient(small(5, 3, 1, 9)),
    "gradient of narrow": lambda m: m.gradient(narrow(100, -100, 100)),
    "gradient of float32": lambda m: m.gradient(np.array([1, 2, 4], "float32"), 0.5),
    "gradient over unsigned": lambda m: m.gradient(real(1, 2, 4), small(3, 1, 0)),
    "interp of one point": lambda m: m.interp(real(1, 0, 2), real(1), real(5)),
    "interp of unsigned": lambda m: m.interp(real(1, 2), small(0, 4), small(200, 2)),
    "interp of a step": lambda m: m.interp(real(1, 2), real(0, 1, 2, 2), real(0, 1, 2, 5)),
    "interp of infinite": lambda m: m.interp(real(0, 1, 2, 0.5), real(0, 1, 2), real(0, inf, 5)),
    "interp of missing": lambda m: m.interp(real(nan, 1), real(0, 2), real(3, 3)),
    "average of narrow": lambda m: m.average(narrow(100, 100), weights=narrow(100, 100)),
    "average's sum": lambda m: m.average(np.array([1, 2, 3]), returned=True),
    "average of float32": lambda m: m.average(
        np.array([1.5, 2.5], "float32"), weights=small(1, 200), returned=True
    ),
    "polyfit of integers": lambda m: m.polyfit(narrow(*range(9)), np.arange(9) ** 2, 4).round(9),
    "polyder of narrow": lambda m: m.polyder(small(223, 111, 92, 52)),
    "vander of narrow": lambda m: m.vander(narrow(3, 100), 3),
    "nextafter of float32": lambda m: m.nextafter(np.ones(1, "float32"), 2.0),
    "piecewise of integers": lambda m: m.piecewise(
        np.array([1, 2]), [np.array([True, False])], [0.5, 2]
    ),
    "piecewise of one condition": lambda m: m.piecewise(
        real(1, 2), np.array([True, False]), [0.5, 2]
    ),
    "convolve of narrow": lambda m: m.convolve(narrow(100, 100), narrow(1, 2)),
    "convolve of bools": lambda m: m.convolve(np.array([True, True]), np.array([True, False])),
    "vecdot of narrow": lambda m: m.vecdot(narrow(100, 100), narrow(2, 2)),
    "einsum of narrow": lambda m: m.einsum("i->", narrow(100, 100)),
    "einsum of mixed": lambda m: m.einsum("i,j,k->ijk", narrow(100), narrow(100), np.array([1])),
    "einsum of far labels": lambda m: m.einsum(
        np.ones((2, 3)), [0, 30], np.ones((3, 2)), [30, 1]
    ),
    "cov of too few": lambda m: m.cov(np.array([[1.0, 2, 5], [1, 2, 0]]), ddof=5),
    "cov of one observation": lambda m: m.cov(np.array([[1.0, 2, 5]]), rowvar=False),
    "median of inf": lambda m: m.median(real(1, 2, inf, inf)),
    "median between infinities": lambda m: m.median(real(-inf, 3, inf, -inf)),
    "cond of singular": lambda m: m.linalg.cond(np.ones((2, 2)), 1),
    "cond of zeros": lambda m: m.linalg.cond(np.zeros((2, 2))),
    "cond of missing": lambda m: m.linalg.cond(np.array([[nan, 1], [1, 2.0]]), 1),
    "roll by several": lambda m: m.roll(np.arange(6).reshape(2, 3), (1, 2)),
    "rollaxis before the first": lambda m: m.rollaxis(np.zeros((2, 3, 4)), 2, -3),
    "nanargmax of all": lambda m: m.nanargmax(np.array([[1.0, nan]]), keepdims=True),
    "digitize in narrow": lambda m: m.digitize(np.array([-999, 0]), narrow(-109, -35, 119)),
    "places of bools": lambda m: m.ix_(np.array([True, False, True]), np.array([1, 2])),
    "fill_diagonal of integers": lambda m: _filled(m, np.zeros((2, 2), int), 2.7),
    "partition of several": lambda m: m.partition(np.array([3, 1, 2]), (0, 1)),
    "bincount of narrow weights": lambda m: m.bincount(
        np.array([0, 2, 2]), narrow(100, 100, 100), minlength=3
    ),
}  # fmt: skip
SIZED: dict[str, Callable[[Any, dict[str, int]], Any]] = {
    "compress by integers": lambda m, size: m.compress(np.array([2, 0]), real(1, 2), **size),
    "extract bools": lambda m, size: m.extract(np.array([1, 0]), np.array([True, True]), **size),
    "setxor1d of missing": lambda m, size: m.setxor1d(real(1, 2, nan), real(1.5), **size),
    "setxor1d of two missing": lambda m, size: m.setxor1d(real(2, nan), real(nan), **size),
    "intersect1d of mixed": lambda m, size: m.intersect1d(narrow(1, 2), real(2, 3), **size),
}


def _filled(m: Any, x: Any, value: float) -> Any:
    if m is sg:
        return sg.fill_diagonal(x, value)
    m.fill_diagonal(x, value)
    return x


def _check(found: Any, expected: Any) -> None:
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _check(one, other)
        return
    assert found.dtype == expected.dtype or found.dtype.kind == "f"
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("case", BOTH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_is_numpys(case: str) -> None:
    _check(BOTH[case](sg), BOTH[case](np))


@pytest.mark.parametrize("case", SIZED)
def test_of_a_size_is_numpys(case: str) -> None:
    expected = SIZED[case](np, {})
    found = SIZED[case](sg, {"size": len(expected)})
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_differences_of_narrow_integers_do_not_overflow() -> None:
    """They do in NumPy."""
    assert sg.unwrap(narrow(0, 3, 100, -100, 9), period=4).tolist() == [0, -1, 0, 0, 1]
    assert sg.trapezoid(real(1, 2, 3), small(3, 1, 0)) == -5.5
    assert sg.trapezoid(narrow(100, 100)) == 100


def test_bools_are_selected_in_graphs() -> None:
    x = sg.placeholder("x", (None,), "bool")
    found = sg.run(sg.select([x], [x]), {x: np.array([True, False])})
    assert found.dtype == bool
    assert found.tolist() == [True, False]


def test_limits_keep_their_dtype_beside_narrow_tensors() -> None:
    x = dynamic.tensor(small(3, 0))
    assert sg.histogram(x, np.array([-2, 0, 1, 4]))[0].tolist() == [0, 1, 1]


def test_every_element_is_in_a_bin_of_their_range() -> None:
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        for x in rng.normal(size=(40, 7)).astype(dtype):
            np.testing.assert_array_equal(sg.histogram(x, 5)[0], np.histogram(x, 5)[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quantiles_are_between_infinite_elements_what_they_tend_to() -> None:
    x = np.array([1.0, 2.0, inf])
    np.testing.assert_array_equal(sg.quantile(x, [0.0, 0.5, 0.75, 1.0]), [1, 2, inf, inf])
    np.testing.assert_array_equal(sg.quantile(-x, [0.0, 0.25, 0.5, 1.0]), [-inf, -inf, -2, -1])


def test_quantiles_of_float32_find_places_that_float32_has_not() -> None:
    x = np.arange(2**24 + 3, dtype="float32")
    assert sg.quantile(x, 1.0, method="lower") == x[-1]
    assert sg.median(x) == np.median(x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sg.tensordot(np.ones((2, 2)), np.ones((2, 2)), ([0, 0], [0, 1])), OptionError,
         "has an axis twice"),
        (lambda: sg.tensordot(np.ones(3), np.ones((3, 2)), 2), OptionError, "2 axes of operands"),
        (lambda: sg.einsum(np.ones(3), [0], [1]), OptionError, "label 1 of the result"),
        (lambda: sg.einsum(np.zeros((0,) * 53), list(range(53))), OptionError, "53 labels"),
        (lambda: sg.block([1.0, [3.0, 4.0]]), OptionError, "lists of different depths"),
        (lambda: sg.ediff1d(np.array([5, 3]), 0.5), DTypeError, "to_end of float64 beside int64"),
        (lambda: sg.fill_diagonal(np.zeros((3, 2, 2)), 1), ShapeError, r"differ: \(3, 2, 2\)"),
        (lambda: sg.histogramdd(np.zeros((2, 3)), [2, 2]), OptionError, "2 bins and 3 ranges"),
        (lambda: sg.insert(np.zeros(3), [True, False], 1.0), ShapeError, r"bools of shape \(2,\)"),
        (lambda: sg.ix_(sg.placeholder("b", (3,), "bool")), OptionError, "depend on values"),
        (lambda: sg.outer(np.ones((2, 2)), np.ones(2)), ShapeError, "both must have one axis"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    "row", [[inf, 1.0, nan], [-inf, nan, nan], [inf, -inf, 0.0], [inf, inf, 2]]
)
def test_what_has_an_infinity_has_no_variance(row: list[float]) -> None:
    x = sg.placeholder("x", (None, None), "float64")
    given = np.array([row, [1.0, nan, 4.0]])
    run = sg.compile([x], [sg.nanvar(x, axis=1), sg.nanstd(x, axis=1), sg.nanvar(x)])
    with np.errstate(invalid="ignore"):
        arrays = [sg.nanvar(given, 1), sg.nanstd(given, 1), sg.nanvar(given)]
    for found in (run(given), arrays):
        np.testing.assert_allclose(found[0], [nan, 2.25])
        np.testing.assert_allclose(found[1], [nan, 1.5])
        assert np.isnan(found[2])


@pytest.mark.parametrize("name", ("ediff1d", "trapezoid", "unwrap"))
def test_differences_of_few_elements_are_numpys_when_their_number_is_run_time(name: str) -> None:
    x = sg.placeholder("x", ("n",), "float64")
    compiled = sg.compile([x], getattr(sg, name)(x))
    for values in (real(), real(3), real(-0.0, 3.5, -3, 7)):
        np.testing.assert_allclose(compiled(values), getattr(np, name)(values), rtol=1e-15)


@pytest.mark.parametrize("f", [sg.cov, sg.corrcoef], ids=["cov", "corrcoef"])
@pytest.mark.parametrize(("shape", "rowvar"), [((1, 3), True), ((3, 1), False)])
def test_one_variable_has_a_scalar_in_captured_functions(
    f: Callable[..., Any], shape: tuple[int, int], rowvar: bool
) -> None:
    x = np.arange(3.0).reshape(shape)
    captured = sg.function(lambda x: f(x, rowvar=rowvar))
    assert captured(x).shape == ()
    np.testing.assert_allclose(captured(x), f(x, rowvar=rowvar))
    assert captured(np.eye(3)).shape == (3, 3)


def test_rounding_leaves_integers_as_they_are() -> None:
    for dtype in ("int8", "uint64", "bool"):
        a = np.array([0, 1, 1], dtype)
        x = sg.placeholder("x", (None,), dtype)
        for function in (sg.floor, sg.ceil, sg.trunc, sg.fix, sg.round):
            for found in (function(a), sg.compile([x], function(x))(a)):
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, a)
    np.testing.assert_array_equal(
        sg.floor(np.array([2**63 - 1])), [2**63 - 1]
    )  # float64 does not hold it
    assert sg.floor(3) == 3
    for name in ("floor", "ceil", "trunc"):
        with pytest.raises(NotImplementedError, match=f'"{name}_vml_cpu" not implemented'):
            getattr(dynamic, name)(dynamic.tensor([True]))
