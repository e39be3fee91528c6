"""What calls are fed: each value means in the kernel what it meant before, or is refused."""

from __future__ import annotations

import array
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import staticgraph as sg


class Holder:
    """What holds an array, as a column of a table does."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


class Subclass(np.ndarray):
    """An array of another class."""


def unaligned(values: Any) -> Any:
    memory = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype)
    memory[...] = values
    return memory


def locked(values: Any) -> Any:
    values.flags.writeable = False
    return values


FLOATS = np.arange(1, 4, dtype="float32")
FITTING: dict[str, tuple[str, Any]] = {
    "numbers": ("float32", [1, 2.0, True + 2]),
    "ints for floats": ("float64", [1, 2, 3]),
    "large ints for floats": ("float64", [2**70, 2, 3]),
    "bools for ints": ("int8", [True, 2, 3]),
    "the largest": ("int8", [127, -128, 0]),
    "unsigned": ("uint8", [255, 0, 1]),
    "no numbers": ("float32", [np.inf, -np.inf, np.nan]),
    "array.array": ("float32", array.array("f", [1, 2, 3])),
    "memoryview": ("float32", memoryview(FLOATS)),
    "holder": ("float32", Holder(FLOATS)),
    "subclass": ("float32", FLOATS.view(Subclass)),
    "nothing masked": ("float32", np.ma.array(FLOATS, mask=[0, 0, 0])),
    "swapped": ("float32", FLOATS.astype(">f4")),
    "halves": ("float32", FLOATS.astype("float16")),
    "narrow ints": ("int64", np.arange(3, dtype="int32")),
    "unsigned ints": ("int16", np.array([0, 255, 3], "uint8")),
    "ints as floats": ("float64", np.array([2**53, -(2**53), 3])),
    "bools as floats": ("float32", np.array([True, False, True])),
    "narrow floats": ("float64", FLOATS.astype("float32")),
    "every second float": ("float64", np.arange(6, dtype="float32")[::2]),
    "backwards": ("float32", FLOATS[::-1]),
    "one element": ("float32", np.broadcast_to(np.float32(3), (3,))),
    "steps": ("float32", np.repeat(FLOATS, 2)[::2]),
    "unaligned": ("float32", unaligned(FLOATS)),
    "read-only": ("float32", locked(FLOATS.copy())),
    "arrays in a list": ("int8", [np.array(1), np.array(2), np.array(3)]),
}
NO_ARRAY = "no array of it"
UNFIT: dict[str, tuple[str, Any, str]] = {
    "too large": ("int8", [300, 0, 0], "Python integer 300 out of bounds for int8"),
    "too small": ("uint8", [-1, 0, 0], "Python integer -1 out of bounds for uint8"),
    "far too large": ("int64", [2**70, 0, 0], "too large"),
    "NumPy's ints in a list": ("int8", [np.int64(300), 0, 0], "out of bounds for int8"),
    "too large arrays in a list": ("int8", [np.array(300)] * 3, "out of bounds for int8"),
    "a NumPy scalar": ("int8", np.int64(3), "int64.* given"),
    "an infinite float": ("float32", [1e300, 0, 0], "out of bounds for float32"),
    "an infinite int": ("float32", [10**40, 0, 0], "out of bounds for float32"),
    "floats for ints": ("int64", [1.0, 2, 3], "float64.* given"),
    "nan for ints": ("int64", [np.nan, 2, 3], "float64.* given"),
    "ints for bools": ("bool", [1, 0, 1], "int64.* given"),
    "complex": ("float32", [1j, 2, 3], "complex128.* given"),
    "fractions": ("float32", [Fraction(1, 2)] * 3, "object.* given"),
    "masked": ("float32", np.ma.array(FLOATS, mask=[0, 1, 0]), "a masked array has elements"),
    "structured": ("float32", np.zeros(3, [("a", "f4")]), "void.* given"),
    "dates": ("int64", np.zeros(3, "M8[s]"), "datetime64.* given"),
    "times": ("int64", np.zeros(3, "m8[s]"), "timedelta64.* given"),
    "objects": ("float32", FLOATS.astype(object), "object.* given"),
    "strings": ("float32", ["1", "2", "3"], "str.* given"),
    "bytes": ("float32", b"123", "bytes.* given"),
    "None": ("float32", None, "object.* given"),
    "a set": ("float32", {1, 2, 3}, "object.* given"),
    "a generator": ("float32", iter([1, 2, 3]), "object.* given"),
    "ragged": ("float32", [[1], [2, 3]], NO_ARRAY),
    "a row": ("float32", FLOATS[None].view(Subclass), "has 2 axes"),
    "wider ints": ("int32", np.arange(3), "int64.* given"),
    "wider floats": ("float32", FLOATS.astype("float64"), "float64.* given"),
    "ints that are rounded": ("float32", np.arange(3, dtype="int32"), "int32.* given"),
    "a large int": ("float64", np.array([2**53 + 1, 0, 0]), "int64.* given, float64.* expected"),
    "the largest int": ("float64", np.array([2**63 - 1, 0, 0]), "int64.* given"),
    "signed for unsigned": ("uint8", np.arange(3, dtype="int8"), "int8.* given"),
    "another holder": ("float32", Holder(FLOATS.astype("float64")), "float64.* given"),
}
OPTIONS: dict[str, dict[str, Any]] = {"compiled": {}, "debug": {"debug": True}}
every = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def taken(dtype: str, **options: Any) -> Any:
    x = sg.placeholder("x", (3,), dtype)
    return sg.compile([x], [x, sg.flip(x, 0)], **options)


@every
@pytest.mark.parametrize(("dtype", "value"), FITTING.values(), ids=FITTING)
def test_what_fits_keeps_its_values(dtype: str, value: Any, options: Any) -> None:
    expected = np.asarray(value, dtype)
    for found in (taken(dtype, **options)(value), taken(dtype, **options)(x=value)):
        np.testing.assert_array_equal(found[0], expected)
        np.testing.assert_array_equal(found[1], expected[::-1])


@every
@pytest.mark.parametrize(("dtype", "value", "message"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_is_refused(dtype: str, value: Any, message: str, options: Any) -> None:
    errors = (sg.FeedError, sg.DTypeError, sg.ShapeError)
    with pytest.raises(errors, match=f"feed 'x': .*{message}"):
        taken(dtype, **options)(value)


@pytest.mark.parametrize(("dtype", "value", "message"), UNFIT.values(), ids=UNFIT)
def test_variables_are_assigned_by_the_same_rules(dtype: str, value: Any, message: str) -> None:
    w = sg.variable(np.ones(3, dtype), "w")
    with pytest.raises((sg.FeedError, sg.DTypeError, sg.ShapeError), match="variable 'w': "):
        w.value = value
    assert (w.value == 1).all()


def test_masked_values_become_no_part_of_a_graph() -> None:
    masked = UNFIT["masked"][1]
    x = sg.placeholder("x", (3,))
    for make in (
        sg.variable, sg.constant, x.__add__, lambda one: sg.concatenate([x, one]),
        lambda one: sg.compile([x], x, givens={x: one}),
    ):  # fmt: skip
        with pytest.raises((sg.DTypeError, sg.GraphError), match="a masked array has elements"):
            make(masked)
    with pytest.raises(sg.GraphError, match="has no value before it runs"):
        masked * x  # a masked array asks for x's values, whatever x says


# -- Python numbers as arguments of functions ------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "number", "fits"),
    [
        ("int8", 127, True), ("int8", 128, False), ("int8", 300, False), ("int8", -129, False),
        ("int8", True, True), ("uint8", -1, False), ("uint8", 255, True), ("int64", 2**62, True),
        ("float32", 300, True),
    ],
)  # fmt: skip
def test_a_number_fits_the_dtype_that_it_meets(dtype: str, number: Any, fits: bool) -> None:
    f = sg.function(lambda x, n: sg.minimum(x, n))
    values = np.ones(3, dtype)
    if fits:
        np.testing.assert_array_equal(f(values, number), np.minimum(values, number))
        assert f(values, number).dtype == values.dtype
        return
    with pytest.raises(sg.FeedError, match=f"the number {number} is out of bounds for {dtype}"):
        f(values, number)
    np.testing.assert_array_equal(f(values, 1), values)


def test_a_number_of_more_than_64_bits() -> None:
    f = sg.function(lambda x, n: x + n)
    for number in (2**70, 2**63, -(2**63) - 1, 2**70):
        for dtype in ("int8", "float64"):
            with pytest.raises(sg.FeedError, match=f"the number {number} is out of bounds for int"):
                f(np.ones(3, dtype), number)
    assert f(np.ones(3), -(2**63))[0] == -(2.0**63)


def test_a_number_that_is_computed_first() -> None:
    f = sg.function(lambda x, n: x + (n * 2 - 1))
    values = np.zeros(3, np.int8)
    np.testing.assert_array_equal(f(values, 64), [127] * 3)
    with pytest.raises(sg.FeedError, match="the number 129 is out of bounds for int8, which it"):
        f(values, 65)
    with pytest.raises(sg.FeedError, match="the number -201 is out of bounds for int8"):
        sg.grad(lambda v, x, n: ((x + (n * 2 - 1)) * v).sum())(np.float32(1), values, -100)


def test_a_number_that_meets_sizes() -> None:
    f = sg.function(lambda x, n: x + n * x.shape[0])
    np.testing.assert_array_equal(f(np.ones(3, np.int32), 5), [16] * 3)


@pytest.mark.slow
@every
def test_a_feed_has_any_name(options: Any) -> None:
    names = ["self", "args", "kwargs", "out", "a b", ""]
    inputs = [sg.placeholder(name, (), "float64") for name in names]
    given = {name: float(i) for i, name in enumerate(names)}
    for one in (inputs, inputs[:1]):
        f = sg.compile(one, sg.stack(one), **options)
        expected = list(range(len(one)))
        fed = {name: given[name] for name in names[: len(one)]}
        assert f(**fed).tolist() == expected
        assert f.trace(**fed).steps
        if not options:
            assert f.profile(**fed).steps
        with pytest.raises(sg.FeedError, match="feed 'self' given by position and by name"):
            f(1.0, self=2.0)


def test_an_argument_of_a_function_has_any_name() -> None:
    f = sg.function(lambda self, args: self - args)
    arrays = {"self": np.ones(2), "args": np.zeros(2)}
    assert f(**arrays).tolist() == [1, 1]
    assert f.executable(**arrays).name == f.executable(np.ones(2), np.zeros(2)).name
