"""What the interpreter and its libraries keep in tables: modules, registers, generators."""

from __future__ import annotations

import abc
import codecs
import contextlib
import contextvars
import copyreg
import fnmatch
import gc
import json
import random
import signal
import sys
import sysconfig
import time
import types
from typing import Any

import numpy as np

from .trap import trap


@trap()
def the_path_of_imports(t: Any) -> Any:
    f = t.capture(lambda x: x * len(sys.path))
    yield f(t.x)
    sys.path.append("/a/trap")
    try:
        yield f(t.x)
    finally:
        sys.path.pop()


@trap()
def a_flag_of_the_interpreter(t: Any) -> Any:
    f = t.capture(lambda x: x * (sys.flags.optimize + 2))
    yield f(t.x)
    yield f(t.x)


@trap()
def how_long_ints_may_be(t: Any) -> Any:
    f = t.capture(lambda x: x * sys.get_int_max_str_digits())
    before = sys.get_int_max_str_digits()
    yield f(t.x)
    sys.set_int_max_str_digits(before + 100)
    try:
        yield f(t.x)
    finally:
        sys.set_int_max_str_digits(before)


@trap()
def whether_someone_traces(t: Any) -> Any:
    f = t.capture(lambda x: x * (1.0 if sys.gettrace() is None else 2.0))
    yield f(t.x)
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        y = f(t.x)
    finally:
        sys.settrace(before)
    yield y


@trap()
def a_stream_is_replaced(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if sys.stdout is before else 1.0))
    before = sys.stdout
    yield f(t.x)
    with contextlib.redirect_stdout(None):
        y = f(t.x)
    yield y


@trap()
def a_hook_of_errors(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if sys.excepthook is sys.__excepthook__ else 1.0))
    before = sys.excepthook
    sys.excepthook = sys.__excepthook__
    yield f(t.x)
    sys.excepthook = lambda *_: None
    try:
        yield f(t.x)
    finally:
        sys.excepthook = before


@trap()
def a_handler_of_a_signal(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if signal.getsignal(signal.SIGUSR1) is None else 1.0))
    yield f(t.x)
    yield f(t.x)


@trap()
def the_limit_of_garbage(t: Any) -> Any:
    f = t.capture(lambda x: x * gc.get_threshold()[0])
    before = gc.get_threshold()
    yield f(t.x)
    gc.set_threshold(before[0] + 1, *before[1:])
    try:
        yield f(t.x)
    finally:
        gc.set_threshold(*before)


@trap()
def what_a_thread_reads_of_modules(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if sys.modules.get("a_trap_of_get") else 1.0))
    yield f(t.x)
    sys.modules["a_trap_of_get"] = types.ModuleType("a_trap_of_get")
    try:
        yield f(t.x)
    finally:
        del sys.modules["a_trap_of_get"]


@trap()
def how_many_modules_there_are(t: Any) -> Any:
    import sys as system

    f = t.capture(lambda x: x * len([one for one in system.modules if one.startswith("a_trap")]))
    yield f(t.x)
    sys.modules["a_trap_of_many"] = types.ModuleType("a_trap_of_many")
    try:
        yield f(t.x)
    finally:
        del sys.modules["a_trap_of_many"]


@trap()
def an_attribute_of_a_module_by_the_table(t: Any) -> Any:
    found: Any = types.ModuleType("a_trap_of_attributes")
    found.k = 2.0
    sys.modules["a_trap_of_attributes"] = found
    f = t.capture(lambda x: x * sys.modules["a_trap_of_attributes"].k)
    try:
        yield f(t.x)
        found.k = 3.0
        yield f(t.x)
    finally:
        del sys.modules["a_trap_of_attributes"]


@trap()
def an_import_of_what_was_replaced(t: Any) -> Any:
    one: Any = types.ModuleType("a_trap_of_imports")
    one.k = 2.0
    sys.modules["a_trap_of_imports"] = one

    def f(x: Any) -> Any:
        import a_trap_of_imports  # type: ignore[import-not-found]

        return x * a_trap_of_imports.k

    g = t.capture(f)
    try:
        yield g(t.x)
        other: Any = types.ModuleType("a_trap_of_imports")
        other.k = 3.0
        sys.modules["a_trap_of_imports"] = other
        yield g(t.x)
    finally:
        del sys.modules["a_trap_of_imports"]


@trap()
def an_import_that_fails_at_first(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            import a_trap_that_fails  # type: ignore[import-not-found]
        except ImportError:
            return x
        return x * a_trap_that_fails.k

    g = t.capture(f)
    yield g(t.x)
    one: Any = types.ModuleType("a_trap_that_fails")
    one.k = 2.0
    sys.modules["a_trap_that_fails"] = one
    try:
        yield g(t.x)
    finally:
        del sys.modules["a_trap_that_fails"]


@trap()
def an_abstract_class_registers(t: Any) -> Any:
    class Number(abc.ABC): ...  # noqa: B024

    class Own: ...

    one = Own()
    f = t.capture(lambda x: x * (2.0 if isinstance(one, Number) else 1.0))
    yield f(t.x)
    Number.register(Own)
    yield f(t.x)


@trap()
def an_abstract_class_of_a_library_registers(t: Any) -> Any:
    import numbers

    class Own: ...

    one = Own()
    f = t.capture(lambda x: x * (2.0 if isinstance(one, numbers.Number) else 1.0))
    yield f(t.x)
    numbers.Number.register(Own)
    yield f(t.x)


@trap()
def how_objects_are_copied(t: Any) -> Any:
    import copy

    class Own:
        k = 2.0

    def made(one: Any) -> Any:
        return Own2, ()

    class Own2:
        k = 3.0

    one = Own()
    f = t.capture(lambda x: x * copy.copy(one).k)
    yield f(t.x)
    copyreg.pickle(Own, made)
    try:
        yield f(t.x)
    finally:
        copyreg.dispatch_table.pop(Own)


@trap()
def a_handler_of_errors_in_texts(t: Any) -> Any:
    codecs.register_error("a_trap", lambda error: ("ab", error.end))
    f = t.capture(lambda x: x * len("ä".encode("ascii", "a_trap")))
    yield f(t.x)
    codecs.register_error("a_trap", lambda error: ("abcd", error.end))
    yield f(t.x)


@trap()
def a_context_copied(t: Any) -> Any:
    k: contextvars.ContextVar[float] = contextvars.ContextVar("k", default=2.0)
    context = contextvars.copy_context()
    f = t.capture(lambda x: x * context.get(k, 1.0))
    yield f(t.x)
    context.run(k.set, 5.0)
    yield f(t.x)


@trap()
def a_seed_in_a_helper_of_a_library(t: Any) -> Any:
    rng = random.Random(1)
    f = t.capture(lambda x: x * rng.choices([1.0, 2.0, 3.0], k=1)[0])
    yield f(t.x)
    yield f(t.x)


@trap()
def a_spawned_generator(t: Any) -> Any:
    seeds = np.random.SeedSequence(5)
    f = t.capture(lambda x: x * float(np.random.default_rng(seeds.spawn(1)[0]).normal()))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_bit_generator(t: Any) -> Any:
    bits = np.random.PCG64(1)
    f = t.capture(lambda x: x * float(np.random.Generator(bits).normal()))
    yield f(t.x)
    yield f(t.x)


@trap()
def raw_bits(t: Any) -> Any:
    bits = np.random.PCG64(1)
    f = t.capture(lambda x: x * float(bits.random_raw() % 1000))
    yield f(t.x)
    yield f(t.x)


@trap()
def the_state_of_a_generator_is_read(t: Any) -> Any:
    rng = np.random.default_rng(1)
    f = t.capture(lambda x: x * float(rng.bit_generator.state["state"]["state"] % 97))
    yield f(t.x)
    rng.normal()
    yield f(t.x)


@trap()
def a_configuration_of_the_build(t: Any) -> Any:
    f = t.capture(lambda x: x * len(sysconfig.get_config_var("A_TRAP") or "a"))
    yield f(t.x)
    sysconfig.get_config_vars()["A_TRAP"] = "abc"
    try:
        yield f(t.x)
    finally:
        sysconfig.get_config_vars().pop("A_TRAP")


@trap()
def a_cache_of_a_library(t: Any) -> Any:
    f = t.capture(lambda x: x * fnmatch.fnmatch("aab", "a*b"))
    yield f(t.x)
    yield f(t.x)


@trap()
def an_encoder_of_json(t: Any) -> Any:
    encoder = json.JSONEncoder(indent=None)
    f = t.capture(lambda x: x * len(encoder.encode([1, 2])))
    yield f(t.x)
    encoder.indent = 4
    yield f(t.x)


@trap()
def what_the_collector_calls(t: Any) -> Any:
    seen: list[float] = []

    def clock(phase: str, info: dict[str, int]) -> None:
        seen.append(time.perf_counter())

    def f(x: Any) -> Any:
        gc.collect()
        return x * 2

    g = t.capture(f)
    gc.callbacks.append(clock)
    try:
        yield g(t.x), g(t.x)
    finally:
        gc.callbacks.remove(clock)
