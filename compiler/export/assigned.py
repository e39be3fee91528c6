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
        self._turns = [*_turns(definition)]

    def before(self, name: str, mark: int) -> int | str | None:
        """The node that a name stands for at the statement of a node; or why there is none.

        None if it is no name of the graph's.
        """
        nodes = self._definition.nodes
        given = {node.id: node.id for node in nodes if node.name == name}
        if not self._is_function:
            if mark < len(nodes) and name in self._in_bodies(mark):
                return f"{name!r} is a value of the body of {nodes[mark].source}, of an iteration"
            for turn in self._turns:
                source = nodes[turn[0]].source
                if self._comments.assigned(source) != name:
                    continue
                given[turn[-1]] = turn[0]
                ops = [nodes[number].op for number in turn]
                if turn[0] <= mark <= turn[-1] and len({*ops}) < len(ops):
                    return (
                        f"{name!r} is assigned by {source}, where this statement comes from, and "
                        "the graph does not say how often that was run: see the statements around"
                    )
        past = [last for last in given if last < mark]
        if past:
            return max(past)
        if not given:
            return None
        first = place_of(nodes[min(given)].source)
        return f"{name!r} has no value yet at this statement: {first} gives it the first"

    def _in_bodies(self, number: int) -> set[str]:
        """The names of values in the loop or branch that a node is."""
        bodies = (one for one in self._definition.nodes[number].attrs.values())
        found = (self._comments.assigned_in(x.definition) for x in bodies if isinstance(x, Body))
        return {name for names in found for name in names.values()}


def _turns(definition: Definition) -> Iterator[list[int]]:
    """The nodes that follow one another and are of one line."""
    own = [one for one in definition.nodes if one.op not in LEAVES and one.op is not copy]
    for _, found in itertools.groupby(own, key=lambda one: one.source):
        yield [one.id for one in found]
