"""Products, norms, decompositions and solutions of matrices."""

from __future__ import annotations

import numpy as np

from tests.sampled.kinds import (
    matrices,
    positive_definite,
    regular,
    squares,
    symmetric,
    tall,
)
from tests.sampled.sample import Sample, call
from tests.values import (
    integers,
    nonzero,
    positive,
    seed,
    spread,
)

seed(2000)
SAMPLES: dict[str, list[Sample]] = {
    **{name: squares() for name in ("inv", "det", "logabsdet", "slogdet", "cofactor")},
    "signdet": squares(order=0),
    "expm": [
        *(call(spread(*shape)) for shape in ((3, 3), (2, 3, 3), (2, 1, 2, 2), (1, 1), (0, 2, 2))),
        call(spread(0, 0)),
        call(integers(1, 1, low=1), order=0),
    ],
    "expm_frechet": [
        call(spread(*shape) / 2, spread(*shape) / 2)
        for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 2, 2))
    ],
    "solve": [
            call(regular(3, 3), spread(3, 2)),
            call(regular(2, 3, 3), spread(3, 1)),
            call(regular(2, 2), spread(3, 2, 2)),
            call(regular(2, 1, 2, 2), spread(3, 2, 4)),
            call(regular(3, 3), spread(3, 0)),
            call(regular(0, 0), spread(0, 2)),
            call(regular(2, 3, 3), spread(3)),
        ],
    "cholesky": [*positive_definite(), call(positive(2, 1, 1), upper=True)],
    "pinv": [
        call(spread(2, 3)),
        call(spread(3, 2)),
        call(spread(2, 3, 3), rtol=1e-12),
        call(spread(1, 3)),
        call(spread(0, 2, 3)),
    ],
    "vector_norm": [
        *(call(nonzero(2, 3), order, dim=1) for order in (1, 2, 3, 1.5, np.inf, -np.inf)),
        call(nonzero(2, 3), 0, axis=0),
        call(nonzero(2, 3, 2), axis=(0, 2), keepdims=True),
        call(nonzero(4)),
        call(nonzero()),
    ],
    "matmul": matrices(),
    "gemm": [
        call(spread(2, 4), spread(2, 3), spread(3, 4), 0.5, -2.0),
        call(spread(1, 1), spread(1, 5), spread(5, 1), 1.0, 1.0),
        call(spread(3, 2), spread(3, 0), spread(0, 2), -1.0, 3.0),
    ],
    "dot": [
        call(spread(3), spread(3)),
        call(spread(1), spread(1)),
        call(integers(4), integers(4), order=0),
        call(integers(4).astype(np.float64), spread(4)),
    ],
    "outer": [
        call(spread(3), spread(2)),
        call(spread(1), spread(4)),
        call(integers(2), integers(3), order=0),
    ],
    **{
        name: [
            # the gradient is that of symmetric matrices, but a quotient changes one half: see
            # positive_definite, and test_decompositions.py
            call(positive(1, 1)),
            call(positive(3, 1, 1)),
            call(symmetric(3, 3), order=0),
            call(symmetric(2, 3, 3), "U", order=0),
            call(np.zeros((0, 2, 2)), order=0),
        ]
        for name in ("eigh", "eigvalsh")
    },
    "svd": [
        call(spread(3, 3), sizes=False),
        call(spread(2, 3, 2), False),
        call(spread(2, 3), full_matrices=False),
        call(spread(0, 2, 2), sizes=False),
    ],
    "svdvals": [
        call(spread(3, 3)),
        call(spread(2, 3, 2)),
        call(spread(2, 3)),
        call(spread(0, 2, 2)),
    ],
    "qr": [
        call(regular(3, 3)),
        call(tall(2, 3, 2)),
        call(tall(3, 2).T.copy(), "complete", sizes=False),
        call(tall(2, 4, 3).swapaxes(-1, -2).copy()),
        call(tall(3, 2).T.copy(), "r"),
        call(spread(0, 2, 2)),
    ],
    "lstsq": [
        call(tall(4, 2), spread(4, 3)),
        call(tall(2, 3, 2), spread(2, 3)),
        call(tall(3, 2).T.copy(), spread(2, 1)),
    ],
    "matrix_norm": [
        *(
            call(spread(3, 2), order)
            for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        ),
        call(spread(2, 3, 4), 1, (0, -1)),
        call(spread(2, 3, 2), "nuc", axis=(2, 0), keepdims=True),
        call(integers(2, 3), order=0),
    ],
    "matrix_power": [
        *(call(regular(2, 2, 2) / 4, n) for n in (3, 1, 4, -2)),
        call(regular(3, 3), 0, order=1),
        call(integers(2, 2), 2, order=0),
    ],
    "matrix_rank": [
        call(spread(3, 2), order=0),
        call(np.ones((2, 3, 3)), order=0),
        call(symmetric(3, 3), hermitian=True, order=0),
        call(spread(2, 3), rtol=0.9, order=0),
        call(spread(2, 3), atol=100.0, order=0),
        call(np.zeros((2, 0)), order=0),
    ],
    "solve_triangular": [
            call(regular(3, 3), spread(3, 2)),
            call(regular(2, 3, 3), spread(3, 1), upper=True),
            call(regular(2, 2), spread(3, 2, 2), upper=True),
            call(regular(2, 1, 2, 2), spread(3, 2, 4)),
            call(regular(0, 0), spread(0, 2)),
        ],
}  # fmt: skip
