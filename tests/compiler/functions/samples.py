"""Sample calls of the functions that are composed of ops: all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.functions.calls import Call, call
from tests.compiler.functions.shaped import EDGES, SHAPED
from tests.values import bools, integers, nonzero, positive, spread

ROWS = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan, np.nan, 5.0, 4.0], [7.0, 6.0, 8.0, -1.0]])
MATRIX = spread(3, 4)
SORTED = np.array([1.0, 2.0, 2.0, 5.0, 9.0])
AMONG = np.array([[0.5, 1.0, 2.0], [9.0, 11.0, 3.3]])
COUNTS = np.array([0, 3, 1, 3, 7])
REPEATED = np.array([3.0, 1.0, 3.0, -2.0, 1.0])

nan_reductions = [
    call(ROWS, order=0),
    call(ROWS, axis=1, order=0),
    call(ROWS, axis=0, keepdims=True, order=0),
    call(spread(2, 3), axis=-1),
    call(integers(4), order=0),
]
quantiles = [
    call(spread(5), 0.3),
    call(spread(2, 4), [0.0, 0.25, 1.0], axis=1),
    call(spread(2, 3, 2), 0.6, axis=(0, 2), keepdims=True),
    call(ROWS, [0.2, 0.9], axis=1, order=0),
    *(call(spread(6), 0.41, method=one) for one in ("lower", "higher", "nearest", "midpoint")),
    # NumPy's is nan: it subtracts infinite elements
    call(np.array([1.0, np.inf, np.inf]), 0.7, order=0, numpy=lambda x, q: np.inf),
    call(integers(5), 0.5, order=0),
]
percentiles = [call(spread(5), 30), call(spread(2, 4), [10.0, 75.0], 1), call(ROWS, 50, 0, order=0)]
medians = [
    call(spread(5)),
    call(spread(2, 4), 1),
    call(spread(4, 3), 0, keepdims=True),
    call(ROWS, axis=1, order=0),
    call(integers(4), order=0),
]
pairs = [
    call(spread(3), spread(3)),
    call(spread(2, 3), spread(2, 3)),
]


def _unique(x: Any, size: int | None = None, fill_value: Any = None, **asked: bool) -> Any:
    found = np.unique(x, **asked)
    assert len(found if isinstance(found, np.ndarray) else found[0]) == size
    return found


def _segments(ufunc: np.ufunc, start: float) -> list[Call]:
    """A reduction by segments, one of which is empty, beside `ufunc.at`."""

    def reduced(x: Any, ids: Any, count: int) -> Any:
        found = np.full((count, *x.shape[1:]), start, x.dtype)
        ufunc.at(found, ids, x)
        return found

    ids, order = np.array([2, 0, 2, 0]), 2 if np.isfinite(start) else 0
    return [
        call(spread(4), ids, 4, order=order, sizes=False, numpy=reduced),
        call(spread(4, 2), np.array([2, 0, 1, 0]), 3, sizes=False, numpy=reduced),
        call(spread(0, 2), np.zeros(0, int), 2, order=0, sizes=False, numpy=reduced),
    ]


SAMPLES: dict[str, list[Call]] = {
    **SHAPED,
    # statistics
    "amax": [call(spread(2, 3)), call(spread(2, 3), 1, keepdims=True)],
    "amin": [call(spread(2, 3)), call(spread(2, 3), 0)],
    "ptp": [call(spread(5)), call(spread(2, 3), 1)],
    "count_nonzero": [
        call(EDGES, order=0),
        call(bools(2, 3), 1, order=0),
        call(integers(2, 3), axis=0, keepdims=True, order=0),
    ],
    "average": [
        call(spread(2, 3)),
        call(spread(2, 3), weights=positive(2, 3)),
        call(spread(2, 3), 0, positive(2)),
        call(spread(2, 3), 1, positive(3), True),
        call(spread(2, 3), 1, returned=True),
    ],
    **dict.fromkeys(("nansum", "nanprod", "nanmean", "nanmax", "nanmin"), nan_reductions),
    **{
        name: [call(ROWS, axis=1, order=0), call(spread(2, 3), axis=0), call(ROWS, order=0)]
        for name in ("nancumsum", "nancumprod")
    },
    **{
        name: [*nan_reductions[:3], call(spread(2, 4), axis=1, ddof=1)]
        for name in ("nanvar", "nanstd")
    },
    **{
        name: [
            call(ROWS, order=0),
            call(ROWS, axis=1, order=0),
            call(integers(4), order=0),
            call(ROWS, axis=0, keepdims=True, order=0),
        ]
        for name in ("nanargmax", "nanargmin")
    },
    "quantile": quantiles,
    "nanquantile": quantiles,
    "percentile": percentiles,
    "nanpercentile": percentiles,
    "median": medians,
    "nanmedian": medians,
    "cov": [
        call(spread(2, 4)),
        call(spread(3), spread(3)),
        call(spread(4, 2), rowvar=False),
        call(spread(2, 4), bias=True),
        call(spread(2, 4), ddof=0),
        call(spread(2, 3), fweights=np.array([1, 2, 1]), order=0),
        call(spread(2, 3), aweights=np.array([0.5, 2.0, 1.0])),
        call(spread(4)),
    ],
    "corrcoef": [call(spread(2, 4), order=0), call(spread(3), spread(3), order=0)],
    # sequences
    "cumulative_sum": [call(spread(4)), call(spread(2, 3), axis=1, include_initial=True)],
    "cumulative_prod": [call(nonzero(4)), call(nonzero(2, 3), axis=0, include_initial=True)],
    "trapezoid": [
        call(spread(4)),
        call(spread(2, 4), np.array([0.0, 1.0, 3.0, 4.5])),
        call(spread(4, 2), dx=0.5, axis=0),
        call(spread(2, 3), spread(2, 3)),
    ],
    "gradient": [
        call(spread(5), sizes=False),
        call(spread(3, 4), sizes=False),
        call(spread(3, 4), 0.5, axis=1, edge_order=2, sizes=False),
        call(spread(4), np.array([0.0, 1.0, 3.0, 4.5]), edge_order=2, sizes=False),
        call(spread(3, 4), 2.0, np.array([0.0, 1.0, 3.0, 4.5]), sizes=False),
        call(spread(2), sizes=False),
    ],
    "unwrap": [
        call(np.array([0.0, 3.0, -3.0, 2.5, 9.0])),
        call(spread(2, 4) * 2, axis=0),
        call(np.array([0.0, 4.2, 1.1]), 3.0, period=5.0),
    ],
    "searchsorted": [
        call(SORTED, AMONG, order=0),
        call(SORTED, AMONG, "right", order=0),
        call(SORTED, np.array(2.0), order=0),
        call(SORTED[:1], AMONG, order=0),
        call(np.array([1.0, np.nan]), np.array([np.nan, 0.0, 5.0]), order=0),
        call(np.arange(8), integers(5), order=0),
        call(REPEATED, AMONG, sorter=np.argsort(REPEATED), order=0),
    ],
    "digitize": [
        call(AMONG, SORTED, order=0),
        call(AMONG, SORTED, True, order=0),
        call(AMONG, [9.0, 4.0, 1.0], order=0),
        call(AMONG, [9.0, 4.0, 1.0], True, order=0),
    ],
    "interp": [
        call(AMONG + 0.1, np.array([1.0, 2.0, 4.0, 9.0]), spread(4)),
        call(AMONG, np.array([1.0, 2.0, 4.0]), spread(3), -1.0, 7.0, order=0),
        call(AMONG, np.array([1.0, 2.0, 4.0]), spread(3), period=5.0, order=0, sizes=False),
    ],
    "lexsort": [
        call([integers(6), integers(6)], order=0),
        call([np.array([1, 1, 0]), np.array([0, 0, 0])], order=0),
    ],
    "partition": [
        call(spread(5), 2, numpy=lambda x, k: np.sort(x)),
        call(spread(2, 3), 1, 0, numpy=lambda x, k, a: np.sort(x, a)),
    ],
    "argpartition": [
        call(spread(5), 2, order=0, numpy=lambda x, k: np.argsort(x)),
        call(spread(2, 3), 1, 0, order=0, numpy=lambda x, k, a: np.argsort(x, a)),
    ],
    "topk": [
        call(spread(5), 2, numpy=lambda x, k: [np.sort(x)[: -k - 1 : -1], np.argsort(-x)[:k]]),
        call(
            spread(3, 2),
            1,
            axis=0,
            numpy=lambda x, k, axis: [x.max(0, keepdims=True), x.argmax(0)[None]],
        ),
    ],
    # counting
    "flatnonzero": [call(EDGES, size=9, order=0), call(bools(2, 3) | True, size=6, order=0)],
    "nonzero": [call(EDGES, size=9, order=0), call(np.array([[0, 2], [3, 0]]), size=2, order=0)],
    "argwhere": [call(EDGES, size=9, order=0), call(np.array([[0, 2], [3, 0]]), size=2, order=0)],
    "unravel_index": [
        call(np.array([5, 0]), (2, 3), order=0),
        call(np.array(7), (2, 2, 3), order=0),
    ],
    "compress": [
        call(np.array([True, False, True]), spread(3), size=2),
        call(np.array([True, False, True]), spread(2, 3), 1, size=2),
    ],
    "extract": [
        call(np.array([[True], [False]]), spread(2, 1), size=1),
        call(np.array([True, True, False]), integers(3), size=2, order=0),
    ],
    "choose": [
        call(np.array([1, 0, 2]), [spread(3), spread(3), spread(3)], mode="clip"),
        call(np.array([[4], [-1]]), [spread(3), spread(3)], mode="wrap"),
    ],
    "fill_diagonal": [
        call(spread(3, 3), 1.5, numpy=lambda x, v: np.where(np.eye(3, dtype=bool), v, x)),
        call(
            spread(2, 2, 2),
            0.0,
            order=1,
            numpy=lambda x, v: x * [[[0, 1], [1, 1]], [[1, 1], [1, 0]]],
        ),
    ],
    "unique": [
        call(REPEATED, size=3, order=0, numpy=_unique, sizes=False),
        call(spread(4), size=4, numpy=_unique, sizes=False),
        call(
            REPEATED,
            True,
            True,
            True,
            size=3,
            sizes=False,
            order=0,
            numpy=lambda x, *_, size: np.unique(x, True, True, True),
        ),
        call(np.array([np.nan, 1.0, np.nan]), size=2, order=0, numpy=_unique, sizes=False),
    ],
    **{
        name: [
            call(REPEATED, size=3, order=0, sizes=False),
            call(COUNTS * 1.0, size=4, order=0, sizes=False),
        ]
        for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all")
    },
    "isin": [call(AMONG, SORTED, order=0), call(AMONG, SORTED, invert=True, order=0)],
    "union1d": [
        call(REPEATED, SORTED, size=6, order=0, sizes=False),
        call(COUNTS, np.array([7, 8]), size=5, order=0, sizes=False, numpy=None),
    ],
    **{
        name: [
            call(REPEATED, SORTED, size=size, order=0, sizes=False),
            call(COUNTS, np.array([3, 5]), size=size2, order=0, sizes=False),
        ]
        for name, size, size2 in (("intersect1d", 1, 1), ("setdiff1d", 2, 3), ("setxor1d", 5, 4))
    },
    "bincount": [
        call(COUNTS, length=8, order=0, sizes=False),
        call(
            COUNTS, spread(5), length=8, sizes=False, numpy=lambda x, w, length: np.bincount(x, w)
        ),
    ],
    "histogram_bin_edges": [
        call(SORTED, 4, order=0),
        call(SORTED, 3, (0.0, 6.0), order=0),
        call(np.ones(2), 2, order=0),
    ],
    "histogram": [
        call(SORTED, 4, order=0),
        call(SORTED, 3, (1.5, 6.0), order=0),
        call(SORTED, np.array([1.0, 3.0, 9.0]), density=True, order=0, sizes=False),
        call(SORTED, 4, weights=spread(5), order=0),
    ],
    "histogram2d": [
        call(SORTED, REPEATED, 3, order=0, sizes=False),
        call(SORTED, REPEATED, 2, density=True, order=0, sizes=False),
    ],
    "histogramdd": [
        call(spread(5, 2), 2, order=0, sizes=False),
        call(spread(4, 3), (2, 1, 3), weights=spread(4), order=0, sizes=False),
    ],
    # products
    "inner": [*pairs, call(spread(2, 3), spread(3)), call(spread(), spread(2))],
    "vdot": pairs,
    "vecdot": [*pairs, call(spread(2, 3), spread(3)), call(spread(3, 2), spread(3, 1), axis=0)],
    "matvec": [call(spread(2, 3), spread(3)), call(spread(2, 3, 4), spread(2, 4))],
    "vecmat": [call(spread(2), spread(2, 3)), call(spread(2, 3), spread(2, 3, 4))],
    "tensordot": [
        call(spread(2, 3), spread(3, 4), 1),
        call(spread(2, 3), spread(2, 3)),
        call(spread(2, 3, 4), spread(4, 2), ([0, 2], [1, 0])),
        call(spread(2), spread(3), 0),
    ],
    "kron": [
        call(spread(2), spread(3)),
        call(spread(2, 2), spread(1, 3)),
        call(spread(2), spread(2, 2)),
    ],
    "cross": [
        call(spread(3), spread(3), sizes=False),
        call(spread(2, 3), spread(3), sizes=False),
        call(spread(3, 2), spread(3, 2), axis=0, sizes=False),
    ],
    "vander": [call(spread(3), sizes=False), call(spread(3), 2, True)],
    **{
        name: [
            call(spread(5), spread(3), sizes=False),
            call(spread(2), spread(4), mode, sizes=False),
            *(call(spread(4), spread(2), one, sizes=False) for one in ("same", "valid", "full")),
        ]
        for name, mode in (("convolve", "valid"), ("correlate", "same"))
    },
    "einsum": [
        *(
            call(*one)
            for one in (
                ("ij,jk", spread(2, 3), spread(3, 2)),
                ("ij->j", spread(2, 3)),
                ("ii", spread(3, 3)),
                ("iij->ji", spread(2, 2, 3)),
                ("bij,bkj->bik", spread(2, 3, 2), spread(2, 2, 2)),
                ("i,j,ij->", spread(2), spread(3), spread(2, 3)),
                ("...i,i...", spread(2, 3), spread(3, 2)),
                ("...ij,...jk", spread(2, 1, 2, 3), spread(3, 3, 2)),
                ("i,i->i", spread(3), spread(3)),
                (
                    "a,b,c,bd,ca,d->",
                    *(spread(2) for _ in range(3)),
                    spread(2, 2),
                    spread(2, 2),
                    spread(2),
                ),
            )
        ),
        call(spread(2, 3), [0, 1], spread(3, 2), [1, 2], [0, 2]),
        call("ij,jk,kl", spread(2, 3), spread(3, 2), spread(2, 2), optimize=False),
    ],
    # polynomials
    "polyval": [
        call(spread(3), spread(4), sizes=False),
        call(spread(1), spread(2, 2), sizes=False),
    ],
    **{
        name: [call(spread(3), spread(2), sizes=False), call(spread(1), spread(3), sizes=False)]
        for name in ("polyadd", "polysub", "polymul")
    },
    "polydiv": [
        call(
            spread(4),
            nonzero(2),
            sizes=False,
            numpy=lambda u, v: (
                np.polydiv(u, v)[0],
                np.pad(np.polydiv(u, v)[1], (4 - len(np.polydiv(u, v)[1]), 0)),
            ),
        ),
        call(
            spread(3),
            nonzero(3),
            sizes=False,
            numpy=lambda u, v: (
                np.polydiv(u, v)[0],
                np.pad(np.polydiv(u, v)[1], (3 - len(np.polydiv(u, v)[1]), 0)),
            ),
        ),
    ],
    "polyder": [call(spread(4), sizes=False), call(spread(4), 2, sizes=False)],
    "polyint": [call(spread(3), sizes=False), call(spread(3), 2, [1.0, 2.0], sizes=False, order=2)],
    "poly": [call(spread(3), sizes=False), call(spread(1), sizes=False)],
    "polyfit": [
        call(np.array([0.0, 1.0, 2.5, 4.0]), spread(4), 1, order=1),
        call(np.array([0.0, 1.0, 2.5, 4.0]), spread(4), 2, w=positive(4), order=1),
    ],
    # segments
    "segment_sum": _segments(np.add, 0.0),
    "segment_prod": _segments(np.multiply, 1.0),
    "segment_max": _segments(np.maximum, -np.inf),
    "segment_min": _segments(np.minimum, np.inf),
}
"""What is compared with NumPy's function of the name."""
