"""Polynomials by their coefficients, the highest first: NumPy's, composed of shared ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import Dim, Size, maximum
from staticgraph.compiler.core.dtypes import is_float, limits
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import known_size
from staticgraph.compiler.functions.einsum import summed
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.functions.products import convolve, vander
from staticgraph.compiler.ops.declare import as_operand, size_value
from staticgraph.compiler.ops.leaves import iota
from staticgraph.compiler.ops.shapes.slicing import embed, slice_axis

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
]  # fmt: skip


def _coefficients(name: str, p: Value) -> Any:
    p = as_operand(p)
    p = p if p.ndim else ops.reshape(p, (1,))
    if p.ndim != 1:
        raise ShapeError(f"{name}: coefficients in {p.ndim} axes, of 1")
    return p


def polyval(p: Value, x: Value) -> Value:
    """The value of a polynomial at `x`, by Horner's rule; by powers if its size is unknown.

    Example:
        >>> sg.polyval(np.array([1.0, 0.0, 2.0]), np.array([3.0]))
        array([11.])
    """
    p, x = _coefficients("polyval", p), as_operand(x)
    size = p.shape[0]
    if isinstance(size, Dim):
        return summed(p * ops.power(ops.expand_dims(x, -1), _numbers(size, p) - 1), -1)
    found = x * 0
    for i in range(int(size)):
        found = found * x + ops.squeeze(slice_axis(p, 0, i, i + 1), 0)
    return found


def polyadd(a: Value, b: Value) -> Value:
    """The sum of two polynomials.

    Example:
        >>> sg.polyadd(np.array([1.0, 2.0]), np.array([5.0]))
        array([1., 7.])
    """
    a, b = _aligned("polyadd", a, b)
    return ops.add(a, b)


def polysub(a: Value, b: Value) -> Value:
    """The difference of two polynomials.

    Example:
        >>> sg.polysub(np.array([1.0, 2.0]), np.array([5.0]))
        array([ 1., -3.])
    """
    a, b = _aligned("polysub", a, b)
    return ops.subtract(a, b)


def _aligned(name: str, a: Value, b: Value) -> tuple[Any, Any]:
    a, b = _coefficients(name, a), _coefficients(name, b)
    if isinstance(a.shape[0], Dim) or isinstance(b.shape[0], Dim):
        if a.shape[0] == b.shape[0]:
            return a, b
        size = maximum(a.shape[0], b.shape[0])
        return _lengthened(a, size), _lengthened(b, size)
    size = max(known_size(name, a, 0), known_size(name, b, 0))
    first, second = (
        x if x.shape[0] == size else ops.pad(x, (size - int(x.shape[0]), 0)) for x in (a, b)
    )
    return first, second


def _lengthened(x: Any, size: Size) -> Any:
    """x after zeros, so that it has an unknown size."""
    return embed(x, (size - x.shape[0],), (size,), (1,))


def polymul(a: Value, b: Value) -> Value:
    """The product of two polynomials.

    Example:
        >>> sg.polymul(np.array([1.0, 1.0]), np.array([1.0, -1.0]))
        array([ 1.,  0., -1.])
    """
    return convolve(_coefficients("polymul", a), _coefficients("polymul", b))


def polydiv(u: Value, v: Value) -> tuple[Value, Value]:
    """The quotient and the remainder of two polynomials, the latter with its leading zeros.

    Example:
        >>> sg.polydiv(np.array([1.0, 0.0, -1.0]), np.array([1.0, 1.0]))
        (array([ 1., -1.]), array([0., 0., 0.]))
    """
    u, v = _coefficients("polydiv", u), _coefficients("polydiv", v)
    rest = ops.divide(u, 1)
    if isinstance(u.shape[0], Dim) or isinstance(v.shape[0], Dim):
        return _divided(rest, v)
    count = int(u.shape[0]) - int(v.shape[0]) + 1
    if count < 1:
        return rest[:1] * 0, rest
    found = []
    for i in range(count):
        factor = slice_axis(rest, 0, i, i + 1) / slice_axis(v, 0, 0, 1)
        found.append(factor)
        rest = rest - ops.pad(factor * v, (i, count - 1 - i))
    return ops.concatenate(found), rest


def _divided(u: Any, v: Any) -> tuple[Any, Any]:
    """The quotient and the remainder where a size is unknown, by a loop."""
    count = u.shape[0] - v.shape[0] + 1
    like = u if isinstance(u, Operand) else v
    columns = like._apply(iota, (), {"size": u.shape[0]})
    width, lead = size_value(v.shape[0], columns), ops.squeeze(slice_axis(v, 0, 0, 1), 0)
    meets = ops.greater(size_value(count, columns), 0)

    def step(rest: Any, i: Any) -> tuple[Any, Any]:
        factor = ops.where(meets, ops.take(rest, i) / lead, 0)
        places = columns - i
        inside = ops.logical_and(ops.greater_equal(places, 0), ops.less(places, width))
        line = ops.where(inside, ops.take(v, ops.where(inside, places, 0)), 0)
        return rest - ops.where(inside, factor * line, 0), factor

    steps = like._apply(iota, (), {"size": maximum(count, 1)})
    rest, found = provided.scan(step, u + lead * 0, steps)
    return found, rest


def polyder(p: Value, m: int = 1) -> Value:
    """The m-th derivative of a polynomial.

    Example:
        >>> sg.polyder(np.array([1.0, 2.0, 3.0]))
        array([2., 2.])
    """
    p = _wide(_coefficients("polyder", p))
    if m < 0:
        raise OptionError(f"polyder: m={m} is negative")
    for _ in range(m):
        size = p.shape[0]
        if not isinstance(size, Dim) and size < 2:
            return slice_axis(p, 0, 0, 0)
        p = slice_axis(p, 0, 0, size - 1) * _numbers(size - 1, p)
    return p


def polyint(p: Value, m: int = 1, k: Value = None) -> Value:
    """The m-th antiderivative of a polynomial; `k` has the constants, 0 if None.

    Example:
        >>> sg.polyint(np.array([2.0, 2.0]))
        array([1., 2., 0.])
    """
    p = _wide(_coefficients("polyint", p))
    if m < 0:
        raise OptionError(f"polyint: m={m} is negative")
    constants = None if k is None else _coefficients("polyint", k)
    for i in range(m):
        size = p.shape[0]
        whole = ops.pad(ops.divide(p, _numbers(size, p)), (0, 1))
        if constants is not None:
            j = min(i, int(constants.shape[0]) - 1)
            last = ops.astype(slice_axis(constants, 0, j, j + 1), whole.dtype)
            whole = whole + ops.where(ops.less(_numbers(size + 1, whole), 2), last, 0)
        p = whole
    return p


def _wide(p: Any) -> Any:
    """Integers as int64, as powers and what they are multiplied by overflow."""
    return p if is_float(p.dtype) else ops.astype(p, "int64")


def _numbers(size: Size, like: Any) -> Any:
    """The numbers from `size` down to 1."""
    if not isinstance(size, Dim):
        return np.arange(size, 0, -1).astype(like.dtype)
    return ops.astype(ops.flip(like._apply(iota, (), {"size": size}) + 1), like.dtype)


def poly(roots: Value) -> Value:
    """The polynomial of leading coefficient 1 that has these roots.

    Example:
        >>> sg.poly(np.array([1.0, -1.0]))
        array([ 1.,  0., -1.])
    """
    roots = _coefficients("poly", roots)
    roots = ops.divide(roots, 1)
    if isinstance(roots.shape[0], Dim):
        return _expanded(roots)
    found: Any = None
    for i in range(int(roots.shape[0])):
        root = slice_axis(roots, 0, i, i + 1)
        if found is None:
            found = ops.concatenate([root * 0 + 1, -root])
        else:
            found = ops.pad(found, (0, 1)) - ops.pad(found * root, (1, 0))
    if found is None:
        raise OptionError("poly: there is no root")
    return found


def _expanded(roots: Any) -> Any:
    """The polynomial with these roots, whose number is unknown, by a loop."""
    size = roots.shape[0]
    first = ops.equal(roots._apply(iota, (), {"size": size + 1}), 0)

    def step(found: Any, root: Any) -> tuple[Any, Any]:
        return found - ops.pad(slice_axis(found, 0, 0, size) * root, (1, 0)), None

    start = ops.astype(first, roots.dtype)
    return provided.scan(step, start, roots)[0]


def polyfit(
    x: Value,
    y: Value,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Value = None,
    cov: bool | str = False,
) -> Value:
    """The polynomial of degree `deg` of least squares through points, each with a weight `w`.

    Singular values up to `rcond` times the largest count as 0: the number of points times eps
    unless given. With `full` also the squared residuals, the rank, the singular values and rcond;
    with `cov` the covariances of the coefficients, scaled by the residuals unless it is
    "unscaled".

    Example:
        >>> sg.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1).round(6)
        array([2., 1.])
    """
    x, y = floats(x), floats(y)
    if deg < 0 or x.ndim != 1:
        raise OptionError(f"polyfit: degree {deg} through points in {x.ndim} axes")
    if full or cov:
        points = known_size("polyfit", x, 0)
        rcond = points * float(limits(np.dtype(x.dtype)).eps) if rcond is None else rcond
        if cov and not full and cov != "unscaled" and points <= deg + 1:
            raise OptionError(
                f"polyfit: {points} points leave no covariance of {deg + 1} coefficients"
            )
    left = vander(x, deg + 1)
    if w is not None:
        w = as_operand(w)
        left = left * ops.expand_dims(w, 1)
        y = y * (w if y.ndim == 1 else ops.expand_dims(w, 1))
    scale = ops.sqrt(ops.sum(ops.square(left), axis=0))
    right = y if y.ndim == 2 else ops.expand_dims(y, 1)
    solved = ops.lstsq(left / scale, right, rcond)
    found = solved[0] / ops.expand_dims(scale, 1)
    found = found if y.ndim == 2 else ops.squeeze(found, 1)
    if full:
        return found, solved.residuals, solved.rank, solved.s, rcond
    if not cov:
        return found
    base = ops.inv(ops.matmul(ops.transpose(left), left))
    base = base if y.ndim == 1 else ops.expand_dims(base, 2)
    return found, base if cov == "unscaled" else base * (solved.residuals / (points - deg - 1))
