"""What code reads by ways of the language: stars, generators, errors, managers, made code."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import operator
import types
import typing
from typing import Any

from .trap import trap

SCALE = 2.0


def _three(t: Any, f: Any, change: Any, another: Any = None) -> Any:
    """What a captured function gives before and after changes."""
    g = t.capture(f)
    yield g(t.x)
    change()
    yield g(t.x)
    if another is not None:
        another()
        yield g(t.x)


@trap()
def a_walrus_in_a_comprehension(t: Any) -> Any:
    values = [1.0, 2.0]

    def f(x: Any) -> Any:
        total = 0.0
        parts = [total := total + v for v in values]
        return x * parts[-1] + total

    yield from _three(t, f, lambda: values.append(4.0))


@trap()
def stars_on_both_sides(t: Any) -> Any:
    values, options = [1.0, 2.0], {"c": 3.0}

    def inner(a: Any, *rest: Any, c: float = 0.0, **more: float) -> Any:
        return a * sum(rest) + c + sum(more.values())

    def f(x: Any) -> Any:
        return inner(x, *values, **options)

    yield from _three(t, f, lambda: values.append(4.0), lambda: options.update(c=1.0, d=10.0))


@trap()
def a_generator_that_is_sent_values(t: Any) -> Any:
    factor = [2.0]

    def doubling() -> Any:
        got = None
        while True:
            got = yield None if got is None else got * factor[0]

    def f(x: Any) -> Any:
        one = doubling()
        next(one)
        return one.send(x)

    def change() -> None:
        factor[0] = 3.0

    yield from _three(t, f, change)


@trap()
def an_error_as_a_way_out(t: Any) -> Any:
    class DoneError(Exception):
        pass

    limit = [2]

    def inner(x: Any) -> Any:
        for k in itertools.count():
            x = x + k
            if k >= limit[0]:
                raise DoneError(k)

    def f(x: Any) -> Any:
        try:
            inner(x)
        except DoneError as done:
            return x * done.args[0]
        return x

    def change() -> None:
        limit[0] = 4

    yield from _three(t, f, change)


@trap()
def a_group_of_errors(t: Any) -> Any:
    bad = [False]

    def f(x: Any) -> Any:
        try:
            if bad[0]:
                raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])
        except* ValueError:
            x = x * 2
        except* KeyError:
            x = x + 10
        return x

    def change() -> None:
        bad[0] = True

    yield from _three(t, f, change)


@trap()
def a_manager_that_swallows(t: Any) -> Any:
    class Swallowing:
        swallow = True

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *args: object) -> bool:
            return self.swallow

    manager = Swallowing()

    def f(x: Any) -> Any:
        with manager:
            x = x + 1
            raise ValueError("in it")
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    manager.swallow = False
    try:
        g(t.x)
    except ValueError as error:
        yield str(error)


@trap()
def a_manager_that_counts(t: Any) -> Any:
    class Counting:
        def __enter__(self) -> Any:
            self.depth = 1
            return self

        def __exit__(self, *args: object) -> None:
            self.depth = 0

    manager = Counting()

    def f(x: Any) -> Any:
        with manager:
            return x * manager.depth

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x), manager.depth


@trap()
def a_stack_of_callbacks(t: Any) -> Any:
    factor = [2.0]

    def f(x: Any) -> Any:
        found: list[Any] = []
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: found.append(x * factor[0]))
        return found[0]

    def change() -> None:
        factor[0] = 3.0

    yield from _three(t, f, change)


@trap()
def an_operator_by_its_name(t: Any) -> Any:
    names = ["add"]

    def f(x: Any) -> Any:
        return getattr(operator, names[0])(x, 3.0)

    def change() -> None:
        names[0] = "mul"

    yield from _three(t, f, change)


@trap()
def code_that_is_compiled_outside(t: Any) -> Any:
    space: dict[str, Any] = {"k": 2.0}
    exec("def by(x):\n    return x * k", space)
    by = space["by"]

    def f(x: Any) -> Any:
        return by(x)

    yield from _three(t, f, lambda: space.update(k=3.0))


@trap()
def a_function_with_other_globals(t: Any) -> Any:
    def by(x: Any) -> Any:
        return x * SCALE

    space = {"SCALE": 5.0}
    other = types.FunctionType(by.__code__, space)

    def f(x: Any) -> Any:
        return other(x)

    yield from _three(t, f, lambda: space.update(SCALE=7.0))


@trap()
def a_class_made_inside(t: Any) -> Any:
    rates = {"a": 1.0}

    def f(x: Any) -> Any:
        class Inner:
            rate = rates["a"]

            def by(self, x: Any) -> Any:
                return x * self.rate

        return Inner().by(x)

    yield from _three(t, f, lambda: rates.update(a=3.0))


@trap()
def a_type_made_by_a_call(t: Any) -> Any:
    made = type("Made", (), {"rate": 1.0})

    def f(x: Any) -> Any:
        return x * made().rate  # type: ignore[attr-defined]

    yield from _three(t, f, lambda: setattr(made, "rate", 3.0))


@trap()
def a_protocol_that_is_asked(t: Any) -> Any:
    @typing.runtime_checkable
    class Scales(typing.Protocol):
        def scaled(self) -> float: ...

    class One:
        pass

    one = One()

    def f(x: Any) -> Any:
        return x * 2 if isinstance(one, Scales) else x

    yield from _three(t, f, lambda: setattr(One, "scaled", lambda self: 1.0))


@trap()
def hints_of_types(t: Any) -> Any:
    def inner(x: int) -> int:
        return x

    def f(x: Any) -> Any:
        return x * 2 if typing.get_type_hints(inner)["x"] is int else x

    yield from _three(t, f, lambda: inner.__annotations__.update(x="float"))


@trap()
def the_defaults_that_a_signature_has(t: Any) -> Any:
    def inner(x: Any, k: float = 2.0) -> Any:
        return x * k

    def f(x: Any) -> Any:
        return inner(x) + inspect.signature(inner).parameters["k"].default

    yield from _three(t, f, lambda: setattr(inner, "__defaults__", (4.0,)))


@trap()
def the_cell_of_a_helper(t: Any) -> Any:
    def make() -> Any:
        k = 2.0

        def inner(x: Any) -> Any:
            return x * k

        return inner

    inner = make()

    def f(x: Any) -> Any:
        return inner(x)

    def change() -> None:
        inner.__closure__[0].cell_contents = 5.0

    yield from _three(t, f, change)


@trap()
def a_reversed_object(t: Any) -> Any:
    class Steps:
        values: typing.ClassVar[list[float]] = [1.0, 2.0]

        def __reversed__(self) -> Any:
            return iter(self.values[::-1])

    steps = Steps()

    def f(x: Any) -> Any:
        return x * next(reversed(steps))  # type: ignore[call-overload]

    yield from _three(t, f, lambda: Steps.values.append(5.0))


@trap()
def an_awaited_value(t: Any) -> Any:
    factor = [2.0]

    async def inner(x: Any) -> Any:
        return x * factor[0]

    def f(x: Any) -> Any:
        coroutine = inner(x)
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    def change() -> None:
        factor[0] = 3.0

    yield from _three(t, f, change)
