"""`torch.overrides`: functions that ask a mode, or the classes of their arguments, what they are.

>>> from dynamic.overrides import handle_torch_function, has_torch_function
>>> class Named:
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return func.__name__
>>> dynamic.add(Named(), 1)
'add'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from staticgraph.compiler.core.overrides import overrides, said_by, said_of, state
from staticgraph.compiler.core.passing import see, seeing
from staticgraph.dynamic.core.activity import keep_methods
from staticgraph.dynamic.fast_paths.passed import exchange
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
]


class TorchFunctionMode:
    """Inside, what functions of tensors are is what its `__torch_function__` says.

    Functions and methods that this thread calls are handed to it, with their arguments, whatever
    these are; factories too, and functions that modules call. What it calls itself goes to the
    mode around it, or is computed. Of modes within each other the innermost is asked first, and
    before classes of arguments. Attributes, such as `shape`, are not asked for.

    Example:
        >>> class Names(dynamic.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     _ = nn.ReLU()(dynamic.ones(2) * 2)
        ones
        mul
        relu
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__module__.startswith("staticgraph."):
            keep_methods()  # it is handed methods, and compares them with Tensor's

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """What `func` of these arguments is; `types`: their classes that say so themselves."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        see(True, exchange)
        seeing.modes.append(partial(said_by, self))
        return self

    def __exit__(self, *exception: object) -> None:
        seeing.modes.pop()
        see(False, exchange)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A mode, for `with`."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode in which functions are what they are.

    Example:
        >>> with dynamic.overrides.BaseTorchFunctionMode():
        ...     print(dynamic.ones(1) + 1)
        tensor([2.])
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """What `func` gives."""
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Sequence[object]) -> bool:
    """Whether an argument's class has a `__torch_function__` of its own, or a mode is on.

    Example:
        >>> dynamic.overrides.has_torch_function((dynamic.ones(2), 1.0))
        False
    """
    return bool(seeing.modes) or (state.unasked is None and any(map(overrides, relevant_args)))


def has_torch_function_unary(arg: object) -> bool:
    """`has_torch_function` of one argument.

    Example:
        >>> dynamic.overrides.has_torch_function_unary(dynamic.ones(2))
        False
    """
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: object) -> bool:
    """`has_torch_function` of the arguments.

    Example:
        >>> dynamic.overrides.has_torch_function_variadic(dynamic.ones(2), 1.0)
        False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Sequence[object], *args: Any, **kwargs: Any
) -> Any:
    """What the first class that knows says `public_api` of these arguments is.

    A mode is asked first, then those of `relevant_args`, derived classes before their bases.
    TypeError where none knows it.

    Example:
        >>> class Named:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__
        >>> dynamic.overrides.handle_torch_function(dynamic.add, (Named(),), Named(), 1)
        'add'
    """
    return said_of(public_api, relevant_args, args, kwargs)


def is_tensor_like(inp: object) -> bool:
    """Whether it is a tensor, or of a class that has a `__torch_function__`.

    Example:
        >>> dynamic.overrides.is_tensor_like(dynamic.ones(2))
        True
    """
    return isinstance(inp, Tensor) or overrides(inp)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether it is a method of Tensor, or what reads an attribute.

    Example:
        >>> dynamic.overrides.is_tensor_method_or_property(dynamic.Tensor.add)
        True
    """
    name = getattr(func, "__name__", "")
    return name == "__get__" or (hasattr(Tensor, name) and getattr(Tensor, name) == func)


def resolve_name(f: Any) -> str | None:
    """The full name of a function or method that modes are asked for; None of another one.

    Example:
        >>> dynamic.overrides.resolve_name(dynamic.Tensor.add)
        'torch.Tensor.add'
        >>> dynamic.overrides.resolve_name(nn.functional.relu)
        'torch.nn.functional.relu'
    """
    name = str(getattr(f, "name", None) or getattr(f, "__name__", ""))
    if is_tensor_method_or_property(f):
        return f"torch.Tensor.{name}"
    for place in _PLACES:
        module = import_module(f"staticgraph.dynamic{place}")
        names = [key for key in (name, *vars(module)) if getattr(module, key, None) is f]
        if names and not names[0].startswith("_"):
            return f"torch{place}.{names[0]}"
    return None


_PLACES = ("", ".nn.functional", ".linalg", ".special", ".fft", ".nn.init", ".autograd")
"""The modules that have functions which modes are asked for."""
