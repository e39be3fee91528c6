"""The op library: every op and composite that both paradigms share.

A family is imported when one of its ops is asked for. A program that starts from the kernel cache
needs few of them, and waits for no others.
"""

from collections.abc import Iterator as _Iterator
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from itertools import chain as _chain
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core import fork as _fork, provided as _provided
from staticgraph.compiler.core.op import Op as _Op, all_ops as all_ops, op_named as op_named
from staticgraph.compiler.core.values import Value as _Value
from staticgraph.compiler.ops import leaves as leaves
from staticgraph.compiler.ops.programs import (
    control as control,
    effects as effects,
    regions as regions,
)

if TYPE_CHECKING:
    from staticgraph.compiler.ops.library import *
    from staticgraph.compiler.ops.library import (
        LIBRARY as LIBRARY,
        LINALG as LINALG,
        PUBLIC as PUBLIC,
        SPECIAL as SPECIAL,
        cond as cond,
        scan as scan,
        while_loop as while_loop,
    )

_FIRST = (
    "elementwise.arithmetic", "elementwise.comparison", "elementwise.exponential", "shapes.shape",
    "reductions.reduction", "linalg.products", "indexing.take", "nn",
    "losses", "shapes.slicing",
)  # fmt: skip
"""The families that most programs use: a name is looked for in them, in this order."""


def public_named(name: str) -> _Value:
    """The op that the frontends export under this name; None if there is none."""
    with _fork.importing():
        for module in _first():
            if name in module.__all__:
                return getattr(module, name)
        return vars(_import_module("staticgraph.compiler.ops.public")).get(name)


def _declare_all() -> None:
    with _fork.importing():
        _import_module("staticgraph.compiler.ops.library")


_provided.declare_all.provide(_declare_all)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what is not there yet."""
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with _fork.importing():
            if _find_spec(f"{__name__}.{name}") is not None:
                return _import_module(f"{__name__}.{name}")
            found = _declared(name)
            if found is None:
                found = getattr(_import_module(f"{__name__}.library"), name)
        globals()[name] = found
        return found


def _declared(name: str) -> Any:
    """An op of the first families, one for the compiler alone too."""
    for module in _chain((leaves, control, effects, regions), _first()):
        found = vars(module).get(name)
        if isinstance(found, _Op) or name in getattr(module, "__all__", ()):
            return found
    return None


def _first() -> _Iterator[Any]:
    for family in _FIRST:
        yield _import_module(f"staticgraph.compiler.ops.{family}")
