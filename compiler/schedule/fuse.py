"""Fusion: partition the graph into groups, each one nest of loops or one product.

A loop group has a domain (the sizes of its loops) and, once it holds a reduction over the last
axes, a split: the axes before it are *rows*, those after it *columns*, and each row is swept in as
many passes as its reductions need, so that a softmax or a layer norm with its gradient is one
group whose row stays in the cache. Nodes are placed greedily in order: into the latest group that
computes one of their operands if they fit there, since everything else they read is older.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.lowering import (
    Alias,
    Attention,
    Gather,
    Gemm,
    Host,
    Index,
    IndexMap,
    Item,
    Matmul,
    Nested,
    Overlap,
    Pointwise,
    Reduce,
    Scatter,
    Window,
)
from staticgraph.compiler.core.types import Shape, TupleType, neutral
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node, no_lowering
from staticgraph.compiler.schedule.access import (
    broadcast_index,
    canonical,
    contiguous_strides,
    demands,
    is_free,
    reach,
)
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    Fusion,
    HostGroup,
    LoopGroup,
    MatmulGroup,
    NestedGroup,
    Store,
    View,
    WholeGroup,
    is_deferrable,
    is_row,
    totals_rows,
    trailing_axes,
)
from staticgraph.compiler.schedule.long_rows import cut_long_rows
from staticgraph.compiler.schedule.permuted_stores import beside_source
from staticgraph.compiler.schedule.placement import (
    ALONE,
    CALL,
    LOOP,
    OTHER_AXES,
    OTHER_LOOPS,
    PLACED,
    PRODUCT,
    RECENT,
    WRITTEN_OUT,
    Placement,
    is_alone,
)
from staticgraph.compiler.schedule.products import (
    is_reshape,
    is_transposed,
    is_turned,
    matrix_view,
    pack_of,
    pieces_view,
    side_by_side,
    unwritten_pack,
)
from staticgraph.compiler.schedule.window_stores import (
    at_window,
    interleaves,
    is_dense,
    source_of,
)


def fuse(graph: Definition, separate: bool = False) -> Fusion:
    """Partition a graph of primitive ops; with `separate`, every node is a group of its own."""
    fuser = _Fuser(graph, separate)
    for node in fuser.nodes.values():
        fuser.place(node)
    groups = tuple(sorted(fuser.groups, key=lambda group: group.order))
    fusion = Fusion(
        fuser.nodes,
        groups,
        fuser.home,
        frozenset(fuser.deferred),
        frozenset(fuser.stored),
        frozenset(fuser.virtual),
        fuser.roots,
    )
    return fusion if separate else cut_long_rows(fusion)


class _Fuser(Placement):
    def place(self, node: Node) -> None:
        lowering = node.op.lowering
        if node.id in self.joined or node.id in self.unwritten:
            return
        if isinstance(lowering, Pointwise | Gather):
            if not self._make_virtual(node):
                self._place_pointwise(node)
        elif isinstance(lowering, Reduce):
            self._place_reduction(node)
        elif isinstance(lowering, IndexMap):
            self.extents.look_through(node)
        elif isinstance(lowering, Alias):
            self._place_alias(node)
        elif isinstance(lowering, Matmul):
            self._place_matmul(node, node.operands)
        elif isinstance(lowering, Gemm):
            self._place_gemm(node)
        elif isinstance(lowering, Window):
            self._place_window(node, lowering)
        elif isinstance(lowering, Overlap):
            self._place_overlap(node, lowering)
        elif isinstance(lowering, Scatter):
            self._place_scatter(node, lowering)
        elif isinstance(lowering, Attention):
            self._place_whole(node, AttentionGroup, PRODUCT)
        elif isinstance(lowering, Host):
            self._place_whole(node, HostGroup, CALL)
        elif isinstance(lowering, Nested):
            self._place_whole(node, NestedGroup, LOOP)
        elif isinstance(lowering, Item):
            self._place_item(node)
        elif lowering is None and node.op not in LEAVES:
            raise no_lowering(node)

    # -- pointwise ---------------------------------------------------------------------------

    def _make_virtual(self, node: Node) -> bool:
        if self.separate or node.id in self.stored:
            return False
        if not self._single_reader(node) or not self.extents.inline(node):
            return False
        self.virtual.add(node.id)
        return True

    def _single_reader(self, node: Node) -> bool:
        """Whether one place alone reads the node, and computes no element of it twice."""
        seen_as = node
        while True:
            if seen_as.id in self.stored or len(self.consumers[seen_as.id]) != 1:
                return False
            reader = self.nodes[self.consumers[seen_as.id][0]]
            if reader.id in self.unwritten:
                return False
            lowering = reader.op.lowering
            if not isinstance(lowering, IndexMap):
                break
            if lowering.repeats:
                return False
            seen_as = reader
        if is_alone(node) or (is_alone(reader) and node.op.cost == "expensive"):
            return False
        if isinstance(lowering, Reduce | Window | Overlap):
            return reader.operands.count(seen_as.id) == 1
        if isinstance(lowering, Scatter) and reader.operands[0] == seen_as.id:
            return True
        if isinstance(lowering, Gather) and reader.operands[0] == seen_as.id:
            return isinstance(node.op.lowering, Pointwise) and node.op.cost == "cheap"
        if isinstance(lowering, Pointwise | Gather):
            return reader.type.size == node.type.size
        return False

    def _place_pointwise(self, node: Node) -> None:
        shape = node.type.shape
        bases = list(demands(self.nodes, self.virtual, node, canonical(shape)))
        least = self.earliest(bases)
        if node.id in self.updated:
            least = max(least, self.readers.get(self.updated[node.id], self.first))
        group = self.candidate(node, bases, least)
        if group is None:
            at_front = least == self.first and not (shape and node.id in self.updated)
            group = self.new_loops(shape, None, at_front)
        self.report_apart(node, group, bases, lambda home: self.obstacle(home, node, bases))
        self.join(node, group, bases)

    # -- reductions --------------------------------------------------------------------------

    def _place_reduction(self, node: Node) -> None:
        operand = self.nodes[node.operands[0]]
        shape = operand.type.shape
        bases = list(reach(self.nodes, self.virtual, operand.id, canonical(shape)))
        least = self.earliest(bases)
        group = None
        if not self.separate:
            group = self._reduction_candidate(node, shape, bases, least)
        if group is None:
            group = self._new_reduction(node, shape)
        self.report_apart(
            node, group, bases, lambda home: self._obstacle_of_reduction(home, node, shape, bases)
        )
        self.join(node, group, bases)

    def _reduction_candidate(
        self, node: Node, shape: Shape, bases: list[tuple[int, Index]], least: int
    ) -> LoopGroup | None:
        shared = {base for base, _ in bases if self.nodes[base].type.ndim}
        groups = [self.home[base] for base, _ in bases if base in self.home]
        for group in (*groups, *reversed(self.by_domain.get(shape, [])[-RECENT:])):
            if not isinstance(group, LoopGroup) or group.alone or group.order < least:
                continue
            own = any(self.home.get(base) is group for base in shared)
            if not (own or shared & group.reads) or self.extents.excess(group, node):
                continue
            if self.unreadable(group, bases):
                continue
            if shape == group.domain and self._accept_reduction(group, node):
                return group
            if totals_rows(group, node, shape):
                self.deferred.add(node.id)
                return group
        return None

    def _obstacle_of_reduction(
        self, group: LoopGroup, node: Node, shape: Shape, bases: list[tuple[int, Index]]
    ) -> str:
        """Why a group did not take a reduction over values of this shape."""
        if group.alone:
            return ALONE
        found = self.extents.excess(group, node) or self.unreadable(group, bases)
        if not found and shape != group.domain:
            return OTHER_LOOPS
        return found or OTHER_AXES

    def _accept_reduction(self, group: LoopGroup, node: Node) -> bool:
        axes, ndim = node.attrs["axes"], len(group.domain)
        first = ndim - trailing_axes(axes, ndim)
        if first < ndim and self._splits(group, first):
            group.split = first
        if group.split == first == ndim - len(axes) and axes:
            return True
        if not is_deferrable(group.split, node, ndim):
            return False
        self.deferred.add(node.id)
        return True

    def _splits(self, group: LoopGroup, first: int) -> bool:
        """Whether the axes from `first` on may become the columns of a group without rows."""
        return group.split is None and all(
            is_deferrable(first, self.nodes[node_id], len(group.domain))
            for node_id in group.members
            if node_id in self.deferred
        )

    def _new_reduction(self, node: Node, shape: Shape) -> LoopGroup:
        axes, ndim = node.attrs["axes"], len(shape)
        trailing = trailing_axes(axes, ndim)
        if trailing == len(axes):
            return self.new_loops(shape, ndim - trailing)
        self.deferred.add(node.id)
        return self.new_loops(shape, ndim - trailing if trailing else None)

    # -- what is not a loop over its own elements ----------------------------------------------

    def _place_whole(self, node: Node, kind: Callable[[int, int], WholeGroup], reason: str) -> None:
        for operand in node.operands:
            self._materialise(operand)
        group = kind(self.next_order(), node.id)
        self.report_own(node, node.operands, reason)
        self.groups.append(group)
        self.home[node.id] = group
        self.deferred.add(node.id)
        if not isinstance(node.type, TupleType):
            self.stored.add(node.id)
        for operand in node.operands:
            self.readers[operand] = group.order

    def _place_item(self, node: Node) -> None:
        group = self.home[node.operands[0]]
        assert isinstance(group, WholeGroup)
        group.items[node.attrs["index"]] = node.id
        self.home[node.id] = group
        self.deferred.add(node.id)
        self.stored.add(node.id)

    def _materialise(self, node_id: int) -> None:
        """See that a value lies in memory, in row-major order."""
        node = self.nodes[node_id]
        if node_id in self.home:
            self.stored.add(node_id)
        elif node.op.name != "constant" and (is_free(node) or node_id in self.virtual):
            self.virtual.discard(node_id)
            self._place_copy(node)

    def _place_copy(self, node: Node) -> None:
        shape = node.type.shape
        bases = list(reach(self.nodes, self.virtual, node.id, canonical(shape)))
        found = None if self.separate else beside_source(self.nodes, self.home, node)
        if found is not None and found[1].value in self.deferred:
            found = None
        if found is None:
            group = self.new_loops(shape, None, at_front=self.earliest(bases) == self.first)
            self.report_own(node, (base for base, _ in bases), WRITTEN_OUT)
            group.stores.append(Store(node.id, node.id, canonical(shape)))
        else:
            group, store = found
            group.stores.append(store)
        self.read(group, bases)
        self.home[node.id] = group
        self.deferred.add(node.id)
        self.stored.add(node.id)

    def _place_alias(self, node: Node) -> None:
        if is_reshape(node) and not self.separate and node.id not in self.stored:
            pack = pack_of(self.nodes, self.consumers, node)
            if pack is not None and pack.base in self.unwritten:
                pack = unwritten_pack(self.nodes, self.consumers, pack)
            elif pack is not None:
                pack = side_by_side(self.nodes, self.consumers, pack, False) or pack
            if pack is not None:
                self.packs[node.id] = pack
                self._materialise(pack.base)
                return
            pieces = pieces_view(self.nodes, self.consumers, self.stored, node)
            if pieces is not None:
                self.pieces[node.id] = pieces
                self._materialise(pieces[0].base)
                return
        self._materialise(node.operands[0])
        self._ready(node.id)  # step by step along a chain of aliases

    def _place_gemm(self, node: Node) -> None:
        onto, *factors = node.operands
        self._materialise(onto)
        group = self._place_matmul(node, factors)
        group.onto = onto
        self.readers[onto] = group.order

    def _place_matmul(self, node: Node, operands: Sequence[int]) -> MatmulGroup:
        views: list[View] = []
        apart: Size | None = None
        for operand in operands:
            if operand in self.pieces:
                piece, apart = self.pieces[operand]
                views.append(piece)
                continue
            view = matrix_view(self.nodes, self.home, operand)
            is_left = bool(views) and views[0].base in self.packs
            if view is not None and is_left and is_transposed(self.nodes, operand, view):
                view = None  # what meets windows on the left is read row by row
            if view is None:
                self._materialise(operand)
                shape = self.nodes[operand].type.shape
                view = View(operand, 0, contiguous_strides(shape))
            elif view.base in self.home:
                self.stored.add(view.base)
            views.append(view)
        order = self.next_order()
        left, right = views
        pack = self.packs.get(left.base, self.packs.get(right.base))
        group = MatmulGroup(order, node.id, left, right, pack=pack, apart=apart)
        group.by_piece = self.by_piece.get(node.id)
        if pack is not None:
            group.is_left = left.base in self.packs
            group.is_turned = not group.is_left and is_turned(self.nodes, operands[1], pack)
            self.readers[pack.base] = order
            if pack.base in self.home:
                self.stored.add(pack.base)
        assert group.by_piece is None or (pack is not None and not group.is_left)
        self.report_own(node, (view.base for view in views), PRODUCT)
        self.groups.append(group)
        self.home[node.id] = group
        self.deferred.add(node.id)
        self.stored.add(node.id)
        for view in views:
            self.readers[view.base] = order
        return group

    def _place_window(self, node: Node, lowering: Window) -> None:
        types = [self.nodes[operand].type for operand in node.operands]
        windows = lowering.windows(types, node.type, **node.attrs)
        is_joint = interleaves([starts for starts, _ in windows], node.type.shape)
        groups: list[LoopGroup] = []
        for operand, (starts, steps) in zip(node.operands, windows, strict=True):
            source, place = self.nodes[operand], canonical(self.nodes[operand].type.shape)
            if not self.separate:
                source, place = source_of(self.nodes, source)
            bases = list(reach(self.nodes, self.virtual, source.id, canonical(source.type.shape)))
            index = at_window(place, starts, steps)
            lies = is_dense(index, source.type.shape, node.type.shape)
            group = self._window_group(source, bases, groups if is_joint else [], lies)
            self.report_apart(node, group, bases, lambda home: PLACED)
            self.extents.place(group, source, (base for base, _ in bases))
            group.stores.append(Store(source.id, node.id, index))
            self.read(group, bases)
            groups.append(group)
        value = lowering.fill(**node.attrs)
        if value is not None:
            min(groups, key=lambda group: group.order).fills.append((node.id, value))
        self.home[node.id] = max(groups, key=lambda group: group.order)
        self.deferred.add(node.id)
        self.stored.add(node.id)

    def _window_group(
        self,
        source: Node,
        bases: list[tuple[int, Index]],
        joint: Sequence[LoopGroup],
        lies_dense: bool,
    ) -> LoopGroup:
        """The group that places a value: what computes it or reads what it is made of, one of the
        `joint` that place others beside it, or a new one.

        `lies_dense`: where it is placed, neighbours of the innermost loop are neighbours. Only then
        are values of rows placed by the sums that give them, which are vectorised across rows.
        """
        shape = source.type.shape
        if not self.separate:
            least = self.earliest(bases)
            computing = self.home.get(source.id)
            found = computing if source.id not in self.deferred else None
            if (
                isinstance(found, LoopGroup)
                and is_row(found, shape)
                and lies_dense
                and self.fits(found, source, bases)
            ):
                return found
            later = [group for group in joint if group.order >= least]
            for group in (found, *later, self.candidate(source, bases, least)):
                if (
                    isinstance(group, LoopGroup)
                    and group.domain == shape
                    and not is_row(group, shape)
                    and self.fits(group, source, bases)
                ):
                    return group
        return self.new_loops(shape, None)

    def _place_overlap(self, node: Node, lowering: Overlap) -> None:
        (operand,) = node.operands
        type = self.nodes[operand].type
        index = lowering.place(canonical(type.shape), type, **node.attrs)
        overlaps, covers = lowering.meets(type, **node.attrs)
        store = Store(operand, node.id, index, accumulates=overlaps, adds_zero=not overlaps)
        group = self._store_group(node, operand, store)
        if overlaps or not covers:
            group.fills.append((node.id, 0.0))

    def _place_scatter(self, node: Node, lowering: Scatter) -> None:
        source, indices = (self.nodes[operand] for operand in node.operands)
        loops = canonical(source.type.shape)
        inner, outer = lowering.split(loops, source.type, indices.type, **node.attrs)
        kind = "sum" if lowering.kind is None else lowering.kind(**node.attrs)
        store = Store(source.id, node.id, outer, accumulates=True, kind=kind)
        group = self._store_group(node, source.id, store)
        group.fills.append((node.id, neutral(kind, node.type.dtype)))
        index = broadcast_index(inner, indices.type.shape)
        self.read(group, reach(self.nodes, self.virtual, indices.id, index))

    def _store_group(self, node: Node, operand: int, store: Store) -> LoopGroup:
        shape = self.nodes[operand].type.shape
        bases = list(reach(self.nodes, self.virtual, operand, canonical(shape)))
        group = self.new_loops(shape, None)
        self.report_own(node, (base for base, _ in bases), PLACED)
        group.stores.append(store)
        self.read(group, bases)
        self.home[node.id] = group
        self.deferred.add(node.id)
        self.stored.add(node.id)
        return group
