"""Subclasses of Tensor that say what functions of them are: a `__torch_function__` of their own.

Such a class is not one of the plain ones, so that no short way takes its tensors, and applying an
op to one raises; the function that the user called asks the class then. Methods ask by themselves:
the class has one for each of Tensor's. `Tensor.__torch_function__` computes with plain tensors that
share all with those of the class. Attributes, such as `shape`, are not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import getattr_static
from types import FunctionType
from typing import Any, NoReturn

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.overrides import OverriddenError, answer, asking, overrides
from staticgraph.compiler.core.passing import Passed, passed, passing
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.activity import keep_methods
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors.tensor import Tensor

_SLOTS = ("_array", "_cell", "_home", "_maker", "_note")
_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
)  # fmt: skip
_SPECIAL = frozenset({
    *(f"__{prefix}{name}__" for name in _OPERATORS for prefix in ("", "r", "i")),
    *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert")),
    "__getitem__", "__setitem__",
})  # fmt: skip
METHOD_OF = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "pow", "matmul", "neg", "abs")},
    **{f"__{name}__": name for name in ("ne", "lt", "le", "gt", "ge")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul", "pow")},
    "__radd__": "add", "__rmul__": "mul", "__truediv__": "div", "__itruediv__": "div_",
    "__mod__": "remainder", "__imod__": "remainder_", "__ifloordiv__": "floor_divide_",
}  # fmt: skip
"""The method that PyTorch asks for where an operator is used, if it is another."""


def overriding(kind: Any) -> None:
    """Have a class's own `__torch_function__` asked."""
    keep_methods()
    kind._overrides, kind._apply = True, _refuse
    for name in methods_asked():
        own = next(one for one in kind.__mro__ if name in vars(one))
        if own in Tensor.__mro__:
            setattr(kind, name, _asked(name))


def methods_asked() -> list[str]:
    """The methods of Tensor that are asked for: all but what is private."""
    return [name for name in dir(Tensor) if name in _SPECIAL or _is_method(name)]


def _is_method(name: str) -> bool:
    if name[0] == "_":
        return False
    member = getattr_static(Tensor, name)
    return isinstance(member, FunctionType | Passed) or hasattr(member, "cache_info")


def _refuse(self: object, op: Op, operands: Sequence[object], attrs: object) -> NoReturn:
    raise OverriddenError(f"{op.name}(): an operand has a __torch_function__")


def _asked(name: str) -> Callable[..., Any]:
    asked = "matmul" if name == "__rmatmul__" else METHOD_OF.get(name, name)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        given = (*args, self) if name == "__rmatmul__" else (self, *args)
        function = getattr(Tensor, asked)
        if passing and (said := passed(function, given, options)) is not None:
            return said[0]
        found = answer(function, given, options)
        if found is None and not overrides(self):  # a plain tensor, by the name in the class
            return getattr(Tensor, name)(self, *args, **options)
        if found is None:
            raise OverriddenError(f"{name}(): an operand has a __torch_function__")
        return found[0]

    method.__name__ = method.__qualname__ = name
    return asking(method)


def as_plain(
    kind: Any, func: Any, types: Sequence[type], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """What `Tensor.__torch_function__` does."""
    if not all(issubclass(kind, one) for one in types):
        return NotImplemented
    found = _computed(kind, func, args, options)
    return func(*args, **options) if found is None else found[0]


def unasked(func: Any, args: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any] | None:
    """What a function is of plain tensors, in a tuple; None where no tensor says what it is."""
    return _computed(Tensor, func, args, options)


def as_subclass(self: Tensor, cls: Any) -> Any:
    """What `Tensor.as_subclass` does."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise ArgumentError(f"cls must be a type that inherits from Tensor, not {cls!r}")
    made = object.__new__(cls)
    _copy(Tensor.view_as(self, self) if self.requires_grad else self.detach(), made)
    return made


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """What `Tensor._make_subclass` does."""
    made = as_subclass(data.detach(), cls)
    return made.requires_grad_() if require_grad else made


def _computed(
    kind: Any, func: Any, args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[Any] | None:
    """What a function of plain tensors makes, with the class `kind`; None if all are plain."""
    plain: dict[int, tuple[Any, Any]] = {}
    given = [_plain(one, plain) for one in args]
    named = {key: _plain(one, plain) for key, one in options.items()}
    if not plain:
        return None
    result = func(*given, **named)
    known = {}
    for one, alias in plain.values():
        _copy(alias, one)
        known[id(alias)] = one
    return (_of_class(kind, result, known),)


def _plain(value: Any, found: dict[int, tuple[Any, Any]]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_each(value, found)) if type(value) in (list, tuple) else value
    if not isinstance(value, Tensor) or not overrides(value):
        return value
    if id(value) not in found:
        alias = object.__new__(Tensor)
        _copy(value, alias)
        found[id(value)] = value, alias
    return found[id(value)][1]


def _each(values: Sequence[Any], found: dict[int, tuple[Any, Any]]) -> Iterator[Any]:
    return (_plain(one, found) for one in values)


def _copy(source: Any, target: Any) -> None:
    if source._cell is None:
        source._counter  # noqa: B018 - both count the changes of one memory from here on
    for slot in _SLOTS:
        setattr(target, slot, getattr(source, slot))


def _of_class(kind: Any, value: Any, known: Mapping[int, Any]) -> Any:
    """The tensors of a result as tensors of a class; those that were handed over as they were."""
    if id(value) in known:
        return known[id(value)]
    if type(value) is Tensor:
        if kind is Tensor:
            return value
        made = object.__new__(kind)
        _copy(value, made)
        return made
    if isinstance(value, list | tuple) and any(isinstance(one, Tensor) for one in value):
        items = [_of_class(kind, one, known) for one in value]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


provided.overriding.provide(overriding)
provided.as_plain.provide(as_plain)
