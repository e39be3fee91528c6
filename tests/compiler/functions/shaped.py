"""Sample calls of functions that move elements, or compute each of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.functions.calls import Call, call
from tests.values import bools, byte, fraction, integers, nonzero, positive, spread


def _plain(*names: str, args: Any) -> dict[str, list[Call]]:
    return {name: [call(*one) for one in args] for name in names}


def _polar(size: Any, angle: Any) -> Any:
    return size * np.exp(1j * angle)


EDGES = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -3.5, 5e-324, 1e308, 2.0, -0.5])

SHAPED: dict[str, list[Call]] = {
    # arranging
    "atleast_1d": [call(spread()), call(spread(2, 3))],
    "atleast_2d": [call(spread()), call(spread(3)), call(spread(2, 1, 2))],
    "atleast_3d": [call(spread()), call(spread(3)), call(spread(2, 3)), call(spread(1, 2, 3))],
    "moveaxis": [
        call(spread(2, 3, 4), 0, -1),
        call(spread(2, 3, 4), (0, 2), (1, 0)),
        call(spread(2, 3), 1, 1),
    ],
    "rollaxis": [call(spread(2, 3, 4), 2), call(spread(2, 3, 4), 0, 2), call(spread(2, 3), -1, 1)],
    "permute_dims": [call(spread(2, 3, 4), (2, 0, 1)), call(integers(2, 3), (1, 0), order=0)],
    "matrix_transpose": [call(spread(2, 3)), call(spread(2, 3, 4))],
    "ravel": [call(spread(2, 3)), call(spread())],
    **_plain("fliplr", "flipud", args=[(spread(2, 3),), (spread(2, 3, 2),)]),
    "rot90": [*(call(spread(2, 3), k) for k in (0, 1, 2, -1)), call(spread(2, 3, 2), 1, (2, 0))],
    "roll": [
        call(spread(5), 2),
        call(spread(2, 3), 4),
        call(spread(2, 3), -1, 1),
        call(spread(3, 4), (1, 2), (0, 1)),
        call(spread(3, 4), 1, (0, 1)),
        call(integers(4), 1, order=0),
    ],
    "tile": [
        call(spread(3), 2),
        call(spread(2, 3), (2, 1, 2)),
        call(spread(2, 3), (3,)),
        call(spread(), 2),
        call(bools(2), 2, order=0),
    ],
    "repeat": [
        call(spread(3), 2),
        call(spread(2, 3), 2, 1),
        call(spread(2, 3), 3),
        call(spread(2, 3), [1, 0, 2], 1, sizes=False),
    ],
    "resize": [call(spread(3), (2, 2), sizes=False), call(spread(2, 3), 4, sizes=False)],
    "unstack": [call(spread(2, 3), sizes=False), call(spread(2, 3), axis=1, sizes=False)],
    **{
        name: [
            call(spread(3, 3)),
            call(spread(2, 3, 4), 1),
            call(spread(3, 2), -1),
            call(spread(3)),
            call(bools(2, 2), order=0),
        ]
        for name in ("tril", "triu")
    },
    **{
        name: [
            call(spread(3, 3)),
            call(spread(2, 4), 1),
            call(spread(4, 2), -1, sizes=False),
            call(spread(2, 3, 4), 0, 1, 2),
            call(spread(2, 3, 4), 1, 2, 0, sizes=False),
            call(integers(2, 2), order=0),
        ]
        for name in ("diagonal", "trace")
    },
    "diag": [
        call(spread(3)),
        call(spread(2), 1),
        call(spread(2), -2),
        call(spread(2, 3)),
        call(spread(3, 2), -1),
    ],
    "diagflat": [call(spread(2, 2)), call(spread(3), -1)],
    # joining
    **{
        name: [
            call([spread(3), spread(3)]),
            call([spread(2, 3), spread(2, 3)]),
            call([spread(2, 1, 2), spread(2, 1, 2)]),
        ]
        for name in ("hstack", "vstack", "dstack", "column_stack")
    },
    "concat": [
        call([spread(2), spread(3)]),
        call([spread(2, 1), spread(3)], axis=None),
        call([spread(2, 1), spread(2, 2)], axis=1),
    ],
    "block": [
        call([[spread(2, 2), spread(2, 1)], [spread(1, 3)]]),
        call([spread(2), spread(3)]),
        call(spread(2)),
    ],
    "broadcast_arrays": [call(spread(2, 1), spread(3)), call(spread(), spread(2))],
    "meshgrid": [
        call(spread(2), spread(3)),
        call(spread(2), spread(3), indexing="ij"),
        call(spread(2), spread(3), spread(1), sparse=True),
        call(spread(2)),
    ],
    "ix_": [call(integers(2), integers(3), order=0), call(integers(2), order=0)],
    "array_split": [
        call(spread(7), 3, sizes=False),
        call(spread(2, 5), [1, 3], 1, sizes=False),
        call(spread(4), [1, 6], sizes=False),
    ],
    "hsplit": [call(spread(4), 2), call(spread(2, 4), [1, 3])],
    "vsplit": [call(spread(4, 2), 2), call(spread(4, 2), [1])],
    "dsplit": [call(spread(1, 2, 4), 2), call(spread(1, 2, 4), [3])],
    "append": [call(spread(2, 2), spread(3)), call(spread(2, 2), spread(1, 2), 0)],
    "delete": [
        call(spread(4), 1, sizes=False),
        call(spread(2, 4), [0, -1], 1, sizes=False),
        call(spread(2, 4), slice(1, 3), 1, sizes=False),
        call(spread(2, 2), 3, sizes=False),
    ],
    "insert": [
        call(spread(3), 1, 2.5, sizes=False),
        call(spread(3), [0, 2], spread(2), sizes=False),
        call(spread(2, 3), 1, spread(2), 1, sizes=False),
        call(spread(2, 3), [1], spread(2, 1), 1, sizes=False),
        call(spread(2, 3), 1, 4.0, sizes=False),
    ],
    "ediff1d": [call(spread(4)), call(spread(2, 2), spread(2), spread())],
    "select": [
        call([bools(3), bools(3)], [spread(3), spread(3)], 0.5),
        call([bools(2, 1)], [spread(2, 3)]),
    ],
    # elements
    **_plain(
        "arccos", "arcsin", "arctanh", args=[(spread(3, low=-0.6, high=0.6),), (np.array([0.3]),)]
    ),
    **_plain("arctan", "arcsinh", "degrees", "radians", args=[(spread(3),), (spread(2, 2),)]),
    "arccosh": [call(positive(3) + 1.1), call(positive(2, 2) + 1.2)],
    "arctan2": [call(nonzero(3), nonzero(3)), call(nonzero(2, 1), nonzero(3))],
    **_plain("rint", "fix", args=[(fraction(3),), (fraction(2, 2),)]),
    "true_divide": [call(spread(3), nonzero(3)), call(integers(3), integers(3, low=1), order=0)],
    "mod": [
        call(np.array([7.3, -7.3]), np.array([2.0, 2.0])),
        call(integers(3), integers(3, low=1), order=0),
    ],
    **_plain("positive", "real", "conj", "conjugate", args=[(spread(3),), (spread(2, 1),)]),
    "imag": [call(spread(3), order=0), call(integers(2), order=0)],
    "polar": [  # order: of results that are float64
        call(np.array([0.5, 2.0, 0.0]), np.array([-2.5, 0.75, 3.0]), order=0, numpy=_polar),
        call(np.array([[1.5], [-1.0]]), np.array([0.0, 1.25, -9.0]), order=0, numpy=_polar),
    ],
    "fabs": [call(nonzero(3)), call(integers(4), order=0)],
    "round": [call(spread(5), order=0), call(spread(5), 1, order=0), call(integers(4), order=0)],
    "around": [
        call(EDGES[5:7], order=0),
        call(spread(5), 2, order=0),
        call(spread(4), -1, order=0),
        call(integers(4), -1, order=0),
        call(integers(4), 1, order=0),
    ],
    "float_power": [call(positive(3), spread(3)), call(integers(3, low=1), 2, order=0)],
    "divmod": [call(np.array([7.3, -7.3]), 2.0, order=0), call(integers(4), 3, order=0)],
    "modf": [call(fraction(4)), call(EDGES, order=0)],
    "ldexp": [
        call(spread(3), integers(3)),
        call(EDGES, np.array(-3), order=0),
        call(np.array([1.0, 3e-300]), np.array([-1074, 2000]), order=0),
    ],
    "frexp": [call(EDGES, order=0), call(spread(4), order=0)],
    "spacing": [call(EDGES, order=0), call(spread(4), order=0)],
    "nextafter": [
        *(call(EDGES, to, order=0) for to in (0.0, 3.0, -np.inf, np.nan)),
        call(spread(3), np.array([9.0, -9.0, 0.0]), order=1),
    ],
    **{
        name: [call(EDGES, order=0), call(integers(3), order=0)]
        for name in ("signbit", "isposinf", "isneginf", "isreal", "iscomplex", "angle")
    },
    "nan_to_num": [
        call(EDGES, order=0),
        call(EDGES, nan=7.0, posinf=1.0, neginf=-1.0, order=0),
        call(spread(3)),
        call(integers(2), order=0),
    ],
    **{
        name: [
            call(
                np.array([1.0, np.nan, np.inf, 2.0]),
                np.array([1.0, np.nan, np.inf, 2.1]),
                equal_nan=True,
                order=0,
            ),
            call(spread(3), spread(3), order=0),
            call(np.ones(2), 1 + 1e-9, order=0),
            call(integers(2), integers(2), order=0),
        ]
        for name in ("isclose", "allclose")
    },
    "array_equal": [
        call(spread(3), spread(3), order=0),
        call(spread(2), spread(3), order=0, sizes=False),
        call(EDGES, EDGES, equal_nan=True, order=0),
    ],
    "array_equiv": [
        call(np.ones(3), np.ones((2, 1)), order=0),
        call(spread(2), spread(3), order=0, sizes=False),
    ],
    **{
        name: [call(integers(3), order=0), call(byte(2, 2), order=0)]
        for name in ("invert", "bitwise_invert")
    },
    **{
        name: [call(integers(3), 2, order=0), call(byte(3), byte(3), order=0)]
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    },
    "absolute": [call(nonzero(3)), call(integers(3), order=0)],
    "copy": [call(spread(3)), call(bools(2), order=0)],
    "i0": [call(nonzero(3)), call(nonzero(2, 2))],
    "packbits": [
        call(bools(2, 11), axis=1, order=0, sizes=False),
        call(integers(3, 3), bitorder="little", order=0, sizes=False),
    ],
    "unpackbits": [
        call(byte(2, 3), axis=0, order=0, sizes=False),
        call(byte(3), count=-5, bitorder="little", order=0, sizes=False),
        call(byte(2), count=19, order=0, sizes=False),
    ],
    # asking
    "shape": [call(spread(2, 3), order=0, sizes=False), call(spread(), order=0, sizes=False)],
    "ndim": [call(spread(2, 3), order=0), call(spread(), order=0)],
    "size": [call(spread(2, 3), order=0, sizes=False), call(spread(2, 3), 1, order=0, sizes=False)],
    "broadcast_shapes": [call((2, 1), (3,), order=0), call((4,), (), order=0)],
    "can_cast": [call("int32", "float64", order=0), call("float64", "int8", order=0)],
    "promote_types": [call("int32", "float32", order=0), call("bool", "int8", order=0)],
    "result_type": [
        call(np.ones(2, "float32"), 1.0, order=0),
        call(np.ones(2), np.ones(2, "int8"), order=0),
    ],
    "isdtype": [
        call(np.dtype("int8"), "integral", order=0),
        call(np.dtype("int8"), "bool", order=0),
    ],
    "issubdtype": [call("float32", np.floating, order=0), call("int8", np.floating, order=0)],
    "isscalar": [call(1.0, order=0), call([1.0], order=0)],
    "iterable": [call([1.0], order=0), call(1.0, order=0)],
    **{
        name: [call(spread(2), order=0), call(integers(2), order=0)]
        for name in ("iscomplexobj", "isrealobj")
    },
}
"""Functions that move elements, or compute each of its own."""
