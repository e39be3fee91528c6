"""`compile`: a function or module compiled by `staticgraph.function`, if that is loaded."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.errors import CaptureError, EffectError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.module import Module


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function or module, compiled by `staticgraph.function` where that package is imported.

    Without it the function itself, and a module with the same results. What cannot be compiled
    runs as it is, unless `fullgraph`; `dynamic`, `backend`, `mode` and `options` choose nothing.

    Raises:
        RuntimeError: the model cannot be called.
        CaptureError, EffectError: it cannot be compiled, and is to be with `fullgraph`.

    Example:
        >>> @dynamic.compile
        ... def twice(x):
        ...     return x * 2
        >>> twice(dynamic.tensor([1.0, 2.0]))
        tensor([2., 4.])
    """
    if model is None:
        return lambda found: compile(found, fullgraph=fullgraph, disable=disable)
    if not callable(model):
        raise AutogradError(f"compile: {type(model).__name__} cannot be called")
    if disable:
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph)
    return functools.wraps(model)(_Compiled(model, fullgraph))


class _Compiled:
    """A function that is compiled when it is first called; where it cannot be, it runs as it is."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        self._function, self._fullgraph = function, fullgraph
        self._compiled: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled is None:
            frontend = sys.modules.get("staticgraph")
            self._compiled = (
                self._function if frontend is None else frontend.function(self._function)
            )
        try:
            return self._compiled(*args, **kwargs)
        except (CaptureError, EffectError):
            if self._fullgraph:
                raise
        self._compiled = self._function
        return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class OptimizedModule(Module):
    """A module whose calls are compiled; what it has beside is the module's."""

    def __init__(self, module: Module, fullgraph: bool) -> None:
        super().__init__()
        self._orig_mod = module
        self._call = _Compiled(module, fullgraph)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)
