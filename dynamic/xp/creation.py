"""What makes arrays, in the standard's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import complex_dtype
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.dtypes import as_numpy_dtype, get_default_dtype
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors import creation
from staticgraph.dynamic.tensors.devices import check_device
from staticgraph.dynamic.tensors.tensor import Tensor
from staticgraph.dynamic.xp.array import Array, as_array

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def asarray(
    obj: Any, /, *, dtype: Any = None, device: object = None, copy: bool | None = None
) -> Any:
    """An array of numbers, nested sequences, an ndarray or a tensor, which keeps its gradient.

    Raises:
        OptionError: a copy is needed, and `copy=False` forbids it.
    """
    check_device(device)
    if isinstance(obj, Operand):
        if not isinstance(obj, Tensor):
            return obj
        wanted = obj.dtype if dtype is None else dtype
        if copy is False and wanted != obj.dtype:
            raise OptionError(f"asarray: {obj.dtype} as {wanted} needs a copy")
        same = wanted == obj.dtype
        return as_array((obj.clone() if copy else obj) if same else obj.to(wanted), obj)
    shared = isinstance(obj, np.ndarray)
    if copy is False and not (shared and dtype in (None, obj.dtype)):
        raise OptionError(f"asarray: {type(obj).__name__} needs a copy")
    made = (
        creation.as_tensor(obj, dtype) if shared and not copy else creation.tensor(obj, dtype=dtype)
    )
    return as_array(made)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: object = None
) -> Any:
    """The numbers from `start` (0) up to `stop`, without it, by `step`."""
    first, last = (0, start) if stop is None else (start, stop)
    numbers = all(isinstance(one, int | float | np.number) for one in (first, last, step))
    if numbers and (last - first) * step < 0:
        last = first + 0 * last  # no numbers, where PyTorch refuses; the dtype depends on both
    return as_array(creation.arange(first, last, step, dtype=dtype, device=device))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: object = None,
    endpoint: bool = True,
) -> Any:  # fmt: skip
    """`num` numbers from `start` to `stop`, equally far apart."""
    check_device(device)
    default = get_default_dtype().dtype
    if isinstance(start, complex) or isinstance(stop, complex):
        default = complex_dtype(default)
    wanted = default if dtype is None else as_numpy_dtype(dtype)
    values = np.linspace(start, stop, num, dtype=wanted, endpoint=endpoint)
    return as_array(creation.tensor(values))


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None,
    device: object = None,
) -> Any:  # fmt: skip
    """Ones on a diagonal, and zeros."""
    check_device(device)
    wanted = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
    return as_array(creation.tensor(np.eye(n_rows, n_cols, k, wanted)))


def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Any:
    """An array on the memory of what another library exports."""
    check_device(device)
    if isinstance(x, Tensor):
        return asarray(x.detach(), copy=copy)
    made = creation.from_dlpack(x)
    return as_array(made.clone() if copy else made)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: object = None) -> Any:
    """One number in this shape."""
    return as_array(creation.full(_sizes(shape), fill_value, dtype=dtype, device=device))


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: object = None) -> Any:
    """One number in the shape and the dtype of x."""
    return as_array(creation.full_like(x, fill_value, dtype=dtype, device=device))


def _sizes(shape: Any) -> tuple[Any, ...]:
    return (shape,) if hasattr(shape, "__index__") else tuple(shape)


def _filled(name: str) -> Any:
    def function(shape: Any, *, dtype: Any = None, device: object = None) -> Any:
        return as_array(getattr(creation, name)(_sizes(shape), dtype=dtype, device=device))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(creation, name).__doc__
    return function


def _filled_like(name: str) -> Any:
    def function(x: Any, /, *, dtype: Any = None, device: object = None) -> Any:
        return as_array(getattr(creation, name)(x, dtype=dtype, device=device))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(creation, name).__doc__
    return function


empty, ones, zeros = (_filled(name) for name in ("empty", "ones", "zeros"))
empty_like, ones_like, zeros_like = (
    _filled_like(name) for name in ("empty_like", "ones_like", "zeros_like")
)


def frequencies(function: Any, n: int, d: float, dtype: Any, device: object) -> Any:
    """The frequencies of a transform, in a floating dtype."""
    check_device(device)
    wanted = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
    if wanted.kind != "f":
        raise ArgumentError(f"{function.__name__}: frequencies are floating, not {dtype}")
    result: Array = as_array(creation.tensor(function(n, d), dtype=wanted))
    return result
