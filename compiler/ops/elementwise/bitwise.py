"""Bits of integers, element by element; of bools they are logic. None has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.declare import composite, elementwise
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, astype
from staticgraph.compiler.ops.elementwise.comparison import logical_not

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_not", "bitwise_or", "bitwise_xor", "left_shift",
    "right_shift",
]  # fmt: skip


def _bits(name: str, *types: TensorType) -> None:
    for type in types:
        if is_float(type.dtype):
            raise DTypeError(f"{name}: {type} has no bits to compute with: cast it with astype")


def _integers(name: str, *types: TensorType) -> None:
    for type in types:
        if type.dtype.kind not in "iu":
            raise DTypeError(f"{name}: {type} is not an integer: cast it with astype")


def _of_bits(name: str, function: Any, code: str, *, doc: str, example: str) -> Any:
    return elementwise(
        name, function, code, arity=2, check=_bits, vjp=(None, None), exact=True, commutative=True,
        smooth=False, doc=doc, example=example,
    )  # fmt: skip


bitwise_and = _of_bits(
    "bitwise_and", np.bitwise_and, "{0} & {1}",
    doc="a & b, bit by bit of integers; of bools their and.",
    example=">>> sg.bitwise_and(np.array([6, 5]), 3)\narray([2, 1])",
)  # fmt: skip
bitwise_or = _of_bits(
    "bitwise_or", np.bitwise_or, "{0} | {1}",
    doc="a | b, bit by bit of integers; of bools their or.",
    example=">>> sg.bitwise_or(np.array([4, 5]), 3)\narray([7, 7])",
)  # fmt: skip
bitwise_xor = _of_bits(
    "bitwise_xor", np.bitwise_xor, "{0} ^ {1}",
    doc="a ^ b, bit by bit of integers; of bools whether they differ.",
    example=">>> sg.bitwise_xor(np.array([6, 5]), 3)\narray([5, 6])",
)  # fmt: skip


def _not(x: Any) -> Any:
    dtype = np.dtype(x.dtype)
    return logical_not(x) if dtype.kind == "b" else bitwise_xor(x, np.asarray(-1).astype(dtype))


bitwise_not = composite(
    "bitwise_not", _not, evaluate=np.invert, check=_bits, vjp=(None,), elementwise=True, exact=True,
    smooth=False,
    doc="~a, bit by bit of integers: -a - 1; of bools their not.",
    example=">>> sg.bitwise_not(np.array([0, 5]))\narray([-1, -6])",
)  # fmt: skip
_INSIDE = "({1} >= {t}(0)) & ({1} < {t}(64))"

# of bits beyond the width all are the sign's, and unsigned integers have none
_BEYOND = "({0} >> {t}(63)) >> {t}(1)"
left_shift = elementwise(
    "left_shift", np.left_shift, f"select({_INSIDE}, {{0}} << ({{1}} & {{t}}(63)), {{t}}(0))",
    arity=2, check=_integers, vjp=(None, None), exact=True, smooth=False,
    doc="The bits of a moved b places up: a * 2**b, without what leaves the dtype.",
    example=">>> sg.left_shift(np.array([1, 5]), 2)\narray([ 4, 20])",
)  # fmt: skip
right_shift = elementwise(
    "right_shift", np.right_shift,
    f"select({_INSIDE}, {{0}} >> ({{1}} & {{t}}(63)), {_BEYOND})",
    arity=2, check=_integers, vjp=(None, None), exact=True, smooth=False,
    doc="The bits of a moved b places down: the floor of a / 2**b.",
    example=">>> sg.right_shift(np.array([8, -5]), 1)\narray([ 4, -3])",
)  # fmt: skip


_MASKS = {1: 0x5555555555555555, 2: 0x3333333333333333, 4: 0x0F0F0F0F0F0F0F0F}


def _count(x: Any) -> Any:
    """By counts of 2, 4 and 8 bits side by side, which are then added (Knuth, TAOCP 7.1.3)."""
    dtype = np.dtype(x.dtype)
    magnitude = x if dtype.kind == "u" else absolute(astype(x, "int64"))
    wide = astype(magnitude, "uint64")
    wide = wide - bitwise_and(right_shift(wide, 1), _MASKS[1])
    wide = bitwise_and(wide, _MASKS[2]) + bitwise_and(right_shift(wide, 2), _MASKS[2])
    wide = bitwise_and(wide + right_shift(wide, 4), _MASKS[4])
    for width in (8, 16, 32):
        wide = wide + right_shift(wide, width)
    return astype(bitwise_and(wide, 0x7F), dtype)


bitwise_count = composite(
    "bitwise_count", _count, evaluate=lambda x: np.bitwise_count(x).astype(x.dtype),
    check=_integers, vjp=(None,), elementwise=True, exact=True, smooth=False,
    doc="How many bits of |a| are set, in a's dtype.",
    example=">>> sg.bitwise_count(np.array([7, -8]))\narray([3, 1])",
)  # fmt: skip
