"""Nested tuples, lists, dicts and dataclasses with tensors as leaves, as functions take and return.

Named tuples are tuples. Of a dataclass the fields are branches, but for texts, types and functions,
which stay as they are. `register_pytree` adds classes of users.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.values import Tree, Value


@record
class _Registered(Record):
    flatten: Callable[[Value], tuple[Iterable[Tree], Value]]
    unflatten: Callable[[Value, list[Tree]], Value]


_registered: dict[type, _Registered] = {}


def register_pytree(
    cls: type,
    flatten: Callable[[Value], tuple[Iterable[Tree], Value]],
    unflatten: Callable[[Value, list[Tree]], Value],
) -> None:
    """Let functions and `compile` take and return instances of a class as trees of tensors.

    `flatten` gives the parts and what else there is, which is compared with `==`; `unflatten` makes
    an instance of that and of other parts. Tuples, lists, dicts, named tuples and dataclasses are
    trees already.

    Raises:
        OptionError: the class is no class, or registered already.

    Example:
        >>> class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> sg.register_pytree(Pair, lambda p: ((p.a, p.b), None), lambda _, parts: Pair(*parts))
        >>> x = sg.placeholder("x", (2,))
        >>> sg.compile([x], Pair(x + 1, x * 2))(np.ones(2, "float32")).b
        array([2., 2.], dtype=float32)
    """
    if not isinstance(cls, type):
        raise OptionError(f"register_pytree: {cls!r} is no class")
    if cls in _registered:
        raise OptionError(f"register_pytree: {cls.__qualname__} is registered already")
    _registered[cls] = _Registered(flatten, unflatten)


def is_branch(tree: object) -> bool:
    """Whether a tree has parts: it is neither a leaf nor None."""
    return isinstance(tree, tuple | list | dict) or is_object(tree)


def is_object(tree: object) -> bool:
    """Whether a tree is a dataclass, or an instance of a class that a user has registered."""
    kind = type(tree)
    if kind in _registered:
        return True
    return hasattr(kind, "__dataclass_fields__") and is_dataclass(tree) and not _is_own(kind)


def _is_own(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "staticgraph"


def parts_of(tree: Tree) -> list[Tree]:
    """The parts of a tree that has some; dicts in the order of their keys' insertion."""
    if isinstance(tree, tuple | list):
        return list(tree)
    if isinstance(tree, dict):
        return list(tree.values())
    if type(tree) in _registered:
        return list(_registered[type(tree)].flatten(tree)[0])
    return [getattr(tree, name) for name in names_of(tree)]


def names_of(tree: Tree) -> list[str]:
    """The fields of a dataclass that are branches."""
    return [one.name for one in fields(tree) if not _is_fixed(getattr(tree, one.name, None))]


def fixed_of(tree: Tree) -> list[Value]:
    """What else an object is made of than its parts."""
    if type(tree) in _registered:
        return [_registered[type(tree)].flatten(tree)[1]]
    return [getattr(tree, one.name, None) for one in fields(tree) if one.name not in names_of(tree)]


def _is_fixed(value: object) -> bool:
    """Whether a field is no branch: a text, a type or a function."""
    return isinstance(value, str | bytes | type) or callable(value)


def with_parts(tree: Tree, parts: Sequence[object]) -> Tree:
    """The same tree with other parts."""
    if isinstance(tree, tuple | list):
        kind: Any = type(tree)
        return kind(*parts) if hasattr(tree, "_fields") else kind(parts)
    if isinstance(tree, dict):
        filled = {} if type(tree) is dict else copy.copy(tree)  # of others what they have besides
        filled.update(zip(tree, parts, strict=True))
        return filled
    if type(tree) in _registered:
        known = _registered[type(tree)]
        return known.unflatten(known.flatten(tree)[1], list(parts))
    made = copy.copy(tree)  # whatever __init__ and __post_init__ make of fields is there
    for name, part in zip(names_of(tree), parts, strict=True):
        object.__setattr__(made, name, part)  # frozen ones too
    return made


def leaves(tree: object) -> list[Value]:
    """The leaves of a tree, in order."""
    if is_branch(tree):
        return [leaf for one in parts_of(tree) for leaf in leaves(one)]
    return [] if tree is None else [tree]


def rebuilt(tree: object, values: Sequence[object]) -> Tree:
    """A tree of the structure of `tree` with other leaves."""
    supply = iter(values)
    return mapped(lambda _: next(supply), tree)


def mapped(function: Callable[[Tree], object], tree: object) -> Tree:
    """The tree with `function` applied to each leaf."""
    if is_branch(tree):
        return with_parts(tree, [mapped(function, one) for one in parts_of(tree)])
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
    if is_object(tree):
        return _structure_of_object(tree)
    return "None" if tree is None else "*"


def _structure_of_object(tree: Any) -> str:
    kind = type(tree)
    parts = [structure(one) for one in parts_of(tree)]
    if kind in _registered:
        parts.append(repr(_registered[kind].flatten(tree)[1]))
    else:
        parts = [f"{name}={part}" for name, part in zip(names_of(tree), parts, strict=True)]
        fixed = [one.name for one in fields(tree) if one.name not in names_of(tree)]
        parts += [f"{name}={getattr(tree, name, None)!r}" for name in fixed]
    return f"{kind.__module__}.{kind.__qualname__}({', '.join(parts)})"


def same_structure(one: object, other: object) -> bool:
    """Whether two trees have one structure, what objects hold beside their parts included.

    Texts alone do not tell: of long arrays they elide what is in the middle.
    """
    if structure(one) != structure(other):
        return False
    return all(map(equal_values, _fixed_in(one), _fixed_in(other)))


def _fixed_in(tree: object) -> Iterator[Value]:
    if is_object(tree):
        yield from fixed_of(tree)
    if is_branch(tree):
        for one in parts_of(tree):
            yield from _fixed_in(one)


def equal_values(one: object, other: object) -> bool:
    """Whether two values that are no parts are equal."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(equal_values, one, other))
    return one is other or (type(one) is type(other) and bool(one == other))


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
    elif is_object(prefix):
        if type(prefix) is not type(tree) or len(parts_of(prefix)) != len(parts_of(tree)):
            raise misfit()
        pairs = zip(parts_of(prefix), parts_of(tree), strict=True)
    else:
        return [prefix] * len(leaves(tree))
    return [value for one, part in pairs for value in spread_over(one, part, misfit)]
