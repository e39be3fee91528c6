"""Numbers as integers: of a scale, and from a zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.functions import public as functions
from staticgraph.onnx.call import Call, reads
from staticgraph.onnx.package import dtype_of


@reads("QuantizeLinear")
def _quantized(call: Call) -> Any:
    x, scale, zero = call.value(0), call.value(1), call.optional(2)
    number = call.attribute("output_dtype", 0)
    dtype = dtype_of(number) if number else np.dtype("uint8" if zero is None else zero.dtype)
    if dtype is None or dtype.kind not in "iu":
        raise call.refuse(f"it gives {dtype}, no integers of 8 bits or more")
    return _as_integers(x / _spread(call, scale, x), _spread(call, zero, x), dtype)


@reads("DequantizeLinear")
def _numbers(call: Call) -> Any:
    x, scale, zero = call.value(0), call.value(1), call.optional(2)
    shifted = ops.astype(x, "int32")
    if zero is not None:
        shifted = shifted - ops.astype(_spread(call, zero, x), "int32")
    number = call.attribute("output_dtype", 0)
    dtype = dtype_of(number) if number else np.dtype(scale.dtype)
    found = ops.astype(shifted, "float32") * ops.astype(_spread(call, scale, x), "float32")
    return ops.astype(found, dtype)


@reads("QLinearMatMul")
def _product(call: Call) -> Any:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = (call.value(i) for i in range(8))
    if any(one.ndim and one.shape != (1,) for one in (a_scale, a_zero, b_scale, b_zero)):
        raise call.refuse("scales by rows and columns are not read")
    product = ops.matmul(
        ops.astype(a, "int32") - ops.astype(a_zero, "int32"),
        ops.astype(b, "int32") - ops.astype(b_zero, "int32"),
    )
    scales = [ops.astype(one, "float32") for one in (a_scale, b_scale, scale)]
    factor = scales[0] * scales[1] / scales[2]
    return _as_integers(ops.astype(product, "float32") * factor, zero, np.dtype(zero.dtype))


def _as_integers(x: Any, zero: Any, dtype: Any) -> Any:
    """Rounded to even, moved, and limited to what the dtype holds."""
    limits = np.iinfo(dtype)
    rounded = ops.astype(ops.round(x), "float32")
    rounded = rounded if zero is None else rounded + ops.astype(zero, "float32")
    return ops.astype(ops.clip(rounded, float(limits.min), float(limits.max)), dtype)


def _spread(call: Call, given: Any, x: Any) -> Any:
    """A scale or zero point of everything, of each place along an axis, or of blocks there."""
    if given is None or not given.ndim:
        return given
    axis, block = call.attribute("axis", 1) % x.ndim, call.attribute("block_size", 0)
    if block:
        return ops.take(functions.repeat(given, block, axis), np.arange(x.shape[axis]), axis)
    if given.shape == (1,):
        return given
    return ops.reshape(given, tuple(-1 if i == axis else 1 for i in range(x.ndim)))
