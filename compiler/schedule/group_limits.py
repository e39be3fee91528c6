"""How large a group of loops becomes: its statements, and the arrays that it reads and leaves.

What LLVM does to a function takes more than twice as long where it is twice as large, and what is
computed for an element stays in registers or on the stack until it is read for the last time. So a
group that is full takes no more nodes; what others read of it goes through memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from staticgraph.compiler.core.lowering import IndexMap
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.schedule.groups import LoopGroup

MOST_STATEMENTS = 512  # of a group: LLVM takes 0.1 to 0.3 s for so many
MOST_ARRAYS = 128  # of a group: LLVM vectorises no loop over 250 and more
MOST_VIRTUAL = 64  # statements that are computed where their value is read
LONGEST_CHAIN = 48  # virtual nodes in a row: the emitter recurses through them


class Extents:
    """Counts what is computed where a value is read, and what the loops of each group hold."""

    def __init__(self, nodes: Mapping[int, Node], roots: Iterable[int]) -> None:
        self.depth: dict[int, int] = {}
        self.count: dict[int, int] = {}
        self.inside: dict[int, LoopGroup] = {}
        # how often a value is still to be read; a root is read by whoever calls
        self.unread = dict.fromkeys(nodes, 0) | dict.fromkeys(roots, 1)
        for node in reversed(list(nodes.values())):
            looked_through = isinstance(node.op.lowering, IndexMap)
            for operand in node.operands:
                self.unread[operand] += self.unread[node.id] if looked_through else 1

    def of(self, node: Node) -> int:
        """The statements that compute one element of a node and of what is virtual behind it."""
        return 1 + sum(self.count.get(operand, 0) for operand in node.operands)

    def look_through(self, node: Node) -> None:
        """Note that a node is its operand at another index."""
        (operand, *_) = node.operands
        self.depth[node.id] = self.depth.get(operand, 0)
        self.count[node.id] = self.count.get(operand, 0)

    def inline(self, node: Node) -> bool:
        """Whether a node can be virtual, not being too much; noted if it can."""
        depth = 1 + max((self.depth.get(operand, 0) for operand in node.operands), default=0)
        count = self.of(node)
        if depth > LONGEST_CHAIN or count > MOST_VIRTUAL:
            return False
        self.depth[node.id], self.count[node.id] = depth, count
        return True

    def excess(self, group: LoopGroup, node: Node) -> str:
        """What a group would have too much of with this node; empty if it may join."""
        if group.statements + self.of(node) > MOST_STATEMENTS:
            return f"the group is full: it would have more than {MOST_STATEMENTS} statements"
        if len(group.arrays) >= MOST_ARRAYS:
            return f"the group is full: it reads and leaves {MOST_ARRAYS} arrays"
        return ""

    def join(self, group: LoopGroup, node: Node, bases: Iterable[int]) -> None:
        """Note that a node joins a group, in which it reads the bases, each as often as named.

        A value that the group computes counts as an array until all that read it have joined.
        """
        group.statements += self.of(node)
        group.arrays.add(node.id)
        self.inside[node.id] = group
        for base in bases:
            group.arrays.add(base)
            if self.inside.get(base) is group:
                self.unread[base] -= 1
                if not self.unread[base]:
                    group.arrays.discard(base)

    def place(self, group: LoopGroup, node: Node, bases: Iterable[int]) -> None:
        """Note that a group places a node, of which it reads the bases, in a larger value."""
        group.statements += self.of(node)
        group.arrays.update(bases)
