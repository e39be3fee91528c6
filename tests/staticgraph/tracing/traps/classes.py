"""Classes change between calls, and what objects have of them."""

from __future__ import annotations

from typing import Any

from .trap import trap


@trap()
def of_a_class(t: Any) -> Any:
    class Settings:
        k = 2.0

    f = t.capture(lambda x: x * Settings.k)
    yield f(t.x)
    Settings.k = 3.0
    yield f(t.x)


@trap()
def of_the_class_of_an_object(t: Any) -> Any:
    class Settings:
        k = 2.0

    one = Settings()
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    Settings.k = 3.0
    yield f(t.x)
    one.k = 4.0
    yield f(t.x)
    del one.k
    yield f(t.x)


@trap()
def of_a_base_class(t: Any) -> Any:
    class Base:
        k = 2.0

    class Derived(Base):
        pass

    f = t.capture(lambda x: x * Derived.k)
    yield f(t.x)
    Base.k = 3.0
    yield f(t.x)
    Derived.k = 4.0
    yield f(t.x)


@trap()
def a_method_of_a_class_is_replaced(t: Any) -> Any:
    class Model:
        def apply(self, x: Any) -> Any:
            return x

    model = Model()
    f = t.capture(lambda x: model.apply(x))
    yield f(t.x)
    Model.apply = lambda self, x: -x  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def the_class_of_an_object(t: Any) -> Any:
    class Plus:
        def apply(self, x: Any) -> Any:
            return x + 1

    class Minus:
        def apply(self, x: Any) -> Any:
            return x - 1

    one: Any = Plus()
    f = t.capture(lambda x: one.apply(x))
    yield f(t.x)
    one.__class__ = Minus
    yield f(t.x)


@trap()
def of_super(t: Any) -> Any:
    class Base:
        k = 2.0

        def apply(self, x: Any) -> Any:
            return x * self.k

    class Derived(Base):
        def apply(self, x: Any) -> Any:
            return super().apply(x) + 1

    one = Derived()
    f = t.capture(one.apply)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)
    Base.apply = lambda self, x: x  # type: ignore[method-assign]
    yield f(t.x)
