"""Gradients by variables of what ranks combine: the mean over ranks, in one buffer or a few.

All ranks have the same variables. The value that a rank computes, such as the mean of a loss over
ranks, is differentiated by its own copy of them alone; by all copies together, which are one, it is
the sum of that, and for the mean of the values of all ranks its mean (the transpose of a copy is a
sum). The gradients are packed into buffers in the order in which the reverse pass has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from staticgraph.compiler.core.source import of_gradient
from staticgraph.compiler.graph.expression import Expression, at_line
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs.collectives import COLLECTIVES, all_reduce
from staticgraph.compiler.ops.shapes.shape import reshape
from staticgraph.compiler.ops.shapes.slicing import concatenate
from staticgraph.compiler.reference.ranks import current


def averaged(
    nodes: Iterable[Expression], wrt: Sequence[Expression], found: Sequence[Expression]
) -> list[Expression]:
    """Gradients, of which those by variables are their means over ranks.

    Args:
        nodes: what the output that was differentiated depends on. Without a collective among
            them, or alone, nothing is combined.
        wrt: by what it was differentiated.
        found: a gradient for each.
    """
    combined = next((node for node in nodes if node.op in COLLECTIVES), None)
    if combined is None or current().size == 1:
        return list(found)
    chosen = [i for i, one in enumerate(wrt) if one.op is leaves.variable]
    result = list(found)
    with at_line(of_gradient(combined.op.name, combined.source)):
        for bucket in _buckets(chosen, found):
            means = _means([found[i] for i in bucket])
            for i, mean in zip(bucket, means, strict=True):
                result[i] = mean
    return result


def _buckets(chosen: Iterable[int], found: Sequence[Expression]) -> list[list[int]]:
    """Which gradients are sent together: of one dtype, in the order in which they are known."""
    limit = current().bucket_bytes
    filling: dict[object, list[int]] = {}
    filled: dict[object, int] = {}
    buckets: list[list[int]] = []
    for i in sorted(chosen, key=lambda place: found[place].serial):
        dtype, size = found[i].dtype, found[i].type.size
        assert isinstance(size, int)  # that of a variable
        if size * dtype.itemsize >= limit:  # is a buffer by itself, without a copy
            buckets.append([i])
            continue
        if filled.get(dtype, limit) >= limit:
            filling[dtype], filled[dtype] = [], 0
            buckets.append(filling[dtype])
        filling[dtype].append(i)
        filled[dtype] += size * dtype.itemsize
    # as they become complete
    return sorted(buckets, key=lambda bucket: found[bucket[-1]].serial)


def _means(gradients: Sequence[Expression]) -> list[Expression]:
    """The means of gradients over ranks, by way of one buffer."""
    if len(gradients) == 1:
        return [all_reduce(gradients[0], "mean")]
    flat = [reshape(one, (-1,)) for one in gradients]
    packed = all_reduce(concatenate(flat), "mean")
    means, begin = [], 0
    for one in gradients:
        end = begin + cast("int", one.type.size)  # as that of a variable
        means.append(reshape(packed[begin:end], one.shape))
        begin = end
    return means
