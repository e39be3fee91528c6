"""Reductions, running sums, sorting, and what is normalised along an axis."""

from __future__ import annotations

import numpy as np

from tests.sampled.kinds import (
    along_one_axis,
    deviations,
    empty_reductions,
    ordered,
    positions,
    reductions,
    running,
    truths,
)
from tests.sampled.sample import Sample, call
from tests.values import (
    bools,
    integers,
    nonzero,
    seed,
    spread,
)

seed(1000)
SAMPLES: dict[str, list[Sample]] = {
    **{name: reductions() + empty_reductions() for name in ("sum", "prod")},
    **{name: reductions() for name in ("max", "min", "mean", "logsumexp")},
    **{name: deviations() for name in ("var", "std")},
    **{name: truths() for name in ("all", "any")},
    **{name: positions() for name in ("argmax", "argmin")},
    "cumsum": [*running(), call(spread(2, 0), 1), call(integers(3), 0, "float64", order=0)],
    "cumprod": [
        *running(nonzero),
        call(spread(0, 2), 0),
        call(np.array([[1.5, 0.0, 2.0, 3.0], [0.0, 2.0, 0.0, 1.0]]), 1, order=1),
    ],
    **{
        name: [*running(), call(np.array([1.0, np.nan, 3.0]), 0, order=0)]
        for name in ("cummax", "cummin")
    },
    "extremum_positions": [
        call(spread(2, 4), 1, order=0),
        call(spread(2, 4), 0, False, order=0),
        call(np.array([1.0, 1.0, np.nan, 2.0]), 0, order=0),
        call(integers(5), 0, order=0),
    ],
    "logcumsumexp": running(integer=False),
    "sort": ordered(),
    "argsort": [Sample(one.args, one.options, order=0) for one in ordered()],
    "first_places": [
        call(spread(3, 5), 2, order=0), call(spread(200), 7, 0, True, order=0),
        call(integers(4, 3), 4, 0, order=0), call(bools(5), 0, order=0),
    ],
    **{name: along_one_axis() for name in ("softmax", "log_softmax")},
}  # fmt: skip
