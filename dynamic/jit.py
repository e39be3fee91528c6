"""TorchScript, which is not here (torch.jit): what is marked for it alone is left as it is.

Example:
    >>> dynamic.jit.is_scripting(), dynamic.jit.is_tracing()
    (False, False)
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.nn.module import Module

__all__ = ["ScriptModule", "export", "ignore", "is_scripting", "is_tracing", "load", "save",
           "script", "script_method", "trace", "unused"]  # fmt: skip

Decorated = TypeVar("Decorated")


def script(obj: object, *args: object, **options: object) -> Any:
    """A function itself, with a warning: it runs as it is. RuntimeError for modules and classes.

    Example:
        >>> dynamic.jit.script(nn.Tanh())
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.jit.script(Tanh): there is no ...
    """
    if isinstance(obj, FunctionType):
        warn(
            f"torch.jit.script({obj.__qualname__}): there is no TorchScript here: the function "
            "runs as it is; staticgraph.function compiles it"
        )
        return obj
    raise _refused("script", obj)


def trace(func: object, *args: object, **options: object) -> Any:
    """RuntimeError: there is no TorchScript.

    Example:
        >>> dynamic.jit.trace(abs, dynamic.ones(1))
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.jit.trace(abs): there is no ...
    """
    raise _refused("trace", func)


def _refused(name: str, obj: object) -> AutogradError:
    what = getattr(obj, "__qualname__", type(obj).__name__)
    return AutogradError(
        f"torch.jit.{name}({what}): there is no TorchScript here: leave it out, the function runs "
        "as it is; staticgraph.function compiles it"
    )


def save(m: object, f: object, **options: object) -> None:
    """RuntimeError: there is no TorchScript.

    Example:
        >>> dynamic.jit.save(nn.Linear(2, 2), "model.pt")
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.jit.save: there is no ...
    """
    raise AutogradError("torch.jit.save: there is no TorchScript here: save(m.state_dict(), f)")


def load(f: object, map_location: object = None, **options: object) -> Any:
    """RuntimeError: there is no TorchScript.

    Example:
        >>> dynamic.jit.load("model.pt")
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.jit.load: there is no ...
    """
    raise AutogradError(
        "torch.jit.load: there is no TorchScript here: make the module, and load its state"
    )


class ScriptModule(Module):
    """A module that runs as it is; `script_method` leaves its methods as they are.

    Example:
        >>> class Twice(dynamic.jit.ScriptModule):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Twice()(dynamic.ones(1))
        tensor([2.])
    """


def script_method(fn: Decorated) -> Decorated:
    """A decorator that changes nothing: the method runs as it is.

    Example:
        >>> dynamic.jit.script_method(abs)(-2)
        2
    """
    return fn


def is_scripting() -> bool:
    """Whether a function runs as TorchScript: no.

    Example:
        >>> dynamic.jit.is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """Whether a function is traced for TorchScript: no.

    Example:
        >>> dynamic.jit.is_tracing()
        False
    """
    return False


def ignore(drop: Any = False, **options: object) -> Any:
    """A decorator that changes nothing, with or without a call.

    Example:
        >>> dynamic.jit.ignore(abs)(-2)
        2
    """
    return drop if callable(drop) else export


def unused(fn: Decorated) -> Decorated:
    """A decorator that changes nothing.

    Example:
        >>> dynamic.jit.unused(abs)(-2)
        2
    """
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that changes nothing.

    Example:
        >>> dynamic.jit.export(abs)(-2)
        2
    """
    return fn
