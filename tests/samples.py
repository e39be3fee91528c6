"""Sample inputs of every op and public function: the one table that the generic tests run over.

A sample is what a user writes: the arguments of the public function, arrays where tensors go.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Op
from compiler.core.user_text import UserText
from tests.values import (
    bools,
    byte,
    fraction,
    integers,
    nonzero,
    positive,
    probability,
    share,
    spread,
    unit,
)


@dataclass(frozen=True)
class Sample:
    """One call: `function(*args, **options)`.

    `order` is how often the result can be differentiated by the float64 arrays among `args`, and
    `sizes` whether the axes longer than 1 may be unknown.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    order: int = 2
    sizes: bool = True


def call(*args: Any, order: int = 2, sizes: bool = True, **options: Any) -> Sample:
    return Sample(args, options, order, sizes)


def unary(domain: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [call(domain()), call(domain(5)), call(domain(2, 1, 3)), call(domain(2, 0))]
    return [*samples, call(integers(2, 3, low=1, dtype="int32"), order=0)] if integer else samples


def binary(left: Any = spread, right: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [
        call(left(), right()),
        call(left(4), right(4)),
        call(left(2, 1, 3), right(4, 1)),
        call(left(3), right(2, 1)),
        call(left(2, 3), 1.5),
        call(2, right(3)),
        call(left(1), right(2, 0)),
    ]
    if integer:
        samples += [
            call(integers(2, 3), integers(3, low=1), order=0),
            call(byte(4), integers(4, low=1, dtype="int32"), order=0),
            call(integers(2, 2, dtype="int32"), right(2)),
            call(byte(3), 3, order=0),
        ]
    return samples


def quotients() -> list[Sample]:
    """No quotient is near an integer, where the floor jumps."""
    signs = np.array([7.3, -7.3, 7.3, -7.3]), np.array([2.0, 2.0, -2.0, -2.0])
    divisor = functools.partial(spread, low=3.1, high=4.9)
    return [*binary(positive, divisor), call(*signs), call(integers(6), -3, order=0)]


def comparison() -> list[Sample]:
    tied = np.array([1.0, np.nan, -np.inf, np.inf, -0.0]), np.array([1.0, np.nan, 0.0, np.inf, 0.0])
    samples = [*binary(), call(*tied), call(bools(2, 3), bools(3)), call(bools(3), integers(3))]
    return [Sample(sample.args, order=0) for sample in samples]


def logical() -> list[Sample]:
    return [
        call(bools(), bools(), order=0),
        call(bools(2, 3), bools(3), order=0),
        call(bools(2, 1), bools(1, 4), order=0),
        call(bools(3), True, order=0),
    ]


def classification() -> list[Sample]:
    values = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.0])
    return [call(values, order=0), call(spread(2, 1, 2), order=0), call(spread(), order=0)]


def reductions(domain: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [
        call(domain()),
        call(domain(4)),
        call(domain(4), 0),
        call(domain(2, 3), axis=-1),
        call(domain(2, 3), dim=0, keepdim=True),
        call(domain(2, 3, 2), axis=(0, -1)),
        call(domain(2, 3, 2), axis=(2, 1), keepdims=True),
        call(domain(2, 1, 3), axis=1),
        call(domain(2, 2, 1, 3), axis=(1, 2)),
        call(domain(2, 3), axis=(), keepdims=True),
        call(domain(2, 3), keepdims=True),
    ]
    if integer:
        samples += [
            call(integers(2, 3, dtype="int32"), axis=0, order=0),
            call(byte(3), order=0),
        ]
    return samples


def empty_reductions() -> list[Sample]:
    return [call(spread(0)), call(spread(0, 3), axis=0), call(spread(2, 0, 3), axis=(0, 1))]


def deviations() -> list[Sample]:
    return [
        *reductions()[1:],
        call(spread(5), correction=1),
        call(spread(2, 4), axis=-1, keepdims=True, correction=1),
        call(spread(), order=0),
    ]


def truths() -> list[Sample]:
    return [
        call(bools(), order=0),
        call(bools(4), order=0),
        call(bools(2, 3), axis=-1, order=0),
        call(bools(2, 3, 2), axis=(0, 2), keepdims=True, order=0),
        call(bools(2, 0), axis=1, order=0),
    ]


def positions() -> list[Sample]:
    return [
        call(spread(5), order=0),
        call(spread(2, 3), order=0),
        call(spread(2, 3), axis=-1, order=0),
        call(spread(2, 3, 4), dim=1, keepdim=True, order=0),
        call(spread(2, 1), axis=1, order=0),
        call(integers(2, 3, dtype="int32"), axis=0, order=0),
        call(np.array([[1.0, 3.0, 3.0], [np.nan, 7.0, np.nan]]), axis=1, order=0),
    ]


def along_one_axis() -> list[Sample]:
    return [
        call(spread(4)),
        call(spread(2, 3)),
        call(spread(2, 3, 2), axis=1),
        call(spread(2, 1), dim=-1),
        call(integers(2, 3), axis=0, order=0),
    ]


def running(domain: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [
        call(domain(4)),
        call(domain(2, 3)),
        call(domain(2, 3), 0),
        call(domain(2, 3, 2), axis=1),
        call(domain(2, 1), dim=-1),
        call(domain(1)),
        call(domain()),
    ]
    if integer:
        samples += [
            call(integers(2, 3, dtype="int32"), axis=1, order=0),
            call(byte(3), axis=0, order=0),
        ]
    return samples


def ordered() -> list[Sample]:
    tied = np.array([[2.0, 1.0, 2.0, 1.0], [np.nan, 1.0, -np.inf, np.nan]])
    return [
        call(spread(5)),
        call(spread(2, 3)),
        call(spread(2, 3), axis=0),
        call(spread(2, 3, 2), dim=1, descending=True),
        call(spread(2, 3), None),
        call(spread(2, 0), stable=True),
        call(spread(), None),
        call(tied, order=0),
        call(tied, axis=1, descending=True, order=0),
        call(integers(2, 4, dtype="int32"), axis=0, order=0),
        call(bools(5), order=0),
    ]


def regular(*shape: int) -> np.ndarray:
    """Square matrices that are far from singular."""
    matrices = spread(*shape)
    return np.asarray(matrices + np.copysign(3.0, matrices) * np.eye(shape[-1]))


def symmetric(*shape: int) -> np.ndarray:
    """Symmetric matrices with distinct eigenvalues."""
    matrices = regular(*shape)
    return np.asarray(matrices + matrices.swapaxes(-1, -2) + np.diag(np.arange(shape[-1]) * 3.0))


def tall(*shape: int) -> np.ndarray:
    """Matrices of independent columns."""
    *lead, rows, columns = shape
    below = spread(*lead, rows - columns, columns, low=-1.0, high=1.0)
    return np.concatenate([regular(*lead, columns, columns), below], -2)


def squares(order: int = 2) -> list[Sample]:
    return [
        call(regular(3, 3), order=order),
        call(regular(2, 3, 3), order=order),
        call(regular(2, 1, 2, 2), order=order),
        call(regular(1, 1), order=order),
        call(regular(0, 2, 2), order=order),
        call(regular(0, 0), order=order),
        call(integers(1, 1, low=1), order=0),
    ]


def positive_definite() -> list[Sample]:
    """Of one element: the gradient is that of symmetric matrices, but a quotient changes one half,
    and elements in another order are of no such matrix. The others are in test_matrices.py.
    """
    return [call(positive(1, 1)), call(positive(3, 1, 1)), call(np.zeros((0, 2, 2)))]


def losses(domain: Any, target: Any) -> list[Sample]:
    return [
        call(domain(3, 2), target(3, 2)),
        call(domain(4), target(4), reduction="sum"),
        call(domain(2, 3), target(2, 3), reduction="none"),
        call(domain(2, 3), target(3)),
        call(domain(1, 3), target(2, 1), reduction="none"),
        call(domain(), target()),
    ]


def matrices() -> list[Sample]:
    return [
        call(spread(3), spread(3)),
        call(spread(2, 3), spread(3)),
        call(spread(3), spread(3, 2)),
        call(spread(2, 3), spread(3, 4)),
        call(spread(1, 3), spread(3, 1)),
        call(spread(2, 2, 3), spread(3, 2)),
        call(spread(2, 2, 3), spread(3)),
        call(spread(3), spread(2, 3, 2)),
        call(spread(2, 3), spread(2, 3, 2)),
        call(spread(2, 1, 2, 3), spread(3, 3, 2)),
        call(spread(1, 2, 3), spread(2, 3, 2)),
        call(spread(2, 0), spread(0, 3)),
        call(integers(2, 3), integers(3, 2), order=0),
        call(integers(2, 3, dtype="int32"), spread(3)),
    ]


NEGATIVE = np.array([-0.5, -1.4, -2.6, 0.7])
CORNERS = np.array([[0.5, -1.5, 2.0], [1.0, 3.0, -0.5]])

SAMPLES: dict[str, list[Sample]] = {
    **{
        name: unary(nonzero, integer=name not in ("relu",))
        for name in ("abs", "negative", "relu", "sign", "square")
    },
    **{
        name: unary()
        for name in (
            "atan", "cos", "cosh", "erf", "exp", "expm1", "sigmoid", "silu", "sin", "sinh",
            "softplus", "tanh",
        )
    },
    **{name: unary(positive) for name in ("log", "log1p", "reciprocal", "rsqrt", "sqrt")},
    **{name: unary(unit, integer=False) for name in ("acos", "asin", "tan")},
    **{name: unary(fraction) for name in ("ceil", "floor", "round", "trunc")},
    **{name: binary() for name in ("add", "subtract", "multiply", "maximum", "minimum")},
    **{name: binary(right=nonzero) for name in ("divide", "atan2")},
    **{name: quotients() for name in ("floor_divide", "remainder")},
    **{name: binary(positive, spread, integer=False) for name in ("power", "pow")},
    **{
        name: comparison()
        for name in ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
    },
    **{name: logical() for name in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": [call(bools(), order=0), call(bools(2, 3), order=0)],
    **{name: classification() for name in ("isfinite", "isinf", "isnan")},
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
    **{name: along_one_axis() for name in ("softmax", "log_softmax")},
    **{name: squares() for name in ("inv", "det", "logabsdet", "slogdet", "cofactor")},
    "signdet": squares(order=0),
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
    "mse_loss": losses(spread, spread),
    "binary_cross_entropy_with_logits": losses(spread, probability),
    "matmul": matrices(),
    "gemm": [
        call(spread(2, 4), spread(2, 3), spread(3, 4), 0.5, -2.0),
        call(spread(1, 1), spread(1, 5), spread(5, 1), 1.0, 1.0),
        call(spread(3, 2), spread(3, 0), spread(0, 2), -1.0, 3.0),
    ],
    "as_strided": [
        call(spread(16), (3, 4), (6, 1), sizes=False),
        call(spread(12), (4, 3), (1, 4), sizes=False),
        call(spread(9), (5,), (2,), sizes=False),
        call(integers(9), (1, 3, 1), (1, 4, 2), order=0, sizes=False),
    ],
    "dot": [
        call(spread(3), spread(3)),
        call(spread(1), spread(1)),
        call(integers(4), integers(4), order=0),
        call(integers(4), spread(4)),
    ],
    "outer": [
        call(spread(3), spread(2)),
        call(spread(1), spread(4)),
        call(integers(2), integers(3), order=0),
    ],
    "where": [
        call(bools(2, 3), spread(2, 3), spread(2, 3)),
        call(bools(3), spread(2, 1), spread()),
        call(bools(2, 1, 2), spread(3, 1), 0.0),
        call(bools(), spread(2), spread(2)),
        call(bools(4), integers(4), integers(4, dtype="int32"), order=0),
        call(bools(4), bools(4), True, order=0),
    ],
    "astype": [
        call(spread(2, 3), "float32", order=0),
        call(spread(2, 3), "float64"),
        call(fraction(3), "int32", order=0),
        call(integers(3, low=0), "bool", order=0),
        call(bools(2, 2), "float64", order=0),
        call(integers(4, low=-300, high=300), "uint8", order=0),
    ],
    "clip": [
        call(CORNERS, -1.0, 1.5),
        call(CORNERS, min=0.25),
        call(CORNERS, max=0.25),
        call(CORNERS, spread(3, low=-1.4, high=-0.6), 1.25),
        call(CORNERS, -0.25, spread(2, 1, low=0.1, high=1.9)),
        call(integers(6), -2, 3, order=0),
        call(byte(6), max=100, order=0),
        call(np.array([1, 2, 3], "int8"), min=np.array([300, -5, 2]), order=0),
        call(np.array([1, 2, 3], "int8"), max=np.array([-300, 5, 2]), order=0),
    ],
    "clamp": [
        call(CORNERS, spread(3, low=-1.4, high=-0.6), spread(2, 1, low=1.1, high=1.9)),
        call(CORNERS, spread(low=0.6, high=0.8), spread(low=-1.2, high=-1.1)),
        call(integers(2, 3), -1, 2, order=0),
    ],
    "leaky_relu": [*unary(nonzero), call(nonzero(3), 0.2), call(nonzero(3), negative_slope=0.3)],
    "elu": [*unary(nonzero), call(nonzero(3), alpha=0.7)],
    "gelu": [*unary(), call(spread(2, 3), approximate="tanh"), call(spread(4), "tanh")],
    "copy": [call(spread(2, 3)), call(spread()), call(bools(3), order=0)],
    "stop_gradient": [call(spread(2, 3), order=0), call(integers(3), order=0)],
    "layer_norm": [
        call(spread(2, 3), 3),
        call(spread(2, 4), (4,), spread(4), spread(4)),
        call(spread(2, 3, 2), (3, 2), spread(3, 2), eps=1e-3),
        call(spread(5), 5, None, spread(5)),
        call(spread(2, 1, 3), [1, 3], spread(1, 3)),
    ],
    "sliding_windows": [
        call(spread(7), (3,), (1,), (1,)),
        call(spread(2, 7, 6), (3, 2), (2, 1), (1, 3)),
        call(integers(2, 8), (2,), (3,), (2,), order=0),
    ],
    "overlap_add": [
        call(spread(5, 3), (7,), (1,), (1,), sizes=False),
        call(spread(2, 3, 2, 2, 3), (8, 9), (2, 3), (3, 1), sizes=False),
        call(integers(2, 3, 2), (6,), (2,), (1,), order=0, sizes=False),
    ],
    "conv2d": [
        call(spread(2, 1, 5, 4), spread(3, 1, 2, 3), sizes=False),
        call(
            spread(2, 2, 5, 6), spread(4, 2, 3, 2), spread(4), stride=(2, 1), padding=(1, 2),
            sizes=False,
        ),
        call(spread(1, 4, 6, 5), spread(6, 2, 2, 2), None, 1, 0, (2, 3), 2, sizes=False),
        call(spread(2, 3, 4, 4), spread(3, 1, 3, 3), spread(3), padding=1, groups=3, sizes=False),
        call(spread(1, 2, 5, 4), spread(4, 1, 2, 2), None, 2, 0, 1, 2, sizes=False),
        call(spread(1, 6, 4, 4), spread(2, 3, 5, 5), None, 1, 2, 1, 2, sizes=False),
    ],
    "conv_transpose2d": [
        call(spread(2, 2, 3, 2), spread(2, 1, 2, 3), sizes=False),
        call(
            spread(2, 4, 3, 2), spread(4, 3, 3, 2), spread(6), (3, 2), (2, 1), (2, 1), 2, (1, 3),
            sizes=False,
        ),
    ],
    "max_pool2d": [
        call(spread(2, 2, 4, 6), 2),
        call(spread(1, 2, 5, 7), (3, 2), stride=(2, 1), padding=(1, 0)),
        call(spread(1, 1, 5, 5), 3, 1),
    ],
    "avg_pool2d": [
        call(spread(2, 2, 4, 6), 2),
        call(spread(1, 2, 5, 7), (3, 2), stride=(2, 1), padding=(1, 0)),
    ],
    "cross_entropy": [
        call(spread(4, 3), integers(4, low=0, high=3)),
        call(spread(4, 3), integers(4, low=0, high=3, dtype="int32"), reduction="sum"),
        call(spread(2, 3), integers(2, low=0, high=3), reduction="none"),
        call(spread(2, 3, 4), integers(2, 4, low=0, high=3)),
        call(spread(2, 3, 2), integers(2, 2, low=0, high=3, dtype="uint8"), reduction="none"),
        call(spread(5), integers(low=0, high=5)),
        call(spread(5), integers(low=0, high=5), reduction="none"),
    ],
    "checkpoint": [call(spread(2, 3), region=0), call(spread(), region=3)],
    "recompute": [call(spread(2, 3), integers(4)), call(spread()), call(bools(3), order=0)],
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
    **{
        name: unary()
        for name in ("asinh", "deg2rad", "erfc", "exp2", "rad2deg", "sinc")
    },
    **{name: unary(positive) for name in ("digamma", "lgamma", "log10", "log2")},
    "acosh": unary(functools.partial(spread, low=1.3, high=4.0)),
    "atanh": unary(unit, integer=False),
    "frac": unary(fraction),
    "log_odds": unary(share, integer=False),
    "logit": [*unary(share, integer=False), call(spread(6, low=-0.5, high=1.5), 0.2)],
    "polygamma": [
        *(call(n, positive(2, 3)) for n in range(4)), call(1, NEGATIVE), call(2, NEGATIVE),
        call(2, positive(2, 0)), call(1, integers(3, low=1, dtype="int32"), order=0),
    ],
    **{name: binary() for name in ("fmax", "fmin", "logaddexp", "logaddexp2")},
    **{name: binary(nonzero, nonzero) for name in ("copysign", "hypot")},
    "heaviside": [Sample(one.args, order=0) for one in binary(nonzero)],
    "xlogy": binary(positive, positive),
    "fmod": quotients(),
    **{
        name: [
            call(integers(2, 3), integers(3), order=0),
            call(integers(5), 6, order=0),
            call(byte(2, 3), integers(2, 1, dtype="int32"), order=0),
            call(byte(4), byte(4), order=0),
        ]
        for name in ("gcd", "lcm")
    },
    "binary_cross_entropy": [
        call(share(3, 2), probability(3, 2)),
        call(share(2, 3), probability(3)),
        call(share(), probability()),
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
    "attention": [
        call(spread(3, 2), spread(4, 2), spread(4, 3), scale=0.7, causal=False),
        call(spread(2, 3, 2), spread(2, 4, 2), spread(2, 4, 1), scale=0.7, causal=True),
        call(spread(70, 1), spread(68, 1), spread(68, 2), scale=0.5, causal=True, order=1),
        call(spread(3, 0), spread(2, 0), spread(2, 1), scale=1.0, causal=True, sizes=False),
    ],
    "attention_gradients": [
        call(
            spread(3, 2), spread(4, 2), spread(4, 3), spread(3, 3), scale=0.7, causal=False, order=1
        ),
        call(
            spread(2, 3, 2), spread(2, 2, 2), spread(2, 2, 1), spread(2, 3, 1), scale=0.7,
            causal=True,
        ),
    ],
    "scaled_dot_product_attention": [
        call(spread(3, 2), spread(4, 2), spread(4, 3), sizes=False),
        call(spread(5, 2), spread(5, 2), spread(5, 1), is_causal=True, scale=0.5),
        call(spread(2, 3, 2), spread(4, 2), spread(4, 2), is_causal=True, scale=0.6),
        call(spread(3, 2), spread(4, 2), spread(4, 3), bools(1, 4) | True, scale=0.6),
        call(spread(3, 2), spread(0, 2), spread(0, 3), sizes=False),
        call(spread(0, 2), spread(4, 2), spread(4, 3), sizes=False),
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
    # new ops come last: the data of those before stay what they are
    "softsign": unary(),
    "sparsemax": [
        *along_one_axis(),
        call(np.array([[1.0, 1.0, 0.25], [2.0, 2.0, 2.0], [-5.0, 9.0, 8.5]]), 1),
        call(np.array([[1.0, 0.0], [np.nan, 1.0], [-np.inf, 3.0]]), order=0),
        call(spread(2, 0)),
        call(spread(0, 2)),
    ],
    "lp_pool2d": [
        call(positive(2, 3, 4, 5), 2, 2),
        call(positive(1, 2, 5, 4), 3.0, (2, 3), 1),
        call(positive(2, 1, 3, 3), 1.5, 2, stride=(1, 2)),
        call(nonzero(1, 1, 4, 4), 2, 3, 1),
        call(np.array([[[[0.0, 0.0, 3.0], [0.0, 0.0, 4.0]]]]), 2, 2, 1, order=1),
        call(integers(1, 2, 4, 4, low=1), 2.0, 2, order=0),
    ],
    "after": [call(spread(2, 3), integers(4)), call(spread()), call(bools(3), order=0)],
    "print": [
        call(integers(1), spread(2), text=UserText("a {}"), batched=False, place=0, order=0),
        call(integers(2), text=UserText("here"), batched=True, place=3, order=0),
    ],
    "check": [
        call(integers(1), bools(2) | True, text=UserText("a"), batched=False, place=0, order=0),
        call(integers(3), bools() | True, text=UserText("b"), batched=True, place=1, order=0),
    ],
    "solve_triangular": [
            call(regular(3, 3), spread(3, 2)),
            call(regular(2, 3, 3), spread(3, 1), upper=True),
            call(regular(2, 2), spread(3, 2, 2), upper=True),
            call(regular(2, 1, 2, 2), spread(3, 2, 4)),
            call(regular(0, 0), spread(0, 2)),
        ],
    **{
        name: [
            call(integers(2, 3), integers(3), order=0),
            call(byte(4), byte(4), order=0),
            call(bools(3), bools(2, 1), order=0),
            call(integers(3, dtype="int32"), 6, order=0),
        ]
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    **{
        name: [
            call(integers(2, 3, low=-90, high=90), integers(3, low=0, high=66), order=0),
            call(byte(6), np.array([0, 1, 4, 7, 8, 9], "uint8"), order=0),
            call(np.array([-100, 100, -1], "int8"), 3, order=0),
        ]
        for name in ("left_shift", "right_shift")
    },
    "bitwise_not": [
        call(integers(2, 3), order=0), call(byte(4), order=0), call(bools(3), order=0),
    ],
    "bitwise_count": [
        call(np.array([0, -1, 7, -(2**63), 2**63 - 1, -8]), order=0), call(byte(5), order=0),
        call(np.array([-128, 127, 3], "int8"), order=0),
    ],
    **{name: [call(nonzero(2, 3)), call(spread(2, low=9.0, high=20.0)), call(integers(3), order=0)]
       for name in ("i0e", "i1e", "cbrt")},
    **{name: [call(nonzero(2, 3)), call(np.array([-9.5, 8.5, 0.0])), call(integers(3), order=0)]
       for name in ("i0", "i1")},
    "erfinv": [call(spread(2, 3, low=-0.6, high=0.6)), call(np.array([0.9, -0.95, 0.0]), order=0)],
    "ndtri": [call(spread(2, 3, low=0.35, high=0.65)), call(np.array([0.06, 0.96, 0.5]), order=0)],
    **{
        name: [
            call(np.array([0.5, 3.0, 7.5]), positive(2, 3), order=0),
            call(2, positive(3)), call(positive(1), 0.75, order=0),
        ]
        for name in ("gammainc", "gammaincc")
    },
    "betainc": [
        call(np.array([0.5, 3.0]), positive(2, 1), share(2), order=0), call(2, 1.5, share(3)),
    ],
    "threefry": [
        call(integers(3), integers(3), order=0),
        call(integers(2, 1, low=-9), integers(12), order=0),
    ],
    **{
        name: [
            call(np.array([-(1 << 62), -1, 0, 1 << 40, (1 << 63) - 1]), order=0),
            call(integers(2, 3), order=0),
        ]
        for name in (
            "unit_float32", "unit_float64", "random_order", "normal_float32", "normal_float64",
            "exponential_float32", "exponential_float64", "gumbel_float32", "gumbel_float64",
        )
    },
    "scaled_bits": [
        call(np.array([-(1 << 62), -1, (1 << 63) - 1]), integers(3, low=1), order=0),
        call(integers(2, 1), integers(3, low=1), order=0),
    ],
    "random_below": [
        call(np.array([7, 1 << 40, 1 << 62, 0]), integers(), integers(4), order=0),
        call(integers(3, low=1), integers(3), integers(2, 1), order=0),
    ],
    **{
        name: [
            call(positive(5, 2) * 10, integers(), integers(5, 2), order=0),
            call(positive(3), integers(3), integers(2, 1), order=0),
        ]
        for name in ("gamma_attempt", "log_gamma_attempt", "random_poisson")
    },
    **{
        name: [
            call(np.array([1.5, rejected, 0.5]), positive(2, 3), integers(), integers(3), order=0),
            call(np.array([rejected]), positive(3), integers(3), integers(2, 1), order=0),
        ]
        for name, rejected in (("random_gamma", -1.0), ("random_log_gamma", 1e30))
    },
    "truncated_attempt": [
        call(np.array([-2.0, 0.5, 3.0]), np.array([0.5, 2.5, 9.0]), integers(2, 1), 3, order=0),
        call(np.array([-1.0]), positive(3), integers(3), integers(), order=0),
    ],
    "random_truncated": [
        call(np.array([0.3, 0.0]), np.array([-2.0, 3.0]), np.array([0.5, 9.0]), 7, 3, order=0),
        call(np.zeros(1), np.array([-9.0, 2.0]), np.array([-4.0, 3.0]), integers(2, 1), 3, order=0),
    ],
    "gamma_slope": [
        call(positive(3, 4), positive(4), order=0), call(positive(), positive(2, 1), order=0),
    ],
}  # fmt: skip


WITHOUT = {
    **dict.fromkeys(
        (
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_not",
            "bitwise_count",
            "left_shift",
            "right_shift",
        ),
        "exact, and NumPy's: the generic tests compare it with NumPy",
    ),
    **dict.fromkeys(
        ("i0", "i0e", "i1", "i1e", "erfinv", "ndtri", "gammainc", "gammaincc", "betainc", "cbrt"),
        "test_special.py compares it with mpmath",
    ),
    "sparsemax": "not in PyTorch; test_rows.py compares it with bisection",
    **dict.fromkeys(
        (
            "exponential_float32",
            "exponential_float64",
            "gamma_attempt",
            "gamma_slope",
            "gumbel_float32",
            "gumbel_float64",
            "log_gamma_attempt",
            "normal_float32",
            "normal_float64",
            "random_below",
            "random_gamma",
            "random_log_gamma",
            "random_order",
            "random_poisson",
            "random_truncated",
            "scaled_bits",
            "threefry",
            "truncated_attempt",
            "unit_float32",
            "unit_float64",
        ),
        "PyTorch's numbers are others; tests/staticgraph/random compares them",
    ),
    "placeholder": "a leaf of a graph: it has no value of its own",
    "variable": "a leaf of a graph: it has no value of its own",
    "constant": "a leaf of a graph; the same as torch.tensor, without a gradient",
    "iota": "torch.arange, without operands: there is no gradient",
    "size_of": "a size as a value, without operands: there is no gradient",
    "as_strided": "made by the compiler of inputs, whose views no two elements share a place of",
    "gemm": "made by the compiler of matmul and add, which are compared",
    "cofactor": "the slope of det, which is compared",
    "log_odds": "logit without its option, which is compared",
    "recompute": "x: a mark of the compiler's",
    "after": "x: a mark of the compiler's",
    "print": "a step with an effect: PyTorch has Python's",
    "check": "a step with an effect: PyTorch has Python's assert",
    "checkpoint": "x: a mark of the compiler's",
    "overlap_add": "the adjoint of sliding_windows, which is compared with torch's as_strided; "
    "torch has it for two axes and one stride only (fold)",
    "scan": "a loop of a graph; torch runs loops in Python",
    "while_loop": "a loop of a graph; torch runs loops in Python",
    "cond": "a branch of a graph; torch runs branches in Python",
    "item": "a part of the value of a loop or a branch",
}
"""The ops without a counterpart in PyTorch, each with the reason."""


def elementwise(arity: int) -> tuple[str, ...]:
    """The public ops of so many floating operands, element by element, without attributes."""
    return tuple(
        name
        for name in ops.PUBLIC
        if isinstance(op := getattr(ops, name), Op)
        and op.elementwise
        and op.bind is None
        and len(SAMPLES[name][0].args) == arity
        and SAMPLES[name][0].args[0].dtype.kind == "f"
    )
