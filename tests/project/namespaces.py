"""The public namespaces of the packages: what `__all__` and the lists of modules lead to."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import dynamic
import staticgraph as sg
from staticgraph.dynamic.core import later

LATER = {sg: sg._MODULES, dynamic: later.MODULES}
"""Per package the modules that are imported when they are asked for."""


def namespaces() -> dict[str, ModuleType]:
    """By what a user writes, `sg` and `dynamic`, and each module that is public below them."""
    found: dict[str, ModuleType] = {}
    for prefix, root in (("sg", sg), ("dynamic", dynamic)):
        found.update(_below(prefix, root))
    return found


def _below(prefix: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    yield prefix, module
    names = {*public_names(module), *LATER.get(module, ())}
    for name in sorted(names):
        one = getattr(module, name)
        if isinstance(one, ModuleType) and one.__name__.startswith(f"{module.__name__}."):
            yield from _below(f"{prefix}.{name}", one)


def public_names(module: ModuleType) -> set[str]:
    """The names of `__all__`, and of a package those that are imported when they are asked for.

    A module without `__all__` publishes what has its own package as its home.
    """
    listed = getattr(module, "__all__", None)
    names = {name for name in listed or vars(module) if not name.startswith("_")}
    return names | ({*later.NAMES} if module is dynamic else set())


def documented(module: ModuleType) -> dict[str, Any]:
    """The functions and classes of a namespace that are ours, but for errors and modules."""
    found = {name: getattr(module, name) for name in sorted(public_names(module))}
    return {name: one for name, one in found.items() if _is_documented(one)}


def _is_documented(value: Any) -> bool:
    home = getattr(value, "__module__", None) or "staticgraph"
    if not callable(value) or not home.startswith("staticgraph"):
        return False
    return not (inspect.isclass(value) and issubclass(value, BaseException))
