"""What functions and classes say of themselves, and subclasses of what libraries have."""

from __future__ import annotations

import contextlib
import functools
import operator
import types
import weakref
from typing import Any

import numpy as np

from .trap import trap


@trap()
def annotations_are_read(t: Any) -> Any:
    def one(a: 2.0) -> None: ...  # type: ignore[valid-type]

    one.__annotations__["a"] = 2.0
    f = t.capture(lambda x: x * one.__annotations__["a"])
    yield f(t.x)
    one.__annotations__["a"] = 3.0
    yield f(t.x)


@trap()
def a_documentation_is_read(t: Any) -> Any:
    def one() -> None:
        """ab"""

    f = t.capture(lambda x: x * len(one.__doc__ or ""))
    yield f(t.x)
    one.__doc__ = "abcd"
    yield f(t.x)


@trap()
def the_name_of_a_function(t: Any) -> Any:
    def one() -> None: ...

    f = t.capture(lambda x: x * len(one.__name__))
    yield f(t.x)
    one.__name__ = "another"
    yield f(t.x)


@trap()
def the_name_of_a_class(t: Any) -> Any:
    class Own: ...

    f = t.capture(lambda x: x * len(Own.__name__))
    yield f(t.x)
    Own.__name__ = "Another"
    yield f(t.x)


@trap()
def the_documentation_of_a_class(t: Any) -> Any:
    class Own:
        """ab"""

    f = t.capture(lambda x: x * len(Own.__doc__ or ""))
    yield f(t.x)
    Own.__doc__ = "abcd"
    yield f(t.x)


@trap()
def the_subclasses_of_a_class(t: Any) -> Any:
    class Base: ...

    f = t.capture(lambda x: x * (1 + len(Base.__subclasses__())))
    yield f(t.x)

    class Own(Base): ...

    yield f(t.x), Own.__name__


@trap()
def an_error_has_notes(t: Any) -> Any:
    error = ValueError(2.0)
    f = t.capture(lambda x: x * error.args[0])
    yield f(t.x)
    error.args = (3.0,)
    yield f(t.x)


@trap()
def a_property_is_replaced(t: Any) -> Any:
    class Own:
        k = property(lambda self: 2.0)

    one = Own()
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    Own.k = property(lambda self: 3.0)
    yield f(t.x)


@trap()
def a_slot_of_a_base_without_one(t: Any) -> Any:
    class Base:
        __slots__ = ("k",)

    class Own(Base):
        __slots__ = ()

    one: Any = Own()
    one.k = 2.0
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_private_slot(t: Any) -> Any:
    class Own:
        __slots__ = ("__k",)

        def put(self, k: float) -> None:
            self.__k = k

        def get(self) -> float:
            return self.__k

    one = Own()
    one.put(2.0)
    f = t.capture(lambda x: x * one.get())
    yield f(t.x)
    one.put(3.0)
    yield f(t.x)


@trap()
def an_int_with_attributes(t: Any) -> Any:
    class Own(int):
        k = 2.0

    one = Own(3)
    f = t.capture(lambda x: x * one.k * int(one))
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_text_with_attributes(t: Any) -> Any:
    class Own(str):
        k = 2.0

    one = Own("a")
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_tuple_with_attributes(t: Any) -> Any:
    class Own(tuple[float, ...]):
        k = 2.0

    one = Own((1.0, 2.0))
    f = t.capture(lambda x: x * one.k * one[0])
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_list_with_an_own_getter(t: Any) -> Any:
    class Own(list[float]):
        def __getitem__(self, i: Any) -> Any:
            return k

    k, one = 2.0, Own([1.0])
    f = t.capture(lambda x: x * one[0])
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_set_with_attributes(t: Any) -> Any:
    class Own(set[float]):
        k = 2.0

    one = Own([1.0])
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_bytearray(t: Any) -> Any:
    class Own(bytearray):
        k = 2.0

    one = Own(b"a")
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_partial(t: Any) -> Any:
    class Own(functools.partial[float]):
        k = 2.0

    one = Own(operator.mul, 2.0)
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_weak_references(t: Any) -> Any:
    class Own(weakref.ref[Any]):
        k = 2.0

    class One: ...

    target = One()
    one = Own(target)
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_modules(t: Any) -> Any:
    class Own(types.ModuleType):
        @property
        def k(self) -> float:
            return number

    number, one = 2.0, Own("own")
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    number = 3.0
    yield f(t.x)


@trap()
def a_module_with_a_getter(t: Any) -> Any:
    one: Any = types.ModuleType("own")
    number = 2.0
    one.__getattr__ = lambda name: number
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    number = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_generators_of_numbers(t: Any) -> Any:
    class Own(np.random.Generator):
        k = 2.0

    one = Own(np.random.PCG64(1))
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_wrapped_function_has_attributes(t: Any) -> Any:
    def inner() -> float:
        return 2.0

    @functools.wraps(inner)
    def outer() -> float:
        return float(outer.__wrapped__())  # type: ignore[attr-defined]

    f = t.capture(lambda x: x * outer())
    yield f(t.x)
    outer.__wrapped__ = lambda: 3.0  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_stack_of_contexts(t: Any) -> Any:

    found: list[float] = []
    stack = contextlib.ExitStack()

    def f(x: Any) -> Any:
        stack.callback(found.append, 1.0)
        return x * 2

    g = t.capture(f)
    g(t.x)
    g(t.x)
    stack.close()
    yield len(found)


@trap()
def a_finalizer(t: Any) -> Any:
    class Own: ...

    found: list[float] = []

    def f(x: Any) -> Any:
        one = Own()
        weakref.finalize(one, found.append, 1.0)
        return x * 2

    g = t.capture(f)
    g(t.x)
    g(t.x)
    yield len(found)


@trap()
def an_object_that_ends(t: Any) -> Any:
    found: list[float] = []

    class Own:
        def __del__(self) -> None:
            found.append(1.0)

    def f(x: Any) -> Any:
        one = Own()
        del one
        return x * 2

    g = t.capture(f)
    g(t.x)
    g(t.x)
    yield len(found)
