"""What a function does beside computing its value."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import io
import logging
import sys
import types
import warnings
from typing import Any

import numpy as np

from .trap import trap

COUNT = 0
CONTEXT: Any = contextvars.ContextVar("context", default=2.0)


@trap()
def a_list_grows(t: Any) -> Any:
    seen: list[int] = []

    def f(x: Any) -> Any:
        seen.append(1)
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield len(seen)


@trap()
def a_list_collects_values(t: Any) -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 2
        seen.append(y)
        return y

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield seen


@trap()
def a_list_grows_by_an_operator(t: Any) -> Any:
    seen: list[int] = []

    def f(x: Any) -> Any:
        nonlocal seen
        seen += [1]
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield len(seen)


@trap()
def a_counter_of_a_global(t: Any) -> Any:
    globals()["COUNT"] = 0

    def f(x: Any) -> Any:
        global COUNT  # noqa: PLW0603
        COUNT += 1
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield COUNT


@trap()
def a_counter_closed_over(t: Any) -> Any:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield count


@trap()
def a_counter_of_an_object(t: Any) -> Any:
    class Model:
        def __init__(self) -> None:
            self.count = 0

        def apply(self, x: Any) -> Any:
            self.count += 1
            return x * self.count

    model = Model()
    f = t.capture(model.apply)
    yield f(t.x)
    yield f(t.x)
    yield model.count


@trap()
def a_counter_of_a_class(t: Any) -> Any:
    class Model:
        count = 0

        def apply(self, x: Any) -> Any:
            Model.count += 1
            return x * 2

    model = Model()
    f = t.capture(model.apply)
    yield f(t.x)
    yield f(t.x)
    yield Model.count


@trap()
def an_attribute_keeps_a_value(t: Any) -> Any:
    class Model:
        last: Any = None

        def apply(self, x: Any) -> Any:
            self.last = x * 2
            return self.last + 1

    model = Model()
    f = t.capture(model.apply)
    yield f(t.x)
    yield model.last


@trap()
def an_attribute_is_set_by_name(t: Any) -> Any:
    one = types.SimpleNamespace(n=0)

    def f(x: Any) -> Any:
        setattr(one, "n", one.n + 1)  # noqa: B010
        return x

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield one.n


@trap()
def a_key_of_a_dict(t: Any) -> Any:
    seen: dict[str, int] = {}

    def f(x: Any) -> Any:
        seen["n"] = seen.get("n", 0) + 1
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield seen["n"]


@trap()
def a_dict_as_a_cache(t: Any) -> Any:
    cache: dict[str, Any] = {}

    def f(x: Any) -> Any:
        if "y" not in cache:
            cache["y"] = x * 2
        return cache["y"] + x

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x * 10)


@trap()
def a_set_and_a_deque(t: Any) -> Any:
    seen, last = {0}, collections.deque([1.0], maxlen=2)

    def f(x: Any) -> Any:
        seen.add(len(seen))
        last.append(2.0)
        return x * last[0]

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield len(seen)


@trap()
def a_counter_of_collections(t: Any) -> Any:
    seen: Any = collections.Counter()

    def f(x: Any) -> Any:
        seen["calls"] += 1
        return x

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield seen["calls"]


@trap()
def a_counter_in_a_helper(t: Any) -> Any:
    calls = [0]

    def helper(x: Any) -> Any:
        calls[0] += 1
        return x * 2

    f = t.capture(lambda x: helper(helper(x)))
    yield f(t.x)
    yield f(t.x)
    yield calls[0]


@trap()
def print_(t: Any) -> Any:
    def f(x: Any) -> Any:
        print("called")
        return x * 2

    g, out = t.capture(f), io.StringIO()
    with contextlib.redirect_stdout(out):
        yield g(t.x)
        yield g(t.x)
    yield out.getvalue()


@trap()
def print_of_a_value(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.sum()
        print("sum", y.shape, bool(y.ndim))
        return y

    g, out = t.capture(f), io.StringIO()
    with contextlib.redirect_stdout(out):
        yield g(t.x)
        yield g(t.x)
    yield out.getvalue()


@trap()
def a_write_to_a_stream(t: Any) -> Any:
    out = io.StringIO()

    def f(x: Any) -> Any:
        out.write("called")
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield out.getvalue()


@trap()
def standard_error(t: Any) -> Any:
    def f(x: Any) -> Any:
        sys.stderr.write("called")
        return x * 2

    g, out = t.capture(f), io.StringIO()
    with contextlib.redirect_stderr(out):
        yield g(t.x)
        yield g(t.x)
    yield out.getvalue()


@trap()
def logging_(t: Any) -> Any:
    out = io.StringIO()
    log = logging.getLogger("trap")
    handler = logging.StreamHandler(out)
    log.addHandler(handler)

    def f(x: Any) -> Any:
        log.warning("called")
        return x * 2

    try:
        g = t.capture(f)
        yield g(t.x)
        yield g(t.x)
        yield out.getvalue()
    finally:
        log.removeHandler(handler)


@trap()
def warnings_(t: Any) -> Any:
    def f(x: Any) -> Any:
        warnings.warn("called", stacklevel=2)
        return x * 2

    g = t.capture(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield g(t.x)
        yield g(t.x)
        yield sum("called" in str(one.message) for one in seen)


@trap()
def a_context_variable(t: Any) -> Any:
    token = CONTEXT.set(2.0)
    try:
        f = t.capture(lambda x: x * CONTEXT.get())
        yield f(t.x)
        CONTEXT.set(3.0)
        yield f(t.x)
    finally:
        CONTEXT.reset(token)


@trap("arrays")
def an_array_is_changed(t: Any) -> Any:
    seen = np.zeros(3, "float32")

    def f(x: Any) -> Any:
        seen[0] += 1
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield seen


@trap()
def a_name_is_deleted(t: Any) -> Any:
    seen = {"a": 1, "b": 2}

    def f(x: Any) -> Any:
        seen.popitem()
        return x * len(seen)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def an_effect_that_is_swallowed(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            print("called")
        except Exception:
            return x * 100
        return x * 2

    g, out = t.capture(f), io.StringIO()
    with contextlib.redirect_stdout(out):
        yield g(t.x)
        yield g(t.x)
    yield out.getvalue()


@trap()
def an_effect_in_a_branch_not_taken(t: Any) -> Any:
    verbose = False

    def f(x: Any) -> Any:
        if verbose:
            print("called")
        return x * 2

    f = t.capture(f)
    yield f(t.x)
