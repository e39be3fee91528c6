"""Which dtype comes out, and what decides it."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from .trap import trap


def _ints(t: Any, dtype: str = "int32") -> Any:
    return t.array(np.arange(1, 4).astype(dtype))


@trap("arrays", "tensors", "torch")
def ints_are_divided(t: Any) -> Any:
    yield t.capture(lambda x: x / 2)(_ints(t))


@trap("arrays", "tensors", "torch")
def ints_and_a_float(t: Any) -> Any:
    yield t.capture(lambda x: x * 2.5)(_ints(t))


@trap("arrays", "tensors", "torch")
def the_sum_of_ints(t: Any) -> Any:
    yield t.capture(lambda x: x.sum())(_ints(t))


@trap("arrays", "tensors", "torch")
def the_sum_of_bools(t: Any) -> Any:
    yield t.capture(lambda x: (x > 1).sum())(t.x)


@trap("arrays", "tensors", "torch")
def bytes_overflow(t: Any) -> Any:
    yield t.capture(lambda x: x * 100)(_ints(t, "uint8"))


@trap("arrays", "tensors", "torch")
def ints_and_floats(t: Any) -> Any:
    yield t.capture(lambda x, y: x + y)(_ints(t, "int64"), t.x)


@trap("arrays", "tensors", "torch")
def a_square_root_of_ints(t: Any) -> Any:
    yield t.capture(lambda x: t.xp.sqrt(x))(_ints(t))


@trap("arrays", "tensors", "torch")
def floor_division_of_negatives(t: Any) -> Any:
    yield t.capture(lambda x: (x - 5) // 2 + (x - 5) % 3)(_ints(t))


@trap("arrays", "tensors", "torch")
def bools_as_numbers(t: Any) -> Any:
    yield t.capture(lambda x: (x > 0) * 3)(t.x)


@trap("arrays", "tensors", "torch")
def a_branch_on_the_dtype(t: Any) -> Any:
    float32 = np.float32 if t.name == "arrays" else t.xp.float32
    f = t.capture(lambda x: x * 2 if x.dtype == float32 else x)
    yield f(t.x)
    yield f(t.array(np.ones(3)))


@trap("arrays", "tensors", "torch")
def a_power_of_ints(t: Any) -> Any:
    yield t.capture(lambda x: x**3)(_ints(t))


@trap("arrays", "tensors", "torch")
def a_mean(t: Any) -> Any:
    yield t.capture(lambda x: x.mean() + x.std())(t.x)


@trap("arrays", "tensors", "torch")
def a_dtype_of_a_config(t: Any) -> Any:
    kind = np if t.name == "arrays" else t.xp
    config = types.SimpleNamespace(dtype=kind.float64)
    cast = (lambda x, d: x.astype(d)) if t.name == "arrays" else (lambda x, d: x.to(d))
    f = t.capture(lambda x: cast(x, config.dtype) * 2)
    yield f(t.x)
    config.dtype = kind.float32
    yield f(t.x)


@trap("arrays")
def a_wide_scalar_of_numpy(t: Any) -> Any:
    yield t.capture(lambda x: x * np.float64(2))(t.x)


@trap("arrays")
def a_number_by_position(t: Any) -> Any:
    f = t.capture(lambda x, k: x * k)
    yield f(t.x, 2)
    yield f(t.x, 2.5)
    yield f(_ints(t), 2.5)


@trap("arrays", "tensors", "torch")
def numbers_of_other_types(t: Any) -> Any:
    f = t.capture(lambda x, k: x * k)
    yield f(_ints(t), 2)
    yield f(_ints(t), True)
    yield f(_ints(t), 2.0)


@trap("tensors", "torch")
def the_default_dtype(t: Any) -> Any:
    f = t.capture(lambda x: x / 2)
    try:
        yield f(_ints(t))
        t.xp.set_default_dtype(t.xp.float64)
        yield f(_ints(t))
    finally:
        t.xp.set_default_dtype(t.xp.float32)


@trap("tensors", "torch")
def the_default_dtype_of_a_factory(t: Any) -> Any:
    f = t.capture(lambda x: x.double() + t.xp.ones(3) / 3)
    try:
        yield f(t.x)
        t.xp.set_default_dtype(t.xp.float64)
        yield f(t.x)
    finally:
        t.xp.set_default_dtype(t.xp.float32)


@trap("tensors", "torch")
def the_default_dtype_is_asked_for(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if t.xp.get_default_dtype() == t.xp.float64 else x)
    try:
        yield f(t.x)
        t.xp.set_default_dtype(t.xp.float64)
        yield f(t.x)
    finally:
        t.xp.set_default_dtype(t.xp.float32)


@trap("tensors", "torch")
def the_default_dtype_is_set_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        t.xp.set_default_dtype(t.xp.float64)
        return x * 2

    g = t.capture(f)
    try:
        yield g(t.x)
        yield t.xp.ones(1)
        t.xp.set_default_dtype(t.xp.float32)
        yield g(t.x)
        yield t.xp.ones(1)
    finally:
        t.xp.set_default_dtype(t.xp.float32)
