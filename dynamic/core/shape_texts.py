"""What PyTorch says where the shapes of operands do not fit, before what the op says itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Shape = tuple[object, ...]


def _product(a: Shape, b: Shape) -> str:
    if len(a) == len(b) == 1:
        return (
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the "
            f"same number of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if len(a) == 2 and len(b) == 1:
        return f"size mismatch, got input ({a[0]}), mat ({_by(a)}), vec ({b[0]})"
    if len(b) == 2 and len(a) > 1:
        rows = math.prod(map(int, a[:-1])) if all(isinstance(n, int) for n in a) else a[0]  # type: ignore[call-overload]
        return f"mat1 and mat2 shapes cannot be multiplied ({_by((rows, a[-1]))} and {_by(b)})"
    return _batches(a, b)


def _batches(a: Shape, b: Shape) -> str:
    if len(a) < 3 or len(b) < 3:
        return ""
    wanted, found = [a[-3], a[-1]], [b[-3], b[-2]]
    return (
        f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {found}."
    )


def _by(shape: Shape) -> str:
    return "x".join(map(str, shape))


def _dot(a: Shape, b: Shape) -> str:
    if len(a) == len(b) == 1:
        return _product(a, b)
    return f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors"


def _pair(a: Shape, b: Shape) -> str:
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), 1):
        if m not in (1, n) and n != 1:
            dim = max(len(a), len(b)) - back
            return (
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                f"non-singleton dimension {dim}"
            )
    return ""


_OWN = {
    "bmm": "bmm", "multiply": "mul", "subtract": "sub", "divide": "div", "power": "pow",
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge",
}  # fmt: skip
"""What tensors call ops that have another name in NumPy."""

OF_SOME = frozenset({"max", "min", "argmax", "argmin"})
"""What there is of some elements alone."""

_RULES: dict[str, Callable[[Shape, Shape], str]] = {
    "matmul": _product,
    "bmm": _batches,
    "dot": _dot,
}


def in_pytorchs_words(name: str, shapes: Sequence[Shape], text: str) -> str:
    """The message of an op's error, which starts as that of PyTorch where there is one."""
    if name in OF_SOME and "no element" in text:
        return (
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            f"reduction dim with the 'dim' argument: {text}"
        )
    first = ""
    if len(shapes) == 2:
        rule = _RULES.get(name) or (_pair if "do not broadcast" in text else None)
        first = "" if rule is None else rule(*shapes)
    shared = "matmul" if name == "bmm" else name
    if name in _OWN and text.startswith(f"{shared}: "):
        text = f"{_OWN[name]}{text[len(shared) :]}"
    return f"{first}: {text}" if first else text
