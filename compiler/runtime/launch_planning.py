"""From a kernel to its launch plan: what running it takes."""

from __future__ import annotations

from typing import Any, TypeAlias

from staticgraph.compiler.codegen.encoding import program_words, with_products
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.codegen.memory import Slot
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.runtime.launch_plan import Array, LaunchPlan, Piece
from staticgraph.compiler.schedule.chunks import Cut


class _Unit(int):
    """A unit's number, which its class tells from the other words."""


def launch_plan_of(kernel: Kernel, definition: Definition) -> LaunchPlan:
    """The launch plan of the kernel of a definition."""
    table = kernel.table
    words = program_words(kernel.program, list(map(_Unit, range(len(kernel.units)))), table.pool)
    if kernel.calls_blas:
        words = with_products(words, table.pool)
    address = dict(zip(map(id, kernel.memory.slots), table.address, strict=True))
    inputs, outputs = (
        tuple(
            _array(address[id(slot)], slot, definition.nodes[node].type.dtype)
            for slot, node in zip(
                [slot for slot in kernel.arguments if slot.kind == kind], nodes, strict=True
            )
        )
        for kind, nodes in (("input", definition.inputs), ("output", definition.outputs))
    )
    sizes = [(at, one) for at, one in table.computed if not isinstance(one, Cut)]
    counts = [(at, one) for at, one in table.computed if isinstance(one, Cut)]
    variables, constants, folded = _leaves(kernel, definition)
    return LaunchPlan(
        words=tuple(map(int, words)),
        links=tuple(at for at, word in enumerate(words) if isinstance(word, _Unit)),
        units=len(kernel.units),
        length=table.length,
        own=table.own,
        failed=table.failed,
        pool=table.pool,
        unlocks=table.unlocks,
        gemm=tuple(table.gemm.items()),
        unknowns=tuple(table.unknown.items()),
        computed=tuple(sizes),
        chunks=tuple(counts),
        inputs=inputs,
        outputs=outputs,
        variables=variables,
        constants=constants,
        folded=folded,
        hosts=kernel.hosts,
        lost=table.lost,
        arena=tuple(
            _piece(at, slot)
            for at, slot in zip(table.address, kernel.memory.slots, strict=True)
            if slot.kind == "arena"
        ),
    )


def _array(at: int, slot: Slot, dtype: DType) -> Array:
    """An input or output; of complex numbers the kernel has the parts, along a last axis."""
    shape = slot.shape[:-1] if dtype.kind == "c" else slot.shape
    return Array(at, shape, dtype)


def _piece(at: int, slot: Slot) -> Piece:
    return Piece(at, (slot.dtype.itemsize, *slot.shape), slot.chunks, slot.begin, slot.end)


Pairs: TypeAlias = "tuple[tuple[int, int], ...]"


def _leaves(kernel: Kernel, definition: Definition) -> tuple[Pairs, Pairs, tuple[Any, ...]]:
    """The entries of variables, of constants of the definition, and of others."""
    nodes = definition.nodes
    states = {id(node.attrs["key"]): node.id for node in nodes if node.op is leaves.variable}
    literals = {node.attrs["value"]: node.id for node in nodes if node.op is leaves.constant}
    variables, constants, folded = [], [], []
    for at, slot in zip(kernel.table.address, kernel.memory.slots, strict=True):
        if slot.kind not in ("variable", "constant"):
            continue
        attrs = kernel.located(slot.position)[1].attrs
        if slot.kind == "variable":
            variables.append((at, states[id(attrs["key"])]))
        elif attrs["value"] in literals:
            constants.append((at, literals[attrs["value"]]))
        else:
            folded.append((at, attrs["value"]))
    return tuple(variables), tuple(constants), tuple(folded)
