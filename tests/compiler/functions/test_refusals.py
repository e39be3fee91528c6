"""What the functions refuse, each with the function's name and what was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import StaticGraphError

X, V, N = np.zeros((2, 3)), np.zeros(3), np.zeros(3, np.int64)
UNKNOWN = sg.placeholder("x", (None,))

REFUSED: dict[str, Callable[[], Any]] = {
    r"moveaxis: 0 and \(0, 1\) are not as many axes": lambda: sg.moveaxis(X, 0, (0, 1)),
    r"rot90: \(0, -2\) are not two axes": lambda: sg.rot90(X, 1, (0, -2)),
    r"repeat: -1 are not numbers of times": lambda: sg.repeat(V, -1),
    r"repeat: \(2,\) numbers of times for 3 elements": lambda: sg.repeat(V, [1, 2]),
    r"resize: there is no element to repeat": lambda: sg.resize(V[:0], 2),
    r"unstack: the size of axis 0 is unknown until run time": lambda: sg.unstack(UNKNOWN),
    r"delete: places -1 and 1 from both ends": lambda: sg.delete(UNKNOWN, [1, -1]),
    r"nanvar: correction=1 and ddof=2 are one": lambda: sg.nanvar(V, ddof=2, correction=1),
    r"delete: a mask along an axis": lambda: sg.delete(UNKNOWN, np.array([True])),
    r"delete: places of float64: integers": lambda: sg.delete(UNKNOWN, [1.5]),
    r"insert: computed places along": lambda: sg.insert(UNKNOWN, sg.argsort(UNKNOWN), 0.0),
    r"tril: a number has no triangle": lambda: sg.tril(np.float64(1)),
    r"diagonal: 0 and -2 are one axis": lambda: sg.diagonal(X, 0, 0, -2),
    r"diag: takes a vector or a matrix, not 3 axes": lambda: sg.diag(np.zeros((1, 1, 1))),
    r"block: a list has nothing in it": lambda: sg.block([]),
    r"meshgrid: indexing is 'xy' or 'ij', not 'yx'": lambda: sg.meshgrid(V, indexing="yx"),
    r"array_split: 0 parts": lambda: sg.array_split(V, 0),
    r"vsplit: 1 axes, of at least 2": lambda: sg.vsplit(V, 3),
    r"select: 1 conditions for 0 choices": lambda: sg.select([V > 0], []),
    r"positive: bool is not a number": lambda: sg.positive(V > 0),
    r"ldexp: float64 exponents: integers expected": lambda: sg.ldexp(V, V),
    r"piecewise: 1 functions for 2 conditions": lambda: sg.piecewise(V, [V > 0, V < 0], [1.0]),
    r"unpackbits: float64: uint8 expected": lambda: sg.unpackbits(V),
    r"packbits: bitorder is 'big' or 'little', not 'no'": lambda: sg.packbits(N, bitorder="no"),
    r"quantile: method is one of linear, .*, not 'no'": lambda: sg.quantile(V, 0.5, method="no"),
    r"quantile: the shares 2 are not all within": lambda: sg.quantile(V, 2),
    r"quantile: method='inverted_cdf' takes weights, 'linear'": lambda: sg.quantile(
        V, 0.5, weights=V
    ),
    r"quantile: weights of one axis for elements along 2": lambda: sg.quantile(
        X, 0.5, weights=V, method="inverted_cdf"
    ),
    r"quantile: weights of 2 axes for 1": lambda: sg.quantile(
        V, 0.5, weights=X, method="inverted_cdf"
    ),
    r"isin: kind is 'sort' or 'table', not 'hash'": lambda: sg.isin(V, V, kind="hash"),
    r"sort: kind is one of quicksort, .*, not 'bubble'": lambda: sg.sort(V, kind="bubble"),
    r"partition: kind is 'introselect', not 'no'": lambda: sg.partition(V, 1, kind="no"),
    r"matrix_rank: tol=0.1 beside rtol=0.2 and atol=None": lambda: sg.linalg.matrix_rank(
        X, 0.1, rtol=0.2
    ),
    r"pinv: rcond=0.1 and rtol=0.2 are one": lambda: sg.linalg.pinv(X, 0.1, rtol=0.2),
    r"polyfit: 3 points leave no covariance of 3 coefficients": lambda: sg.polyfit(
        V, V, 2, cov=True
    ),
    r"put: mode is 'raise', 'wrap' or 'clip', not 'no'": lambda: sg.put(V, N, 0.0, mode="no"),
    r"ravel_multi_index: order is 'C' or 'F', not 'A'": lambda: sg.ravel_multi_index(
        (N,), (9,), order="A"
    ),
    r"quantile: there is no element along axes": lambda: sg.quantile(V[:0], 0.5),
    r"cov: 3 axes, of at most 2": lambda: sg.cov(np.zeros((1, 2, 3))),
    r"cumulative_sum: needs an axis for 2 axes": lambda: sg.cumulative_sum(X),
    r"gradient: 3 distances for 2 axes": lambda: sg.gradient(X, 1.0, 2.0, 3.0),
    r"gradient: 1 elements, of at least 2": lambda: sg.gradient(V[:1]),
    r"partition: kth=5 of 3 elements": lambda: sg.partition(V, 5),
    r"topk: the 4 largest of 3 elements": lambda: sg.topk(V, 4),
    r"lexsort: there is no key": lambda: sg.lexsort([]),
    r"searchsorted: side is 'left' or 'right', not 'up'": lambda: sg.searchsorted(V, V, "up"),
    r"searchsorted: 2 axes of what is in order": lambda: sg.searchsorted(X, V),
    r"nonzero: needs size=": lambda: sg.nonzero(V),
    r"flatnonzero: size=-1 is negative": lambda: sg.flatnonzero(V, size=-1),
    r"compress: a condition of 2 axes, of 1": lambda: sg.compress(X > 0, X, size=1),
    r"choose: mode is 'clip' or 'wrap', not 'raise'": lambda: sg.choose(N, [V], "raise"),
    r"fill_diagonal: takes 2 axes or more": lambda: sg.fill_diagonal(V, 0.0),
    r"unique: there is no element": lambda: sg.unique(V[:0], size=1),
    r"bincount: takes a vector of integers, not 1 axes of float64": lambda: sg.bincount(V),
    r"segment_sum: segment_ids are integers, not float64": lambda: sg.segment_sum(V, V, 2),
    r"segment_max: segment_ids int64\[1\] have not one": lambda: sg.segment_max(X, N[:1], 2),
    r"segment_min: num_segments=-1 is negative": lambda: sg.segment_min(V, N, -1),
    r"segment_prod: num_segments=1.5 is no integer": lambda: sg.segment_prod(V, N, 1.5),
    r"bincount: needs length=": lambda: sg.bincount(sg.placeholder("n", (3,), "int64")),
    r"histogramdd: points in 1 axes, of 2": lambda: sg.histogramdd(V),
    r"vecdot: vectors of 3 and 1 elements": lambda: sg.vecdot(V, V[:1]),
    r"tensordot: \(\[0\], \[\]\) are no pairs of axes": lambda: sg.tensordot(X, X, ([0], [])),
    r"cross: vectors of 2 elements, of 3 expected": lambda: sg.cross(V[:2], V[:2]),
    r"multi_dot: 1 matrices, of at least 2": lambda: sg.linalg.multi_dot([X]),
    r"multi_dot: operand 1 has 1 axes, not 2": lambda: sg.linalg.multi_dot([X, V, X]),
    r"tensorinv: ind=0 is not positive": lambda: sg.linalg.tensorinv(X, 0),
    r"vander: 3 powers of a tensor of 2 axes": lambda: sg.vander(X, 3),
    r"convolve: mode is 'full', 'same' or 'valid', not 'all'": lambda: sg.convolve(V, V, "all"),
    r"convolve: takes two vectors with elements": lambda: sg.convolve(X, V),
    r"norm: ord=1 of 3 axes needs axis=": lambda: sg.linalg.norm(np.zeros((1, 2, 3)), 1),
    r"norm: over 3 axes, of 1 or 2": lambda: sg.linalg.norm(np.zeros((1, 2, 3)), 2, (0, 1, 2)),
    r"polyval: coefficients in 2 axes, of 1": lambda: sg.polyval(X, V),
    r"polyder: m=-1 is negative": lambda: sg.polyder(V, -1),
    r"polyint: m=-1 is negative": lambda: sg.polyint(V, -1),
    r"poly: there is no root": lambda: sg.poly(V[:0]),
    r"polyfit: degree -1 through points in 1 axes": lambda: sg.polyfit(V, V, -1),
    r"einsum: 'ij' is of 1 operands, 2 given": lambda: sg.einsum("ij", X, X),
    r"einsum: 'i\?' has other characters": lambda: sg.einsum("i?", X),
    r"einsum: 'i\.j' has dots that are no": lambda: sg.einsum("i.j", X),
    r"einsum: 'i' does not name the 2 axes": lambda: sg.einsum("i", X),
    r"einsum: 'ij->k': 'k' of the result is not one": lambda: sg.einsum("ij->k", X),
    r"einsum: axes 'j' have the sizes 3 and 2": lambda: sg.einsum("ij,jk", X, X),
    r"einsum: optimize is .*, not 'best'": lambda: sg.einsum("ij,ij", X, X, optimize="best"),
    r"linspace: -1 numbers": lambda: sg.linspace(0.0, 1.0, -1),
    r"diag_indices_from: \(2, 3\) are not equal sizes": lambda: sg.diag_indices_from(X),
    r"tril_indices_from: \(3,\) is not the shape of a matrix": lambda: sg.tril_indices_from(V),
    r"arange: step=0 is unknown or 0": lambda: sg.arange(0, 3, 0),
    r"bitwise_and: float64\[3\] has no bits": lambda: sg.bitwise_and(*(
        sg.placeholder(name, (3,), "float64") for name in "ab"
    )),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_it_is_refused(message: str) -> None:
    with pytest.raises(StaticGraphError, match=message):
        REFUSED[message]()
