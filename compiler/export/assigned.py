"""Which values of a graph its author's names stand for, as far as lines tell of it.

A line that assigns a name gives it the last of the values that it computes. A graph does not say
how often a line was run: where that matters, the name is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from staticgraph.compiler.codegen.comments import Comments
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import LEAVES, Definition
from staticgraph.compiler.ops.elementwise.arithmetic import copy


class Assigned:
    """The names of the values of a graph as it was defined.

    Args:
        is_function: whether it is a function's graph, which has better to say of names that lines
            assign: then those alone count that values were given.
    """

    def __init__(self, definition: Definition, comments: Comments, is_function: bool) -> None:
        self._definition, self._comments = definition, comments
        self._is_function = is_function
        self._turns = [*turns(definition)]

    def before(self, name: str, mark: int) -> int | str | None:
        """The node that a name stands for at the statement of a node; or why there is none.

        None if it is no name of the graph's.
        """
        nodes = self._definition.nodes
        given = {node.id for node in nodes if node.name == name}
        if self._is_function:
            several = f"{len(given)} values have been given the name {name!r}"
            return several if len(given) > 1 else next(iter(given), None)
        if self.is_in_body(name, mark):
            source = place_of(nodes[mark].source)
            return f"{name!r} is a value in the body of {source}, of one iteration or side"
        for turn in self._turns:
            source = nodes[turn[0]].source
            if self._comments.assigned(source) != name:
                continue
            given.add(turn[-1])
            ops = [nodes[number].op for number in turn]
            if turn[0] <= mark <= turn[-1] and len({*ops}) < len(ops):
                return (
                    f"{name!r} is assigned by {source}, where this statement comes from, and the "
                    "graph does not say how often that was run: see the statements around"
                )
        past = [one for one in given if one < mark]
        if past or not given:
            return max(past, default=None)
        first = place_of(nodes[min(given)].source)
        return f"{name!r} has no value yet at this statement: {first} gives it the first"

    def is_in_body(self, name: str, mark: int) -> bool:
        """Whether the statement of a node is in a loop or branch whose body has such a name."""
        if self._is_function or mark >= len(self._definition.nodes):
            return False
        attrs = self._definition.nodes[mark].attrs.values()
        bodies = [one.definition for one in attrs if isinstance(one, Body)]
        own = {node.name for one in bodies for node in one.nodes}
        return name in own.union(*(self._comments.assigned_in(one).values() for one in bodies))


def turns(definition: Definition) -> Iterator[list[int]]:
    """The nodes that follow one another and are of one line: what it computes when it is run."""
    own = [one for one in definition.nodes if one.op not in LEAVES and one.op is not copy]
    for _, found in itertools.groupby(own, key=lambda one: one.source):
        yield [one.id for one in found]
