"""Products of vectors, matrices and tensors: NumPy's, composed of shared ops."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import moveaxis, ravel
from staticgraph.compiler.functions.complex_numbers import conj
from staticgraph.compiler.functions.einsum import einsum, summed
from staticgraph.compiler.ops.declare import as_operand, size_value
from staticgraph.compiler.ops.leaves import iota
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "convolve", "correlate", "cross", "inner", "kron", "matvec", "multi_dot", "tensordot",
    "tensorinv", "tensorsolve", "vander", "vdot", "vecdot", "vecmat",
]  # fmt: skip


def inner(a: Value, b: Value) -> Value:
    """The sums of products over the last axes: (..., k), (..., k) -> (..., ...).

    Example:
        >>> sg.inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        array(11.)
    """
    a, b = as_operand(a), as_operand(b)
    if not a.ndim or not b.ndim:
        return ops.multiply(a, b)
    return tensordot(a, b, (-1, -1))


def vdot(a: Value, b: Value) -> Value:
    """The sum of the products of all elements of two tensors of one size, the first conjugated.

    Example:
        >>> sg.vdot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
        np.float64(11.0)
    """
    return ops.dot(conj(ravel(a)), ravel(b))


def vecdot(a: Value, b: Value, axis: int = -1) -> Value:
    """The sums of products along an axis of tensors that broadcast, the first conjugated.

    Example:
        >>> sg.vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
        array([21., 43.])
    """
    a, b = (moveaxis(one, axis, -1) for one in (a, b))
    if a.shape[-1] != b.shape[-1] and 1 in (a.shape[-1], b.shape[-1]):
        raise ShapeError(f"vecdot: vectors of {a.shape[-1]} and {b.shape[-1]} elements")
    return summed(ops.multiply(conj(a), b), -1)


def matvec(a: Value, b: Value) -> Value:
    """Products of matrices and vectors: (..., m, n), (..., n) -> (..., m).

    Example:
        >>> sg.matvec(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
        array([21., 43.])
    """
    b = as_operand(b)
    if b.ndim == 1:
        return ops.matmul(a, b)
    return ops.squeeze(ops.matmul(a, ops.expand_dims(b, b.ndim)), -1)


def vecmat(a: Value, b: Value) -> Value:
    """Products of vectors, conjugated, and matrices: (..., m), (..., m, n) -> (..., n).

    Example:
        >>> sg.vecmat(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([31., 42.])
    """
    a = as_operand(a)
    if a.ndim == 1:
        return ops.matmul(conj(a), b)
    return ops.squeeze(ops.matmul(ops.expand_dims(conj(a), a.ndim - 1), b), -2)


def tensordot(a: Value, b: Value, axes: Value = 2) -> Value:
    """The sums of products over pairs of axes: the last `axes` with the first, or two lists.

    Example:
        >>> sg.tensordot(np.ones((2, 3)), np.ones((3, 2)), 1)
        array([[3., 3.],
               [3., 3.]])
    """
    a, b = as_operand(a), as_operand(b)
    if hasattr(axes, "__index__"):
        count = max(0, operator.index(axes))
        if count > min(a.ndim, b.ndim):
            raise OptionError(f"tensordot: {count} axes of operands of {a.ndim} and {b.ndim} axes")
        pairs = [list(range(a.ndim - count, a.ndim)), list(range(count))]
    else:
        pairs = [[one] if hasattr(one, "__index__") else list(one) for one in axes]
    if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        raise OptionError(f"tensordot: {axes!r} are no pairs of axes")
    first = [normalise_axis("tensordot", axis, a.ndim) for axis in pairs[0]]
    second = [normalise_axis("tensordot", axis, b.ndim) for axis in pairs[1]]
    if len({*first}) < len(first) or len({*second}) < len(second):
        raise OptionError(f"tensordot: {axes!r} has an axis twice")
    left, right = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    output = [one for i, one in enumerate(left) if i not in first]
    output += [one for j, one in enumerate(right) if j not in second]
    return einsum(a, left, b, right, output)


def kron(a: Value, b: Value) -> Value:
    """Kronecker's product: the tensor of the products of each element of `a` with all of `b`.

    Example:
        >>> sg.kron(np.array([1.0, 10.0]), np.array([1.0, 2.0]))
        array([ 1.,  2., 10., 20.])
    """
    a, b = as_operand(a), as_operand(b)
    ndim = max(a.ndim, b.ndim)
    left, right = ((1,) * (ndim - x.ndim) + tuple(x.shape) for x in (a, b))
    a = ops.reshape(a, tuple(size for one in left for size in (one, 1)))
    b = ops.reshape(b, tuple(size for one in right for size in (1, one)))
    shape = tuple(one * two for one, two in zip(left, right, strict=True))
    return ops.reshape(ops.multiply(a, b), shape)


def cross(
    a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    """The vector products of vectors of three elements, along the last axes unless given.

    Example:
        >>> sg.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
        array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    for x in (a, b):
        size = x.shape[-1]
        if not isinstance(size, Dim) and size != 3:
            raise ShapeError(f"cross: vectors of {size} elements, of 3 expected")
    a, b = (ops.reshape(one, (*one.shape[:-1], 3)) for one in (a, b))  # which an unknown size is
    x, y, z = (slice_axis(a, a.ndim - 1, i, i + 1) for i in range(3))
    u, v, w = (slice_axis(b, b.ndim - 1, i, i + 1) for i in range(3))
    parts = [y * w - z * v, z * u - x * w, x * v - y * u]
    return moveaxis(ops.concatenate(parts, parts[0].ndim - 1), -1, axisc)


def multi_dot(arrays: Sequence[Value]) -> Value:
    """The product of several matrices in the order of the fewest multiplications.

    The first and the last may be vectors.

    Example:
        >>> sg.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)])
        array([12., 12.])
    """
    tensors = [as_operand(one) for one in arrays]
    if len(tensors) < 2:
        raise OptionError(f"multi_dot: {len(tensors)} matrices, of at least 2")
    given: list[Any] = []
    for i, x in enumerate(tensors):
        last = [i, i + 1]
        if x.ndim == 1 and i in (0, len(tensors) - 1):
            last = [1] if i == 0 else [i]
        elif x.ndim != 2:
            raise ShapeError(f"multi_dot: operand {i} has {x.ndim} axes, not 2")
        given += [x, last]
    kept = [0] if tensors[0].ndim == 2 else []
    kept += [len(tensors)] if tensors[-1].ndim == 2 else []
    return einsum(*given, kept)


def tensorinv(a: Value, ind: int = 2) -> Value:
    """The inverse of `a` as a map from its axes from `ind` on to those before.

    Example:
        >>> sg.linalg.tensorinv(np.eye(4).reshape(2, 2, 4)).shape
        (4, 2, 2)
    """
    a = as_operand(a)
    shape = tuple(a.shape)
    if ind < 1:
        raise OptionError(f"tensorinv: ind={ind} is not positive")
    size = dims.product(shape[:ind])
    matrix = ops.reshape(a, (size, dims.product(shape[ind:])))
    return ops.reshape(ops.inv(matrix), (*shape[ind:], *shape[:ind]))


def tensorsolve(a: Value, b: Value, axes: Sequence[int] | None = None) -> Value:
    """The x of which `tensordot(a, x, x.ndim)` is b; `axes` of `a` are moved to its end first.

    Example:
        >>> sg.linalg.tensorsolve(2 * np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))
        array([0.5, 0.5, 0.5, 0.5])
    """
    a, b = as_operand(a), as_operand(b)
    if axes is not None:
        order = [axis for axis in range(a.ndim) if axis not in axes]
        a = ops.transpose(a, (*order, *axes))
    shape = tuple(a.shape[b.ndim :])
    size = dims.product(shape)
    found = ops.solve(ops.reshape(a, (size, size)), ops.reshape(b, (size, 1)))
    return ops.reshape(found, shape)


def vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:
    """The powers of a vector's elements in rows, the highest first unless `increasing`.

    Example:
        >>> sg.vander(np.array([2.0, 3.0]), 3)
        array([[4., 2., 1.],
               [9., 3., 1.]])
    """
    x = as_operand(x)
    if not is_float(x.dtype):  # as powers overflow
        x = ops.astype(x, "int64")
    count = x.shape[0] if N is None and x.ndim == 1 else N
    if isinstance(count, Dim):
        first = ops.equal(x._apply(iota, (), {"size": count}), 0)
        rows = ops.cumprod(ops.where(first, ops.astype(1, x.dtype), ops.expand_dims(x, 1)), 1)
        return rows if increasing else ops.flip(rows, 1)
    if x.ndim != 1 or count is None or count < 1:
        raise ShapeError(f"vander: {count} powers of a tensor of {x.ndim} axes")
    columns = [ops.where(ops.equal(x, x), 1, x)] if is_float(x.dtype) else [x * 0 + 1]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return ops.stack(columns if increasing else columns[::-1], 1)


def convolve(a: Value, v: Value, mode: str = "full") -> Value:
    """The sums of products of a vector and another one that is reversed and moved along it.

    `mode` is "full" (wherever they meet), "same" (as long as the longer one) or "valid" (where the
    shorter one is inside).

    Example:
        >>> sg.convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0]))
        array([ 1., 12., 23., 30.])
    """
    a, v = _vectors("convolve", a, v)
    if isinstance(a.shape[0], Dim) or isinstance(v.shape[0], Dim):
        return _part("convolve", mode, a, v, convolving=True)
    if int(v.shape[0]) > int(a.shape[0]):
        a, v = v, a
    return _sums(a, ops.flip(v), _widths("convolve", mode, int(v.shape[0])))


def correlate(a: Value, v: Value, mode: str = "valid") -> Value:
    """The sums of products of a vector and another one that is moved along it: see `convolve`.

    Of complex ones the other is conjugated.

    Example:
        >>> sg.correlate(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0]))
        array([21., 32.])
    """
    a, v = _vectors("correlate", a, v)
    v = ops.conjugate(v) if v.dtype.kind == "c" else v
    if isinstance(a.shape[0], Dim) or isinstance(v.shape[0], Dim):
        return _part("correlate", mode, a, ops.flip(v), convolving=False)
    if int(v.shape[0]) > int(a.shape[0]):
        count = int(a.shape[0])
        return ops.flip(_sums(v, a, _widths("correlate", mode, count)))
    return _sums(a, v, _widths("correlate", mode, int(v.shape[0])))


def _vectors(name: str, a: Value, v: Value) -> tuple[Any, Any]:
    a, v = as_operand(a), as_operand(v)
    if a.ndim != 1 or v.ndim != 1 or a.shape[0] == 0 or v.shape[0] == 0:
        raise ShapeError(f"{name}: takes two vectors with elements, not {a.ndim} and {v.ndim} axes")
    return a, v


def _part(name: str, mode: str, a: Any, v: Any, *, convolving: bool) -> Any:
    """The convolution of vectors of which a size is unknown until run time, or a part of it."""
    n, m = a.shape[0], v.shape[0]
    count = dims.minimum(n, m)
    _widths(name, mode, 1)
    starts: dict[str, Any] = {"full": 0, "same": (count - 1) // 2, "valid": count - 1}
    start = starts[mode]
    if mode == "same" and not convolving:
        # where the second vector is the longer one, the result is that of the other way round
        longer = dims.minimum(dims.maximum(m - n, 0), 1)
        start = start + longer * (count // 2 - start)
    sizes: dict[str, Any] = {
        "full": n + m - 1, "same": n + m - count, "valid": n + m - 2 * count + 1,
    }  # fmt: skip
    one: Any = a if isinstance(a, Operand) else v
    rows = one._apply(iota, (), {"size": sizes[mode]})
    columns = one._apply(iota, (), {"size": m})
    places = ops.expand_dims(rows + size_value(start, rows), 1) - columns
    outside = ops.logical_or(ops.less(places, 0), ops.greater_equal(places, size_value(n, rows)))
    met = ops.where(outside, 0, ops.take(a, ops.where(outside, 0, places), 0))
    return summed(ops.multiply(met, v), -1)


def _widths(name: str, mode: str, count: int) -> tuple[int, int]:
    """How far the longer of two vectors is continued with zeros on both sides."""
    widths = {
        "full": (count - 1, count - 1), "same": (count // 2, (count - 1) // 2), "valid": (0, 0),
    }  # fmt: skip
    if mode not in widths:
        raise OptionError(f"{name}: mode is 'full', 'same' or 'valid', not {mode!r}")
    return widths[mode]


def _sums(a: Any, v: Any, widths: tuple[int, int]) -> Any:
    windows = ops.sliding_windows(ops.pad(a, widths), (v.shape[0],), (1,), (1,))
    return summed(ops.multiply(windows, v), -1)
