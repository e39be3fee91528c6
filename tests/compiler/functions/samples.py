"""Sample calls of the functions that are composed of ops, grouped by what they take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.values import bools, fraction, integers, nonzero, positive, spread


@dataclass(frozen=True)
class Call:
    """`function(*args, **options)`, as of NumPy's function of the same name.

    Attributes:
        args, options: what is given; arrays become expressions and tensors.
        order: how often the result can be differentiated by the float64 arrays.
        sizes: whether axes longer than 1 may be unknown.
        numpy: NumPy's value, where NumPy's function of that name takes other arguments or is none.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    order: int = 2
    sizes: bool = True
    numpy: Any = None


def call(
    *args: Any, order: int = 2, sizes: bool = True, numpy: Any = None, **options: Any
) -> Call:
    return Call(args, options, order, sizes, numpy)


def _plain(*names: str, args: Any) -> dict[str, list[Call]]:
    return {name: [call(*one) for one in args] for name in names}


ROWS = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan, np.nan, 5.0, 4.0], [7.0, 6.0, 8.0, -1.0]])
MATRIX = spread(3, 4)
SORTED = np.array([1.0, 2.0, 2.0, 5.0, 9.0])
AMONG = np.array([[0.5, 1.0, 2.0], [9.0, 11.0, 3.3]])
COUNTS = np.array([0, 3, 1, 3, 7])
REPEATED = np.array([3.0, 1.0, 3.0, -2.0, 1.0])
EDGES = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -3.5, 5e-324, 1e308, 2.0, -0.5])

nan_reductions = [
    call(ROWS, order=0), call(ROWS, axis=1, order=0), call(ROWS, axis=0, keepdims=True, order=0),
    call(spread(2, 3), axis=-1), call(integers(4), order=0),
]  # fmt: skip
quantiles = [
    call(spread(5), 0.3), call(spread(2, 4), [0.0, 0.25, 1.0], axis=1),
    call(spread(2, 3, 2), 0.6, axis=(0, 2), keepdims=True), call(ROWS, [0.2, 0.9], axis=1, order=0),
    *(call(spread(6), 0.41, method=one) for one in ("lower", "higher", "nearest", "midpoint")),
    call(np.array([1.0, np.inf, np.inf]), 0.7, order=0), call(integers(5), 0.5, order=0),
]  # fmt: skip
percentiles = [call(spread(5), 30), call(spread(2, 4), [10.0, 75.0], 1), call(ROWS, 50, 0, order=0)]
medians = [
    call(spread(5)), call(spread(2, 4), 1), call(spread(4, 3), 0, keepdims=True),
    call(ROWS, axis=1, order=0), call(integers(4), order=0),
]  # fmt: skip
pairs = [
    call(spread(3), spread(3)), call(spread(2, 3), spread(2, 3)),
]


def _unique(x: Any, size: int | None = None, fill_value: Any = None, **asked: bool) -> Any:
    found = np.unique(x, **asked)
    assert len(found if isinstance(found, np.ndarray) else found[0]) == size
    return found


SAMPLES: dict[str, list[Call]] = {
    # arranging
    "atleast_1d": [call(spread()), call(spread(2, 3))],
    "atleast_2d": [call(spread()), call(spread(3)), call(spread(2, 1, 2))],
    "atleast_3d": [call(spread()), call(spread(3)), call(spread(2, 3)), call(spread(1, 2, 3))],
    "moveaxis": [call(spread(2, 3, 4), 0, -1), call(spread(2, 3, 4), (0, 2), (1, 0)),
                 call(spread(2, 3), 1, 1)],
    "rollaxis": [call(spread(2, 3, 4), 2), call(spread(2, 3, 4), 0, 2), call(spread(2, 3), -1, 1)],
    "permute_dims": [call(spread(2, 3, 4), (2, 0, 1)), call(integers(2, 3), (1, 0), order=0)],
    "matrix_transpose": [call(spread(2, 3)), call(spread(2, 3, 4))],
    "ravel": [call(spread(2, 3)), call(spread())],
    **_plain("fliplr", "flipud", args=[(spread(2, 3),), (spread(2, 3, 2),)]),
    "rot90": [*(call(spread(2, 3), k) for k in (0, 1, 2, -1)), call(spread(2, 3, 2), 1, (2, 0))],
    "roll": [call(spread(5), 2), call(spread(2, 3), 4), call(spread(2, 3), -1, 1),
             call(spread(3, 4), (1, 2), (0, 1)), call(spread(3, 4), 1, (0, 1)),
             call(integers(4), 1, order=0)],
    "tile": [call(spread(3), 2), call(spread(2, 3), (2, 1, 2)), call(spread(2, 3), (3,)),
             call(spread(), 2), call(bools(2), 2, order=0)],
    "repeat": [call(spread(3), 2), call(spread(2, 3), 2, 1), call(spread(2, 3), 3),
               call(spread(2, 3), [1, 0, 2], 1, sizes=False)],
    "resize": [call(spread(3), (2, 2), sizes=False), call(spread(2, 3), 4, sizes=False)],
    "unstack": [call(spread(2, 3), sizes=False), call(spread(2, 3), axis=1, sizes=False)],
    **{name: [call(spread(3, 3)), call(spread(2, 3, 4), 1), call(spread(3, 2), -1),
              call(spread(3)), call(bools(2, 2), order=0)] for name in ("tril", "triu")},
    **{name: [call(spread(3, 3)), call(spread(2, 4), 1), call(spread(4, 2), -1, sizes=False),
              call(spread(2, 3, 4), 0, 1, 2), call(spread(2, 3, 4), 1, 2, 0, sizes=False),
              call(integers(2, 2), order=0)] for name in ("diagonal", "trace")},
    "diag": [call(spread(3)), call(spread(2), 1), call(spread(2), -2), call(spread(2, 3)),
             call(spread(3, 2), -1)],
    "diagflat": [call(spread(2, 2)), call(spread(3), -1)],
    # joining
    **{name: [call([spread(3), spread(3)]), call([spread(2, 3), spread(2, 3)]),
              call([spread(2, 1, 2), spread(2, 1, 2)])]
       for name in ("hstack", "vstack", "dstack", "column_stack")},
    "concat": [call([spread(2), spread(3)]), call([spread(2, 1), spread(3)], axis=None),
               call([spread(2, 1), spread(2, 2)], axis=1)],
    "block": [call([[spread(2, 2), spread(2, 1)], [spread(1, 3)]]), call([spread(2), spread(3)]),
              call(spread(2))],
    "broadcast_arrays": [call(spread(2, 1), spread(3)), call(spread(), spread(2))],
    "meshgrid": [call(spread(2), spread(3)), call(spread(2), spread(3), indexing="ij"),
                 call(spread(2), spread(3), spread(1), sparse=True), call(spread(2))],
    "ix_": [call(integers(2), integers(3), order=0), call(integers(2), order=0)],
    "array_split": [call(spread(7), 3, sizes=False), call(spread(2, 5), [1, 3], 1, sizes=False),
                    call(spread(4), [1, 6], sizes=False)],
    "hsplit": [call(spread(4), 2), call(spread(2, 4), [1, 3])],
    "vsplit": [call(spread(4, 2), 2), call(spread(4, 2), [1])],
    "dsplit": [call(spread(1, 2, 4), 2), call(spread(1, 2, 4), [3])],
    "append": [call(spread(2, 2), spread(3)), call(spread(2, 2), spread(1, 2), 0)],
    "delete": [call(spread(4), 1, sizes=False), call(spread(2, 4), [0, -1], 1, sizes=False),
               call(spread(2, 4), slice(1, 3), 1, sizes=False), call(spread(2, 2), 3, sizes=False)],
    "insert": [call(spread(3), 1, 2.5, sizes=False), call(spread(3), [0, 2], spread(2), sizes=False),
               call(spread(2, 3), 1, spread(2), 1, sizes=False),
               call(spread(2, 3), [1], spread(2, 1), 1, sizes=False),
               call(spread(2, 3), 1, 4.0, sizes=False)],
    "ediff1d": [call(spread(4)), call(spread(2, 2), spread(2), spread())],
    "select": [call([bools(3), bools(3)], [spread(3), spread(3)], 0.5),
               call([bools(2, 1)], [spread(2, 3)])],
    # elements
    **_plain("arccos", "arcsin", "arctanh", args=[(spread(3, low=-0.6, high=0.6),), (np.array([0.3]),)]),
    **_plain("arctan", "arcsinh", "degrees", "radians", args=[(spread(3),), (spread(2, 2),)]),
    "arccosh": [call(positive(3) + 1.1), call(positive(2, 2) + 1.2)],
    "arctan2": [call(nonzero(3), nonzero(3)), call(nonzero(2, 1), nonzero(3))],
    **_plain("rint", "fix", args=[(fraction(3),), (fraction(2, 2),)]),
    "true_divide": [call(spread(3), nonzero(3)), call(integers(3), integers(3, low=1), order=0)],
    "mod": [call(np.array([7.3, -7.3]), np.array([2.0, 2.0])),
            call(integers(3), integers(3, low=1), order=0)],
    **_plain("positive", "real", "conj", "conjugate", args=[(spread(3),), (spread(2, 1),)]),
    "imag": [call(spread(3), order=0), call(integers(2), order=0)],
    "fabs": [call(nonzero(3)), call(integers(4), order=0)],
    "around": [call(EDGES[5:7], order=0), call(spread(5), 2, order=0), call(spread(4), -1, order=0),
               call(integers(4), -1, order=0), call(integers(4), 1, order=0)],
    "float_power": [call(positive(3), spread(3)), call(integers(3, low=1), 2, order=0)],
    "divmod": [call(np.array([7.3, -7.3]), 2.0, order=0), call(integers(4), 3, order=0)],
    "modf": [call(fraction(4)), call(EDGES, order=0)],
    "ldexp": [call(spread(3), integers(3)), call(EDGES, np.array(-3), order=0),
              call(np.array([1.0, 3e-300]), np.array([-1074, 2000]), order=0)],
    "frexp": [call(EDGES, order=0), call(spread(4), order=0)],
    "spacing": [call(EDGES, order=0), call(spread(4), order=0)],
    "nextafter": [*(call(EDGES, to, order=0) for to in (0.0, 3.0, -np.inf, np.nan)),
                  call(spread(3), np.array([9.0, -9.0, 0.0]), order=1)],
    **{name: [call(EDGES, order=0), call(integers(3), order=0)]
       for name in ("signbit", "isposinf", "isneginf", "isreal", "iscomplex", "angle")},
    "nan_to_num": [call(EDGES, order=0), call(EDGES, nan=7.0, posinf=1.0, neginf=-1.0, order=0),
                   call(spread(3)), call(integers(2), order=0)],
    **{name: [call(np.array([1.0, np.nan, np.inf, 2.0]), np.array([1.0, np.nan, np.inf, 2.1]),
                   equal_nan=True, order=0),
              call(spread(3), spread(3), order=0), call(np.ones(2), 1 + 1e-9, order=0),
              call(integers(2), integers(2), order=0)] for name in ("isclose", "allclose")},
    "array_equal": [call(spread(3), spread(3), order=0), call(spread(2), spread(3), order=0, sizes=False),
                    call(EDGES, EDGES, equal_nan=True, order=0)],
    "array_equiv": [call(np.ones(3), np.ones((2, 1)), order=0), call(spread(2), spread(3), order=0, sizes=False)],
    # statistics
    "amax": [call(spread(2, 3)), call(spread(2, 3), 1, keepdims=True)],
    "amin": [call(spread(2, 3)), call(spread(2, 3), 0)],
    "ptp": [call(spread(5)), call(spread(2, 3), 1)],
    "count_nonzero": [call(EDGES, order=0), call(bools(2, 3), 1, order=0),
                      call(integers(2, 3), axis=0, keepdims=True, order=0)],
    "average": [call(spread(2, 3)), call(spread(2, 3), weights=positive(2, 3)),
                call(spread(2, 3), 0, positive(2)), call(spread(2, 3), 1, positive(3), True),
                call(spread(2, 3), 1, returned=True)],
    **{name: nan_reductions for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin")},
    **{name: [call(ROWS, axis=1, order=0), call(spread(2, 3), axis=0), call(ROWS, order=0)]
       for name in ("nancumsum", "nancumprod")},
    **{name: [*nan_reductions[:3], call(spread(2, 4), axis=1, ddof=1)] for name in ("nanvar", "nanstd")},
    **{name: [call(ROWS, order=0), call(ROWS, axis=1, order=0), call(integers(4), order=0),
              call(ROWS, axis=0, keepdims=True, order=0)] for name in ("nanargmax", "nanargmin")},
    "quantile": quantiles, "nanquantile": quantiles,
    "percentile": percentiles, "nanpercentile": percentiles,
    "median": medians, "nanmedian": medians,
    "cov": [call(spread(2, 4)), call(spread(3), spread(3)), call(spread(4, 2), rowvar=False),
            call(spread(2, 4), bias=True), call(spread(2, 4), ddof=0),
            call(spread(2, 3), fweights=np.array([1, 2, 1]), order=0),
            call(spread(2, 3), aweights=np.array([0.5, 2.0, 1.0])), call(spread(4))],
    "corrcoef": [call(spread(2, 4), order=0), call(spread(3), spread(3), order=0)],
    # sequences
    "cumulative_sum": [call(spread(4)), call(spread(2, 3), axis=1, include_initial=True)],
    "cumulative_prod": [call(nonzero(4)), call(nonzero(2, 3), axis=0, include_initial=True)],
    "trapezoid": [call(spread(4)), call(spread(2, 4), np.array([0.0, 1.0, 3.0, 4.5])),
                  call(spread(4, 2), dx=0.5, axis=0), call(spread(2, 3), spread(2, 3))],
    "gradient": [call(spread(5), sizes=False), call(spread(3, 4), sizes=False),
                 call(spread(3, 4), 0.5, axis=1, edge_order=2, sizes=False),
                 call(spread(4), np.array([0.0, 1.0, 3.0, 4.5]), edge_order=2, sizes=False),
                 call(spread(3, 4), 2.0, np.array([0.0, 1.0, 3.0, 4.5]), sizes=False),
                 call(spread(2), sizes=False)],
    "unwrap": [call(np.array([0.0, 3.0, -3.0, 2.5, 9.0])), call(spread(2, 4) * 2, axis=0),
               call(np.array([0.0, 4.2, 1.1]), 3.0, period=5.0)],
    "searchsorted": [call(SORTED, AMONG, order=0), call(SORTED, AMONG, "right", order=0),
                     call(SORTED, np.array(2.0), order=0), call(SORTED[:1], AMONG, order=0),
                     call(np.array([1.0, np.nan]), np.array([np.nan, 0.0, 5.0]), order=0),
                     call(np.arange(8), integers(5), order=0),
                     call(REPEATED, AMONG, sorter=np.argsort(REPEATED), order=0)],
    "digitize": [call(AMONG, SORTED, order=0), call(AMONG, SORTED, True, order=0),
                 call(AMONG, [9.0, 4.0, 1.0], order=0), call(AMONG, [9.0, 4.0, 1.0], True, order=0)],
    "interp": [call(AMONG + 0.1, np.array([1.0, 2.0, 4.0, 9.0]), spread(4)),
               call(AMONG, np.array([1.0, 2.0, 4.0]), spread(3), -1.0, 7.0, order=0),
               call(AMONG, np.array([1.0, 2.0, 4.0]), spread(3), period=5.0, order=0, sizes=False)],
    "lexsort": [call([integers(6), integers(6)], order=0), call([np.array([1, 1, 0]), np.array([0, 0, 0])], order=0)],
    "partition": [call(spread(5), 2, numpy=lambda x, k: np.sort(x)), call(spread(2, 3), 1, 0, numpy=lambda x, k, a: np.sort(x, a))],
    "argpartition": [call(spread(5), 2, order=0, numpy=lambda x, k: np.argsort(x)),
                     call(spread(2, 3), 1, 0, order=0, numpy=lambda x, k, a: np.argsort(x, a))],
    "topk": [call(spread(5), 2, numpy=lambda x, k: [np.sort(x)[:-k - 1:-1], np.argsort(-x)[:k]]),
             call(spread(3, 2), 1, axis=0, numpy=lambda x, k, axis: [x.max(0, keepdims=True), x.argmax(0)[None]])],
    # counting
    "flatnonzero": [call(EDGES, size=9, order=0), call(bools(2, 3) | True, size=6, order=0)],
    "nonzero": [call(EDGES, size=9, order=0), call(np.array([[0, 2], [3, 0]]), size=2, order=0)],
    "argwhere": [call(EDGES, size=9, order=0), call(np.array([[0, 2], [3, 0]]), size=2, order=0)],
    "unravel_index": [call(np.array([5, 0]), (2, 3), order=0), call(np.array(7), (2, 2, 3), order=0)],
    "compress": [call(np.array([True, False, True]), spread(3), size=2),
                 call(np.array([True, False, True]), spread(2, 3), 1, size=2)],
    "extract": [call(np.array([[True], [False]]), spread(2, 1), size=1),
                call(np.array([True, True, False]), integers(3), size=2, order=0)],
    "choose": [call(np.array([1, 0, 2]), [spread(3), spread(3), spread(3)], mode="clip"),
               call(np.array([[4], [-1]]), [spread(3), spread(3)], mode="wrap")],
    "fill_diagonal": [call(spread(3, 3), 1.5, numpy=lambda x, v: np.where(np.eye(3, dtype=bool), v, x)),
                      call(spread(2, 2, 2), 0.0, order=1, numpy=lambda x, v: x * [[[0, 1], [1, 1]], [[1, 1], [1, 0]]])],
    "unique": [call(REPEATED, size=3, order=0, numpy=_unique, sizes=False),
               call(spread(4), size=4, numpy=_unique, sizes=False),
               call(REPEATED, True, True, True, size=3, sizes=False, order=0,
                    numpy=lambda x, *_, size: np.unique(x, True, True, True)),
               call(np.array([np.nan, 1.0, np.nan]), size=2, order=0, numpy=_unique, sizes=False)],
    **{name: [call(REPEATED, size=3, order=0, sizes=False), call(COUNTS * 1.0, size=4, order=0, sizes=False)]
       for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all")},
    "isin": [call(AMONG, SORTED, order=0), call(AMONG, SORTED, invert=True, order=0)],
    "union1d": [call(REPEATED, SORTED, size=6, order=0, sizes=False), call(COUNTS, integers(2, low=7, high=9), size=5, order=0, sizes=False, numpy=None)],
    **{name: [call(REPEATED, SORTED, size=size, order=0, sizes=False), call(COUNTS, np.array([3, 5]), size=size2, order=0, sizes=False)]
       for name, size, size2 in (("intersect1d", 1, 1), ("setdiff1d", 2, 3), ("setxor1d", 5, 4))},
    "bincount": [call(COUNTS, length=8, order=0, sizes=False), call(COUNTS, spread(5), length=8, sizes=False,
                    numpy=lambda x, w, length: np.bincount(x, w))],
    "histogram_bin_edges": [call(SORTED, 4, order=0), call(SORTED, 3, (0.0, 6.0), order=0), call(np.ones(2), 2, order=0)],
    "histogram": [call(SORTED, 4, order=0), call(SORTED, 3, (1.5, 6.0), order=0),
                  call(SORTED, np.array([1.0, 3.0, 9.0]), density=True, order=0, sizes=False),
                  call(SORTED, 4, weights=spread(5), order=0)],
    "histogram2d": [call(SORTED, REPEATED, 3, order=0, sizes=False), call(SORTED, REPEATED, 2, density=True, order=0, sizes=False)],
    "histogramdd": [call(spread(5, 2), 2, order=0, sizes=False), call(spread(4, 3), (2, 1, 3), weights=spread(4), order=0, sizes=False)],
    # products
    "inner": [*pairs, call(spread(2, 3), spread(3)), call(spread(), spread(2))],
    "vdot": pairs, "vecdot": [*pairs, call(spread(2, 3), spread(3)), call(spread(3, 2), spread(3, 1), axis=0)],
    "matvec": [call(spread(2, 3), spread(3)), call(spread(2, 3, 4), spread(2, 4))],
    "vecmat": [call(spread(2), spread(2, 3)), call(spread(2, 3), spread(2, 3, 4))],
    "tensordot": [call(spread(2, 3), spread(3, 4), 1), call(spread(2, 3), spread(2, 3)),
                  call(spread(2, 3, 4), spread(4, 2), ([0, 2], [1, 0])), call(spread(2), spread(3), 0)],
    "kron": [call(spread(2), spread(3)), call(spread(2, 2), spread(1, 3)), call(spread(2), spread(2, 2))],
    "cross": [call(spread(3), spread(3), sizes=False), call(spread(2, 3), spread(3), sizes=False), call(spread(3, 2), spread(3, 2), axis=0, sizes=False)],
    "vander": [call(spread(3), sizes=False), call(spread(3), 2, True)],
    **{name: [call(spread(5), spread(3), sizes=False), call(spread(2), spread(4), mode, sizes=False),
              *(call(spread(4), spread(2), one, sizes=False) for one in ("same", "valid", "full"))]
       for name, mode in (("convolve", "valid"), ("correlate", "same"))},
    "einsum": [*(call(*one) for one in (
                   ("ij,jk", spread(2, 3), spread(3, 2)), ("ij->j", spread(2, 3)), ("ii", spread(3, 3)),
                   ("iij->ji", spread(2, 2, 3)), ("bij,bkj->bik", spread(2, 3, 2), spread(2, 2, 2)),
                   ("i,j,ij->", spread(2), spread(3), spread(2, 3)), ("...i,i...", spread(2, 3), spread(3, 2)),
                   ("...ij,...jk", spread(2, 1, 2, 3), spread(3, 3, 2)), ("i,i->i", spread(3), spread(3)),
                   ("a,b,c,bd,ca,d->", *(spread(2) for _ in range(3)), spread(2, 2), spread(2, 2), spread(2)))),
               call(spread(2, 3), [0, 1], spread(3, 2), [1, 2], [0, 2]),
               call("ij,jk,kl", spread(2, 3), spread(3, 2), spread(2, 2), optimize=False)],
    # polynomials
    "polyval": [call(spread(3), spread(4), sizes=False), call(spread(1), spread(2, 2), sizes=False)],
    **{name: [call(spread(3), spread(2), sizes=False), call(spread(1), spread(3), sizes=False)]
       for name in ("polyadd", "polysub", "polymul")},
    "polydiv": [call(spread(4), nonzero(2), sizes=False, numpy=lambda u, v: (np.polydiv(u, v)[0], np.pad(np.polydiv(u, v)[1], (4 - len(np.polydiv(u, v)[1]), 0)))),
                call(spread(3), nonzero(3), sizes=False, numpy=lambda u, v: (np.polydiv(u, v)[0], np.pad(np.polydiv(u, v)[1], (3 - len(np.polydiv(u, v)[1]), 0))))],
    "polyder": [call(spread(4), sizes=False), call(spread(4), 2, sizes=False)],
    "polyint": [call(spread(3), sizes=False), call(spread(3), 2, [1.0, 2.0], sizes=False, order=2)],
    "poly": [call(spread(3), sizes=False), call(spread(1), sizes=False)],
    "polyfit": [call(np.array([0.0, 1.0, 2.5, 4.0]), spread(4), 1, order=1), call(np.array([0.0, 1.0, 2.5, 4.0]), spread(4), 2, w=positive(4), order=1)],
}  # fmt: skip
"""What is compared with NumPy's function of the name."""
