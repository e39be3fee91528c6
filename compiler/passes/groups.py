"""The records of fusion: groups of nodes that one nest of loops or one BLAS call computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.dims import Dim, Size
from compiler.graph.view import Node
from compiler.lowering import Index, Reduce
from compiler.types import Shape

POSITION_KINDS = ("argmax", "argmin")


@dataclass(slots=True, eq=False)
class Store:
    """An element of `value` goes to `target` at `index`; added to it if `accumulate`."""

    value: int
    target: int
    index: Index
    accumulate: bool = False


@dataclass(slots=True, eq=False)
class LoopGroup:
    """Nodes computed by one nest of loops over `domain`."""

    order: int
    domain: Shape
    split: int | None = None
    members: list[int] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    fills: list[tuple[int, float]] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    operand_index: dict[int, Index] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class View:
    """A strided array inside the memory of `base`: offset and strides in elements."""

    base: int
    offset: Size
    strides: tuple[Size, ...]


@dataclass(slots=True, eq=False)
class MatmulGroup:
    """One product of matrices."""

    order: int
    node: int
    left: View
    right: View


@dataclass(slots=True, eq=False)
class NestedGroup:
    """A loop or a branch, which computes the `items` of its node: nodes by their index."""

    order: int
    node: int
    items: dict[int, int] = field(default_factory=dict)


Group = LoopGroup | MatmulGroup | NestedGroup


def computed(group: Group) -> list[int]:
    """The nodes that a group computes, in order."""
    if not isinstance(group, LoopGroup):
        return [group.node]
    return [*group.members, *(store.target for store in group.stores)]


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """The graph in groups.

    Attributes:
        groups: in the order in which they run.
        home: the group that computes a node.
        deferred: nodes whose values are complete only when their group has ended.
        stored: nodes that lie in memory beside the leaves.
        virtual: nodes that are computed wherever they are read, at the reader's place.
    """

    nodes: dict[int, Node]
    groups: tuple[Group, ...]
    home: dict[int, Group]
    deferred: frozenset[int]
    stored: frozenset[int]
    virtual: frozenset[int]
    roots: tuple[int, ...]


def is_row(group: LoopGroup, shape: Shape) -> bool:
    """Whether a value of this shape has one element per row of the group."""
    if group.split is None:
        return False
    rows = group.domain[: group.split]
    return shape in (rows, rows + (1,) * (len(group.domain) - group.split))


def totals_rows(group: LoopGroup, node: Node, shape: Shape) -> bool:
    """Whether a reduction combines one value per row of the group into one for the group."""
    if shape == group.domain or not is_row(group, shape):
        return False
    assert isinstance(node.op.lowering, Reduce)
    axes = node.attrs["axes"]
    whole = all(axis in axes for axis, size in enumerate(shape) if size != 1)
    return whole and node.op.lowering.kind not in POSITION_KINDS


def blas_layout(strides: tuple[Size, ...], shape: tuple[Size, ...]) -> tuple[bool, Size] | None:
    """Whether a matrix (or vector) must be read transposed, and its leading dimension.

    None if the BLAS cannot read it: neither axis contiguous, or reversed, or repeated.
    """
    if len(shape) == 1:
        return (True, strides[0]) if _positive(strides[0]) else None
    (rows, columns), (down, across) = shape, strides
    if across == 1 or columns == 1:
        if rows == 1:
            return (False, columns) if across == 1 or columns == 1 else None
        return (False, down) if down == columns or _positive(down) else None
    if down == 1 or rows == 1:
        return (True, across) if across == rows or _positive(across) else None
    return None


def _positive(size: Size) -> bool:
    if isinstance(size, Dim):
        return all(coefficient > 0 for _, coefficient in size.terms)
    return size > 0
