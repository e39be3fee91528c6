"""Complex numbers and their parts.

The gradient of a real L by z = x + iy is dL/dx + i dL/dy, in both paradigms: PyTorch's convention,
the conjugate of JAX's. A step of gradient descent is z - rate * gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.core.errors import DTypeError
from compiler.core.lowering import Host
from compiler.core.op import Meaning, Op, Rule, register
from compiler.core.types import (
    DType,
    TensorType,
    broadcast_shapes,
    part_dtype,
    require_float,
    require_same_dtype,
)
from compiler.ops.batching import aligned
from compiler.ops.declare import unbroadcast, zeros_like

__all__ = ["complex"]


def complex_dtype(dtype: DType) -> DType:
    """The dtype of complex numbers whose parts have a dtype."""
    return dtype if dtype.kind == "c" else np.dtype(f"c{dtype.itemsize * 2}")


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
    "real_part", lambda x: np.array(np.real(x)), _as_real_part, part_dtype, "The real part."
)
imaginary_part = _of_one(
    "imaginary_part", lambda x: np.array(np.imag(x)), _as_imaginary_part, part_dtype,
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
