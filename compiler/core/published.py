"""Where functions that are made by others are found: by pickle, which looks for them by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FunctionType


def published(module: str, names: Mapping[str, object]) -> None:
    """Let functions say that they are in a module, under these names, unless they are elsewhere.

    A function that another one made, such as by `functools.wraps`, says where that one, or its
    own, was written, and is not found there.
    """
    for name, one in names.items():
        if isinstance(one, FunctionType) and name[0] != "_" and not _is_found(one):
            one.__module__, one.__qualname__ = module, name


def _is_found(function: FunctionType) -> bool:
    home = vars(sys.modules.get(function.__module__, sys))
    return home.get(function.__qualname__) is function
