"""Containers, iterators and identities of Python that change between calls."""

from __future__ import annotations

import collections
import contextlib
import copy
import inspect
import itertools
import operator
import types
import weakref
from typing import Any

from .trap import trap


@trap()
def a_chain_of_maps(t: Any) -> Any:
    first: dict[str, float] = {}
    both = collections.ChainMap(first, {"k": 2.0})
    f = t.capture(lambda x: x * both["k"])
    yield f(t.x)
    first["k"] = 6.0
    yield f(t.x)


@trap()
def an_ordered_dict_is_moved(t: Any) -> Any:
    table = collections.OrderedDict(a=1.0, b=2.0)
    f = t.capture(lambda x: x * next(iter(table.values())))
    yield f(t.x)
    table.move_to_end("a")
    yield f(t.x)


@trap()
def a_proxy_of_a_dict(t: Any) -> Any:
    table = {"k": 2.0}
    proxy = types.MappingProxyType(table)
    f = t.capture(lambda x: x * proxy["k"])
    yield f(t.x)
    table["k"] = 3.0
    yield f(t.x)


@trap()
def what_a_context_manager_leaves(t: Any) -> Any:
    state = {"k": 1.0}

    @contextlib.contextmanager
    def scaled(k: float) -> Any:
        before, state["k"] = state["k"], k
        try:
            yield
        finally:
            state["k"] = before

    f = t.capture(lambda x: x * state["k"])
    with scaled(3.0):
        yield f(t.x)
    yield f(t.x)


@trap()
def an_exit_stack_inside(t: Any) -> Any:
    log: list[int] = []

    def f(x: Any) -> Any:
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, 1)
            return x * 2

    g = t.capture(f)
    g(t.x)
    yield g(t.x), len(log)


@trap()
def a_finally_counts(t: Any) -> Any:
    count = [0]

    def f(x: Any) -> Any:
        try:
            return x + 1
        finally:
            count[0] += 1

    g = t.capture(f)
    g(t.x)
    yield g(t.x), count[0]


@trap()
def a_set_of_weak_references(t: Any) -> Any:
    class One:
        pass

    objects = [One(), One()]
    alive = weakref.WeakSet(objects)
    f = t.capture(lambda x: x * len(alive))
    yield f(t.x)
    objects.pop()
    yield f(t.x)


@trap()
def a_repeating_iterator(t: Any) -> Any:
    turns = itertools.cycle([1.0, 2.0])
    f = t.capture(lambda x: x * next(turns))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_counting_default(t: Any) -> Any:
    def f(x: Any, seen: Any = itertools.count(1)) -> Any:  # noqa: B008
        return x * next(seen)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def an_item_getter_of_a_list(t: Any) -> Any:
    numbers = [1.0, 2.0]
    second = operator.itemgetter(1)
    f = t.capture(lambda x: x * second(numbers))
    yield f(t.x)
    numbers.insert(0, 5.0)
    yield f(t.x)


@trap()
def a_method_caller(t: Any) -> Any:
    class One:
        def scale(self) -> float:
            return 2.0

    one = One()
    call = operator.methodcaller("scale")
    f = t.capture(lambda x: x * call(one))
    yield f(t.x)
    One.scale = lambda self: 7.0
    yield f(t.x)


@trap()
def a_copy_of_a_list_is_read(t: Any) -> Any:
    numbers = [1.0, 2.0]
    f = t.capture(lambda x: x * sum(copy.copy(numbers)))
    yield f(t.x)
    numbers[0] = 5.0
    yield f(t.x)


@trap()
def a_type_of_a_list_changes(t: Any) -> Any:
    numbers: Any = [1, 2]
    f = t.capture(lambda x: x * (numbers[0] if isinstance(numbers, list) else 9))
    yield f(t.x)
    numbers = (1, 2)
    yield f(t.x)


@trap()
def the_signature_is_inspected(t: Any) -> Any:
    def two(a: float, b: float = 2.0) -> None:
        pass

    helper: Any = two
    f = t.capture(lambda x: x * len(inspect.signature(helper).parameters))
    yield f(t.x)

    helper = lambda a: None  # noqa: E731
    yield f(t.x)


@trap()
def globals_are_written(t: Any) -> Any:
    globals()["_scale"] = 2.0
    f = t.capture(lambda x: x * globals()["_scale"])
    yield f(t.x)
    globals()["_scale"] = 3.0
    yield f(t.x)


@trap()
def an_attribute_of_the_function(t: Any) -> Any:
    def f(x: Any) -> Any:
        return x * f.scale

    f.scale = 2.0
    g = t.capture(f)
    yield g(t.x)
    f.scale = 5.0
    yield g(t.x)


@trap()
def the_identity_of_an_object(t: Any) -> Any:
    one, two = [1.0], [1.0]
    held = one
    f = t.capture(lambda x: x * (2.0 if held is one else 3.0))
    yield f(t.x)
    held = two
    yield f(t.x)


@trap()
def the_number_of_an_object(t: Any) -> Any:
    one, two = [1.0], [1.0]
    held = one
    f = t.capture(lambda x: x * (2.0 if id(held) == id(one) else 3.0))
    yield f(t.x)
    held = two
    yield f(t.x)


@trap()
def equality_that_lies(t: Any) -> Any:
    class Equal:
        def __init__(self, k: float) -> None:
            self.k = k

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    held = Equal(2.0)
    f = t.capture(lambda x: x * held.k)
    yield f(t.x)
    held = Equal(4.0)
    yield f(t.x)


@trap()
def an_exception_is_kept(t: Any) -> Any:
    errors: list[str] = []

    def f(x: Any) -> Any:
        try:
            raise ValueError("kept")
        except ValueError as error:
            errors.append(str(error))
        return x * 2

    g = t.capture(f)
    g(t.x)
    yield g(t.x), len(errors)


@trap()
def numbers_are_pairwise(t: Any) -> Any:
    numbers = [1.0, 2.0, 4.0]
    f = t.capture(lambda x: x * sum(b - a for a, b in itertools.pairwise(numbers)))
    yield f(t.x)
    numbers.append(10.0)
    yield f(t.x)
