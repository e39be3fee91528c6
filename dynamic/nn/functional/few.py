"""Losses of a few elements in short ways, as `dynamic.fast_paths` has them of ops."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tensors.tensor import PLAIN, Plans

REDUCED: dict[str, Attrs] = {name: {"reduction": name} for name in ("none", "mean", "sum")}
"""Per reduction the attributes of a loss."""


def are_few(input: Any, target: Any) -> bool:
    """Whether these are plain tensors, and the first of a few floats."""
    if type(input) not in PLAIN or type(target) not in PLAIN:
        return False
    x = input._array
    return (x.dtype is F32 or x.dtype is F64) and 0 < x.size < LARGE


def plans_of(op: Op, of_target: bool) -> Plans:
    """The recipes of a loss, of which the target may have a gradient, or never has."""
    first = recipe(op, (True, False))
    if not of_target:
        return first, first, first
    return recipe(op, (True, True)), first, recipe(op, (False, True))
