"""Complex numbers and their parts.

The gradient of a real L by z = x + iy is dL/dx + i dL/dy, in both paradigms: PyTorch's convention,
the conjugate of JAX's. A step of gradient descent is z - rate * gradient.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import DType, complex_dtype, part_dtype
from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Meaning, Op, Rule, register
from staticgraph.compiler.core.types import (
    TensorType,
    broadcast_shapes,
    require_float,
    require_same_dtype,
    type_of,
)
from staticgraph.compiler.core.whose_code import is_own
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import unbroadcast, zeros_like

__all__ = ["complex", "view_as_complex", "view_as_real"]


def warn_of_lost_part() -> None:
    """Warn, at the user's line, that complex numbers are cast to real ones, as NumPy does."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    text = "Casting complex values to real discards the imaginary part: take real"
    warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=level)


def _of_one(
    name: str,
    function: Callable[[Any], Any],
    rule: Rule,
    result: Callable[[DType], DType],
    doc: str,
    meaning: Meaning = "own",
) -> Op:
    """Declare an op of complex numbers that has real numbers for complex ones without a part."""

    def infer_type(x: TensorType) -> TensorType:
        require_float(name, x)
        return TensorType(x.shape, result(x.dtype))

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            vjp=(rule,),
            saves=("",),
            elementwise=True,
            batching=aligned,
            linearity="linear",
            exact=True,
            lowering=Host(),
            floating=True,
            promotes=slice(None),
            complex=meaning,
            doc=doc,
        )
    )


conjugate: Op = _of_one(
    "conjugate", np.conjugate, lambda g, o, a: conjugate(g), lambda dtype: dtype,
    "The complex conjugate.",
)  # fmt: skip


def _as_real_part(g: Any, o: object, a: Any) -> Any:
    return make_complex(g, zeros_like(g)) if _is_complex(a) else g


def _as_imaginary_part(g: Any, o: object, a: Any) -> Any:
    return make_complex(zeros_like(g), g) if _is_complex(a) else zeros_like(g)


def _is_complex(x: Any) -> bool:
    return np.dtype(x.dtype).kind == "c"


real_part = _of_one(
    "real_part", lambda x: np.asarray(x).real, _as_real_part, part_dtype, "The real part."
)
imaginary_part = _of_one(
    "imaginary_part", lambda x: np.asarray(x).imag, _as_imaginary_part, part_dtype,
    "The imaginary part.",
)  # fmt: skip


def _complex_type(re: TensorType, im: TensorType) -> TensorType:
    dtype = require_same_dtype("complex", re, im)
    if dtype.kind != "f":
        raise DTypeError(f"complex: parts {re} and {im} are not real floating-point numbers")
    return TensorType(broadcast_shapes("complex", re, im), complex_dtype(dtype))


def _complex_numpy(re: Any, im: Any) -> Any:
    re, im = np.asarray(re), np.asarray(im)
    if re.dtype != im.dtype or re.dtype.kind != "f":
        raise DTypeError(f"complex: parts of {re.dtype} and {im.dtype}: one real dtype expected")
    found = np.empty(np.broadcast_shapes(re.shape, im.shape), complex_dtype(re.dtype))
    found.real, found.imag = re, im
    return found


make_complex: Op = register(
    Op(
        name="complex",
        infer_type=_complex_type,
        evaluate=_complex_numpy,
        vjp=(
            lambda g, o, a, b: unbroadcast(real_part(g), a),
            lambda g, o, a, b: unbroadcast(imaginary_part(g), b),
        ),
        saves=("", ""),
        elementwise=True,
        batching=aligned,
        linearity="linear",
        exact=True,
        lowering=Host(),
        floating=True,
        promotes=slice(None),
        complex="own",
        doc="re + i im, of two real tensors of one floating dtype, which broadcast.",
        example=">>> sg.complex(np.array([1.0, 2.0]), np.array([0.0, -1.0]))\n"
        "array([1.+0.j, 2.-1.j])",
    )
)
complex = make_complex


def _pairs_type(x: TensorType) -> TensorType:
    if x.dtype.kind != "c":
        raise DTypeError(f"view_as_real: {x} is not complex")
    return TensorType((*x.shape, 2), part_dtype(x.dtype))


def _pairs_numpy(x: Any) -> Any:
    x = np.asarray(x)
    _pairs_type(type_of(x))
    part = part_dtype(x.dtype)
    strides = (*x.strides, part.itemsize)
    return np.lib.stride_tricks.as_strided(x.real, (*x.shape, 2), strides)


def _joined_type(x: TensorType) -> TensorType:
    if x.dtype.kind != "f":
        raise DTypeError(f"view_as_complex: {x} is not of real floating-point numbers")
    if not x.ndim or x.shape[-1] != 2:
        raise ShapeError(f"view_as_complex: the last axis of {x} has not size 2")
    return TensorType(x.shape[:-1], complex_dtype(x.dtype))


def _joined_numpy(x: Any) -> Any:
    x = np.asarray(x)
    _joined_type(type_of(x))
    if x.strides[-1] != x.itemsize:
        x = np.ascontiguousarray(x)
    return x.view(complex_dtype(x.dtype))[..., 0]


view_as_real: Op = register(
    Op(
        name="view_as_real",
        infer_type=_pairs_type,
        evaluate=_pairs_numpy,
        vjp=(lambda g, o, a: view_as_complex(g),),
        saves=("",),
        batching=aligned,
        linearity="linear",
        exact=True,
        lowering=Host(),
        complex="own",
        doc="Complex numbers as real ones with a last axis of two, real part and imaginary part.",
        example=">>> sg.view_as_real(np.array([1 + 2j]))\narray([[1., 2.]])",
    )
)
view_as_complex: Op = register(
    Op(
        name="view_as_complex",
        infer_type=_joined_type,
        evaluate=_joined_numpy,
        vjp=(lambda g, o, a: view_as_real(g),),
        saves=("",),
        batching=aligned,
        linearity="linear",
        exact=True,
        lowering=Host(),
        complex="own",
        doc="Real numbers with a last axis of two as complex ones: the inverse of `view_as_real`.",
        example=">>> sg.view_as_complex(np.array([[1.0, 2.0]]))\narray([1.+2.j])",
    )
)
