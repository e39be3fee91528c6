"""What a call must move and compute at least: from the graph after the passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.dims import evaluate
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.build import operands_of
from staticgraph.compiler.runtime.sizes import sizes_of
from staticgraph.executables.executable import Executable

PRODUCTS = ("matmul", "gemm")


def least_work(executable: Executable, arrays: Sequence[Any]) -> tuple[int, dict[str, int]]:
    """Bytes of the inputs and outputs, and floating-point operations by dtype.

    A product of matrices counts 2 m n k, any other op that rounds one for each element that it
    makes (a reduction: that it reads), whatever it costs; what is inside of loops counts nothing.
    So no code that computes the same by these ops does with less.
    """
    sizes = sizes_of(executable.feeds, arrays)
    graph = executable.lowered

    def count(type: object) -> int:
        assert isinstance(type, TensorType)
        return math.prod(int(evaluate(size, sizes)) for size in type.shape)

    moved = sum(array.nbytes for array in arrays)
    definition = executable.definition
    for number in definition.outputs:
        of = definition.nodes[number].type
        if isinstance(of, TensorType):
            moved += count(of) * of.dtype.itemsize
    flops: dict[str, int] = {}
    for node, data in graph.nodes(data=True):
        op, made = data["op"], data["type"]
        if not isinstance(made, TensorType) or not is_float(made.dtype) or op.exact:
            continue
        operands = [graph.nodes[one]["type"] for one in operands_of(graph, node)]
        if not operands or not all(isinstance(one, TensorType) for one in operands):
            continue
        if op.name in PRODUCTS:
            inner = operands[-2].shape[-1]  # of (a, b), and of (c, a, b)
            done = 2 * count(made) * int(evaluate(inner, sizes))
        else:
            done = count(made) if op.elementwise else max(map(count, operands))
        name = made.dtype.name
        flops[name] = flops.get(name, 0) + done
    return moved, flops
