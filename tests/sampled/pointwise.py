"""What is computed element by element."""

from __future__ import annotations

import functools

import numpy as np

from tests.sampled.kinds import (
    binary,
    classification,
    comparison,
    logical,
    quotients,
    unary,
)
from tests.sampled.sample import Sample, call
from tests.values import (
    bools,
    byte,
    fraction,
    integers,
    nonzero,
    positive,
    seed,
    share,
    spread,
    unit,
)

seed(0)
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
    "softsign": unary(),
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
    **{
        name: [call(nonzero(2, 3)), call(np.array([-9.5, 12.5, 0.0])), call(integers(3), order=0)]
        for name in (
            "airy_ai", "airy_ai_slope", "bessel_j0", "bessel_j1", "spherical_bessel_j0",
            "spherical_j1",
        )
    },
    **{
        name: [call(positive(2, 3)), call(np.array([1.25, 9.5])), call(integers(3, low=1), order=0)]
        for name in (
            "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1",
            "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
        )
    },
    **{
        name: [call(nonzero(2, 3)), call(np.array([-9.5, 7.5, 0.0])), call(integers(3), order=0)]
        for name in (
            "dawsn", "dawsn_slope", "sine_integral",
        )
    },
    **{
        name: [call(nonzero(2, 3)), call(np.array([-2.75, 1.5, 0.0])), call(integers(3), order=0)]
        for name in (
            "fresnel_cosine", "fresnel_cosine_slope", "fresnel_sine", "fresnel_sine_slope",
        )
    },
    **{
        name: [call(positive(2, 3)), call(np.array([0.25, 7.5])), call(integers(3, low=1), order=0)]
        for name in ("cosine_integral", "exp1", "expi", "spence")
    },
    "expn": [
        call(np.array([0.0, 1.0, 3.0]), positive(2, 3), order=0), call(2, positive(3)),
        call(4.0, np.array([0.25, 7.5])),
    ],
    "hyp1f1": [
        call(np.array([0.5, -2.0, 3.5]), 1.5, spread(2, 3), order=0), call(1.5, 2.5, spread(3)),
    ],
    "hyp2f1": [
        call(np.array([0.5, -2.0]), 1.5, 2.25, share(2), order=0), call(1, 1.5, 2.5, share(3)),
    ],
    "owens_t": [*binary(integer=False), call(nonzero(2), np.array([-3.5, 2.5]))],
    "orthogonal_polynomial": [
        call(spread(2, 3), np.array([0, 4, 7]), "legendre_p"),
        call(spread(2, 1), integers(3, low=-1, high=5), "hermite_h"),
        *(call(spread(2), 3, family) for family in ("chebyshev_u", "chebyshev_v", "chebyshev_w")),
        call(spread(3), 5, "chebyshev_t", 1), call(spread(), np.array([2, 3]), "laguerre_l"),
        call(spread(2), np.array(4), "hermite_he", 2),
    ],
}  # fmt: skip
