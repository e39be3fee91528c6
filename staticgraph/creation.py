"""Tensors that are made of numbers and sizes: NumPy's ways to make arrays.

Python floats become float32, or what `set_default_dtype` says, as everywhere in a graph; sizes may
be unknown where it is said.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.default_dtype import get_default_dtype, or_default
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.types import as_dtype
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import moveaxis
from staticgraph.compiler.functions.joining import meshgrid
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.declare import as_operand, common_dtype
from staticgraph.leaves import arange, constant, full

__all__ = [
    "array", "asarray", "bartlett", "blackman", "diag_indices", "diag_indices_from", "empty",
    "empty_like", "eye", "fromfunction", "full_like", "geomspace", "hamming", "hanning", "identity",
    "indices", "kaiser", "linspace", "logspace", "mask_indices", "ones_like", "tri", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from", "zeros_like",
]  # fmt: skip


class _Shaped(Protocol):
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


def asarray(value: Value, dtype: object = None) -> Value:
    """What is a tensor already as it is, or cast; anything else as a constant.

    Example:
        >>> sg.run(sg.asarray([1.0, 2.0]))
        array([1., 2.], dtype=float32)
    """
    if isinstance(value, Expression) or hasattr(value, "_apply"):
        return value if dtype is None else ops.astype(value, dtype)
    return constant(value, dtype)


def array(value: Value, dtype: object = None) -> Value:
    """NumPy's other name of `asarray`: in a graph nothing is written in place.

    Example:
        >>> sg.run(sg.array([1, 2]))
        array([1, 2])
    """
    return asarray(value, dtype)


def empty(shape: object, dtype: object = None) -> Expression:
    """Zeros, whose values nobody should rely on.

    Example:
        >>> sg.empty((2, 3)).shape
        (2, 3)
    """
    return full(shape, 0, dtype)


def full_like(x: _Shaped, fill_value: float, dtype: object = None, shape: object = None) -> Value:
    """A tensor of one value, of the shape and the dtype of another unless they are given.

    Eager tensors give eager ones.

    Example:
        >>> sg.run(sg.full_like(np.array([1.0, 2.0]), 7))
        array([7., 7.])
    """
    x = as_operand(x)
    shape, dtype = x.shape if shape is None else shape, x.dtype if dtype is None else dtype
    if isinstance(x, Expression | np.ndarray) or not hasattr(x, "_apply"):
        return full(shape, fill_value, dtype)
    nothing = ops.sum(ops.where(np.False_, ops.stop_gradient(x), 0))
    return ops.copy(ops.broadcast_to(ops.astype(nothing + fill_value, dtype), shape))


def zeros_like(x: _Shaped, dtype: object = None, shape: object = None) -> Value:
    """Zeros of the shape and the dtype of another tensor unless they are given.

    Example:
        >>> sg.run(sg.zeros_like(np.array([1, 2])))
        array([0, 0])
    """
    return full_like(x, 0, dtype, shape)


def ones_like(x: _Shaped, dtype: object = None, shape: object = None) -> Value:
    """Ones of the shape and the dtype of another tensor unless they are given.

    Example:
        >>> sg.run(sg.ones_like(np.array([1, 2])))
        array([1, 1])
    """
    return full_like(x, 1, dtype, shape)


def empty_like(x: _Shaped, dtype: object = None, shape: object = None) -> Value:
    """Zeros of the shape and the dtype of another tensor, whose values nobody should rely on.

    Example:
        >>> sg.empty_like(np.array([1, 2])).shape
        (2,)
    """
    return full_like(x, 0, dtype, shape)


def eye(N: Size, M: Size | None = None, k: int = 0, dtype: object = None) -> Expression:
    """Ones on the k-th diagonal and zeros elsewhere: (N, M), of which sizes may be unknown.

    Example:
        >>> sg.run(sg.eye(2))
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    rows, columns = _grid(N, M)
    found: Expression = ops.astype(ops.equal(rows + k, columns), or_default(dtype))
    return found


def identity(n: Size, dtype: object = None) -> Expression:
    """The identity matrix: (n, n), of which the size may be unknown.

    Example:
        >>> sg.run(sg.identity(1))
        array([[1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def tri(N: Size, M: Size | None = None, k: int = 0, dtype: object = None) -> Expression:
    """Ones on and below the k-th diagonal and zeros above: (N, M), whose sizes may be unknown.

    Example:
        >>> sg.run(sg.tri(2))
        array([[1., 0.],
               [1., 1.]], dtype=float32)
    """
    rows, columns = _grid(N, M)
    found: Expression = ops.astype(ops.greater_equal(rows + k, columns), or_default(dtype))
    return found


def _grid(rows: Size, columns: Size | None) -> tuple[Any, Any]:
    """The numbers of the rows as a column, and of the columns as a row."""
    return ops.expand_dims(arange(rows), 1), arange(rows if columns is None else columns)


def _dtype(dtype: object, *numbers: object) -> Any:
    """A dtype that is given, or that of tensors among numbers, or the default one."""
    if dtype is not None:
        return as_dtype(dtype)
    given = [one for one in numbers if hasattr(one, "dtype")]
    found = common_dtype(*given) if given else get_default_dtype()
    return found if is_float(found) else np.dtype(np.float64)


def linspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    dtype: object = None,
    *,
    retstep: bool = False,
    axis: int = 0,
) -> Value:
    """`num` numbers at equal distances from `start` to `stop`, which is the last if `endpoint`.

    The ends may be tensors; gradients flow to them. The numbers lie along a new `axis`. With
    `retstep` the result is a pair, and the second is the distance.

    Example:
        >>> sg.run(sg.linspace(0.0, 1.0, 5))
        array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = _count("linspace", num)
    _require_real("linspace", start=start, stop=stop)
    floating = _dtype(dtype, start, stop)
    if not any(hasattr(one, "_apply") for one in (start, stop)):
        made, step = np.linspace(start, stop, count, endpoint, retstep=True, axis=axis)
        return _with_step(constant(made.astype(floating)), np.asarray(step, floating), retstep)
    first, last = (ops.astype(as_operand(one), floating) for one in (start, stop))
    rank = max(first.ndim, last.ndim)
    shares = np.linspace(0.0, 1.0, count, endpoint).reshape(-1, *(1,) * rank).astype(floating)
    found = first * (1 - shares) + last * shares
    gaps = count - 1 if endpoint else count
    step = (last - first) / gaps if gaps > 0 else (last - first) * math.nan
    return _with_step(moveaxis(found, 0, axis), step, retstep)


def _with_step(numbers: Value, step: Value, retstep: bool) -> Value:
    return (numbers, step) if retstep else numbers


def _require_real(function: str, **numbers: Any) -> None:
    for name, one in numbers.items():
        if not hasattr(one, "_apply") and np.iscomplexobj(one):
            raise OptionError(f"{function}: {name} is real, not {one!r}")


def logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: object = None,
    *,
    axis: int = 0,
) -> Value:
    """`base` to the power of numbers at equal distances: see `linspace`.

    Example:
        >>> sg.run(sg.logspace(0.0, 2.0, 3))
        array([  1.,  10., 100.], dtype=float32)
    """
    _require_real("logspace", start=start, stop=stop, base=base)
    if not any(hasattr(one, "_apply") for one in (start, stop)):
        found = np.logspace(start, stop, _count("logspace", num), endpoint, base, axis=axis)
        return constant(found.astype(_dtype(dtype, start, stop)))
    return ops.power(float(base), linspace(start, stop, num, endpoint, dtype, axis=axis))


def geomspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    dtype: object = None,
    *,
    axis: int = 0,
) -> Value:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    Tensors, to which gradients flow, are positive.

    Example:
        >>> sg.run(sg.geomspace(1.0, 8.0, 4))
        array([1., 2., 4., 8.], dtype=float32)
    """
    _require_real("geomspace", start=start, stop=stop)
    if not any(hasattr(one, "_apply") for one in (start, stop)):
        found = np.geomspace(start, stop, _count("geomspace", num), endpoint, axis=axis)
        return constant(found.astype(_dtype(dtype, start, stop)))
    floating = _dtype(dtype, start, stop)
    first, last = (ops.log(ops.astype(as_operand(one), floating)) for one in (start, stop))
    return ops.exp(linspace(first, last, num, endpoint, axis=axis))


def _count(name: str, num: int) -> int:
    count = operator.index(num)
    if count < 0:
        raise OptionError(f"{name}: {num} numbers")
    return count


def indices(dimensions: Sequence[Size], dtype: object = "int64", sparse: bool = False) -> Value:
    """Per axis of a shape the place along it: (axes, *dimensions), or a tuple of lean ones.

    Example:
        >>> sg.run(sg.indices((2, 2)))[1]
        array([[0, 1],
               [0, 1]])
    """
    grids = [ops.astype(arange(size), dtype) for size in dimensions]
    made = _meshgrid(grids, sparse)
    return tuple(made) if sparse else ops.stack(made)


def _meshgrid(vectors: Sequence[Any], sparse: bool) -> list[Any]:
    found: list[Any] = meshgrid(*vectors, indexing="ij", sparse=sparse)
    return found


def fromfunction(
    function: Callable[..., Value], shape: Sequence[Size], *, dtype: object = None
) -> Value:
    """A function of the places along all axes.

    Example:
        >>> sg.run(sg.fromfunction(lambda i, j: i + j, (2, 2)))
        array([[0., 1.],
               [1., 2.]], dtype=float32)
    """
    grids = [ops.astype(arange(size), or_default(dtype)) for size in shape]
    return function(*_meshgrid(grids, False))


# -- places ----------------------------------------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Expression, ...]:
    """Per axis the places of the main diagonal of a tensor of `ndim` axes of size n: int64.

    Example:
        >>> [sg.run(one) for one in sg.diag_indices(2)]
        [array([0, 1]), array([0, 1])]
    """
    return (arange(n),) * ndim


def diag_indices_from(x: _Shaped) -> tuple[Expression, ...]:
    """`diag_indices` of a tensor whose axes have one size.

    Example:
        >>> len(sg.diag_indices_from(np.zeros((3, 3))))
        2
    """
    sizes = set(x.shape)
    if len(sizes) != 1 or len(x.shape) < 2:
        raise OptionError(f"diag_indices_from: {tuple(x.shape)} are not equal sizes of 2 axes")
    return diag_indices(x.shape[0], len(x.shape))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Expression, ...]:
    """The rows and the columns of what is on and below the k-th diagonal of (n, m): int64.

    Example:
        >>> [sg.run(one) for one in sg.tril_indices(2)]
        [array([0, 1, 1]), array([0, 0, 1])]
    """
    return tuple(map(constant, np.tril_indices(n, k, m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Expression, ...]:
    """The rows and the columns of what is on and above the k-th diagonal of (n, m): int64.

    Example:
        >>> [sg.run(one) for one in sg.triu_indices(2)]
        [array([0, 0, 1]), array([0, 1, 1])]
    """
    return tuple(map(constant, np.triu_indices(n, k, m)))


def tril_indices_from(x: _Shaped, k: int = 0) -> tuple[Expression, ...]:
    """`tril_indices` of a matrix.

    Example:
        >>> len(sg.tril_indices_from(np.zeros((2, 3))))
        2
    """
    return tril_indices(*_matrix("tril_indices_from", x, k))


def triu_indices_from(x: _Shaped, k: int = 0) -> tuple[Expression, ...]:
    """`triu_indices` of a matrix.

    Example:
        >>> len(sg.triu_indices_from(np.zeros((2, 3))))
        2
    """
    return triu_indices(*_matrix("triu_indices_from", x, k))


def _matrix(name: str, x: _Shaped, k: int) -> tuple[int, int, int]:
    if len(x.shape) != 2 or any(isinstance(size, Dim) for size in x.shape):
        raise OptionError(f"{name}: {tuple(x.shape)} is not the shape of a matrix, or unknown")
    return int(x.shape[0]), k, int(x.shape[1])


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0
) -> tuple[Expression, ...]:
    """The rows and the columns of what a function of NumPy, as `np.triu`, leaves of (n, n) ones.

    Example:
        >>> [sg.run(one) for one in sg.mask_indices(2, np.triu)]
        [array([0, 0, 1]), array([0, 1, 1])]
    """
    return tuple(map(constant, np.mask_indices(n, mask_func, k)))


# -- windows of signals ----------------------------------------------------------------------------


def _window(values: Any) -> Expression:
    return constant(np.asarray(values, get_default_dtype()))


def bartlett(M: int) -> Expression:
    """Bartlett's window, a triangle: float32 (M,).

    Example:
        >>> sg.run(sg.bartlett(3))
        array([0., 1., 0.], dtype=float32)
    """
    return _window(np.bartlett(M))


def blackman(M: int) -> Expression:
    """Blackman's window: float32 (M,).

    Example:
        >>> sg.run(sg.blackman(3)).round(3) + 0
        array([0., 1., 0.], dtype=float32)
    """
    return _window(np.blackman(M))


def hamming(M: int) -> Expression:
    """Hamming's window: float32 (M,).

    Example:
        >>> sg.run(sg.hamming(3))
        array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window(np.hamming(M))


def hanning(M: int) -> Expression:
    """Hann's window: float32 (M,).

    Example:
        >>> sg.run(sg.hanning(3))
        array([0., 1., 0.], dtype=float32)
    """
    return _window(np.hanning(M))


def kaiser(M: int, beta: float) -> Expression:
    """Kaiser's window of a shape `beta`: float32 (M,).

    Example:
        >>> sg.run(sg.kaiser(3, 0.0))
        array([1., 1., 1.], dtype=float32)
    """
    return _window(np.kaiser(M, beta))
