"""The records of fusion: groups of nodes that one nest of loops or one call computes."""

from __future__ import annotations

from dataclasses import field

from staticgraph.compiler.core.dims import Dim, Size, floor_divide, is_nonnegative
from staticgraph.compiler.core.lowering import Index
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Node


@mutable(eq=False)
class Store:
    """An element of `value` goes to `target` at `index`.

    It is added to what is there if it `accumulates`, or to zero, which makes 0.0 of -0.0; or it
    combines with it as `kind` says.
    """

    value: int
    target: int
    index: Index
    accumulates: bool = False
    adds_zero: bool = False
    kind: str = "sum"


@mutable(eq=False)
class LoopGroup:
    """Nodes computed by one nest of loops over `domain`.

    Attributes:
        reads: the values that are no scalars which the members read.
        statements: how many compute one element of all members.
        arrays: what is read, and what is computed and may have to be left, in memory.
        alone: whether nothing else may be computed in the loops.
    """

    order: int
    domain: Shape
    split: int | None = None
    members: list[int] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    fills: list[tuple[int, float]] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    statements: int = 0
    arrays: set[int] = field(default_factory=set)
    alone: bool = False


@mutable(eq=False)
class View:
    """A strided array inside the memory of `base`: offset and strides in elements."""

    base: int
    offset: Size
    strides: tuple[Size, ...]


@frozen(eq=False)
class Pack:
    """A matrix that a product packs piece by piece.

    Attributes:
        value: the matrix, a reshape of `source`: the axes of `source` from `split` on are its
            columns, of which each place on the first one is a piece.
        lead: 1 if the first axis of `source` is one of matrices, such as those of groups; else 0.
        base: what lies in memory; `index` is that of an element of `source` there.
        margins: whether an index may lie outside, along the last two axes of `base`: there are
            zeros.
        beside: whether images lie side by side, along the last axis of `base`, and windows slide
            along the two before it: an index may lie outside along these, where there are zeros.
    """

    value: int
    source: int
    base: int
    index: Index
    split: int
    lead: int = 0
    margins: bool = False
    beside: bool = False


@mutable(eq=False)
class MatmulGroup:
    """One product of matrices; it may be added to the value of the node `onto`.

    With a `pack`, the right operand is not in memory, or, if `is_left`, the left one: its view is
    one of `pack.value`. A right one may be turned. If `node` is the product
    `by_piece`, its first axis is that of the pieces of a right one, and the rows come next. What
    meets a left one may lie piece by piece: `apart` is then how far from each other, and its view
    is one of a single piece.
    """

    order: int
    node: int
    left: View
    right: View
    onto: int | None = None
    pack: Pack | None = None
    is_turned: bool = False
    is_left: bool = False
    by_piece: int | None = None
    apart: Size | None = None

    @property
    def read(self) -> tuple[int, int]:
        """What is read for the left and for the right operand, in memory."""
        if self.pack is None:
            return self.left.base, self.right.base
        if self.is_left:
            return self.pack.base, self.right.base
        return self.left.base, self.pack.base


@mutable(eq=False)
class NestedGroup:
    """A loop or a branch, which computes the `items` of its node: nodes by their index."""

    order: int
    node: int
    items: dict[int, int] = field(default_factory=dict)


@mutable(eq=False)
class AttentionGroup:
    """An attention, or its gradients: then `items` are the nodes that read them, by their index."""

    order: int
    node: int
    items: dict[int, int] = field(default_factory=dict)


@mutable(eq=False)
class HostGroup:
    """A call of an op's NumPy function on operands in memory.

    If its value is a tuple, `items` are the nodes that read it, by their index.
    """

    order: int
    node: int
    items: dict[int, int] = field(default_factory=dict)


WholeGroup = AttentionGroup | HostGroup | NestedGroup
"""What reads operands in memory and leaves results there, one or several, as a whole."""

Group = LoopGroup | MatmulGroup | WholeGroup


def computed(group: Group) -> list[int]:
    """The nodes that a group computes, in order."""
    if isinstance(group, MatmulGroup) and group.by_piece is not None:
        return [group.by_piece, group.node]
    if not isinstance(group, LoopGroup):
        return [group.node]
    return [*group.members, *(store.target for store in group.stores)]


@frozen(eq=False)
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
    axes = node.attrs["axes"]
    return all(axis in axes for axis, size in enumerate(shape) if size != 1)


def is_deferrable(split: int | None, node: Node, ndim: int) -> bool:
    """Whether a reduction can be accumulated across the rows of a group with this split."""
    axes = set(node.attrs["axes"])
    if not axes:
        return False
    columns = set(range(ndim if split is None else split, ndim))
    if not columns:
        return ndim - 1 not in axes
    return not columns & axes or columns <= axes


def trailing_axes(axes: tuple[int, ...], ndim: int) -> int:
    """How many of the axes, which are sorted, are the last ones."""
    count = 0
    while count < len(axes) and axes[-1 - count] == ndim - 1 - count:
        count += 1
    return count


def blas_layout(strides: tuple[Size, ...], shape: tuple[Size, ...]) -> tuple[bool, Size] | None:
    """Whether a matrix (or vector) must be read transposed, and its leading dimension.

    None if the BLAS cannot read it: neither axis contiguous, or reversed, or repeated, or rows that
    share elements, as those of windows do.
    """
    if len(shape) == 1:
        return (True, strides[0]) if _positive(strides[0]) else None
    (rows, columns), (down, across) = shape, strides
    if across == 1 or columns == 1:
        if rows == 1:
            return (False, columns) if across == 1 or columns == 1 else None
        return (False, down) if _spans(down, columns) else None
    if down == 1 or rows == 1:
        return (True, across) if _spans(across, rows) else None
    return None


def _spans(step: Size, count: Size) -> bool:
    """Whether runs of `count` elements that begin every `step` elements share none of them."""
    if step == count:
        return True
    if not _positive(step):
        return False
    return is_nonnegative(step - count) or floor_divide(step, count) * count == step


def _positive(size: Size) -> bool:
    if isinstance(size, Dim):
        return all(coefficient > 0 for _, coefficient in size.terms)
    return size > 0
