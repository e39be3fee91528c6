"""Blocks: nodes of a DAG folded into boxes within boxes, between which there is no circle.

Each node has a path of keys, such as the scopes that it is in, and belongs into the blocks of these
keys. A block whose nodes depend on what depends on the block would make a circle of boxes: then a
second block of the same key is begun, as for a scope that a loop enters again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

from staticgraph.compiler.core.record import mutable

MOST = 60
"""How many items a block shows; of more, neighbours are put together."""


class Key(NamedTuple):
    """What a block is: its kind, such as `scope`, and its label."""

    kind: str
    label: str


@mutable
class Block:
    """A box.

    Attributes:
        key: what it is.
        items: what is in it: nodes and blocks, operands first.
        node: the loop or branch whose bodies it shows, or None.
    """

    key: Key
    items: list[Item] = field(default_factory=list)
    node: int | None = None

    def nodes(self) -> list[int]:
        """All nodes in it, in the order in which they are shown."""
        own = [] if self.node is None else [self.node]
        return own + [node for item in self.items for node in nodes_in(item)]


Item: TypeAlias = "int | Block"


def nodes_in(item: Item) -> list[int]:
    """The nodes of an item."""
    return item.nodes() if isinstance(item, Block) else [item]


def fold(
    nodes: Sequence[int],
    operands: Mapping[int, Sequence[int]],
    path: Callable[[int], Sequence[Key]],
    upwards: bool = False,
) -> list[Item]:
    """The nodes in blocks.

    Args:
        nodes: operands first.
        operands: of each node; those that are not among the nodes do not matter.
        path: the keys of the blocks that a node is in, the outermost first.
        upwards: whether the last are at the top, as gradients are: neighbours are then put
            together from there, so that they are those of the program beside them.
    """
    return _level(nodes, operands, {node: tuple(path(node)) for node in nodes}, 0, upwards)


def _level(
    nodes: Sequence[int],
    operands: Mapping[int, Sequence[int]],
    paths: Mapping[int, tuple[Key, ...]],
    depth: int,
    upwards: bool,
) -> list[Item]:
    home: dict[int, int] = {}
    members: list[list[int]] = []
    keys: list[Key | None] = []
    before: list[int] = []  # per block, those that it depends on, as bits
    latest: dict[Key, int] = {}
    for node in nodes:
        key = paths[node][depth] if len(paths[node]) > depth else None
        deps = 0
        for operand in operands[node]:
            if operand in home:
                deps |= before[home[operand]] | 1 << home[operand]
        block = latest.get(key, -1) if key is not None else -1
        own = 1 << max(block, 0)
        if block >= 0 and any(
            before[home[operand]] & own
            for operand in operands[node]
            if operand in home and home[operand] != block
        ):
            block = -1
        if block < 0:
            block = len(members)
            members.append([])
            keys.append(key)
            before.append(0)
            if key is not None:
                latest[key] = block
        own = 1 << block
        new = deps & ~before[block] & ~own
        if new:
            before[block] |= new
            for other in range(len(before)):
                if before[other] & own:
                    before[other] |= new
        members[block].append(node)
        home[node] = block
    items: list[Item] = []
    for block in _sorted(members, home, operands):
        key = keys[block]
        if key is None:
            items += members[block]
        else:
            items.append(Block(key, _level(members[block], operands, paths, depth + 1, upwards)))
    return _parts(items, upwards)


def _sorted(
    members: Sequence[Sequence[int]], home: Mapping[int, int], operands: Mapping[int, Sequence[int]]
) -> list[int]:
    """The blocks, each after what it depends on, else in the order of their first nodes."""
    needs: list[set[int]] = [
        {home[one] for node in nodes for one in operands[node] if one in home} - {block}
        for block, nodes in enumerate(members)
    ]
    readers: list[list[int]] = [[] for _ in members]
    for block, needed in enumerate(needs):
        for one in needed:
            readers[one].append(block)
    ready = [(members[block][0], block) for block, needed in enumerate(needs) if not needed]
    heapify(ready)
    found = []
    while ready:
        _, block = heappop(ready)
        found.append(block)
        for reader in readers[block]:
            needs[reader].discard(block)
            if not needs[reader]:
                heappush(ready, (members[reader][0], reader))
    return found


def _parts(items: list[Item], upwards: bool = False) -> list[Item]:
    """The items, neighbours together in blocks if there are too many to be seen at once."""
    if len(items) <= MOST:
        return items
    order = items[::-1] if upwards else items
    size = max(24, -(-len(order) // 24))
    blocks: list[Item] = []
    for start in range(0, len(order), size):
        run = order[start : start + size]
        scopes = [
            one.key.label for one in run if isinstance(one, Block) and one.key.kind == "scope"
        ]
        label = f"{start + 1} to {start + len(run)} of {len(order)}"
        if scopes:
            label = f"{scopes[0]} to {scopes[-1]}"
        blocks.append(Block(Key("part", label), _parts(run[::-1] if upwards else run, upwards)))
    return blocks[::-1] if upwards else blocks
