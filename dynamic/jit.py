"""TorchScript, which is not here (torch.jit): what is marked for it alone is left as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.module import Module

__all__ = ["ScriptModule", "export", "ignore", "is_scripting", "is_tracing", "load", "save",
           "script", "script_method", "trace", "unused"]  # fmt: skip

Decorated = TypeVar("Decorated")


def script(obj: object, *args: object, **options: object) -> Any:
    """RuntimeError: there is no TorchScript."""
    raise _refused("script", obj)


def trace(func: object, *args: object, **options: object) -> Any:
    """RuntimeError: there is no TorchScript."""
    raise _refused("trace", func)


def _refused(name: str, obj: object) -> AutogradError:
    what = getattr(obj, "__qualname__", type(obj).__name__)
    return AutogradError(
        f"torch.jit.{name}({what}): there is no TorchScript here: leave it out, the function runs "
        "as it is; staticgraph.function compiles it"
    )


def save(m: object, f: object, **options: object) -> None:
    """RuntimeError: there is no TorchScript."""
    raise AutogradError("torch.jit.save: there is no TorchScript here: save(m.state_dict(), f)")


def load(f: object, map_location: object = None, **options: object) -> Any:
    """RuntimeError: there is no TorchScript."""
    raise AutogradError(
        "torch.jit.load: there is no TorchScript here: make the module, and load its state"
    )


class ScriptModule(Module):
    """A module that runs as it is; `script_method` leaves its methods as they are."""


def script_method(fn: Decorated) -> Decorated:
    """A decorator that changes nothing: the method runs as it is."""
    return fn


def is_scripting() -> bool:
    """Whether a function runs as TorchScript: no."""
    return False


def is_tracing() -> bool:
    """Whether a function is traced for TorchScript: no."""
    return False


def ignore(drop: Any = False, **options: object) -> Any:
    """A decorator that changes nothing, with or without a call."""
    return drop if callable(drop) else export


def unused(fn: Decorated) -> Decorated:
    """A decorator that changes nothing."""
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that changes nothing."""
    return fn
