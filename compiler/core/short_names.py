"""`import dynamic as torch`: the short name of `staticgraph.dynamic`.

An installation has the file `dynamic/__init__.py` twice, below `staticgraph` and beside it. In a
checkout the folders `dynamic` and `compiler` stand beside `staticgraph`, which is where Python may
find them first. Either way their modules exist once, and have two names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_FULL = "staticgraph."


class _Finder:
    """Finds what is asked for below a short name below the full one, and loads it.

    It is no subclass of those in `importlib.abc`, which takes longer to import than all else here.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.names:
            return None
        found = find_spec(_FULL + fullname)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        loader: Any = self
        return ModuleSpec(fullname, loader, origin=found.origin, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_FULL + spec.name)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)  # which importing has replaced


_finder = _Finder()


def lead(name: str) -> None:
    """Let a short name, `dynamic` or `compiler`, mean the package below `staticgraph`."""
    sys.modules[name] = import_module(_FULL + name)
    _finder.names.add(name)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
