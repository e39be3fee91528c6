"""PyTorch's ops by their names in its dispatcher, as tables of scripts name them (torch.ops).

>>> {dynamic.ops.aten.mm: "product"}[dynamic.ops.aten.mm]
'product'
>>> dynamic.ops.aten.mm.default(dynamic.eye(2), dynamic.ones(2, 1))
tensor([[1.],
        [1.]])
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from staticgraph.dynamic.core.errors import AutogradError

_PLACES = ("staticgraph.dynamic", "staticgraph.dynamic.nn.functional")


class NamedOp:
    """An op by its name: a call is one of the function, or the method of Tensor, so named.

    Its overloads, such as `default`, are the op itself. RuntimeError where there is no such
    function: names are not checked before.

    Example:
        >>> dynamic.ops.aten.add_(dynamic.ones(1), 2)
        tensor([3.])
    """

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self.__name__ = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        """What the function gives."""
        name = self.__name__
        for place in _PLACES:
            found = getattr(import_module(place), name, None)
            if found is not None:
                return found(*args, **options)
        method = getattr(args[0], name, None) if args else None
        if method is None:
            raise AutogradError(f"torch.ops.{self}: there is no such function here")
        return method(*args[1:], **options)

    def overloads(self) -> list[str]:
        """The one that there is."""
        return ["default"]

    def __getattr__(self, name: str) -> NamedOp:
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __repr__(self) -> str:
        return f"{self._namespace}.{self.__name__}"


class Namespace:
    """The ops of a library, each of which is made when it is asked for.

    Example:
        >>> dynamic.ops.aten.mm
        aten.mm
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NamedOp:
        if name.startswith("__"):
            raise AttributeError(name)
        return _named(self._name, name)


_named = functools.lru_cache(None)(NamedOp)
aten = Namespace("aten")
