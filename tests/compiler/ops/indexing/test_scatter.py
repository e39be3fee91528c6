"""Scatters: what they refuse, compiled calls, batches, and captured functions of tensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError, OptionError, OutOfRangeError, ShapeError
from tests.combinations import some

X = np.arange(12.0).reshape(4, 3)
ROWS = np.array([2, 0, 2])
INDEX = np.array([[0, 2], [1, 1], [2, 0], [0, 0]])
VALUES = -1 - np.arange(8.0).reshape(4, 2)

REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ops.scatter(X, INDEX[0], VALUES, 0), ShapeError,
     "scatter: float64[4, 3] and index int64[2] differ in rank"),
    (lambda: ops.scatter(X, np.zeros((5, 3), int), 1.0, 1), ShapeError,
     "scatter: index int64[5, 3] is larger than float64[4, 3] at axis 0"),
    (lambda: ops.scatter(X, INDEX, VALUES[:3], 1), ShapeError,
     "scatter: values float64[3, 2] do not broadcast to float64[4, 2]"),
    (lambda: ops.scatter_add(X, INDEX, VALUES[None], 1), ShapeError,
     "scatter_add: values float64[1, 4, 2] do not broadcast to float64[4, 2]"),
    (lambda: ops.scatter(X, INDEX * 1.0, VALUES, 1), DTypeError,
     "scatter: index float64[4, 2] is not an integer tensor"),
    (lambda: ops.scatter_reduce(X, INDEX, VALUES, 1, "median"), OptionError,
     "scatter_reduce: reduce is sum, prod, mean, amax or amin, not 'median'"),
    (lambda: ops.scatter_reduce(X > 2, INDEX, VALUES > 2, 1, "sum"), DTypeError,
     "scatter_reduce: sum of bool[4, 3]"),
    (lambda: ops.index_add(X, INDEX, 1.0), ShapeError,
     "index_add: the index int64[4, 2] is no vector"),
    (lambda: ops.index_copy(X, ROWS, np.ones((2, 3))), ShapeError,
     "index_copy: values float64[2, 3] do not broadcast to float64[3, 3]"),
    (lambda: ops.index_fill(X, ROWS, np.ones(3)), ShapeError,
     "index_fill: the value float64[3] is no scalar"),
    (lambda: ops.put(np.zeros((0, 2)), ROWS, 1.0), OutOfRangeError,
     "put: index int64[3] points into float64[0, 2], which is empty"),
    (lambda: ops.put(X, X, 1.0), DTypeError, "put: index float64[4, 3] is not an integer tensor"),
    (lambda: ops.index_put(X, [ROWS] * 3, 1.0), ShapeError, "index_put: 3 indices for 2 axes"),
    (lambda: ops.index_put(X, [], 1.0), ShapeError, "index_put: 0 indices for 2 axes"),
    (lambda: ops.index_put(X, [ROWS, ROWS > 1], 1.0), DTypeError,
     "ravel_multi_index: index bool[3] is not an integer tensor"),
    (lambda: ops.ravel_multi_index([ROWS], (4, 3)), ShapeError,
     "ravel_multi_index: 1 indices for 2 axes"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_does_not_fit_is_refused_in_an_expression(number: int) -> None:
    call, error, text = REFUSED[number]
    arrays = {"X": X, "VALUES": VALUES, "ROWS": ROWS, "INDEX": INDEX}
    names = {name: sg.constant(array) for name, array in arrays.items()}
    namespace = {**call.__globals__, **names, "np": np}
    symbolic = type(call)(call.__code__, namespace)
    with pytest.raises(error, match=re.escape(text)):
        symbolic()


OUTSIDE: dict[str, tuple[Callable[..., Any], str]] = {
    "scatter": (lambda x, i: ops.scatter(x, i[:, None], -1.0, 0), "scatter"),
    "scatter_add": (lambda x, i: ops.scatter_add(x, i[:, None], -1.0, 0), "scatter_add"),
    "scatter_reduce": (
        lambda x, i: ops.scatter_reduce(x, i[:, None], 99.0, 0, "amax"), "scatter_reduce",
    ),
    "index_add": (lambda x, i: ops.index_add(x, i, -1.0), "index_add"),
    "index_copy": (lambda x, i: ops.index_copy(x, i, -1.0), "index_copy"),
    "index_fill": (lambda x, i: ops.index_fill(x, i, -1.0), "index_fill"),
    "index_put": (lambda x, i: ops.index_put(x, [i, i], -1.0), "ravel_multi_index.*"),
    "put": (lambda x, i: ops.put(x, i * 3, -1.0), "put"),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_outside_is_an_error_before_anything_changes(name: str) -> None:
    function, op = OUTSIDE[name]
    x = sg.variable(X, "x")
    i = sg.placeholder("i", (None,), "int64")
    step = sg.compile([i], [x * 1.0], updates=[(x, function(x, i))])
    for bad in ([0, 4], [-5, 1], [2**40, 0]):
        with pytest.raises(OutOfRangeError, match=rf"{op}: index -?\d+ is out of range.*\.py:\d+"):
            step(np.array(bad))
        np.testing.assert_array_equal(x.value, X)
        with pytest.raises(OutOfRangeError, match="is out of range for an axis of size"):
            function(X, np.array(bad))
    step(np.array([-1, 0]))
    assert (x.value != X).any()


@pytest.mark.parametrize("wrap", [True, False])
def test_negative_indices_count_from_the_end_only_if_they_may(wrap: bool) -> None:
    i = sg.placeholder("i", (2, 3), "int64")
    for op in (ops.scatter, ops.scatter_add):
        f = sg.compile([i], op(sg.constant(X), i, 5.0, 0, wrap=wrap))
        index = np.full((2, 3), -1)
        if wrap:
            np.testing.assert_array_equal(f(index), op(X, index % 4, 5.0, 0))
        else:
            with pytest.raises(OutOfRangeError, match="index -1 is out of range"):
                f(index)


def test_of_several_values_for_one_place_the_last_one_stays_and_has_the_slope() -> None:
    def last(x: Any, v: Any) -> Any:
        return (ops.index_copy(x, np.array([1, 1, 0]), v) * np.array([2.0, 3.0, 5.0])).sum()

    gx, gv = sg.grad(last, argnums=(0, 1))(np.zeros(3), np.arange(3.0))
    assert gx.tolist() == [0, 0, 5] and gv.tolist() == [0, 3, 2]
    x, v = dynamic.zeros(3, requires_grad=True), dynamic.arange(3.0, requires_grad=True)
    last(x, v).backward()
    assert x.grad.tolist() == [0, 0, 5] and v.grad.tolist() == [0, 3, 2]


def test_empty_indices_of_unknown_length_change_nothing() -> None:
    n, i, v = (sg.placeholder(*one) for one in (
        ("n", (None, 3), "float64"), ("i", (None,), "int64"), ("v", (None, 3), "float64"),
    ))  # fmt: skip
    f = sg.compile([n, i, v], [ops.index_copy(n, i, v), ops.index_add(n, i, v)])
    for one in f(X, np.zeros(0, int), np.zeros((0, 3))):
        np.testing.assert_array_equal(one, X)
    assert f(X[:0], np.zeros(0, int), np.zeros((0, 3)))[0].shape == (0, 3)
    np.testing.assert_array_equal(f(X, np.array([3, 0]), X[:2])[0][[3, 0]], X[:2])


@pytest.mark.slow
@pytest.mark.parametrize(
    "batched", some([(0, 0, 0), (0, None, None), (None, 0, 0), (None, 0, None)], 2)
)
def test_examples_of_a_batch_are_scattered_apart(batched: tuple[int | None, ...]) -> None:
    functions = {
        "scatter": lambda x, i, v: ops.scatter(x, i[:, None], v[:, :1], 0),
        "scatter_reduce": lambda x, i, v: ops.scatter_reduce(x, i[:, None], v[:, :1], 0, "prod"),
        "index_copy": ops.index_copy,
        "index_add": ops.index_add,
        "index_put": lambda x, i, v: ops.index_put(x, [i], v),
        "put": lambda x, i, v: ops.put(x, i, v[:, 0]),
    }
    rng = np.random.default_rng(3)
    whole = rng.normal(size=(2, 4, 3)), rng.integers(0, 4, (2, 5)), rng.normal(size=(2, 5, 3))
    given = [one if axis == 0 else one[0] for one, axis in zip(whole, batched, strict=True)]
    for name, function in functions.items():
        expected = [
            function(
                *(one[k] if axis == 0 else one for one, axis in zip(given, batched, strict=True))
            )
            for k in range(2)
        ]
        found = sg.vmap(function, in_axes=batched)(*given)
        np.testing.assert_allclose(found, np.stack(expected), err_msg=name)
        tensors = map(dynamic.tensor, given)
        eager = dynamic.func.vmap(function, in_dims=batched)(*tensors)
        np.testing.assert_allclose(eager.numpy(), np.stack(expected), err_msg=name)


CAPTURED: dict[str, Callable[..., Any]] = {
    "gather": lambda x, i, r: x.gather(1, i),
    "scatter": lambda x, i, r: x.scatter(1, i, x[:, :2] * 2),
    "scatter_number": lambda x, i, r: dynamic.scatter(x, 1, i, 7),
    "scatter_": lambda x, i, r: (x * 1).scatter_(1, i, x[:, :2] * 2),
    "scatter_add": lambda x, i, r: x.scatter_add(1, i, x[:, 1:]),
    "scatter_reduce": lambda x, i, r: x.scatter_reduce(0, i, x, "prod", include_self=False),
    "index_add": lambda x, i, r: x.index_add(0, r, x[1:], alpha=2),
    "index_copy": lambda x, i, r: x.index_copy(0, r, x[1:]),
    "index_fill": lambda x, i, r: x.index_fill(1, r, 5),
    "put": lambda x, i, r: x.put(i, x[:, :2]),
    "put_add": lambda x, i, r: x.put(i, x[:, :2], accumulate=True),
    "masked_scatter": lambda x, i, r: x.masked_scatter(x > 4, x * 2),
    "masked_fill": lambda x, i, r: x.masked_fill(x > 4, 2.0),
    "take_along_dim": lambda x, i, r: dynamic.take_along_dim(x, i, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(CAPTURED, 7))
def test_captured_functions_of_tensors_scatter_as_eager_ones(name: str) -> None:
    def total(x: Any, i: Any, r: Any) -> Any:
        return (CAPTURED[name](x, i, r) ** 2).sum()

    i, r = dynamic.tensor(INDEX), dynamic.tensor(ROWS)
    x = dynamic.tensor(X, requires_grad=True)
    expected = CAPTURED[name](x, i, r)
    np.testing.assert_array_equal(
        sg.function(CAPTURED[name])(x.detach(), i, r).numpy(), expected.detach().numpy()
    )
    total(x, i, r).backward()
    again = dynamic.tensor(X, requires_grad=True)
    sg.function(total)(again, i, r).backward()
    np.testing.assert_allclose(again.grad.numpy(), x.grad.numpy())


def test_an_index_outside_is_refused_by_captured_functions_at_each_call() -> None:
    for one in (lambda x, i: x.gather(0, i), lambda x, i: x.scatter_add(0, i, x)):
        f = sg.function(one)
        x = dynamic.tensor(X)
        f(x, dynamic.tensor(np.zeros((1, 3), int)))
        for bad in (4, -1):
            with pytest.raises(IndexError, match=f"index {bad} is out of range"):
                f(x, dynamic.tensor(np.full((1, 3), bad)))
            with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension 0"):
                one(x, dynamic.tensor(np.full((1, 3), bad)))


def test_a_tensor_of_indices_is_assigned_to_at_once_or_recorded() -> None:
    x = dynamic.zeros(4)
    version = x._version
    x[dynamic.tensor([1, 3])] = dynamic.tensor([2.0, 4.0])
    assert x.tolist() == [0, 2, 0, 4] and x._version == version + 1
    x[dynamic.tensor([0, -2])] = 7
    assert x.tolist() == [7, 2, 7, 4]
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        x[dynamic.tensor([0, 4])] = 1.0
    with pytest.raises(RuntimeError, match=r"shape mismatch: value tensor of shape \[3\]"):
        x[dynamic.tensor([0, 1])] = dynamic.ones(3)
    assert x.tolist() == [7, 2, 7, 4]
    v = dynamic.ones(2, requires_grad=True)
    x[dynamic.tensor([0, 0])] = v
    assert x.grad_fn.name() == "IndexPutBackward0"
    x.sum().backward()
    assert v.grad.tolist() == [0, 1]


ORDERS = {
    "C": np.ascontiguousarray, "F": np.asfortranarray,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "every other": lambda a: np.repeat(a.T, 2, 0)[::2].T,
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("order_of_values", ORDERS)
def test_of_several_the_last_stays_however_they_lie(order: str, order_of_values: str) -> None:
    rng = np.random.default_rng(0)
    x, index = np.zeros(3), ORDERS[order](rng.integers(0, 3, (4, 5)))
    values = ORDERS[order_of_values](rng.normal(size=(4, 5)))
    last = {int(index[place]): place for place in np.ndindex(4, 5)}
    flat = [values[last[i]] for i in range(3)]
    assert ops.put(x, index, values).tolist() == flat
    assert ops.index_put(x, (index,), values).tolist() == flat
    rows = ops.scatter(np.zeros((4, 3)), index, values, 1)
    columns = ops.scatter(np.zeros((3, 5)), index, values, 0)
    for (i, j), target in np.ndenumerate(index):
        assert rows[i, target] == values[i, max(np.flatnonzero(index[i] == target))]
        assert columns[target, j] == values[max(np.flatnonzero(index[:, j] == target)), j]
    copied = ops.index_copy(np.zeros((3, 5)), index[:, 0], values)
    for i, target in enumerate(index[:, 0]):
        assert copied[target, 0] == values[max(np.flatnonzero(index[:, 0] == target)), 0], i


@pytest.mark.parametrize("write", ["put", "index_put", "setitem"])
def test_the_gradient_goes_to_the_value_that_stays(write: str) -> None:
    rng = np.random.default_rng(1)
    index = np.array([[0, 1, 2, 0, 1], [1, 2, 0, 0, 2], [2, 1, 0, 1, 0], [2, 1, 0, 0, 1]])
    values = dynamic.tensor(rng.normal(size=(4, 5)).T.copy(), requires_grad=True)
    places, weights = dynamic.tensor(index.T.copy()).t(), dynamic.tensor([1.0, 2.0, 3.0])
    result = dynamic.zeros(3, dtype=dynamic.float64)
    if write == "setitem":
        result[places] = values.t()
    elif write == "put":
        result = result.put(places, values.t())
    else:
        result = result.index_put((places,), values.t())
    (result * weights).sum().backward()
    stays = np.zeros((4, 5))
    for i, place in {int(index[place]): place for place in np.ndindex(4, 5)}.items():
        stays[place] = i + 1
        assert result[i] == values.t()[place]
    assert values.grad is not None
    assert (stays == values.grad.numpy().T).all()


@pytest.mark.parametrize("kind", ["f4", "f8", "c16"])
def test_a_slope_that_is_no_number_stays_with_the_value_that_stays(kind: str) -> None:
    x, values = (dynamic.zeros(2, 3, dtype=kind, requires_grad=True) for _ in range(2))
    g = np.array([[np.nan, np.inf, 3], [-0.0, 5, -np.inf]], kind)
    index = np.array([[1, 1, 0], [2, 2, 2]])
    dynamic.scatter(x, 1, dynamic.tensor(index), values).backward(dynamic.tensor(g))
    expected = np.array([[0, np.inf, np.nan], [0, 0, -np.inf]], kind)
    assert values.grad is not None
    np.testing.assert_array_equal(values.grad.numpy(), expected)
    assert not np.signbit(values.grad.numpy().real[expected == 0]).any()
