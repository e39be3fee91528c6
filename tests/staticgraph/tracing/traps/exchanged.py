"""What classes get, or have exchanged, after a function was captured."""

from __future__ import annotations

import contextvars
import enum
import threading
import weakref
from typing import Any

from .trap import trap

DEFAULT = ["A"]


@trap()
def a_local_of_a_thread_in_a_class(t: Any) -> Any:
    class Local(threading.local):
        rate = 2.0

        def __init__(self) -> None:
            self.k = 1.0

    local = Local()
    f = t.capture(lambda x: x * local.rate * local.k)
    yield f(t.x)
    local.k = 3.0
    yield f(t.x)
    Local.rate = 5.0
    yield f(t.x)
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(f(t.x)))
    other.start()
    other.join()
    yield found[0]


@trap()
def a_bool_of_an_object(t: Any) -> Any:
    class Maybe:
        def __init__(self) -> None:
            self.items: list[float] = []

        def __len__(self) -> int:
            return len(self.items)

    maybe = Maybe()
    f = t.capture(lambda x: x * 5 if maybe else x)
    yield f(t.x)
    maybe.items.append(1.0)
    yield f(t.x)
    Maybe.__bool__ = lambda self: False  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_container_of_ones_own_contains(t: Any) -> Any:
    class Even:
        limit = 10

        def __contains__(self, k: int) -> bool:
            return k % 2 == 0 and k < self.limit

    even = Even()
    f = t.capture(lambda x: x * 5 if 4 in even else x)
    yield f(t.x)
    even.limit = 2
    yield f(t.x)


@trap()
def an_enum_with_missing(t: Any) -> Any:
    class Kind(enum.Enum):
        A = 1
        B = 2

        @classmethod
        def _missing_(cls, value: object) -> Any:
            return cls[DEFAULT[0]]

    f = t.capture(lambda x: x * Kind(7).value)
    yield f(t.x)
    DEFAULT[0] = "B"
    try:
        yield f(t.x)
    finally:
        DEFAULT[0] = "A"


@trap()
def an_equality_of_a_class_is_exchanged(t: Any) -> Any:
    class Key:
        def __init__(self, k: int) -> None:
            self.k = k

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.k == other.k

        def __hash__(self) -> int:
            return 1

        def __repr__(self) -> str:
            return f"Key({self.k})"

    one, other = Key(1), Key(2)
    f = t.capture(lambda x: x * 5 if one == other else x)
    yield f(t.x)
    Key.__eq__ = lambda self, other: True  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_text_of_a_class_is_exchanged(t: Any) -> Any:
    class Name:
        def __repr__(self) -> str:
            return "a"

    name, rates = Name(), {"a": 2.0, "b": 3.0}
    f = t.capture(lambda x: x * rates[f"{name!r}"])
    yield f(t.x)
    Name.__repr__ = lambda self: "b"  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_hash_of_a_class_is_exchanged(t: Any) -> Any:
    class Key:
        def __hash__(self) -> int:
            return 1

    key = Key()
    f = t.capture(lambda x: x * hash(key))
    yield f(t.x)
    Key.__hash__ = lambda self: 7  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def how_attributes_are_set_is_exchanged(t: Any) -> Any:
    class Config:
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

    def f(x: Any) -> Any:
        config = Config()
        config.rate = 2.0
        return x * config.rate

    g = t.capture(f)
    yield g(t.x)
    Config.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 3)  # type: ignore[method-assign,assignment]
    yield g(t.x)


@trap()
def a_class_learns_to_answer_for_all(t: Any) -> Any:
    class Config:
        rate = 2.0

    config: Any = Config()
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)

    def answered(self: Any, name: str) -> Any:
        return 7.0 if name == "rate" else object.__getattribute__(self, name)

    Config.__getattribute__ = answered  # type: ignore[method-assign,assignment]
    yield f(t.x)


@trap()
def a_class_gets_a_descriptor_over_an_attribute(t: Any) -> Any:
    class Config:
        def __init__(self) -> None:
            self.rate = 2.0

    config = Config()
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)
    Config.rate = property(lambda self: 5.0)  # type: ignore[assignment,misc]
    yield f(t.x)


@trap()
def a_descriptor_learns_to_be_one_of_data(t: Any) -> Any:
    class Field:
        def __get__(self, one: Any, owner: Any = None) -> float:
            return 5.0

    class Config:
        rate = Field()

    config = Config()
    vars(config)["rate"] = 2.0
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)
    Field.__set__ = lambda self, one, value: None  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def an_operator_appears(t: Any) -> Any:
    class Scale:
        k = 2.0

        def __rmul__(self, x: Any) -> Any:
            return x * self.k

        __array_ufunc__ = None

    class Other(Scale):
        pass

    one = Other()
    f = t.capture(lambda x: 3.0 * one * x)
    yield f(t.x)
    Other.__rmul__ = lambda self, x: x * 7  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_context_variable_set_in_another_context(t: Any) -> Any:
    rate: Any = contextvars.ContextVar("rate", default=2.0)
    f = t.capture(lambda x: x * rate.get())
    yield f(t.x)
    other = contextvars.copy_context()
    other.run(rate.set, 7.0)
    yield other.run(f, t.x)
    yield f(t.x)


@trap()
def a_callback_of_a_weak_reference(t: Any) -> Any:
    class Config:
        rate = 2.0

    config: Any = Config()
    died: list[float] = []
    reference = weakref.ref(config, lambda _: died.append(1.0))
    f = t.capture(lambda x: x * (reference().rate if reference() else 9.0) + len(died))
    yield f(t.x)
    del config
    yield f(t.x)


@trap()
def traced_values_are_sorted(t: Any) -> Any:
    f = t.capture(lambda x: x * sorted([x[0], x[1], x[2]])[0])
    yield f(t.x)
    yield f(-t.x)
    yield f(t.x * 0)


@trap()
def the_largest_traced_value_by_a_key(t: Any) -> Any:
    f = t.capture(lambda x: max([x[0], x[1], x[2]], key=lambda k: -k) * x)
    yield f(t.x)
    yield f(-t.x)
