"""Short rows that are moved in vectors that overlap, and what is filled piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.short_rows import whole_vectors
from staticgraph.compiler.ops.windows import conv_direct


def test_rows_in_whole_vectors() -> None:
    for extent in (*range(4, 64), 100, 1000):
        covered: set[int] = set()
        for first, last in whole_vectors(extent, most=extent):
            assert isinstance(first, int)
            assert isinstance(last, int)
            assert (last - first) % (8 if extent >= 8 else 4) == 0
            covered |= set(range(first, last))
        assert covered == set(range(extent))
    assert whole_vectors(3) == [(0, 3)]
    assert whole_vectors(64) == [(0, 64)]


def test_moved_and_padded_values_are_numpys() -> None:
    x, y = sg.placeholder("x", (None, 6, 3, 3)), sg.placeholder("y", (5, 4, 7, 9))
    turned = sg.transpose(sg.flip(x, (2, 3)), (1, 0, 2, 3))
    padded = sg.pad(y, ((0, 0), (0, 0), (1, 2), (3, 0)), value=2.0)
    behind = sg.pad(y, ((0, 0), (1, 0), (0, 0), (0, 0)))
    executable = sg.compile([x, y], [turned, padded, behind, y * 2 + sg.flip(y, (3,))])
    assert "for i3 in range(1, 9):" in executable.source
    assert "for i in range(307, 315):" in executable.source  # the end of a piece
    rng = np.random.default_rng(0)
    for batch in (0, 1, 5):
        a = rng.standard_normal((batch, 6, 3, 3)).astype("float32")
        b = rng.standard_normal((5, 4, 7, 9)).astype("float32")
        found = executable(a, b)
        np.testing.assert_array_equal(found[0], a[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))
        expected = np.pad(b, ((0, 0), (0, 0), (1, 2), (3, 0)), constant_values=2.0)
        np.testing.assert_array_equal(found[1], expected)
        np.testing.assert_array_equal(found[2], np.pad(b, ((0, 0), (1, 0), (0, 0), (0, 0))))
        np.testing.assert_array_equal(found[3], b * 2 + b[..., ::-1])


def convolved(x: Any, w: Any, stride: tuple[int, int], padding: tuple[int, int]) -> Any:
    """A depthwise convolution, sum by sum."""
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))
    return np.einsum("ncijkl,ckl->ncij", windows[:, :, :: stride[0], :: stride[1]], w[:, 0])


@pytest.mark.parametrize(
    ("window", "stride", "padding"),
    [((3, 3), (2, 2), (1, 1)), ((2, 5), (1, 3), (0, 4)), ((1, 2), (3, 4), (2, 7))],
)
def test_strides_along_rows_take_columns_apart(
    window: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    for size in ((7, 5), (4, 10)):
        x, w = rng.standard_normal((2, 3, *size)), rng.standard_normal((3, 1, *window))
        attrs = {"stride": stride, "padding": padding, "dilation": (1, 1), "groups": 3}
        expected = convolved(x, w, stride, padding)
        np.testing.assert_allclose(conv_direct.convolve(x, w, attrs), expected, rtol=1e-12)
