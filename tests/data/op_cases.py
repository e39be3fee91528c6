"""Calls of the shared ops at their edges, and how calls with arrays are kept in a fixture.

`EDGES` adds to the table of samples: kinks, ties, poles, nan, inf, and axes of size 0. Functions
that only `dynamic` has are named `torch.something`; they are called alike in both packages.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tests.sampled.sample import Sample, call
from tests.samples import WITHOUT, elementwise

NAN, INF = np.nan, np.inf
DTYPES = ("float64", "float32")

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-7, -20.0, 20.0, 80.0, -80.0, INF, -INF, NAN]
)
UNLIKE: dict[str, tuple[float, ...]] = {
    "abs": (NAN,), "sign": (NAN,), "elu": (NAN,), "gelu": (NAN, INF, -INF), "heaviside": (NAN,),
    "logit": (-0.0,), "sinc": (1e-7,), "softsign": (INF, -INF),
}  # fmt: skip
"""Numbers at which ops follow something else: see DIFFERENT."""
POLES = np.array([0.5, 1.0, 3.0, -0.5, -1.25, 20.0, 1e8, NAN, 0.0])
GRID = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 3.0, INF, -INF, NAN])
PAIRS = np.repeat(GRID, len(GRID)), np.tile(GRID, len(GRID))
TIED = np.array([[3.0, 1.0, 3.0], [-1.0, -1.0, -1.0], [2.0, 3.0, 3.0]])
MISSING = np.array([[1.0, NAN, 3.0], [NAN, 2.0, NAN], [1.0, INF, INF], [-INF, -INF, -INF]])
LOGITS = np.array(
    [[0.0, 0.0, 0.0], [1.0, -INF, 2.0], [800.0, 0.0, -800.0], [-INF, -INF, 1.0], [60.0, 60.0, -6.0]]
)
BAD_LOGITS = np.array([[-INF, -INF, -INF], [INF, 0.0, 1.0], [NAN, 0.0, 1.0], [INF, INF, -INF]])
HOLE = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
ODD = np.array([[0.0, INF, 2.0], [NAN, 0.0, 1.0], [INF, INF, 2.0]])


def _empty(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def _alike(name: str, *arrays: np.ndarray) -> Sample:
    """The op of such elements of all arrays as are not `UNLIKE`."""
    unlike = {str(one) for one in UNLIKE.get(name, ())}
    kept = [
        not unlike & set(map(str, row)) for row in zip(*(a.tolist() for a in arrays), strict=True)
    ]
    return call(*(array[kept] for array in arrays))


def _places(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


UNARY = (
    *(name for name in elementwise(1) if name not in WITHOUT),
    "leaky_relu", "elu", "gelu", "copy", "stop_gradient",
)  # fmt: skip
BINARY = elementwise(2)
REDUCTIONS = ("sum", "prod", "mean", "var", "std", "logsumexp")
NORMALISERS = ("softmax", "log_softmax")


def _reductions(name: str) -> list[Sample]:
    arrays = {"prod": (HOLE,), "logsumexp": (LOGITS, BAD_LOGITS, MISSING)}.get(
        name, (TIED, MISSING)
    )
    calls = [call(array, axis) for array in arrays for axis in (None, 0, 1, (0, 1))]
    calls += [call(_empty(0)), call(_empty(2, 0), 1), call(_empty(0, 2), 1)]
    if name in ("var", "std"):
        calls += [
            call(np.array([3.0])), call(np.array([3.0]), correction=1),
            call(np.array([[1.0], [2.0]]), 1, correction=1), call(TIED, 1, correction=3),
        ]  # fmt: skip
    return calls


EDGES: dict[str, list[Sample]] = {
    **{
        name: [_alike(name, SPECIAL), call(_empty(0)), call(_empty(2, 0, 3))]
        for name in UNARY
    },
    **{
        name: [_alike(name, *PAIRS), call(_empty(0), 2.0), call(_empty(0, 1), np.ones(3))]
        for name in BINARY
    },
    **{name: _reductions(name) for name in REDUCTIONS},
    **{
        name: [
            *(call(array, axis) for array in (TIED, MISSING) for axis in (None, 0, 1, (0, 1))),
            call(TIED, (1,)), call(MISSING, (1,)), call(TIED, 1, keepdims=True),
            call(np.array([0.0, -0.0, 0.0])),
            call(np.array([0.0, -0.0, 0.0]), 0), call(_empty(0, 2), 1),
        ]
        for name in ("max", "min")
    },
    **{
        name: [
            *(call(array, axis) for array in (TIED, MISSING) for axis in (None, 0, 1)),
            call(np.array([0.0, -0.0, 0.0]), 0),
        ]
        for name in ("argmax", "argmin")
    },
    **{
        name: [
            *(call(array, axis) for array in (LOGITS, BAD_LOGITS) for axis in (0, 1)),
            call(_empty(2, 0)), call(_empty(0, 2)), call(np.array([3.0])),
        ]
        for name in NORMALISERS
    },
    "all": [call(np.zeros((0, 2), bool), 0), call(np.zeros((0, 2), bool))],
    "any": [call(np.zeros((0, 2), bool), 0), call(np.zeros((0, 2), bool))],
    "where": [
        call(np.array([True, False, True, False]), np.array([1.0, NAN, INF, INF]),
             np.array([NAN, 1.0, NAN, -INF])),
        call(np.zeros(0, bool), _empty(0), 1.0),
    ],
    "hardtanh": [call(SPECIAL), call(SPECIAL, -0.0, 2.5), call(SPECIAL, -2.5, 0.0)],
    "threshold": [call(SPECIAL, 0.5, -1.0), call(SPECIAL, 0.0, 0.0), call(SPECIAL, NAN, 1.0)],
    **{
        name: [call(SPECIAL[:-1], lambd) for lambd in (0.5, 0.0, 2.5)]
        for name in ("softshrink", "hardshrink")
    },
    "hardsigmoid": [call(SPECIAL), call(np.array([3.0, -3.0]))],
    "clip": [
        call(np.array([-1.0, 0.0, 0.5, 1.0, 2.0, NAN, INF, -INF]), 0.0, 1.0),
        call(np.array([-1.0, 0.0, 1.0]), min=0.0), call(np.array([-1.0, 0.0, 1.0]), max=0.0),
        call(np.array([0.0, 1.0, 2.0, 3.0]), 2.0, 1.0),
    ],
    "clamp": [
        call(np.array([0.0, 1.0, 2.0, 3.0, NAN]), np.array([0.0, 1.0, 1.0, 3.0, 0.0]),
             np.array([1.0, 1.0, 2.0, 2.0, 1.0])),
        call(np.array([1.0, 1.0, 5.0]), np.array([1.0, 2.0, NAN]), np.array([1.0, NAN, 2.0])),
    ],
    "astype": [call(np.array([0.9, -0.9, 2.5, -2.5]), "int64"),
               call(np.array([0.0, -0.0, NAN, INF]), "bool")],
    "matmul": [
        call(_empty(2, 0), _empty(0, 3)), call(_empty(0, 2), np.ones((2, 3))),
        call(np.array([[1.0, INF], [NAN, 0.0]]), np.array([[0.0, 1.0], [1.0, 2.0]])),
        call(_empty(0, 2, 3), np.ones((3, 2))),
    ],
    "dot": [call(_empty(0), _empty(0))],
    "outer": [call(_empty(0), np.ones(2))],
    "mse_loss": [call(np.array([1.0, INF, NAN]), np.array([1.0, 1.0, 1.0]), reduction="none"),
                 call(_empty(0), _empty(0)), call(_empty(0), _empty(0), reduction="sum")],
    "binary_cross_entropy_with_logits": [
        call(np.array([0.0, 800.0, -800.0, 60.0, -60.0]), np.array([0.0, 1.0, 0.0, 0.0, 1.0]),
             reduction="none"),
    ],
    "cross_entropy": [
        call(LOGITS, _places(0, 0, 0, 2, 1), reduction="none"), call(LOGITS[:3], _places(1, 1, 2)),
        call(BAD_LOGITS[:3], _places(0, 1, 1), reduction="none"),
        call(_empty(0, 3), np.zeros(0, np.int64), reduction="sum"),
    ],
    "layer_norm": [call(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), 3),
                   call(np.array([[NAN, 1.0, 2.0], [INF, 0.0, 1.0], [1.0, 2.0, 4.0]]), 3),
                   call(_empty(0, 3), 3, np.ones(3), np.ones(3))],
    "max_pool2d": [
        call(np.array([[[[1.0, 1.0, 0.0, NAN], [1.0, 1.0, 2.0, 3.0]]]]), 2),
        call(np.full((1, 1, 3, 3), 2.0), 2, 1, 1),
        call(np.full((1, 1, 2, 2), -INF), 2),
    ],
    "avg_pool2d": [call(np.array([[[[1.0, INF], [NAN, 1.0]]]]), (1, 2))],
    "lp_pool2d": [
        call(np.array([[[[0.0, 0.0, 3.0], [0.0, 0.0, NAN], [-1.0, 1.0, 4.0]]]]), 3, (2, 2), 1),
        call(np.array([[[[-2.0, 1.0, 0.0, INF]]]]), 1, (1, 2)),
    ],
    "conv2d": [call(np.array([[[[0.0, INF, 1.0, 2.0]]]]), np.ones((1, 1, 1, 2)))],
    "take": [call(np.array([1.0, 2.0, 3.0]), _places(0, 0, -1, 0)),
             call(_empty(0, 3), _places(), axis=0)],
    "take_along_axis": [call(np.array([[1.0, 2.0]]), np.array([[0, 0, 1, 0]]), axis=1)],
    "getitem": [call(_empty(0, 3), slice(None)), call(np.arange(4.0), slice(4, None))],
    "concatenate": [call([_empty(0, 2), np.ones((1, 2))]), call([_empty(0), _empty(0)])],
    "reshape": [call(_empty(0, 3), (3, 0)), call(_empty(2, 0), 0)],
    "broadcast_to": [call(np.ones((1, 3)), (0, 3)), call(np.array(2.0), (2, 0))],
    "flip": [call(_empty(0, 2))],
    "transpose": [call(_empty(0, 2))],
    "torch.sort": [call(TIED, 1), call(TIED, dim=0, descending=True, stable=True),
                   call(MISSING, 1)],
    "torch.topk": [call(np.array([1.0, 3.0, 2.0, INF]), 2)],
    "torch.median": [call(TIED, 1), call(MISSING, 0), call(TIED)],
    "torch.amax": [call(TIED, 1), call(TIED, (0, 1)), call(MISSING, 1)],
    "torch.amin": [call(TIED, 1), call(TIED, (0, 1)), call(MISSING, 1)],
    "torch.norm": [call(np.zeros(3)), call(HOLE, 2, 1), call(HOLE, 1, 1), call(HOLE, 3, 1),
                   call(TIED, INF, 1)],
    "torch.var": [call(np.array([3.0])), call(TIED, 1), call(_empty(0))],
    "torch.std": [call(np.array([3.0])), call(TIED, 1), call(np.ones((2, 3)), 1)],
    "torch.cumsum": [call(MISSING, 1), call(_empty(0, 2), 0)],
    "torch.cumprod": [call(HOLE, 1), call(_empty(0, 2), 0)],
    "torch.logcumsumexp": [call(LOGITS[[0, 1]], 1)],
    "torch.nan_to_num": [call(SPECIAL)],
    "logit": [_alike("logit", SPECIAL), call(np.array([0.0, 0.1, 0.5, 0.9, 1.0, NAN]), 0.1)],
    "polygamma": [call(1, POLES), call(2, POLES[:-1])],
    "binary_cross_entropy": [
        call(np.array([0.0, 0.0, 1.0, 1.0, 1e-300, 0.5]), np.array([0.0, 1.0, 0.0, 1.0, 0.5, 0.2])),
    ],
    "gcd": [call(np.array([0, 0, 6, -6]), np.array([0, 4, 0, -9]))],
    "lcm": [call(np.array([0, 0, 6, -6]), np.array([0, 4, 0, -9]))],
}  # fmt: skip
for _exponent in (2, 0, -1, 3.0, 1.5):
    EDGES["power"].append(call(SPECIAL, _exponent))
EDGES["power"].append(call(np.array([0.0, 1.0, 4.0, 1e-7, -1.0, INF, NAN]), 0.5))
EDGES["prod"] += [call(ODD, axis) for axis in (None, 0, (0, 1))]
for _base in (0.0, 2.0, 1.0, -2.0):
    EDGES["power"].append(call(_base, SPECIAL))

SECOND: dict[str, list[Sample]] = {
    "power": [
        call(np.array([0.0, 1.0, -2.0, 3.0]), exponent) for exponent in (0, 1, 2, 3.0)
    ] + [call(np.array([1.0, 2.0, 0.5]), np.array([2.0, 1.0, -1.0]))],
    "tanh": [call(np.array([0.0, 30.0, -30.0]))],
    "softmax": [call(LOGITS, 1), call(TIED, 0), call(np.array(3.0))],
    "log_softmax": [call(TIED, 1), call(np.array(3.0))],
    "max": [call(TIED), call(TIED, 1), call(TIED, (0, 1))],
    "prod": [call(HOLE[2:3], 1), call(HOLE[1:3, 1:], 1), call(HOLE[:, 2], 0),
             call(HOLE[:2], 1), call(HOLE[3:], 1)],
    "maximum": [call(np.array([1.0, 2.0]), np.array([1.0, 3.0]))],
    "relu": [call(np.array([0.0, -1.0, 1.0]))],
    "layer_norm": [call(TIED, 3, np.ones(3), np.zeros(3))],
}  # fmt: skip
"""Calls at edges that are differentiated twice, beside those of the table of samples."""

_SIGN = "the sign of nan is nan, as NumPy's and the array API's; PyTorch's is 0"
_ROOT = "a negative zero or infinity to the power of -0.5 is C's pow; PyTorch takes 1 / sqrt"
_PRODUCT = "0 times inf beside one zero: PyTorch's slope depends on zeros elsewhere in the tensor"
_VECTORISED = "PyTorch's float32 loop differs from its float64 loop"
DIFFERENT: dict[str, list[tuple[Sample, tuple[str, ...], str]]] = {
    "sign": [(call(np.array([NAN, 1.0])), DTYPES, _SIGN)],
    "abs": [(call(np.array([NAN, 1.0])), DTYPES, _SIGN)],
    "power": [(call(np.array([-0.0, -INF]), 0.5), DTYPES, _ROOT)],
    "prod": [(call(ODD, 1), DTYPES, _PRODUCT)],
    "heaviside": [(call(np.array([NAN, 1.0]), np.array([2.0, 2.0])), DTYPES, _SIGN)],
    "logit": [(call(np.array([-0.0, 0.5] * 8)), ("float64",), "PyTorch's vectors divide by -0")],
    "sinc": [(call(np.array([1e-7])), ("float64",), "PyTorch's slope is lost to a difference")],
    "softsign": [(call(np.array([INF, -INF])), DTYPES, "the slope is 0; PyTorch's is inf / inf")],
    "elu": [(call(np.array([NAN] * 8)), ("float32",), _VECTORISED)],
    **{
        name: [(call(np.array([NAN] * 64)), DTYPES, "PyTorch's vectors have a slope of 0 at nan")]
        for name in ("softshrink", "hardshrink")
    },
    "gelu": [(call(np.array([INF] * 8)), ("float32",), _VECTORISED)],
    "torch.norm": [(call(HOLE, 0, 1), DTYPES, "the slope of a count is 0, not None")],
    "torch.logcumsumexp": [
        (call(np.array([[800.0, 0.0, -800.0]]), 1), ("float32",),
         "PyTorch's slope is exp(x - out): 5e-6 off where x is 800"),
        (call(LOGITS[[4]], 1), ("float32",), "2e-6 off where x is 60, in the same way"),
        (call(LOGITS[[3]], 1), DTYPES, "the slope of what is exp(-inf) is 0; PyTorch's is nan"),
    ],
}  # fmt: skip
"""Where the ops follow something else than PyTorch: the call, its dtypes, and the reason."""

SQUARED = {"eigh", "svd", "qr"}
"""What gives vectors whose signs are LAPACK's choice: their squares are compared."""


def signless(name: str, results: list[Any], operand: Any) -> list[Any]:
    """The results of an op, with squares for those of the operand's rank that have a free sign."""
    if name not in SQUARED:
        return results
    return [one * one if one.ndim == operand.ndim else one for one in results]


INTEGERS_REFUSED = {
    "mean", "var", "std", "softmax", "log_softmax", "gelu", "elu", "silu", "softplus",
    "leaky_relu", "frac", "hypot", "logaddexp", "logaddexp2", "inv", "det", "logabsdet", "signdet",
    "slogdet", "expm", "solve", "solve_triangular", "cholesky", "pinv", "vector_norm",
    "matrix_norm", "matrix_power", "hardtanh", "threshold", "softshrink", "hardshrink",
    "hardsigmoid", "prelu",
}  # fmt: skip
"""What PyTorch has for floating tensors only; the shared ops cast integers first, as NumPy."""

INTEGERS_CAST = {"ceil", "floor", "round", "trunc"}
"""What leaves integers as they are in PyTorch, and gives floats here, as in NumPy before 2.1."""


@dataclass(frozen=True)
class Twice:
    """A recorded call, and per floating argument the gradient of its weighted gradients."""

    name: str
    args: Any
    options: dict[str, Any]
    gradients: list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """A recorded call: its arguments, and per result and per floating argument what torch gave."""

    name: str
    args: Any
    options: dict[str, Any]
    results: list[np.ndarray]
    gradients: list[np.ndarray | None]
    differs: str
    """Why the op gives something else; nothing if it must not."""


def weights(value: np.ndarray, number: int) -> np.ndarray:
    """The cotangent of result `number`: different numbers of both signs, none of them 0."""
    k = np.arange(value.size)
    numbers = ((k * 7919 + number * 104729 + 13) % 1009) / 504.5 - 0.999
    return numbers.reshape(value.shape).astype(value.dtype)


class Writer:
    """Arrays of any dtypes, each as its dtype, shape and place among all of that dtype."""

    def __init__(self) -> None:
        self.flat: dict[str, list[np.ndarray]] = {}
        self.sizes: dict[str, int] = {}

    def encode(self, value: Any) -> Any:
        """A JSON form of arrays, numbers, strings, None, slices and their nestings."""
        if isinstance(value, np.ndarray):
            name = value.dtype.name
            start = self.sizes.get(name, 0)
            self.sizes[name] = start + value.size
            self.flat.setdefault(name, []).append(value.reshape(-1))
            return {"array": [name, start, value.shape]}
        if isinstance(value, tuple | list):
            return {type(value).__name__: [self.encode(one) for one in value]}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, dict):
            return {"dict": [[key, self.encode(one)] for key, one in value.items()]}
        return {"ellipsis": []} if value is Ellipsis else value

    def fields(self, case: Case | Twice) -> list[Any]:
        """The fields of a recorded call, in their JSON form but for texts."""
        values = (getattr(case, field.name) for field in fields(case))
        return [self.encode(value) for value in values]

    def write(self, cases: Any, path: Path) -> None:
        """The file: one array per dtype, and the index as JSON."""
        index = np.frombuffer(json.dumps(cases).encode(), np.uint8)
        joined = {name: np.concatenate(parts) for name, parts in self.flat.items()}
        np.savez_compressed(path, index=index, **joined)


def _decode(value: Any, flat: dict[str, np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        name, start, shape = content
        return flat[name][start : start + int(np.prod(shape, dtype=int))].reshape(shape)
    if kind == "slice":
        return slice(*content)
    if kind == "ellipsis":
        return Ellipsis
    if kind == "dict":
        return {key: _decode(one, flat) for key, one in content}
    parts = [_decode(one, flat) for one in content]
    return tuple(parts) if kind == "tuple" else parts


def recorded(path: Path) -> tuple[list[Case], list[Twice]]:
    """All recorded calls, in order: differentiated once, and twice."""
    with np.load(path) as file:
        flat = {name: file[name] for name in file.files}
    index = json.loads(flat.pop("index").tobytes())
    once = [
        Case(name, *(_decode(one, flat) for one in parts), differs)
        for name, *parts, differs in index["once"]
    ]
    return once, [
        Twice(name, *(_decode(one, flat) for one in parts)) for name, *parts in index["twice"]
    ]
