"""Modules in files: the name of the class and what the module holds, of which it is made again.

Loading calls nothing, but a class or function is looked up by the name in the file, and runs when
the module is used. So it has to be allowed: all with `weights_only=False`, else those of
`safe_globals`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pickle import UnpicklingError
from types import FunctionType
from typing import Any

from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core.errors import ArgumentError, LoadError
from staticgraph.dynamic.nn.module import Module

_ENTRIES = ("_parameters", "_buffers", "_modules")


class NotAllowedError(LoadError, UnpicklingError):
    """A file has a class or function that may not be used; PyTorch raises UnpicklingError."""


class _Allowed(threading.local):
    def __init__(self) -> None:
        self.globals: list[Any] = []


_allowed = _Allowed()


@contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """Let `load` make modules of these classes, with these functions, inside a block.

    Example:
        >>> dynamic.save(nn.Linear(2, 1), "layer.safetensors")
        >>> with dynamic.serialization.safe_globals([nn.Linear]):
        ...     dynamic.load("layer.safetensors")
        Linear(in_features=2, out_features=1, bias=True)
    """
    before = list(_allowed.globals)
    _allowed.globals.extend(safe_globals)
    try:
        yield
    finally:
        _allowed.globals = before


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Let `load` make modules of these classes, with these functions, in this thread.

    Example:
        >>> dynamic.serialization.add_safe_globals([nn.Linear])
        >>> nn.Linear in dynamic.serialization.get_safe_globals()
        True
        >>> dynamic.serialization.clear_safe_globals()
    """
    _allowed.globals.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions that `load` may use in this thread.

    Example:
        >>> dynamic.serialization.get_safe_globals()
        []
    """
    return list(_allowed.globals)


def clear_safe_globals() -> None:
    """Allow none again.

    Example:
        >>> dynamic.serialization.clear_safe_globals()
        >>> dynamic.serialization.get_safe_globals()
        []
    """
    _allowed.globals.clear()


def state_of(module: Module, where: str) -> dict[str, Any]:
    """What a module holds, without its hooks, which it must not have."""
    blank = Module()
    for name, hooks in vars(blank).items():
        if name.endswith("_hooks") and vars(module).get(name):
            raise ArgumentError(f"save: the {type(module).__name__} at {where} has {name}: {hooks}")
    return {
        name: sorted(value) if isinstance(value, set) else value
        for name, value in vars(module).items()
        if not name.endswith("_hooks") or name not in vars(blank)
    }


def name_of(value: Any, where: str) -> str:
    """Where a class or function is found: `module:qualified name`."""
    name = f"{value.__module__}:{value.__qualname__}"
    try:
        found = _found(name)
    except (ImportError, AttributeError):
        found = None
    if found is not value:
        raise ArgumentError(f"save: cannot save {value!r} at {where}: {name} is not it")
    return name


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def allowed(name: str, weights_only: bool) -> Any:
    """The class or function of a name; NotAllowedError if it may not be used."""
    if weights_only:
        names = {f"{one.__module__}:{one.__qualname__}": one for one in _allowed.globals}
        if name not in names:
            raise NotAllowedError(
                f"load: Weights only load failed: the file has {name}, whose code would run when "
                "the module is used: if you trust the file, load(f, weights_only=False), or allow "
                "it with torch.serialization.safe_globals"
            )
        return names[name]
    try:
        found = _found(name)
    except (ImportError, AttributeError) as error:
        raise LoadError(f"load: the file needs {name}: {error}") from None
    if not isinstance(found, type | FunctionType | Op):
        raise LoadError(f"load: {name} is no class and no function")
    return found


def blank_of(kind: Any) -> Module:
    """A module of a class, with nothing in it; `__init__` of the class is not called."""
    if not (isinstance(kind, type) and issubclass(kind, Module)):
        raise LoadError(f"load: {kind!r} is no class of modules")
    made: Module = kind.__new__(kind)
    Module.__init__(made)
    return made


def fill(module: Module, state: dict[str, Any]) -> None:
    """Give a blank module what another one held."""
    for name, value in state.items():
        if name in _ENTRIES:
            vars(module)[name].update(value)
        else:
            vars(module)[name] = set(value) if name == "_non_persistent_buffers_set" else value
