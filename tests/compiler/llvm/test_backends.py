"""Numba compiles the same source: what it computes holds our lowering to the language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from compiler import ops
from compiler.core.errors import OptionError
from compiler.graph.traversal import ancestors
from tests.samples import SAMPLES
from tests.trace import traced

pytestmark = pytest.mark.slow

GROUPS = 10


def _slices() -> list[list[str]]:
    # composites are made of the others before anything is emitted
    composites = {op.name for op in ops.all_ops() if op.expand}
    names = sorted(set(SAMPLES) - composites)
    return [names[i::GROUPS] for i in range(GROUPS)]


@pytest.mark.parametrize("names", _slices(), ids=lambda names: names[0])
def test_numba_computes_the_same(names: list[str]) -> None:
    outputs: list[Any] = []
    feeds: dict[Any, Any] = {}
    for name in names:
        for i, sample in enumerate(SAMPLES[name][:2]):
            results, fed = traced(name, sample, sizes=sample.sizes and i == 1)
            outputs += results
            feeds |= fed
    reached = {node.serial for node in ancestors(outputs)}
    inputs = [leaf for leaf in feeds if leaf.serial in reached]
    arrays = [feeds[leaf] for leaf in inputs]
    ours = sg.compile(inputs, outputs)(*arrays)
    theirs = sg.compile(inputs, outputs, backend="numba")(*arrays)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        # sums may be vectorised differently
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)


def test_integers_wrap_and_divide_the_same() -> None:
    found = {}
    for dtype in ("int8", "uint8", "int16", "int32", "int64"):
        info = np.iinfo(dtype)
        edges = np.array([info.min, info.min + 1, -1 % (info.max + 1), 0, 1, 2, info.max], dtype)
        a, b = (array.ravel() for array in np.meshgrid(edges, edges))
        x, y = sg.placeholder("x", (None,), dtype), sg.placeholder("y", (None,), dtype)
        values = [
            x + y, x - y, x * y, -x, sg.abs(x), x // y, x % y, sg.sign(x), sg.maximum(x, y), x < y,
            sg.power(x, y), sg.astype(x, "float32"), sg.astype(x, "bool"), sg.astype(x, "int16"),
        ]  # fmt: skip
        found[dtype] = [sg.compile([x, y], values, backend=one)(a, b) for one in ("llvm", "numba")]
    for ours, theirs in found.values():
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_failing_index_is_reported_by_both() -> None:
    x, i = sg.placeholder("x", (None,)), sg.placeholder("i", (None,), "int64")
    for backend in ("llvm", "numba"):
        pick = sg.compile([x, i], sg.take(x, i), backend=backend)
        with pytest.raises(sg.OutOfRangeError, match="7"):
            pick(np.zeros(3, "float32"), np.array([0, 7]))


def test_an_unknown_backend_is_named() -> None:
    x = sg.placeholder("x", ())
    with pytest.raises(OptionError, match=r"backend is one of .*, not 'fortran'"):
        sg.compile([x], x + 1, backend="fortran")
