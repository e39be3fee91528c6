"""Several tensors as one, for what has one value and one cotangent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.graph.expression import Expression


def packed(values: Sequence[Expression]) -> Expression:
    """Several floating-point values as one vector; one as it is."""
    if len(values) == 1:
        return values[0]
    rows = [ops.reshape(ops.astype(one, "float64"), (-1,)) for one in values]
    made: Expression = ops.concatenate(rows)
    return made


def unpacked(whole: Expression, like: Sequence[Expression]) -> list[Expression]:
    """The values that `packed` packs."""
    if len(like) == 1:
        return [whole]
    found: list[Expression] = []
    start: Size = 0
    for one in like:
        stop = start + math.prod(one.shape)
        part = ops.reshape(whole[start:stop], tuple(one.shape))
        found.append(ops.astype(part, one.dtype))
        start = stop
    return found
