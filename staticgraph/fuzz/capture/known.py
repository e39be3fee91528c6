"""What the names take that guesses seldom meet, or never."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.fuzz.capture.values import Values

Arguments = Callable[[Values], "list[Any]"]
"""All arguments, of which the first is the tensor of a method."""


def _float(g: Values, *shape: int) -> str:
    return g.tensor("float64", list(shape))


def _ints(g: Values, *shape: int) -> str:
    return g.tensor("int64", list(shape))


def _positive(g: Values, size: int = 3) -> str:
    """A symmetric matrix whose eigenvalues are positive and differ."""
    rows = [[float(size + 2 + i) if i == j else 0.25 for j in range(size)] for i in range(size)]
    return g.given("float64", [size, size], [one for row in rows for one in row])


def _dtypes(g: Values) -> list[Any]:
    known = ("float64", "float32", "int64", "bool", "uint8")
    return [{"dtype": g.choose.choice(known)}, {"dtype": g.choose.choice(known)}]


def _windows(axes: int) -> Arguments:
    """An image and a kernel."""
    return lambda g: [_float(g, 1, 2, *(4,) * axes), _float(g, 2, 2, *(2,) * axes)]


def _pooled(axes: int) -> Arguments:
    return lambda g: [_float(g, 1, 2, *(4,) * axes), 2]


def _unpooled(axes: int) -> Arguments:
    def arguments(g: Values) -> list[Any]:
        shape = [1, 1, *(1,) * (axes - 1), 2]
        return [_float(g, *shape), g.given("int64", shape, [0, 2]), 2]

    return arguments


def _scattered(*rest: object) -> Arguments:
    """A tensor, an axis, places along it, and what goes there."""
    return lambda g: [_float(g, 3, 3), g.choose.choice((0, 1, -1)), _ints(g, 3, 3),
                      _float(g, 3, 3), *rest]  # fmt: skip


def _indexed(g: Values) -> list[Any]:
    return [_float(g, 3, 3), 0, _ints(g, 2), _float(g, 2, 3)]


def _signed(g: Values) -> str:
    """A tensor that is given: which sign a nan has that was computed, nothing says."""
    return g.given("float64", [4], [-0.0, 1.0, -2.0, 0.0])


def _matrix(g: Values) -> list[Any]:
    return [_positive(g, g.choose.choice((2, 3)))]


KNOWN: dict[str, Arguments] = {
    "can_cast": _dtypes, "promote_types": _dtypes, "get_default_dtype": lambda g: [],
    "is_anomaly_check_nan_enabled": lambda g: [], "is_anomaly_enabled": lambda g: [],
    "is_grad_enabled": lambda g: [], "is_inference_mode_enabled": lambda g: [],
    "einsum": lambda g: ["ij,jk->ik", _float(g, 2, 3), _float(g, 3, 2)],
    "conv1d": _windows(1), "conv2d": _windows(2), "conv3d": _windows(3),
    "conv_transpose1d": _windows(1), "conv_transpose2d": _windows(2),
    "conv_transpose3d": _windows(3), "max_pool2d": _pooled(2), "max_pool3d": _pooled(3),
    "avg_pool2d": _pooled(2), "avg_pool3d": _pooled(3), "adaptive_avg_pool1d": _pooled(1),
    "adaptive_avg_pool3d": _pooled(3), "adaptive_max_pool3d": _pooled(3),
    "max_unpool1d": _unpooled(1), "max_unpool2d": _unpooled(2), "max_unpool3d": _unpooled(3),
    "fold": lambda g: [_float(g, 1, 4, 4), {"tuple": [3, 3]}, 2],
    "pixel_shuffle": lambda g: [_float(g, 1, 4, 2, 2), 2],
    "pixel_unshuffle": lambda g: [_float(g, 1, 1, 2, 4), 2],
    "bilinear": lambda g: [_float(g, 3, 2), _float(g, 3, 3), _float(g, 4, 2, 3)],
    "cross_entropy": lambda g: [_float(g, 3, 4), _ints(g, 3)],
    "cosine_embedding_loss": lambda g: [
        _float(g, 3, 2), _float(g, 3, 2), g.given("float64", [3], [1.0, -1.0, 1.0]),
    ],
    "sliding_windows": lambda g: [
        _float(g, 3, 4), {"tuple": [2, 2]}, {"tuple": [1, 2]}, {"tuple": [1, 1]},
    ],
    "logdet": _matrix, "slogdet": _matrix, "cholesky": _matrix, "eigh": _matrix, "det": _matrix,
    "inverse": _matrix, "inv": _matrix, "matrix_exp": _matrix, "qr": _matrix,
    "matrix_power": lambda g: [_positive(g), g.choose.choice((0, 1, 2, 3, -1))],
    "cholesky_solve": lambda g: [_float(g, 3, 2), _positive(g)],
    "solve": lambda g: [_positive(g), _float(g, 3, 2)],
    "multi_dot": lambda g: [[_float(g, 2, 3), _float(g, 3, 3), _float(g, 3, 2)]],
    "scatter": _scattered(), "scatter_": _scattered(), "scatter_add": _scattered(),
    "scatter_add_": _scattered(), "scatter_reduce": _scattered("sum"),
    "scatter_reduce_": _scattered("amax"), "index_add": _indexed, "index_add_": _indexed,
    "index_copy": _indexed, "index_copy_": _indexed,
    "index_fill": lambda g: [_float(g, 3, 3), 1, _ints(g, 2), 2.0],
    "index_fill_": lambda g: [_float(g, 3, 3), 1, _ints(g, 2), 2.0],
    "select_scatter": lambda g: [_float(g, 3, 2), _float(g, 2), 0, 1],
    "addmv": lambda g: [_float(g, 3), _float(g, 3, 2), _float(g, 2)],
    "addmv_": lambda g: [_float(g, 3), _float(g, 3, 2), _float(g, 2)],
    "addmm_": lambda g: [_float(g, 3, 2), _float(g, 3, 3), _float(g, 3, 2)],
    "baddbmm_": lambda g: [_float(g, 2, 3, 2), _float(g, 2, 3, 3), _float(g, 2, 3, 2)],
    "bincount": lambda g: [_ints(g, 4)], "randn_like": lambda g: [_float(g, 3)],
    "full": lambda g: [{"tuple": [2, 3]}, g.number()], "eye": lambda g: [3],
    "linspace": lambda g: [0.0, 1.0, 5],
    "unflatten": lambda g: [_float(g, 4), 0, {"tuple": [2, 2]}],
    "narrow": lambda g: [_float(g, 3, 4), g.choose.choice((0, 1)), 1, 2],
    "bitwise_not": lambda g: [_ints(g, 3)], "trace": lambda g: [_float(g, 3, 3)],
    "signbit": lambda g: [_signed(g)], "copysign": lambda g: [_float(g, 4), _signed(g)],
    "copysign_": lambda g: [_float(g, 4), _signed(g)],
    "astype": lambda g: [g.subject, {"dtype": g.choose.choice(("float64", "float32", "int64"))}],
}  # fmt: skip
"""By the last part of the name."""
ALWAYS = frozenset(("signbit", "copysign", "copysign_"))
"""Those which take nothing else."""
