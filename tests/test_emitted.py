"""The compiled kernel of every op against its NumPy evaluation: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from compiler.autodiff import gradients
from compiler.graph.expression import Expression, ancestors
from compiler.runtime.interpret import interpret
from tests.samples import SAMPLES
from tests.trace import cotangents, symbolic, traced

# the maths functions are within 4 ulp, sums are added in another order, and gradients combine both
CLOSE = {"rtol": 1e-13, "atol": 1e-14}


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


@pytest.mark.parametrize("name", SAMPLES)
def test_kernel_computes_what_numpy_does(name: str) -> None:
    outputs: list[Expression] = []
    feeds: dict[Expression, np.ndarray] = {}
    for i, sample in enumerate(SAMPLES[name]):
        # to keep the time short, half the samples have unknown sizes, and half of each gradients
        sizes = sample.sizes and i % 4 in (1, 2)
        results, fed = traced(name, sample, sizes=sizes)
        outputs += results
        if sample.order and i % 2 == 0:
            outputs += _slopes(results, fed, sizes)
        feeds |= fed
    reached = {node.serial for node in ancestors(outputs)}
    inputs = [leaf for leaf in feeds if leaf.serial in reached]
    arrays = [feeds[leaf].copy() for leaf in inputs]
    values = sg.compile(inputs, outputs)(*arrays)
    for value, expected in zip(values, interpret(outputs, feeds), strict=True):
        assert value.dtype == expected.dtype
        assert value.shape == expected.shape
        if value.dtype.kind == "f":
            assert_allclose(value, expected, **CLOSE)
        else:
            assert_array_equal(value, expected)
    for leaf, array in zip(inputs, arrays, strict=True):
        assert_array_equal(array, feeds[leaf])  # the kernel does not write its inputs
