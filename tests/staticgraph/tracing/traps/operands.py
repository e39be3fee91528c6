"""Large arrays of NumPy around functions of tensors, which calls read."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from .trap import BOTH, TENSORS, trap

Pair = collections.namedtuple("Pair", "weights scale")


def _large() -> Any:
    return np.arange(1500, dtype="float32").reshape(3, 500) / 1500


def _changing(t: Any, f: Any, array: Any) -> Any:
    g = t.capture(f)
    for _ in range(3):
        yield g(t.x)
        array *= 1.5


@trap(*TENSORS)
def a_tensor_of_a_large_array_by_from_numpy(t: Any) -> Any:
    table = _large()
    yield from _changing(t, lambda x: x @ t.xp.from_numpy(table), table)


@trap(*TENSORS)
def a_copy_of_a_large_array(t: Any) -> Any:
    table = _large()
    yield from _changing(t, lambda x: x @ t.xp.tensor(table), table)


@trap(*TENSORS)
def a_row_of_a_large_array(t: Any) -> Any:
    table = _large()
    yield from _changing(t, lambda x: x * t.xp.as_tensor(table[:, 1]), table)


@trap(*TENSORS)
def numpy_computes_with_a_large_array(t: Any) -> Any:
    table = _large()
    yield from _changing(t, lambda x: x @ t.xp.tensor(np.exp(table) + table.sum()), table)


@trap(*TENSORS)
def a_value_of_a_large_array_decides(t: Any) -> Any:
    table = _large() + 1
    yield from _changing(t, lambda x: x * (2.0 if table[0, 0] > 2 else 1.0), table)


@trap(*TENSORS)
def a_copy_of_a_large_array_is_written(t: Any) -> Any:
    table = _large()

    def f(x: Any) -> Any:
        y = t.xp.tensor(table)
        y[0] = 5.0
        y += x.reshape(3, 1)
        return y.sum(1)

    yield from _changing(t, f, table)
    yield table


@trap(*TENSORS)
def a_large_array_is_written_by_a_tensor(t: Any) -> Any:
    table = _large()

    def f(x: Any) -> Any:
        y = t.xp.from_numpy(table)
        y[0] = x[0]
        return y.sum(1)

    yield t.capture(f)(t.x), table


@trap(*TENSORS)
def a_row_of_a_large_array_is_written(t: Any) -> Any:
    table = _large()

    def f(x: Any) -> Any:
        row = table[0]
        row += 1.0
        return x * t.xp.from_numpy(table)[:, 0]

    yield t.capture(f)(t.x), table


@trap(*TENSORS)
def a_large_array_of_a_module(t: Any) -> Any:
    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = _large()

        def forward(self, x: Any) -> Any:
            return x @ t.xp.from_numpy(self.table)

    net = Net()
    yield from _changing(t, net, net.table)
    f = t.capture(net)
    for _ in range(3):
        yield f(t.x)
        net.table = net.table + 1


@trap(*TENSORS)
def a_large_array_with_an_error_that_is_caught(t: Any) -> Any:
    table = _large()

    def f(x: Any) -> Any:
        try:
            return x * float(table[0, 1])
        except TypeError:
            return x

    yield from _changing(t, f, table)


@trap(*TENSORS)
def a_large_array_and_its_gradient(t: Any) -> Any:
    table = _large()
    f = t.capture(lambda x: (x @ t.xp.from_numpy(table)).sum())
    for _ in range(3):
        x = t.x.requires_grad_()
        f(x).backward()
        yield x.grad
        table *= 2


@trap(*TENSORS)
def a_large_array_by_its_class(t: Any) -> Any:
    table = _large()

    def f(x: Any) -> Any:
        known = isinstance(table, np.ndarray), table.dtype == np.float32, table.shape == (3, 500)
        return x @ t.xp.as_tensor(table) * sum(known)

    yield from _changing(t, f, table)


@trap(*BOTH)
def large_arrays_in_a_tuple(t: Any) -> Any:
    if t.name == "arrays":
        pair, of = (_large(), _large() * 2), lambda array: array
    else:
        pair, of = (_large(), _large() * 2), t.xp.asarray
    f = t.capture(lambda x: x @ of(pair[0]) + x @ of(pair[1]))
    for k in range(3):
        yield f(t.x)
        pair[k % 2][:] *= 3
    pair = pair[0], pair[0]
    yield f(t.x)
    pair = pair[0] * 2, pair[0]
    yield f(t.x)


@trap("arrays")
def a_large_array_in_a_named_tuple(t: Any) -> Any:
    held = [Pair(_large(), 2.0)]
    f = t.capture(lambda x: x @ held[0].weights * held[0].scale)
    for _ in range(3):
        yield f(t.x)
        held[0] = held[0]._replace(weights=held[0].weights * 2)
    held[0] = held[0]._replace(scale=5.0)
    yield f(t.x)


@trap("arrays")
def a_large_array_of_a_class(t: Any) -> Any:
    class Constants:
        table = _large()

    f = t.capture(lambda x: x @ Constants.table)
    for _ in range(3):
        yield f(t.x)
        Constants.table = Constants.table * 2
    Constants.table[:] = 1.0
    yield f(t.x)


@trap("arrays")
def a_large_array_of_a_default(t: Any) -> Any:
    def f(x: Any, table: Any = _large()) -> Any:  # noqa: B008
        return x @ table

    g = t.capture(f)
    for _ in range(3):
        yield g(t.x)
        f.__defaults__ = (f.__defaults__[0] * 2,)  # type: ignore[index]
    f.__defaults__[0][:] = 1.0
    yield g(t.x)


@trap("arrays")
def a_large_array_in_a_slot(t: Any) -> Any:
    class Config:
        __slots__ = ("table",)

    config = Config()
    config.table = _large()
    f = t.capture(lambda x: x @ config.table)
    for _ in range(3):
        yield f(t.x)
        config.table = config.table * 2
    config.table[:] = 1.0
    yield f(t.x)


@trap("arrays")
def a_tuple_of_large_arrays_by_two_names(t: Any) -> Any:
    pair = (_large(), _large())
    held = {"a": pair, "b": pair}
    f = t.capture(lambda x: x @ held["a"][0] + x @ held["b"][0])
    yield f(t.x)
    pair[0][:] = 2.0
    yield f(t.x)
    held["b"] = (_large() * 3, pair[1])
    yield f(t.x)
