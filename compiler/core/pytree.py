"""Nested tuples, lists and dicts with tensors as leaves, as functions take and return them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.core.errors import OptionError
from compiler.core.values import Tree, Value


def leaves(tree: object) -> list[Value]:
    """The leaves of a tree, in order; dicts in the order of their keys' insertion."""
    if isinstance(tree, tuple | list):
        return [leaf for one in tree for leaf in leaves(one)]
    if isinstance(tree, dict):
        return [leaf for one in tree.values() for leaf in leaves(one)]
    return [] if tree is None else [tree]


def rebuilt(tree: object, values: Sequence[object]) -> Tree:
    """A tree of the structure of `tree` with other leaves."""
    supply = iter(values)
    return mapped(lambda _: next(supply), tree)


def mapped(function: Callable[[Tree], object], tree: object) -> Tree:
    """The tree with `function` applied to each leaf."""
    if isinstance(tree, tuple | list):
        parts = [mapped(function, one) for one in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {key: mapped(function, one) for key, one in tree.items()}
    return None if tree is None else function(tree)


def structure(tree: object) -> str:
    """The structure of a tree as text, with a star for each leaf: equal for equal structures."""
    if isinstance(tree, tuple | list):
        parts = ", ".join(structure(one) for one in tree)
        if isinstance(tree, list):
            return f"[{parts}]"
        return f"({parts},)" if len(tree) == 1 else f"({parts})"
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {structure(one)}" for key, one in tree.items()) + "}"
    return "None" if tree is None else "*"


def spread_over(prefix: object, tree: object, misfit: Callable[[], OptionError]) -> list[Value]:
    """One value of `prefix` per leaf of `tree`, of which it has the structure or a part of it.

    Raises what `misfit` makes where `prefix` branches and `tree` does not branch alike.
    """
    if isinstance(prefix, tuple | list):
        if not isinstance(tree, tuple | list) or len(prefix) != len(tree):
            raise misfit()
        pairs = zip(prefix, tree, strict=True)
    elif isinstance(prefix, dict):
        if not isinstance(tree, dict) or prefix.keys() != tree.keys():
            raise misfit()
        pairs = zip((prefix[key] for key in tree), tree.values(), strict=True)
    else:
        return [prefix] * len(leaves(tree))
    return [value for one, part in pairs for value in spread_over(one, part, misfit)]
