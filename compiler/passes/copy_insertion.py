"""Give each output and each update a value of its own, which its memory can be named after."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.lowering import (
    Attention,
    Gather,
    Gemm,
    Host,
    Item,
    Matmul,
    Overlap,
    Pointwise,
    Reduce,
    Scatter,
    Window,
)
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.elementwise.arithmetic import copy

_COMPUTED = (
    Pointwise | Gather | Matmul | Gemm | Attention | Host | Reduce | Scatter | Window | Overlap
    | Item
)  # fmt: skip


def separate_roots(graph: Definition) -> Definition:
    """The graph in which every root is computed, none twice, and every update element by element.

    An output that is an input, a constant, or only moves elements would share their memory; an
    update that is a product of matrices cannot be written over the old value that it reads, unless
    it is added to it.
    """
    made = graph.expressions()
    taken: set[int] = set()
    reports = collector()
    copies = {value.operands[0].serial: value for value in made if value.op is copy}

    def own(node: int, kinds: Any) -> Expression:
        value = made[node]
        if node in taken or not isinstance(value.op.lowering, kinds):
            # a copy of the latest copy, since two copies of one value would be interned
            while value.serial in copies:
                value = copies[value.serial]
            new = Expression(copy, (value,), {}, None, value.source, value.type)
            if reports is not None:
                text = "copied: an output or update has memory of its own"
                by = separate_roots.__name__
                reports.append(Report("copied", value.source, value.op.name, by, text))
            copies[value.serial] = value = new
        taken.add(node)
        return value

    pairs = graph.updates
    updates = [(made[variable], own(new, Pointwise | Gemm)) for variable, new in pairs]
    outputs = [own(node, _COMPUTED) for node in graph.outputs]
    return define([made[node] for node in graph.inputs], outputs, updates)
