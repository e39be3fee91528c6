"""The kernel of every op: NumPy's values and gradients, from the cache and on other layouts too."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.runners import strided
from staticgraph.compiler.runtime.cache.loader import counts
from staticgraph.compiler.transforms.autodiff import gradients
from tests.combinations import some
from tests.compiler.runtime.test_launch_plan import same_bits, same_looks
from tests.layouts import all_in_place, shuffled
from tests.samples import SAMPLES
from tests.trace import cotangents, symbolic, traced

Graph = tuple[list[Expression], dict[Expression, np.ndarray]]

ALIKE = [op.name for op in ops.all_ops() if op.elementwise or op.expand]
"""Ops whose kernels load, store and are kept as one another's."""
CHOSEN = SAMPLES.keys() - {name for i, name in enumerate(ALIKE) if i % 8}
"""The ops with whose kernels other layouts and the cache are tried; all are with all samples."""


def _sampled(name: str, count: int | None) -> Graph:
    """The results of an op's first samples with gradients, and what is to be fed.

    To keep the time short, half the samples have unknown sizes, and half of each gradients.
    """
    outputs: list[Expression] = []
    feeds: dict[Expression, np.ndarray] = {}
    for i, sample in enumerate(SAMPLES[name][:count]):
        sizes = sample.sizes and i % 4 in (1, 2)
        results, fed = traced(name, sample, sizes=sizes)
        outputs += results
        if sample.order and i % 2 == 0:
            outputs += _slopes(results, fed, sizes)
        feeds |= fed
    reached = {node.serial for node in ancestors(outputs)}
    feeds = {leaf: array for leaf, array in feeds.items() if leaf.serial in reached}
    for i, leaf in enumerate(feeds):
        leaf.name = f"x{i}"  # the text of a kernel has the names: each time the same
    return outputs, feeds


def _slopes(
    results: list[Expression], feeds: dict[Expression, np.ndarray], sizes: bool
) -> list[Expression]:
    """The gradients of the weighted sum of all results; the weights are added to the feeds."""
    leaves = [leaf for leaf in feeds if leaf.dtype == np.float64]
    total = None
    for result, weight in zip(results, cotangents(interpret(results, feeds)), strict=True):
        leaf = symbolic(weight, sizes=sizes)
        feeds[leaf] = weight
        part = (result * leaf).sum()
        total = part if total is None else total + part
    return gradients(total, leaves)


def _close(values: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """The maths functions are within 4 ulp, sums are added in another order, gradients do both."""
    for value, other in zip(values, expected, strict=True):
        assert (value.dtype, value.shape) == (other.dtype, other.shape)
        if value.dtype.kind == "f":
            assert_allclose(value, other, rtol=1e-13, atol=1e-14)
        else:
            assert_array_equal(value, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(pytest.param(name, 2) for name in SAMPLES if name in CHOSEN),
        *some((pytest.param(name, 1) for name in SAMPLES if name not in CHOSEN), len(SAMPLES) // 3),
        *(pytest.param(name, None, marks=pytest.mark.long) for name in SAMPLES),
    ],
)
def test_kernels_compute_what_numpy_does(
    name: str, count: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When they are compiled, after a start from the cache, and on inputs of other layouts."""
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    launch_plans, found = counts["launch_plans"], []
    for _ in range(2):  # other expressions, with other sizes and serial numbers
        outputs, feeds = _sampled(name, count)
        arrays = [array.copy() for array in feeds.values()]
        executable = sg.compile(list(feeds), outputs, lint="off")  # that of sign has gradient 0
        found.append((executable, executable(*arrays)))
        for array, fed in zip(arrays, feeds.values(), strict=True):
            assert_array_equal(array, fed)  # the kernel does not write its inputs
    assert counts["launch_plans"] == launch_plans + 1
    (cold, values), (warm, again) = found
    expected = interpret(outputs, feeds)
    _close(values, expected)
    same_bits(values, again)
    if count is not None and name not in CHOSEN:
        return
    same_looks(cold, warm)
    choose = random.Random(name)
    arrays = [shuffled(array, choose) for array in feeds.values()]
    with all_in_place():
        _close(warm(*arrays), expected)
        assert len(warm.runner._strided) == any(map(strided.order_of, arrays))
