"""The records that tell the emitter where elements come from, run as slow reference loops."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from staticgraph.compiler.core.affine import Affine, loop, run_time
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.lowering import Alias, Gather, IndexMap, Overlap, Scatter, Window
from staticgraph.compiler.core.op import Op, all_ops
from staticgraph.compiler.core.types import neutral
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from tests.samples import SAMPLES
from tests.trace import traced

RECORDS = (IndexMap, Gather, Scatter, Window, Overlap, Alias)
COMBINED = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
MOVES = [op for op in all_ops() if isinstance(op.lowering, RECORDS)]


@functools.cache
def _nodes() -> dict[Op, list[tuple[Expression, dict[Expression, np.ndarray]]]]:
    """All nodes of all samples, with what is to be fed."""
    found = defaultdict(list)
    for name, samples in SAMPLES.items():
        for sample in samples:
            results, feeds = traced(name, sample)
            for node in ancestors(results):
                found[node.op].append((node, feeds))
    return found


def _applications(op: Op) -> Iterator[tuple[Expression, list[np.ndarray], np.ndarray]]:
    for node, feeds in _nodes()[op]:
        value, *operands = interpret([node, *node.operands], feeds)
        yield node, operands, value


def _at(index: tuple[Affine, ...], loops: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(
        affine.constant + sum(factor * loops[axis] for axis, factor in affine.terms)
        for affine in index
    )


def _loops(array: np.ndarray) -> tuple[Affine, ...]:
    return tuple(loop(axis) for axis in range(array.ndim))


def _moved(node: Expression, operands: list[np.ndarray], value: np.ndarray) -> np.ndarray:
    """The node's value computed by the loops that its lowering describes."""
    types, attrs, lowering = [o.type for o in node.operands], node.attrs, node.op.lowering
    kind = lowering.kind(**attrs) if isinstance(lowering, Scatter) and lowering.kind else "sum"
    combine = COMBINED[kind]
    result = np.full_like(value, neutral(kind, value.dtype))
    if isinstance(lowering, Alias):
        return operands[0].reshape(value.shape)
    if isinstance(lowering, IndexMap):
        index = lowering.map(_loops(value), types[0], node.type, **attrs)
        for place in np.ndindex(value.shape):
            result[place] = operands[0][_at(index, place)]
    elif isinstance(lowering, Gather):
        inner, outer = lowering.split(_loops(value), *types, **attrs)
        for place in np.ndindex(value.shape):
            source = list(_at(outer, place))
            source[attrs["axis"]] = int(operands[1][_at(inner, place)])
            result[place] = operands[0][tuple(source)]
    elif isinstance(lowering, Scatter):
        inner, outer = lowering.split(_loops(operands[0]), node.type, *types[1:], **attrs)
        for place in np.ndindex(operands[0].shape):
            target = list(_at(outer, place))
            target[attrs["axis"]] = int(operands[1][_at(inner, place)])
            result[tuple(target)] = combine(result[tuple(target)], operands[0][place])
    elif isinstance(lowering, Overlap):
        index = lowering.place(_loops(operands[0]), types[0], **attrs)
        for place in np.ndindex(operands[0].shape):
            result[_at(index, place)] += operands[0][place]
    elif isinstance(lowering, Window):
        fill = lowering.fill(**attrs)
        covered = np.zeros(value.shape, bool)
        for operand, (starts, steps) in zip(
            operands, lowering.windows(types, node.type, **attrs), strict=True
        ):
            for place in np.ndindex(operand.shape):
                target = tuple(
                    start + i * step for start, i, step in zip(starts, place, steps, strict=True)
                )
                result[target] = operand[place]
                covered[target] = True
        assert fill is not None or covered.all()
        result[~covered] = fill or 0
    return result


@pytest.mark.slow
@pytest.mark.parametrize("op", MOVES, ids=lambda op: op.name)
def test_loops_over_the_lowering_give_numpys_value(op: Op) -> None:
    seen = 0
    for node, operands, value in _applications(op):
        seen += 1
        moved = _moved(node, operands, value)
        if isinstance(op.lowering, Scatter | Overlap):
            assert_allclose(moved, value, rtol=1e-14)
        else:
            assert_array_equal(moved, value)
    assert seen > 1


def test_every_op_but_leaves_and_composites_has_a_lowering() -> None:
    without = {op.name for op in all_ops() if op.lowering is None and op.expand is None}
    assert without == {"placeholder", "variable", "constant"}


def test_affine_arithmetic_is_exact() -> None:
    n = unknown("n")
    index: Any = loop(0) * 2 + loop(1) * n + 3 + run_time("k") * 4
    assert index == Affine(3, ((0, 2), (1, n)), (("k", 4),))
    assert index + loop(0) * -2 == Affine(3, ((1, n),), (("k", 4),))
    assert index * 0 == Affine()
    assert index * 2 == Affine(6, ((0, 4), (1, 2 * n)), (("k", 8),))
    assert index.coefficient(1) == n
    assert index.coefficient(5) == 0
    assert loop(2) + loop(1) == loop(1) + loop(2)
