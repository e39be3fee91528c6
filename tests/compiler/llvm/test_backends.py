"""Numba compiles the same source: what it computes holds our lowering to the language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.traversal import ancestors
from tests.combinations import some
from tests.samples import SAMPLES
from tests.trace import traced
from tests.workloads import KERNELS, compiled

pytestmark = pytest.mark.slow

GROUPS = 20


def _slices() -> list[list[str]]:
    # composites are made of the others before anything is emitted
    composites = {op.name for op in ops.all_ops() if op.expand}
    names = sorted(set(SAMPLES) - composites)
    return [names[i::GROUPS] for i in range(GROUPS)]


@pytest.fixture
def own_number() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = sg.get_num_threads()
    yield
    sg.set_num_threads(before)


@pytest.mark.parametrize("names", some(_slices(), 2), ids=lambda names: names[0])
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
        _assert_equal_bits(one, other)


def _assert_equal_bits(one: Any, other: Any) -> None:
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert one.tobytes() == other.tobytes()


@pytest.mark.usefixtures("own_number")
@pytest.mark.parametrize("name", some(KERNELS, 2))
def test_workloads_have_the_same_bits(name: str) -> None:
    (found,) = _results(name, "llvm", (1,))
    for theirs in _results(name, "numba", (1, 2)):
        assert len(theirs) == len(found)
        for one, other in zip(found, theirs, strict=True):
            _assert_equal_bits(one, other)


def _results(name: str, backend: str, counts: tuple[int, ...]) -> Iterator[list[Any]]:
    """What a workload gives in the second call, and the values of its variables then.

    For each number of threads, with one kernel: Numba takes long to compile it.
    """
    executable, inputs = compiled(name, backend=backend)
    variables = executable.variables.values()
    before = [one.value.copy() for one in variables]
    for count in counts:
        sg.set_num_threads(count)
        for one, value in zip(variables, before, strict=True):
            one.value = value
        executable(*inputs)
        yield [*executable(*inputs), *(one.value.copy() for one in variables)]


@pytest.mark.parametrize("length", some([7, 1, 16, 15, 17, 100], 2))
def test_rows_that_are_no_whole_vectors_are_computed_with_masks_by_both(length: int) -> None:
    x = sg.placeholder("x", (None, length), "float32")
    outputs = [sg.exp(x).sum(axis=1), sg.softmax(x), sg.tanh(x) * x]
    given = np.random.default_rng(length).normal(size=(5, length)).astype("float32")
    ours, theirs = (sg.compile([x], outputs, backend=one)(given) for one in ("llvm", "numba"))
    for one, other in zip(ours, theirs, strict=True):
        _assert_equal_bits(one, other)


@pytest.mark.parametrize("dtype", some(["int8", "int64", "int16", "uint8", "int32"], 2))
def test_integers_wrap_and_divide_the_same(dtype: str) -> None:
    info = np.iinfo(dtype)
    below = -1 if info.min else info.max - 1
    edges = np.array([info.min, info.min + 1, below, 0, 1, 2, info.max], dtype)
    a, b = (array.ravel() for array in np.meshgrid(edges, edges))
    x, y = sg.placeholder("x", (None,), dtype), sg.placeholder("y", (None,), dtype)
    values = [
        x + y, x - y, x * y, -x, sg.abs(x), x // y, x % y, sg.sign(x), sg.maximum(x, y), x < y,
        sg.power(x, y), sg.astype(x, "float32"), sg.astype(x, "bool"), sg.astype(x, "int16"),
    ]  # fmt: skip
    ours, theirs = (sg.compile([x, y], values, backend=one)(a, b) for one in ("llvm", "numba"))
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
