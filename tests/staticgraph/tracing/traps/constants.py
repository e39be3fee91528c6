"""Globals, and what modules have, change between calls."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from .trap import trap

SCALE: Any = 2.0
TABLE: Any = [1.0, 2.0]
CONFIG: dict[str, Any] = {}
WEIGHTS: Any = None
STEP: Any = None
settings: Any = None


def scaled(x: Any) -> Any:
    return x * SCALE


def scaled_twice(x: Any) -> Any:
    return scaled(scaled(x))


def _set(**values: Any) -> None:
    globals().update(values)


@trap()
def a_constant_is_rebound(t: Any) -> Any:
    _set(SCALE=2.0)
    f = t.capture(lambda x: x * SCALE)
    yield f(t.x)
    _set(SCALE=3.0)
    yield f(t.x)


@trap()
def a_constant_that_a_helper_reads(t: Any) -> Any:
    _set(SCALE=2.0)
    f = t.capture(lambda x: scaled(x) + 1)
    yield f(t.x)
    _set(SCALE=3.0)
    yield f(t.x)


@trap()
def a_constant_that_a_helper_of_a_helper_reads(t: Any) -> Any:
    _set(SCALE=2.0)
    f = t.capture(lambda x: scaled_twice(x) + 1)
    yield f(t.x)
    _set(SCALE=3.0)
    yield f(t.x)


@trap()
def the_function_itself(t: Any) -> Any:
    _set(SCALE=2.0)
    f = t.capture(scaled)
    yield f(t.x)
    _set(SCALE=-1.0)
    yield f(t.x)


@trap()
def a_helper_is_replaced(t: Any) -> Any:
    before = scaled
    f = t.capture(lambda x: scaled(x))
    try:
        yield f(t.x)
        _set(scaled=lambda x: x + 100)
        yield f(t.x)
    finally:
        _set(scaled=before)


@trap()
def a_builtin_is_hidden(t: Any) -> Any:
    f = t.capture(lambda x: x * sum([1.0, 2.0]))
    try:
        yield f(t.x)
        _set(sum=lambda values: 10.0)
        yield f(t.x)
    finally:
        globals().pop("sum", None)


@trap()
def a_list(t: Any) -> Any:
    _set(TABLE=[1.0, 2.0])
    f = t.capture(lambda x: x * TABLE[0] + TABLE[1])
    yield f(t.x)
    TABLE[0] = 4.0
    yield f(t.x)


@trap()
def a_dict(t: Any) -> Any:
    _set(CONFIG={"lr": 0.5})
    f = t.capture(lambda x: x * CONFIG["lr"])
    yield f(t.x)
    CONFIG["lr"] = 0.25
    yield f(t.x)


@trap()
def a_dict_of_dicts(t: Any) -> Any:
    _set(CONFIG={"optim": {"lr": 0.5}})
    f = t.capture(lambda x: x * CONFIG["optim"]["lr"])
    yield f(t.x)
    CONFIG["optim"]["lr"] = 0.25
    yield f(t.x)


@trap()
def an_array_of_numpy_is_rebound(t: Any) -> Any:
    _set(WEIGHTS=np.ones(3, "float32"))
    f = t.capture(lambda x: x * t.array(WEIGHTS))
    yield f(t.x)
    _set(WEIGHTS=np.full(3, 2, "float32"))
    yield f(t.x)


@trap()
def a_function_among_globals(t: Any) -> Any:
    _set(STEP=lambda x: x + 1)
    f = t.capture(lambda x: STEP(x))
    yield f(t.x)
    _set(STEP=lambda x: x + 2)
    yield f(t.x)


@trap()
def a_name_that_is_deleted(t: Any) -> Any:
    _set(EXTRA=1.0)

    def f(x: Any) -> Any:
        try:
            return x + EXTRA  # type: ignore[name-defined]
        except NameError:
            return x

    g = t.capture(f)
    yield g(t.x)
    del globals()["EXTRA"]
    yield g(t.x)


@trap()
def by_the_function_globals(t: Any) -> Any:
    _set(SCALE=2.0)
    f = t.capture(lambda x: x * globals()["SCALE"])
    yield f(t.x)
    _set(SCALE=3.0)
    yield f(t.x)


@trap()
def an_attribute_of_a_module(t: Any) -> Any:
    _set(settings=types.ModuleType("settings"))
    settings.scale = 2.0
    f = t.capture(lambda x: x * settings.scale)
    yield f(t.x)
    settings.scale = 3.0
    yield f(t.x)


@trap()
def a_function_of_a_module(t: Any) -> Any:
    _set(settings=types.ModuleType("settings"))
    exec("k = 2.0\ndef scale(x):\n    return x * k", settings.__dict__)
    f = t.capture(lambda x: settings.scale(x))
    yield f(t.x)
    settings.k = 3.0
    yield f(t.x)
    settings.scale = lambda x: -x
    yield f(t.x)


@trap()
def a_module_is_replaced(t: Any) -> Any:
    _set(settings=types.SimpleNamespace(scale=2.0))
    f = t.capture(lambda x: x * settings.scale)
    yield f(t.x)
    _set(settings=types.SimpleNamespace(scale=3.0))
    yield f(t.x)


@trap()
def a_module_that_is_imported_inside(t: Any) -> Any:
    module: Any = types.ModuleType("trap_settings")
    module.scale = 2.0
    sys.modules["trap_settings"] = module

    def f(x: Any) -> Any:
        import trap_settings  # type: ignore[import-not-found]

        return x * trap_settings.scale

    try:
        g = t.capture(f)
        yield g(t.x)
        module.scale = 3.0
        yield g(t.x)
    finally:
        del sys.modules["trap_settings"]


@trap()
def a_function_of_a_library_is_replaced(t: Any) -> Any:
    namespace = types.SimpleNamespace(tanh=t.xp.tanh)
    f = t.capture(lambda x: namespace.tanh(x))
    yield f(t.x)
    namespace.tanh = t.xp.exp
    yield f(t.x)


@trap()
def a_function_of_numpy_is_replaced(t: Any) -> Any:
    before = np.hypot
    f = t.capture(lambda x: x * float(np.hypot(3.0, 4.0)))
    try:
        yield f(t.x)
        np.hypot = lambda a, b: 100.0  # type: ignore[assignment,misc,return-value]
        yield f(t.x)
    finally:
        np.hypot = before  # type: ignore[misc]


@trap()
def a_constant_of_a_default_of_a_helper(t: Any) -> Any:
    def helper(x: Any, k: float = 2.0) -> Any:
        return x * k

    f = t.capture(lambda x: helper(x))
    yield f(t.x)
    helper.__defaults__ = (3.0,)
    yield f(t.x)
