"""What PyTorch says where the shapes of two operands do not fit; "" where it says nothing."""

from __future__ import annotations

import math
from typing import Any

Shape = tuple[Any, ...]


def product(a: Shape, b: Shape) -> str:
    """Of matrices and vectors."""
    if len(a) == len(b) == 1:
        return (
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the "
            f"same number of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if len(a) == 2 and len(b) == 1:
        return f"size mismatch, got input ({a[0]}), mat ({_by(a)}), vec ({b[0]})"
    if len(b) == 2 and len(a) > 1:
        rows = math.prod(a[:-1])
        return f"mat1 and mat2 shapes cannot be multiplied ({_by((rows, a[-1]))} and {_by(b)})"
    return batches(a, b)


def batches(a: Shape, b: Shape) -> str:
    """Of two stacks of matrices."""
    if len(a) < 3 or len(b) < 3:
        return ""
    wanted, found = [a[-3], a[-1]], [b[-3], b[-2]]
    return (
        f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {found}."
    )


def _by(shape: Shape) -> str:
    return "x".join(map(str, shape))


def dot(a: Shape, b: Shape) -> str:
    """Of two vectors."""
    if len(a) == len(b) == 1:
        return product(a, b)
    return f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors"


def pair(a: Shape, b: Shape) -> str:
    """Of operands that do not broadcast."""
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), 1):
        if m not in (1, n) and n != 1:
            dim = max(len(a), len(b)) - back
            return (
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                f"non-singleton dimension {dim}"
            )
    return ""
