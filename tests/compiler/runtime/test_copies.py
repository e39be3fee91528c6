"""Copies and sums that threads share are those of NumPy, wherever the elements lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.core import provided
from staticgraph.compiler.reference import copies


def values(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape)


def laid_out_as(x: Any, dtype: str) -> Any:
    """The elements in a dtype, as far apart as they are in x."""
    if not any(x.strides):
        return np.broadcast_to(x.flat[0].astype(dtype), x.shape)
    base = x if x.base is None else x.base
    if dtype == "f8" or base.size == x.size or x.ndim != 2 or 0 in x.strides:
        return x if dtype == "f8" else np.asarray(x, dtype)
    wide = base.astype(dtype)
    step = wide.itemsize / base.itemsize
    strides = [int(one * step) for one in x.strides]
    begin = x.ctypes.data - base.ctypes.data
    return np.ndarray(x.shape, dtype, wide, int(begin * step), strides)


LAYOUTS: dict[str, Callable[[], Any]] = {
    "row-major": lambda: values(301, 507),
    "one row": lambda: values(200_003),
    "transposed": lambda: values(509, 301).T,
    "transposed, of a power of two": lambda: values(512, 512).T,
    "channels last": lambda: values(3, 23, 29, 70).transpose(0, 3, 1, 2),
    "heads": lambda: values(4, 65, 8, 65).swapaxes(1, 2),
    "columns": lambda: values(700, 400)[:, 100:300],
    "every other column": lambda: values(500, 600)[:, ::2],
    "from the end": lambda: values(300, 500)[::-1, ::-1],
    "a few columns": lambda: values(50_000, 5)[:, :3],
    "a number": lambda: np.broadcast_to(np.float64(1.5), (300, 500)),
    "a row": lambda: np.broadcast_to(values(500), (300, 500)),
    "a column": lambda: np.broadcast_to(values(300, 1), (300, 500)),
    "seven axes": lambda: values(3, 4, 5, 6, 7, 8, 8).transpose(1, 3, 5, 0, 6, 2, 4),
}


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = sg.get_num_threads()
    sg.set_num_threads(request.param)
    yield
    sg.set_num_threads(before)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_are_those_of_numpy(layout: str, threads: None) -> None:
    x = LAYOUTS[layout]()
    assert x.size >= copies.LARGE
    for dtype in ("f8", "f4", "i2", "?", "c8"):
        array = laid_out_as(x, dtype)
        for order in ("C", "K"):
            found = copies.copied(array, order)
            assert_array_equal(found, array, strict=True)
            assert found.strides == np.array(array, order=order).strides


@pytest.mark.parametrize("target", ["row-major", "transposed", "every other", "from the end"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_are_those_of_numpy(layout: str, target: str) -> None:
    x = LAYOUTS[layout]()
    shape = x.shape
    outs = {
        "row-major": lambda: values(*shape),
        "transposed": lambda: values(*shape[::-1]).T,
        "every other": lambda: values(*shape[:-1], 2 * shape[-1])[..., ::2],
        "from the end": lambda: values(*shape)[::-1],
    }
    for name, function in (("add", np.add), ("copy", lambda a, b: np.array(b))):
        out = outs[target]()
        expected = function(out, x)
        (copies.add_into if name == "add" else copies.copy_into)(out, x)
        assert_array_equal(out, expected)


def test_bits_of_nan_and_zeros_are_copied() -> None:
    words = np.random.default_rng(0).integers(0, 1 << 32, (400, 500), np.uint32)
    for x in (words.view(np.float32), words.view(np.float32).T):
        found = copies.copied(x)
        assert_array_equal(found.view(np.uint32), np.array(x, order="C").view(np.uint32))


def test_numbers_of_the_other_byte_order_are_added_as_numbers() -> None:
    x = values(400, 500).astype(np.dtype("f8").newbyteorder())
    assert_array_equal(copies.copied(x.T), x.T, strict=True)
    out = x.copy()
    copies.add_into(out, x)
    assert_array_equal(out, 2 * x)


def test_memory_that_overlaps_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = values(200_001)
    expected = x[:-1].copy()
    copies.copy_into(x[1:], x[:-1])
    assert_array_equal(x[1:], expected)
    monkeypatch.setattr(provided, "copy_into", None)  # it is not asked for
    copies.copy_into(x[1:], x[:-1])


def test_what_is_joined_has_one_dtype_and_sizes_that_agree() -> None:
    x, y = values(400, 300), values(400, 100)
    for parts, axis in (([x, y], 1), ([x, y], -1), ([x.T, y.T], 0), ([x, x.astype("f4")], 0)):
        assert_array_equal(copies.joined(parts, axis), np.concatenate(parts, axis), strict=True)
    with pytest.raises(ValueError, match="must match exactly"):
        copies.joined([x, y], 0)


def test_numpy_copies_where_large_ops_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAMIC_COMPILE_LARGE_OPS", "0")
    monkeypatch.setattr(provided, "copy_into", None)
    x = values(400, 500).T
    assert_array_equal(copies.copied(x), x)
