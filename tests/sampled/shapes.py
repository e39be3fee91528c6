"""Shapes, slices, and what is joined or cut."""

from __future__ import annotations

from tests.sampled.sample import Sample, call
from tests.values import (
    bools,
    integers,
    seed,
    spread,
)

seed(4000)
SAMPLES: dict[str, list[Sample]] = {
    "as_strided": [
        call(spread(16), (3, 4), (6, 1), sizes=False),
        call(spread(12), (4, 3), (1, 4), sizes=False),
        call(spread(9), (5,), (2,), sizes=False),
        call(integers(9), (1, 3, 1), (1, 4, 2), order=0, sizes=False),
    ],
    "reshape": [
        call(spread(6), 2, 3),
        call(spread(2, 3), (3, -1)),
        call(spread(2, 3), -1),
        call(spread(2, 1, 3), 1, 6, 1),
        call(spread(), (1, 1)),
        call(spread(1), ()),
        call(spread(2, 0), (0, 5), sizes=False),
        call(integers(4), (2, 2), order=0),
    ],
    "broadcast_to": [
        call(spread(), (2, 3)),
        call(spread(3), 2, 3),
        call(spread(2, 1), (4, 2, 3)),
        call(spread(1, 3), (2, 3)),
        call(spread(2, 3), (2, 3)),
        call(spread(1), (0,)),
        call(integers(3), (2, 3), order=0),
    ],
    **{
        name: [
            call(spread(2, 3), 1, 0),
            call(spread(2, 3, 4), (2, 0, 1)),
            call(spread(2, 3, 2), -1, 0, 1),
            call(spread(2, 1, 3, 2), [3, 1, 0, 2]),
            call(integers(2, 3), (1, 0), order=0),
        ]
        for name in ("transpose", "permute")
    },
    "swapaxes": [
        call(spread(2, 3), 0, 1),
        call(spread(2, 3, 4), -1, 0),
        call(spread(2, 1, 3), 1, 1),
        call(integers(2, 3), -1, -2, order=0),
    ],
    "expand_dims": [
        call(spread(), 0),
        call(spread(3), -1),
        call(spread(2, 3), axis=(0, 2)),
        call(spread(2, 3), dim=1),
        call(bools(3), 0, order=0),
    ],
    "squeeze": [
        call(spread(1, 3)),
        call(spread(2, 1, 3, 1), axis=-1),
        call(spread(2, 1, 1), (1, 2)),
        call(spread(2, 1), dim=1),
        call(spread(3)),
        call(integers(1, 1), order=0),
    ],
    "flip": [
        call(spread(4)),
        call(spread(2, 3)),
        call(spread(2, 3), axis=-1),
        call(spread(2, 3, 2), axis=(0, 2)),
        call(spread(2, 0), 1),
        call(bools(5), dim=0, order=0),
    ],
    "concatenate": [
        call([spread(2), spread(3)]),
        call([spread(2, 1), spread(2, 3), spread(2, 2)], axis=-1),
        call([spread(2, 0), spread(2, 2)], dim=1),
        call([spread(1, 3), spread(2, 3)]),
        call([spread(3)]),
        call([integers(2), integers(3, dtype="int32")], order=0),
        call([integers(2), spread(3)]),
    ],
    "stack": [
        call([spread(), spread()]),
        call([spread(2, 3), spread(2, 3)], axis=1),
        call([spread(3), spread(3), spread(3)], dim=-1),
        call([bools(2), bools(2)], order=0),
    ],
    "split": [
        call(spread(6), 3),
        call(spread(2, 4), 2, axis=-1),
        call(spread(5, 2), [1, 3]),
        call(spread(2, 5), (2,), dim=1),
        call(integers(4), 2, order=0),
    ],
    "pad": [
        call(spread(3), 1),
        call(spread(2, 3), (1, 2)),
        call(spread(2, 3), [(0, 1), (2, 0)], value=1.5),
        call(spread(1, 2, 2), [(0, 0), (1, 0), (0, 2)]),
        call(spread(2, 3), [(1, 0)]),
        call(spread(), 1),
        call(integers(3), 2, value=7, order=0),
        call(bools(2), 1, value=1, order=0),
    ],
    "getitem": [
        call(spread(5), 1),
        call(spread(5), -2),
        call(spread(6), slice(1, 5, 2)),
        call(spread(6), slice(None, None, -1)),
        call(spread(7), slice(5, 0, -2)),
        call(spread(6), slice(-4, -1)),
        call(spread(5), slice(3, 1)),
        call(spread(5), slice(2, 100)),
        call(spread(3, 4), (slice(None), 1)),
        call(spread(3, 4), (-1, slice(None, None, 2))),
        call(spread(2, 3, 4), (Ellipsis, 0)),
        call(spread(2, 3, 4), (1, Ellipsis, None, slice(1, 3))),
        call(spread(3), (None, slice(None), None)),
        call(spread(3), Ellipsis),
        call(spread(2, 2, 1, 3), (0, None, slice(None), 0, slice(None, None, -2))),
        call(spread(), ()),
        call(spread(4, 2), integers(3, low=0, high=4)),
        call(spread(4, 2), [0, -1, 0]),
        call(integers(4), slice(1, None), order=0),
    ],
    "strided_slice": [
        call(spread(5), (1,), (2,), (2,)),
        call(spread(3, 4), (0, 1), (3, 2), (1, 1)),
        call(integers(4), (0,), (0,), (1,), order=0),
    ],
    "embed": [
        call(spread(2), (1,), (5,), (2,)),
        call(spread(2, 3), (0, 1), (3, 7), (1, 2), 0.5),
        call(integers(3), (0,), (4,), (1,), 9, order=0),
    ],
}  # fmt: skip
