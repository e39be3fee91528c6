"""What a function asks libraries for: numbers of other kinds, threads, settings, streams."""

from __future__ import annotations

import asyncio
import bisect
import collections
import contextvars
import decimal
import fractions
import gc
import heapq
import io
import locale
import math
import os
import platform
import queue
import random
import re
import string
import struct
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np

from .trap import trap


@trap()
def a_decimal(t: Any) -> Any:
    k = decimal.Decimal("2.5")
    f = t.capture(lambda x: x * float(k))
    yield f(t.x)
    k = decimal.Decimal("3.5")
    yield f(t.x)


@trap()
def the_precision_of_decimals(t: Any) -> Any:
    third = decimal.Decimal(1)
    f = t.capture(lambda x: x * float(third / 3))
    with decimal.localcontext() as context:
        context.prec = 2
        yield f(t.x)
    yield f(t.x)


@trap()
def a_fraction(t: Any) -> Any:
    k = fractions.Fraction(1, 2)
    f = t.capture(lambda x: x * float(k))
    yield f(t.x)
    k += 1
    yield f(t.x)


@trap()
def a_scalar_of_numpy_in_a_list(t: Any) -> Any:
    numbers = [np.float32(2.0)]
    f = t.capture(lambda x: x * float(numbers[0]))
    yield f(t.x)
    numbers[0] = np.float32(3.0)
    yield f(t.x)


@trap()
def a_field_of_a_structured_array(t: Any) -> Any:
    table = np.zeros(1, [("k", "f4")])
    f = t.capture(lambda x: x * float(table["k"][0]))
    yield f(t.x)
    table["k"] = 4.0
    yield f(t.x)


@trap()
def a_context_variable_is_reset(t: Any) -> Any:
    k: contextvars.ContextVar[float] = contextvars.ContextVar("k", default=2.0)
    f = t.capture(lambda x: x * k.get())
    token = k.set(5.0)
    yield f(t.x)
    k.reset(token)
    yield f(t.x)


@trap()
def a_context_of_its_own(t: Any) -> Any:
    k: contextvars.ContextVar[float] = contextvars.ContextVar("k", default=2.0)
    f = t.capture(lambda x: x * k.get())
    context = contextvars.copy_context()
    context.run(k.set, 3.0)
    yield f(t.x)
    yield context.run(f, t.x)


@trap()
def a_number_of_each_thread(t: Any) -> Any:
    local = threading.local()
    local.k = 2.0
    f = t.capture(lambda x: x * getattr(local, "k", 9.0))
    yield f(t.x)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(f(t.x)))
    thread.start()
    thread.join()
    yield found[0]


@trap()
def a_lock_is_taken(t: Any) -> Any:
    lock = threading.Lock()

    def f(x: Any) -> Any:
        with lock:
            return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x), lock.locked()


@trap()
def a_queue_is_filled(t: Any) -> Any:
    waiting: queue.Queue[int] = queue.Queue()

    def f(x: Any) -> Any:
        waiting.put(1)
        return x * 2

    g = t.capture(f)
    g(t.x)
    yield g(t.x), waiting.qsize()


@trap()
def a_queue_is_emptied(t: Any) -> Any:
    waiting = collections.deque([1.0, 2.0, 3.0])
    f = t.capture(lambda x: x * waiting.popleft())
    yield f(t.x)
    yield f(t.x)


@trap()
def the_name_of_the_thread(t: Any) -> Any:
    f = t.capture(lambda x: x * len(threading.current_thread().name))
    yield f(t.x)
    before, threading.current_thread().name = threading.current_thread().name, "x"
    try:
        yield f(t.x)
    finally:
        threading.current_thread().name = before


@trap()
def a_coroutine(t: Any) -> Any:
    k = 2.0

    async def scale() -> float:
        return k

    f = t.capture(lambda x: x * asyncio.run(scale()))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def the_arguments_of_the_program(t: Any) -> Any:
    f = t.capture(lambda x: x * len(sys.argv))
    yield f(t.x)
    sys.argv.append("more")
    try:
        yield f(t.x)
    finally:
        sys.argv.pop()


@trap()
def the_limit_of_recursion(t: Any) -> Any:
    before = sys.getrecursionlimit()
    f = t.capture(lambda x: x * sys.getrecursionlimit())
    yield f(t.x)
    sys.setrecursionlimit(before + 100)
    try:
        yield f(t.x)
    finally:
        sys.setrecursionlimit(before)


@trap()
def how_often_it_is_referred_to(t: Any) -> Any:
    one: list[float] = []
    f = t.capture(lambda x: x * sys.getrefcount(one))
    yield f(t.x)
    more = [one, one, one]
    yield f(t.x), len(more)


@trap()
def the_number_of_the_process(t: Any) -> Any:
    f = t.capture(lambda x: x * (os.getpid() > 0))
    yield f(t.x)


@trap()
def an_environment_without_a_name(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if "TRAP_OF_A_NAME" in os.environ else 1.0))
    yield f(t.x)
    os.environ["TRAP_OF_A_NAME"] = "1"
    try:
        yield f(t.x)
    finally:
        del os.environ["TRAP_OF_A_NAME"]


@trap()
def a_monotonic_clock(t: Any) -> Any:
    start = time.monotonic_ns()
    f = t.capture(lambda x: x * 0 + (time.monotonic_ns() - start > 50_000_000))
    yield f(t.x)
    time.sleep(0.06)
    yield f(t.x)


@trap()
def it_sleeps(t: Any) -> Any:
    def f(x: Any) -> Any:
        time.sleep(0.03)
        return x * 2

    g = t.capture(f)
    g(t.x)
    start = time.perf_counter()
    y = g(t.x)
    yield y, time.perf_counter() - start > 0.02


@trap()
def a_sample(t: Any) -> Any:
    random.seed(1)
    f = t.capture(lambda x: x * random.sample(range(1000), 1)[0])
    yield f(t.x)
    yield f(t.x)


@trap()
def a_seed_of_python_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        random.seed(3)
        return x * 2

    g = t.capture(f)
    g(t.x)
    random.seed(9)
    g(t.x)
    yield random.random()


@trap()
def a_permutation_of_a_generator(t: Any) -> Any:
    rng = np.random.default_rng(0)
    f = t.capture(lambda x: x * float(rng.permutation(50)[0]))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_heap(t: Any) -> Any:
    heap = [3.0, 5.0, 4.0]
    f = t.capture(lambda x: x * heapq.heappop(heap))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_place_in_a_sorted_list(t: Any) -> Any:
    limits = [1.0, 2.0]
    f = t.capture(lambda x: x * bisect.bisect(limits, 1.5))
    yield f(t.x)
    limits.insert(0, 0.5)
    yield f(t.x)


@trap()
def a_pattern(t: Any) -> Any:
    pattern = re.compile("a+")
    f = t.capture(lambda x: x * len(pattern.findall("aabab")))
    yield f(t.x)
    pattern = re.compile("b")
    yield f(t.x)


@trap()
def a_template(t: Any) -> Any:
    template = string.Template("$k")
    f = t.capture(lambda x: x * float(template.substitute(k="2")))
    yield f(t.x)
    template.template = "${k}5"
    yield f(t.x)


@trap()
def a_stream_of_bytes(t: Any) -> Any:
    stream = io.BytesIO(struct.pack("3d", 1.0, 2.0, 3.0))
    f = t.capture(lambda x: x * struct.unpack("d", stream.read(8))[0])
    yield f(t.x)
    yield f(t.x)


@trap()
def a_text_stream(t: Any) -> Any:
    stream = io.StringIO("1\n2\n3\n")
    f = t.capture(lambda x: x * float(stream.readline()))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_buffer_of_memory(t: Any) -> Any:
    numbers = bytearray([1, 2])
    view = memoryview(numbers)
    f = t.capture(lambda x: x * view[0])
    yield f(t.x)
    numbers[0] = 7
    yield f(t.x)


@trap()
def a_constant_of_math_is_changed(t: Any) -> Any:
    before = math.pi
    f = t.capture(lambda x: x * math.pi)
    yield f(t.x)
    math.pi = 3.0
    try:
        yield f(t.x)
    finally:
        math.pi = before


@trap()
def a_function_of_a_library_is_replaced(t: Any) -> Any:
    before = platform.machine
    f = t.capture(lambda x: x * len(platform.machine()))
    yield f(t.x)
    platform.machine = lambda: "x"
    try:
        yield f(t.x)
    finally:
        platform.machine = before


@trap()
def whether_garbage_is_collected(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if gc.isenabled() else 1.0))
    yield f(t.x)
    gc.disable()
    try:
        yield f(t.x)
    finally:
        gc.enable()


@trap()
def the_text_of_the_stack(t: Any) -> Any:
    f = t.capture(lambda x: x * (1.0 if "outer" in traceback.format_stack()[-2] else 2.0))

    def outer() -> Any:
        return f(t.x)

    yield outer()
    yield f(t.x)


@trap()
def a_modules_table(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if "a_trap_module" in sys.modules else 1.0))
    yield f(t.x)
    sys.modules["a_trap_module"] = sys
    try:
        yield f(t.x)
    finally:
        del sys.modules["a_trap_module"]


@trap()
def the_locale(t: Any) -> Any:
    f = t.capture(lambda x: x * len(locale.localeconv()["decimal_point"]))
    yield f(t.x)


@trap()
def an_import_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        import colorsys

        return x * colorsys.ONE_THIRD

    import colorsys

    g = t.capture(f)
    yield g(t.x)
    before, colorsys.ONE_THIRD = colorsys.ONE_THIRD, 0.5
    try:
        yield g(t.x)
    finally:
        colorsys.ONE_THIRD = before


@trap()
def an_error_state_of_numpy(t: Any) -> Any:
    f = t.capture(lambda x: x * (2.0 if np.geterr()["divide"] == "ignore" else 1.0))
    with np.errstate(divide="ignore"):
        yield f(t.x)
    with np.errstate(divide="warn"):
        yield f(t.x)
