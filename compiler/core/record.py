"""Records: classes of a few fields, like frozen dataclasses, of which an import makes hundreds.

A frozen dataclass that compares takes 0.36 ms, for six functions are generated and compiled. A
record shares five of them with all others, and its `__init__` is generated when the first instance
is made, which no process does of all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

Kind = TypeVar("Kind", bound="Record")
T = TypeVar("T")


class _Supplied:
    """The default of a parameter that a factory makes anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_SUPPLIED = _Supplied()


class Record:
    """What is equal to another of its class with equal positional fields, and prints them.

    A checker of types refuses to set a field; nothing does at run time.
    """

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def _fields(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Record) or self.__class__ is not other.__class__:
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.__class__, *self._fields()))

    def __getstate__(self) -> object:
        return object.__getstate__(self)  # written out, so that pickle's protocols 0 and 1 use it

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(map(repr, self._fields()))})"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(made: type[Kind]) -> type[Kind]:
    """The record of the fields that a class lists; those by keyword are not compared or printed."""
    return _with_slots(made, {}, is_frozen=False)


@overload
def frozen(made: type[T], /) -> type[T]: ...


@overload
def frozen(*, eq: bool = ..., weakref_slot: bool = ...) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(made: type | None = None, /, *, eq: bool = True, weakref_slot: bool = False) -> object:
    """What `dataclass(frozen=True, slots=True)` makes of a class, which nothing can change."""
    if made is None:
        return lambda one: _frozen_class(one, eq, weakref_slot)
    return _frozen_class(made, eq, weakref_slot)


def _frozen_class(made: type, eq: bool, weakref_slot: bool) -> Any:
    """The class of which `frozen` is the decorator."""
    shared = _OF_FROZEN | _COMPARED if eq else _OF_FROZEN
    return _with_slots(made, shared, is_frozen=True, weakref_slot=weakref_slot)


@overload
def mutable(made: type[T], /) -> type[T]: ...


@overload
def mutable(*, eq: bool = ..., repr: bool = ...) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(field,))
def mutable(made: type | None = None, /, *, eq: bool = True, repr: bool = True) -> object:
    """What `dataclass(slots=True)` makes of a class: its fields can be set."""
    if made is None:
        return lambda one: _mutable_class(one, eq, repr)
    return _mutable_class(made, eq, repr)


def _mutable_class(made: type, eq: bool, repr: bool) -> Any:
    """The class of which `mutable` is the decorator."""
    shared = dict(_SHOWN) if repr else {}
    if eq:
        shared |= _COMPARED | {"__hash__": None}
    return _with_slots(made, shared, is_frozen=False)


class _Shared:
    """The methods that a dataclass has generated, for all classes."""

    __fields__: tuple[Field[Any], ...]
    __compared__: Callable[[object], object]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = self.__compared__
        return bool(values(self) == values(other))

    def __hash__(self) -> int:
        return hash(self.__compared__(self))

    def __repr__(self) -> str:
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in self.__fields__ if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[Any]:
        return [getattr(self, one.name) for one in self.__fields__]

    def __setstate__(self, state: list[Any]) -> None:
        for one, value in zip(self.__fields__, state, strict=True):
            object.__setattr__(self, one.name, value)


def _shared(*names: str) -> dict[str, Any]:
    return {name: vars(_Shared)[name] for name in names}


_COMPARED = _shared("__eq__", "__hash__")
_SHOWN = _shared("__repr__")
_OF_FROZEN = _SHOWN | _shared("__setattr__", "__delattr__", "__getstate__", "__setstate__")


class _OfClass:
    """An attribute of a class, not of its instances, that is made when it is asked for."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Any], object]) -> None:
        self._make = make

    def __get__(self, one: object, kind: type) -> Any:
        return self._make(kind)


class _Signature(_OfClass):
    """The signature of a class; an instance that is called has one of its own."""

    __slots__ = ()

    def __get__(self, one: object, kind: type) -> Any:
        if one is not None:
            raise AttributeError
        return self._make(kind)


def _dataclass_fields(kind: Any) -> dict[str, Field[Any]]:
    """What `dataclasses.fields` and `replace` ask for."""
    namespace = {one.name: one for one in kind.__fields__}
    types = {one.name: one.type for one in kind.__fields__}
    about = {"__module__": kind.__module__, "__annotations__": types, "__doc__": ""}
    known: type = dataclass(eq=False, repr=False)(type(kind.__name__, (), namespace | about))
    found: dict[str, Field[Any]] = vars(known)["__dataclass_fields__"]
    kind.__dataclass_fields__ = found
    return found


def _signature(kind: Any) -> inspect.Signature:
    made = _own_init(kind)
    parameters = list(inspect.signature(made).parameters.values())[1:]
    types = {one.name: one.type for one in kind.__fields__}
    return inspect.Signature(
        [one.replace(annotation=types[one.name]) for one in parameters], return_annotation=None
    )


def _with_slots(
    made: type, shared: dict[str, Any], *, is_frozen: bool, weakref_slot: bool = False
) -> Any:
    """The class again, with slots for its fields and what all records have."""
    inherited = {one.name: one for base in made.__mro__[:0:-1] for one in _fields_of(base)}
    namespace = dict(vars(made))
    own = {}
    for name, annotation in made.__annotations__.items():
        if not annotation.startswith("ClassVar"):
            default = namespace.pop(name, MISSING)
            one: Field[Any] = default if isinstance(default, Field) else field(default=default)
            one.name, one.type = name, annotation
            own[name] = one
    fields = tuple((inherited | own).values())
    names = [one.name for one in fields if one.init and one.kw_only is not True]
    compared = [one.name for one in fields if one.compare]
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    if "__eq__" in namespace and namespace["__hash__"] is None:
        del namespace["__hash__"]  # which Python has put there
    namespace = shared | namespace
    slots = [name for name in own if name not in inherited]
    namespace["__slots__"] = (*slots, "__weakref__") if weakref_slot else tuple(slots)
    namespace.setdefault("__match_args__", tuple(names))
    namespace.setdefault("__signature__", _Signature(_signature))
    namespace["__fields__"] = fields
    namespace["__is_frozen__"] = is_frozen
    namespace["__compared__"] = _values_of(compared)
    namespace["__dataclass_fields__"] = _OfClass(_dataclass_fields)
    is_given = "__init__" in namespace
    again: Any = type(made)(made.__name__, made.__bases__, namespace)
    again.__qualname__ = made.__qualname__
    if not is_given:
        again.__init__ = _init_when_needed(again)
    return again


def _fields_of(base: type) -> tuple[Field[Any], ...]:
    found: tuple[Field[Any], ...] = vars(base).get("__fields__", ())
    return found


def _values_of(names: list[str]) -> Callable[[object], Any]:
    """A function of a record that gives the tuple of some fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return staticmethod(lambda one: tuple([getattr(one, name) for name in names]))


def _init_when_needed(kind: Any) -> Callable[..., None]:
    """An `__init__` that makes the one that takes its place."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807
        kind.__init__ = _own_init(kind)
        kind.__init__(self, *args, **kwargs)

    return __init__


def _own_init(kind: Any) -> Any:
    """The `__init__` of a class: its fields in order, then those that are given by keyword."""
    scope: dict[str, Any] = {"_supplied": _SUPPLIED}
    fields = sorted(kind.__fields__, key=lambda one: one.kw_only is True)
    parameters, lines = ["self"], []
    for one in fields:
        name, value = one.name, one.name
        if one.default_factory is not MISSING:
            scope[f"_make_{name}"] = one.default_factory
            value = f"_make_{name}()"
            if one.init:
                value = f"{value} if {name} is _supplied else {name}"
        elif not one.init:
            scope[f"_default_{name}"] = one.default
            value = f"_default_{name}"
        if one.init:
            if one.kw_only is True and "*" not in parameters:
                parameters.append("*")
            parameters.append(name + _default(one, scope))
        if one.init or one.default_factory is not MISSING or one.default is not MISSING:
            lines.append(_setting(kind, name, value, scope))
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    text = f"def __init__({', '.join(parameters)}):\n {body}"
    exec(compile(text, f"{__file__}: {kind.__qualname__}", "exec"), scope)  # whose code it is
    made = scope["__init__"]
    made.__qualname__, made.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    return made


def _default(one: Field[Any], scope: dict[str, Any]) -> str:
    """What follows a parameter's name."""
    if one.default_factory is not MISSING:
        return "=_supplied"
    if one.default is MISSING:
        return ""
    scope[f"_default_{one.name}"] = one.default
    return f"=_default_{one.name}"


def _setting(kind: Any, name: str, value: str, scope: dict[str, Any]) -> str:
    if not kind.__is_frozen__:
        return f"self.{name} = {value}"
    scope[f"_set_{name}"] = getattr(kind, name).__set__  # of the slot
    return f"_set_{name}(self, {value})"
