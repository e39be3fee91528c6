"""What loops and branches require of the functions that they are given, and the errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.pytree import (
    is_object,
    leaves,
    parts_of,
    same_structure,
    structure,
    with_parts,
)
from staticgraph.compiler.core.types import TensorType, as_dtype, same_type
from staticgraph.compiler.core.values import Tree


def line_of(function: Callable[..., object]) -> str:
    """`file:line` where a function is defined."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def paths(tree: object, path: str = "") -> Iterator[str]:
    """Where each leaf of a tree is: `[0]['h']`; nothing for a leaf alone."""
    if isinstance(tree, tuple | list):
        for index, one in enumerate(tree):
            yield from paths(one, f"{path}[{index}]")
    elif isinstance(tree, dict):
        for key, one in tree.items():
            yield from paths(one, f"{path}[{key!r}]")
    elif is_object(tree):
        for index, one in enumerate(parts_of(tree)):
            yield from paths(one, f"{path}[{index}]")
    elif tree is not None:
        yield path


def aligned(tree: Tree, like: Tree) -> Tree:
    """`tree` with the keys of its dicts in the order of those of `like`."""
    if isinstance(tree, dict) and isinstance(like, dict) and tree.keys() == like.keys():
        return {key: aligned(tree[key], one) for key, one in like.items()}
    if isinstance(tree, tuple | list) and type(tree) is type(like) and len(tree) == len(like):
        parts = [aligned(one, other) for one, other in zip(tree, like, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if is_object(tree) and type(tree) is type(like) and len(parts_of(tree)) == len(parts_of(like)):
        pairs = zip(parts_of(tree), parts_of(like), strict=True)
        return with_parts(tree, [aligned(one, other) for one, other in pairs])
    return tree


def leaf_type(leaf: Any) -> TensorType:
    """The type of an array, a number or a handle of one."""
    value = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return TensorType(tuple(value.shape), as_dtype(value.dtype))


def require_same(
    what: str,
    before: object,
    after: object,
    function: Callable[..., object],
    ignored: Sequence[int] = (),
) -> None:
    """The error of two trees that differ in structure, or in the types of their leaves.

    Args:
        what: the op, and what the trees are to it.
        before, after: the trees; sizes that are not known to differ are assumed to be equal.
        function: the user's function that gave `after`.
        ignored: the leaves that need not have the same type.
    """
    if not same_structure(before, after):
        raise OptionError(
            f"{what}: the structure {structure(before)} becomes {structure(after)} "
            f"by the function in {line_of(function)}"
        )
    pairs = zip(paths(before), leaves(before), leaves(after), strict=True)
    for index, (path, one, other) in enumerate(pairs):
        left, right = leaf_type(one), leaf_type(other)
        if index in ignored or same_type(left, right):
            continue
        kind = ShapeError if left.dtype == right.dtype else DTypeError
        raise kind(f"{what}{path}: {left} becomes {right} by the function in {line_of(function)}")


def pair_of(result: Tree, step: Callable[..., object]) -> Tree:
    """What a step function returned, if it is a pair."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise OptionError(
            f"scan: the step function in {line_of(step)} returns no pair (carry, y): {result!r}"
        )
    return result
