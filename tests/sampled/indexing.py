"""Elements chosen, and put, by indices."""

from __future__ import annotations

import numpy as np

from tests.sampled.sample import Sample, call
from tests.values import (
    bools,
    integers,
    nonzero,
    seed,
    spread,
)

seed(5000)
SAMPLES: dict[str, list[Sample]] = {
    "take": [
        call(spread(5), integers(3, low=-5, high=5)),
        call(spread(4, 3), integers(2, 2, low=-4, high=4), axis=0),
        call(spread(2, 3, 4), integers(2, low=-3, high=3, dtype="int32"), axis=1),
        call(spread(2, 3), integers(low=0, high=3), dim=-1),
        call(spread(2, 3), integers(4, low=0, high=6)),
        call(spread(2, 1), integers(0), axis=1),
        call(integers(5), integers(2, low=0, high=5, dtype="uint8"), axis=0, order=0),
    ],
    "take_add": [
        call(spread(3), integers(3, low=-4, high=4), 0, 4),
        call(spread(2, 2, 3), integers(2, 2, low=0, high=5), 0, 5),
        call(spread(2, 3, 2), integers(3, low=0, high=2, dtype="int32"), 1, 2),
        call(spread(2, 2), integers(low=0, high=3), 1, 3),
    ],
    "take_along_axis": [
        call(spread(4, 3), integers(4, 2, low=-3, high=3)),
        call(spread(4, 3), integers(2, 3, low=-4, high=4), axis=0),
        call(spread(2, 3, 2), integers(2, 1, 2, low=-3, high=3), axis=1),
        call(spread(4, 3), integers(4, 1, low=0, high=3, dtype="int32"), dim=-1),
        call(spread(5), integers(2, low=0, high=5)),
        call(spread(3, 2), integers(3, 1, low=0, high=2, dtype="uint8"), axis=1),
        call(integers(5), integers(7, low=0, high=5), axis=0, order=0),
    ],
    "along_add": [
        call(spread(4, 2), integers(4, 2, low=-3, high=3), 1, 3),
        call(spread(2, 3), integers(2, 3, low=0, high=4, dtype="int32"), 0, 4),
    ],
    "one_hot": [
        call(integers(low=0, high=3), 3, order=0),
        call(integers(4, low=-1, high=4), 3, order=0),
        call(integers(2, 3, low=0, high=5, dtype="int32"), 5, "float64", order=0),
        call(integers(2, low=0, high=2, dtype="uint8"), 2, dtype="bool", order=0),
    ],
    "last_positions": [
        call(integers(4, 2, low=-3, high=3), 1, 3, order=0),
        call(integers(5, low=0, high=3, dtype="uint8"), 0, 3, False, order=0),
        call(integers(0, 2), 0, 3, order=0),
    ],
    "along_prod": [
        call(nonzero(4, 2), integers(4, 2, low=-3, high=3), 1, 3),
        call(nonzero(5, 3), integers(5, 3, low=0, high=4, dtype="int32"), 0, 4),
        call(np.array([0.0, 2.0, 0.0, 3.0, 0.0]), np.array([0, 0, 1, 2, 2]), 0, 4, order=1),
        call(integers(3), integers(3, low=0, high=2), 0, 2, order=0),
    ],
    "along_extremum": [
        call(spread(4, 3), integers(4, 3, low=-2, high=2), 0, 2),
        call(spread(2, 6), integers(2, 6, low=0, high=2, dtype="int32"), 1, 2, False),
        call(spread(3), np.array([3, 1, 1]), 0, 4, order=0),
        call(integers(3, dtype="int32"), integers(3, low=0, high=2), 0, 4, order=0),
    ],
    **{
        name: [
            call(spread(4, 3), integers(4, 2, low=-3, high=3), spread(4, 2)),
            call(spread(4, 3), integers(5, 3, low=0, high=4, dtype="int32"), spread(5, 3), axis=0),
            call(spread(2, 3, 2), integers(2, 2, 2, low=-3, high=3), spread(2, 1, 2), dim=1),
            call(spread(4, 3), integers(2, 2, low=-4, high=4), spread(2, 2), 0, sizes=False),
            call(spread(5), integers(2, low=0, high=5), 1.5, 0),
            call(spread(3), integers(0), spread(0), 0),
            call(integers(4), integers(3, low=0, high=4), integers(3, dtype="int32"), order=0),
        ]
        for name in ("scatter", "scatter_add")
    },
    "put_along_axis": [
        call(spread(4, 3), integers(4, 1, low=-3, high=3), spread(4, 1)),
        call(spread(4, 3), integers(2, 1, low=0, high=4), spread(3), 0),
        call(spread(2, 3), integers(4, low=-6, high=6), spread(4), None),
        call(spread(3, 2), integers(1, 2, low=0, high=2), 2.5, dim=1),
        call(bools(3), integers(2, low=0, high=3), True, order=0),
    ],
    "scatter_reduce": [
        *(
            call(
                spread(4, 3, low=1.0, high=13.0), integers(4, 3, low=-3, high=3),
                spread(4, 3, low=1.5, high=13.5), 1, how, include,
            )
            for how in ("sum", "prod", "mean", "amax", "amin")
            for include in (True, False)
        ),
        *(
            call(
                spread(4, 3, low=1.0, high=13.0), integers(2, 2, low=0, high=4),
                spread(2, 1, low=1.5, high=13.5), 0, how, include, sizes=False,
            )
            for how in ("sum", "prod", "mean", "amax", "amin")
            for include in (True, False)
        ),
        call(np.array([2.0, 0.0]), np.array([0, 0, 1]), np.array([0.0, 3.0, 0.0]), 0, "prod",
             order=1),
        call(np.ones(3), np.array([0, 0, 2]), np.ones(3), reduce="amax", order=0),
        call(integers(4), integers(4, low=0, high=4), integers(4), reduce="mean", order=0),
        call(integers(4), integers(4, low=0, high=4), integers(4), reduce="amin", order=0),
    ],
    **{
        name: [
            call(spread(4, 3), integers(2, low=-4, high=4), spread(2, 3)),
            call(spread(2, 3, 2), integers(4, low=0, high=3, dtype="int32"), spread(4, 1), 1),
            call(spread(2, 3), integers(2, low=-3, high=3), 1.5, dim=-1),
            call(spread(2, 3), integers(0), spread(2, 0), 1),
            call(integers(4), integers(2, low=0, high=4), integers(2, dtype="int32"), order=0),
        ]
        for name in ("index_add", "index_copy")
    },
    "index_fill": [
        call(spread(4, 3), integers(2, low=-4, high=4), spread()),
        call(spread(2, 3, 2), integers(4, low=0, high=3, dtype="int32"), 2.5, 1),
        call(spread(2, 3), integers(0), spread(), dim=1),
        call(integers(4), integers(2, low=0, high=4), 7, order=0),
    ],
    "index_put": [
        call(spread(4, 3), [integers(5, low=-4, high=4), integers(5, low=0, high=3)], spread(5)),
        call(spread(4, 3), [integers(2, 1, low=0, high=4), integers(3, low=-3, high=3)], spread(3)),
        call(spread(4, 3, 2), [integers(3, low=0, high=4), integers(3, low=0, high=3)],
             spread(3, 2), True),
        call(spread(4, 3), [integers(3, low=-4, high=4)], spread(3, 3), accumulate=True),
        call(spread(4, 3), [integers(2, low=0, high=4)], 1.5),
        call(spread(3), [integers(low=0, high=3)], spread()),
    ],
    "put": [
        call(spread(4, 3), integers(5, low=-12, high=12), spread(5)),
        call(spread(5), integers(2, 2, low=0, high=5, dtype="uint8"), spread(2)),
        call(spread(2, 3), integers(2, low=0, high=6), 1.5),
        call(spread(3), integers(0), spread(0)),
        call(integers(4), integers(2, low=0, high=4), 7, order=0),
    ],
    "ravel_multi_index": [
        call([integers(3, low=-4, high=4), integers(3, low=0, high=2)], (4, 2), order=0),
        call([integers(2, 1, low=0, high=3), integers(3, low=0, high=2, dtype="uint8")], (3, 2),
             order=0),
        call([integers(low=0, high=3)], (3,), order=0),
    ],
    "masked_fill": [
        call(spread(2, 3), bools(2, 3), 1.5),
        call(spread(2, 3), bools(3), spread()),
        call(integers(4), bools(4), 0, order=0),
    ],
}  # fmt: skip
