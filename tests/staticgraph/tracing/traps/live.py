"""Large arrays around functions, which calls read."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from .trap import trap

BIG = np.ones((3, 200))


@trap("arrays", "jax")
def a_large_array_of_a_global_is_written(t: Any) -> Any:
    f = t.capture(lambda x: x * BIG[:, 0])
    for k in (1.0, 2.0, 3.0):
        BIG[:] = k
        yield f(t.x)


@trap("arrays", "jax")
def a_large_array_decides(t: Any) -> Any:
    table = np.ones((3, 200))
    f = t.capture(lambda x: x * 2 if table[0, 0] > 1 else x * 3)
    for k in (1.0, 2.0, 3.0):
        table[:] = k
        yield f(t.x)


@trap("arrays", "jax")
def a_large_array_by_two_names(t: Any) -> Any:
    a = np.ones((3, 200))
    held = {"a": a, "b": a}
    f = t.capture(lambda x: x * held["a"][:, 0] + held["b"][:, 1])
    yield f(t.x)
    held["b"] = a * 5
    yield f(t.x)
    a[:] = 7.0
    yield f(t.x)
    held["a"] = held["b"]
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_and_a_view_of_it(t: Any) -> Any:
    a = np.ones((3, 200))
    view = a[:, 1:]
    f = t.capture(lambda x: x * a[:, 1] + view[:, 0])
    for k in (1.0, 2.0):
        view[:] = k
        yield f(t.x)


@trap("arrays", "jax")
def a_large_array_gets_another_dtype(t: Any) -> Any:
    held = {"w": np.ones((3, 200), "float64")}
    f = t.capture(lambda x: x * held["w"][:, 0])
    yield f(t.x)
    held["w"] = np.ones((3, 200), "float32")
    yield f(t.x)
    held["w"] = np.ones((3, 200), "int64")
    yield f(t.x)
    held["w"] = np.ones((3, 200), "float64").tolist()
    try:
        f(t.x)
    except TypeError:
        yield "lists have no such index"


@trap("arrays", "jax")
def a_large_array_becomes_a_masked_one(t: Any) -> Any:
    held = {"w": np.ones((3, 200), "float32")}
    f = t.capture(lambda x: x * held["w"].sum(axis=1))
    yield f(t.x)
    held["w"] = np.ma.array(held["w"], mask=np.arange(600).reshape(3, 200) % 2 == 0)
    yield np.asarray(f(t.x))


@trap("arrays", "jax")
def a_large_array_is_asked_for_its_class(t: Any) -> Any:
    held = {"w": np.ones((3, 200), "float32")}
    f = t.capture(lambda x: x * held["w"][:, 0] if type(held["w"]) is np.ndarray else x)
    yield f(t.x)
    held["w"] = np.matrix(held["w"]) * 2
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_is_in_a_list_that_is_sorted(t: Any) -> Any:
    arrays = [np.full((3, 200), k) for k in (3.0, 1.0, 2.0)]
    f = t.capture(lambda x: x * sorted(arrays, key=lambda one: one[0, 0])[0][:, 0])
    yield f(t.x)
    arrays[0][:] = 0.5
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_keeps_a_cached_sum(t: Any) -> Any:
    class Held:
        def __init__(self) -> None:
            self.w = np.ones((3, 200))

        @functools.cached_property
        def total(self) -> Any:
            return self.w.sum()

    held = Held()
    f = t.capture(lambda x: x * held.w[:, 0] + float(held.total))
    yield f(t.x)
    held.w[:] = 2.0
    yield f(t.x)
    yield float(held.total)


@trap("arrays", "jax")
def a_large_array_by_its_identity(t: Any) -> Any:
    w = np.ones((3, 200))
    held, known = {"w": w}, {id(w): 5.0}
    f = t.capture(lambda x: x * known.get(id(held["w"]), 1.0) * held["w"][:, 0])
    yield f(t.x)
    held["w"] = w * 2
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_with_an_error_that_is_caught(t: Any) -> Any:
    w = np.ones((3, 200))

    def f(x: Any) -> Any:
        try:
            k = w.item(0)
        except Exception:
            k = 100.0
        return x * k

    g = t.capture(f)
    yield g(t.x)
    w[:] = 2.0
    yield g(t.x)


@trap("arrays", "jax")
def a_large_array_is_deleted_and_made_again(t: Any) -> Any:
    held: dict[str, Any] = {"w": np.ones((3, 200))}
    f = t.capture(lambda x: x * held["w"][:, 0])
    yield f(t.x)
    held.clear()
    held["w"] = np.full((3, 200), 3.0)
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_that_a_helper_fills(t: Any) -> Any:
    w = np.ones((3, 200))

    def helper(x: Any) -> Any:
        w.fill(4.0)
        return x * w[:, 0]

    f = t.capture(helper)
    yield f(t.x)
    yield float(w[0, 0])


@trap("arrays", "jax")
def large_indices_outside(t: Any) -> Any:
    index = np.zeros(300, "int64")
    f = t.capture(lambda x: x[index][:4])
    yield f(t.x)
    index[:4] = [2, 1, 0, 1]
    yield f(t.x)
    index[:4] = -1
    yield f(t.x)


@trap("arrays", "jax")
def a_large_mask_outside(t: Any) -> Any:
    mask = np.zeros((3, 500), bool)
    f = t.capture(lambda x: t.xp.where(mask[:, 0], x, -x))
    yield f(t.x)
    mask[1] = True
    yield f(t.x)


@trap("arrays", "jax")
def slices_of_a_large_array_with_negative_steps(t: Any) -> Any:
    w = np.arange(600.0).reshape(3, 200)
    f = t.capture(lambda x: x * w[::-1, ::-7][:, 3] + w[..., -2:-9:-3][:, 1])
    yield f(t.x)
    w *= 2
    yield f(t.x)


@trap("arrays", "jax")
def a_method_of_an_object_with_large_weights(t: Any) -> Any:
    @dataclasses.dataclass
    class Layer:
        w: Any
        rate: float = 1.0

        def __call__(self, x: Any) -> Any:
            return x * self.w[:, 0] * self.rate

    layer = Layer(np.ones((3, 200)))
    f = t.capture(layer)
    yield f(t.x)
    layer.w[:] = 3.0
    yield f(t.x)
    layer.w = layer.w + 1
    yield f(t.x)
    layer.rate = 2.0
    yield f(t.x)


@trap()
def the_largest_traced_value_by_a_key(t: Any) -> Any:
    f = t.capture(lambda x: max([x[0], x[1], x[2]], key=lambda k: -k) * x)
    yield f(t.x)
    yield f(-t.x)


@trap("tensors", "torch")
def a_tensor_of_a_large_array(t: Any) -> Any:
    table = np.ones((3, 400), "float32")
    f = t.capture(lambda x: x * t.xp.from_numpy(table)[:, 0])
    for k in (1.0, 2.0, 3.0):
        table[:] = k
        yield f(t.x)
