"""`assert_close` and `make_tensor` (torch.testing)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.tensors import creation, drawn
from staticgraph.dynamic.tensors.tensor import Tensor
from staticgraph.dynamic.tensors.values import values_of

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


class NotCloseError(StaticGraphError, AssertionError):
    """Two values are not close."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless |actual - expected| <= atol + rtol |expected|, in any nesting of containers.

    Shapes and dtypes are to be equal too. The tolerances are those of the dtype unless given:
    1.3e-6 and 1e-5 for float32, 1e-7 twice for float64, 0 for integers.

    Raises:
        AssertionError: they are not; the message says how many elements, and which the most.
        ValueError: one tolerance is given without the other.

    Example:
        >>> dynamic.testing.assert_close(dynamic.ones(2), dynamic.ones(2) + 1e-7)
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified, but got "
            f"rtol={rtol} and atol={atol}"
        )
    found = _difference(actual, expected, (rtol, atol), equal_nan, check_dtype, check_stride)
    if found is not None:
        raise NotCloseError(msg(found) if callable(msg) else msg or found)


def _difference(
    actual: Any,
    expected: Any,
    tolerances: Any,
    equal_nan: bool,
    check_dtype: bool,
    check_stride: bool,
) -> str | None:
    rest = (tolerances, equal_nan, check_dtype, check_stride)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"The keys of the mappings do not match: {set(actual) ^ set(expected)}"
        pairs = [(f"[{key!r}]", actual[key], expected[key]) for key in actual]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        pairs = [(f"[{i}]", actual[i], expected[i]) for i in range(len(actual))]
    else:
        return _of_tensors(actual, expected, *rest)
    for place, one, other in pairs:
        found = _difference(one, other, *rest)
        if found is not None:
            return f"{found}\n\nThe failure occurred for item {place}"
    return None


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _of_tensors(
    actual: Any,
    expected: Any,
    tolerances: Any,
    equal_nan: bool,
    check_dtype: bool,
    check_stride: bool,
) -> str | None:
    numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    if (actual is None) != (expected is None):
        return f"None mismatch: {actual} is not {expected}"
    if actual is None:
        return None
    a, b = (
        one if isinstance(one, Tensor) else creation.as_tensor(one, dtype=_of_number(one))
        for one in (actual, expected)
    )
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if check_dtype and not numbers and a.dtype is not b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    if check_stride and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    rtol, atol = tolerances
    if rtol is None:
        each = [_TOLERANCES.get(one.dtype.name, (0.0, 0.0)) for one in (a, b)]
        rtol, atol = max(one[0] for one in each), max(one[1] for one in each)
    return _of_arrays(values_of(a), values_of(b), rtol, atol, equal_nan, numbers)


def _of_number(value: Any) -> Any:
    if isinstance(value, bool | np.ndarray):
        return None
    return np.float64 if isinstance(value, float) else None


def _of_arrays(
    a: Any, b: Any, rtol: float, atol: float, equal_nan: bool, numbers: bool
) -> str | None:
    exact = a.dtype.kind in "bui" and b.dtype.kind in "bui"
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    if not exact:
        a, b = a.astype(wide), b.astype(wide)
    close = np.isclose(a, b, rtol, atol, equal_nan)
    if close.all():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        absolute = np.where(close, 0, np.abs(a.astype(wide) - b.astype(wide)))
        relative = np.where(close, 0, absolute / np.abs(b.astype(wide)))
    kind = "Scalars" if numbers else "Tensor-likes"
    within = " (up to {:g} allowed)"
    if a.ndim == 0:
        equal = "equal" if not (rtol or atol) else "close"
        return (
            f"{kind} are not {equal}!\n\nExpected {b.item()} but got {a.item()}.\n"
            f"Absolute difference: {absolute.item()}{within.format(atol)}\n"
            f"Relative difference: {relative.item()}{within.format(rtol)}"
        )
    wrong = int((~close).sum())
    at, where = (np.unravel_index(int(np.nanargmax(one)), a.shape) for one in (absolute, relative))
    return (
        f"{kind} are not {'equal' if not (rtol or atol) else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {a.size} ({wrong / a.size:.1%})\n"
        f"Greatest absolute difference: {absolute[at]} at index {tuple(map(int, at))}"
        f"{within.format(atol)}\n"
        f"Greatest relative difference: {relative[where]} at index {tuple(map(int, where))}"
        f"{within.format(rtol)}"
    )


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = True, msg: str = "",
) -> None:  # fmt: skip
    """`assert_close` that does not look at dtypes: its old name.

    Example:
        >>> dynamic.testing.assert_allclose(dynamic.ones(2), [1.0, 1.0])
    """
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip


def make_tensor(
    *shape: Any, dtype: Any, device: Any = "cpu", low: Any = None, high: Any = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
) -> Any:  # fmt: skip
    """Random numbers in [low, high), [-9, 9] unless given, of a shape and dtype.

    Example:
        >>> dynamic.testing.make_tensor(2, 3, dtype=dynamic.int64).shape
        torch.Size([2, 3])
    """
    size = tuple(shape[0]) if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
    kind = np.dtype(dtype).kind
    bounds = (0, 2) if kind == "b" else (0 if kind == "u" else -9, 10 if kind in "ui" else 9)
    least, most = bounds[0] if low is None else low, bounds[1] if high is None else high
    if kind in "bui":
        made = drawn.randint(least, most, size, dtype=dtype, device=device)
    else:
        made = (drawn.rand(size, dtype=dtype, device=device) * (most - least) + least).detach()
    if exclude_zero:
        made = made.masked_fill(made == 0, 1)
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, dim=-1)[..., ::2]
    return (
        made.requires_grad_(requires_grad) if DTYPES[made._array.dtype].is_floating_point else made
    )
