"""Bits packed into bytes, and out of them: NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size, maximum
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import axis_or_whole, moveaxis
from staticgraph.compiler.ops.shapes.slicing import embed, slice_axis

__all__ = ["packbits", "unpackbits"]


def packbits(x: Value, axis: int | None = None, bitorder: str = "big") -> Value:
    """Eight elements along an axis, 0 or not, as the bits of one uint8; of the flat x if None.

    The last are filled up with 0; the first is the highest bit unless `bitorder` is "little".

    Example:
        >>> sg.packbits(np.array([1, 0, 0, 0, 0, 0, 1, 1]))
        array([131], dtype=uint8)
    """
    x, axis = axis_or_whole("packbits", x, axis)
    size = x.shape[axis]
    bits = moveaxis(ops.astype(ops.not_equal(x, 0), "int64"), axis, -1)
    count = -(-size // 8)
    rows = ops.reshape(_filled(bits, 8 * count), (*bits.shape[:-1], count, 8))
    found = ops.sum(rows * (1 << _order(bitorder)), axis=-1)
    return ops.astype(moveaxis(found, -1, axis), "uint8")


def unpackbits(
    x: Value, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Value:
    """The bits of uint8 elements as elements along an axis, `count` of them: uint8.

    Example:
        >>> sg.unpackbits(np.array([131], "uint8"))
        array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    x, axis = axis_or_whole("unpackbits", x, axis)
    if np.dtype(x.dtype) != np.uint8:
        raise DTypeError(f"unpackbits: {x.dtype}: uint8 expected")
    bytes_ = ops.expand_dims(moveaxis(ops.astype(x, "int64"), axis, -1), x.ndim)
    bits = ops.bitwise_and(ops.right_shift(bytes_, _order(bitorder)), 1)
    flat = ops.reshape(bits, (*bits.shape[:-2], bits.shape[-2] * 8))
    if count is not None:
        size = flat.shape[-1]
        stop = size + count if count < 0 else count
        flat = slice_axis(_filled(flat, maximum(size, stop)), flat.ndim - 1, 0, stop)
    return ops.astype(moveaxis(flat, -1, axis), "uint8")


def _filled(x: Any, size: Size) -> Any:
    """x with zeros at the end of its last axis, which has this size then."""
    return embed(x, (0,) * x.ndim, (*x.shape[:-1], size), (1,) * x.ndim)


def _order(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise OptionError(f"packbits: bitorder is 'big' or 'little', not {bitorder!r}")
    return np.arange(7, -1, -1) if bitorder == "big" else np.arange(8)
