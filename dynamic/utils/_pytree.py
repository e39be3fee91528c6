"""PyTorch's torch.utils._pytree, which libraries take nested tuples, lists and dicts apart with.

Here None and records are leaves, which they are not in the trees that functions take and return.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from staticgraph.dynamic.core.errors import RefusedError

Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]


@dataclass
class TreeSpec:
    """The structure of a tree.

    Attributes:
        type: the class of the node, None of a leaf.
        context: what else the node is made of, such as the keys of a dict.
        children_specs: the structures of its parts.
        num_leaves: how many leaves there are.
    """

    type: Any
    context: Any
    children_specs: list[TreeSpec]
    num_leaves: int = field(init=False)

    def __post_init__(self) -> None:
        parts = sum(one.num_leaves for one in self.children_specs)
        self.num_leaves = 1 if self.is_leaf() else parts

    def is_leaf(self) -> bool:
        """Whether it is that of a leaf."""
        return self.type is None

    def __repr__(self) -> str:
        return self._shown(0)

    def _shown(self, indent: int) -> str:
        if self.is_leaf():
            return "*"
        inner = indent + 2
        parts = f",\n{' ' * inner}".join(one._shown(inner) for one in self.children_specs)
        name = "namedtuple" if hasattr(self.type, "_fields") else self.type.__name__
        return f"TreeSpec({name}, {self.context}, [{parts}])"


def _of_dict(made: Callable[[Any], Any]) -> tuple[Flatten, Unflatten]:
    return (
        lambda tree: (list(tree.values()), list(tree)),
        lambda parts, keys: made(zip(keys, parts, strict=True)),
    )


def _with_default(parts: Iterable[Any], context: Any) -> Any:
    default, keys = context
    return defaultdict(default, zip(keys, parts, strict=True))


_NODES: dict[Any, tuple[Flatten, Unflatten]] = {
    tuple: (lambda tree: (list(tree), None), lambda parts, _: tuple(parts)),
    list: (lambda tree: (list(tree), None), lambda parts, _: list(parts)),
    dict: _of_dict(dict),
    OrderedDict: _of_dict(OrderedDict),
    defaultdict: (
        lambda tree: (list(tree.values()), [tree.default_factory, list(tree)]), _with_default,
    ),
    deque: (lambda tree: (list(tree), tree.maxlen), lambda parts, most: deque(parts, most)),
}  # fmt: skip


def register_pytree_node(
    cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, **options: object
) -> None:
    """Let instances of a class be nodes; ValueError if it is registered already.

    What a node is written into files with, the further options, is taken and not used.
    """
    if cls in _NODES:
        raise RefusedError(f"{cls} is already registered as pytree node.")
    _NODES[cls] = (flatten_fn, unflatten_fn)


def _kind(tree: Any, is_leaf: Callable[[Any], bool] | None) -> Any:
    """The class that a tree is a node of, or None of a leaf."""
    kind = type(tree)
    if is_leaf is not None and is_leaf(tree):
        return None
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return kind
    return kind if kind in _NODES else None


def _parts(kind: Any, tree: Any) -> tuple[list[Any], Any]:
    if kind not in _NODES:
        return list(tree), kind
    parts, context = _NODES[kind][0](tree)
    return list(parts), context


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure.

    Example:
        >>> from dynamic.utils._pytree import tree_flatten
        >>> tree_flatten({"a": 1, "b": (2, None)})[0]
        [1, 2, None]
    """
    kind = _kind(tree, is_leaf)
    if kind is None:
        return [tree], TreeSpec(None, None, [])
    parts, context = _parts(kind, tree)
    flat = [tree_flatten(one, is_leaf) for one in parts]
    return [leaf for leaves, _ in flat for leaf in leaves], TreeSpec(
        kind, context, [spec for _, spec in flat]
    )


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves; ValueError unless there are as many.

    Example:
        >>> from dynamic.utils._pytree import tree_structure, tree_unflatten
        >>> tree_unflatten([1, 2], tree_structure({"a": 0, "b": [0]}))
        {'a': 1, 'b': [2]}
    """
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise RefusedError(
            f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to "
            f"a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _made(iter(given), treespec)


def _made(leaves: Any, spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(leaves)
    parts = [_made(leaves, one) for one in spec.children_specs]
    return (
        spec.type(*parts) if spec.type not in _NODES else _NODES[spec.type][1](parts, spec.context)
    )


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def _beside(spec: TreeSpec, tree: Any) -> list[Any]:
    """The parts of another tree that stand where the leaves of a structure are."""
    if spec.is_leaf():
        return [tree]
    if type(tree) is not spec.type:
        raise RefusedError(f"Node type mismatch; expected {spec.type}, but got {type(tree)}.")
    parts, context = _parts(spec.type, tree)
    if len(parts) != len(spec.children_specs):
        raise RefusedError(
            f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(parts)}."
        )
    if spec.type in (dict, OrderedDict, defaultdict):
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            raise RefusedError(f"Node keys mismatch; expected {keys}, but got {list(tree)}.")
        parts = [tree[key] for key in keys]
    elif context != spec.context:
        raise RefusedError(f"Node context mismatch; expected {spec.context}, but got {context}.")
    return [
        leaf for one, part in zip(spec.children_specs, parts, strict=True)
        for leaf in _beside(one, part)
    ]  # fmt: skip


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree with a function of the leaves, of several trees together, in their place.

    Raises:
        ValueError: another tree does not branch as the first.

    Example:
        >>> from dynamic.utils._pytree import tree_map
        >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
        [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_beside(spec, one) for one in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def tree_map_only(type_or_types: Any, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map` of the leaves of some classes, or that a function holds for; others stay."""
    chosen = _chosen(type_or_types)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def _chosen(types: Any) -> Callable[[Any], bool]:
    if isinstance(types, type | tuple) or hasattr(types, "__args__"):
        return lambda leaf: isinstance(leaf, types)
    return types


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether a function holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether a function holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
