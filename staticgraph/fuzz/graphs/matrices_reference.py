"""What linear algebra means in plain NumPy: by elimination, in any precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.fuzz.graphs.undefined import UndefinedError

Array = Any
ROUGH = {np.dtype(np.float32): 1e5}
"""How much sooner than a float64 matrix one of another dtype is singular."""


def _each(function: Callable[..., Any], shape: Callable[..., Any]) -> Callable[..., Array]:
    """A function of one matrix, and maybe another, for each of the leading axes."""

    def every(*arrays: Array) -> Array:
        lead = np.broadcast_shapes(*(one.shape[:-2] for one in arrays))
        _check_definite(arrays[0])
        whole = [np.broadcast_to(one, lead + one.shape[-2:]) for one in arrays]
        result = np.empty(lead + shape(*(one.shape[-2:] for one in arrays)), arrays[0].dtype)
        for place in np.ndindex(lead):
            result[place] = function(*(one[place] for one in whole))
        return result

    return every


def _check_definite(a: Array) -> None:
    """UndefinedError if LAPACK may make anything of a matrix: nan in it, or nearly singular."""
    if not np.isfinite(a).all():
        raise UndefinedError
    if a.size and a.dtype != np.longdouble:
        worst = np.max(np.linalg.cond(a.astype(np.float64)))
        if worst * ROUGH.get(a.dtype, 1.0) > 1e9:
            raise UndefinedError


def _eliminated(a: Array, b: Array) -> tuple[Array, Array]:
    """The solution of a x = b by Gauss and Jordan, and the determinant."""
    a, b = a.copy(), b.copy()
    size = a.dtype.type(1)
    for k in range(len(a)):
        pivot = k + int(np.argmax(abs(a[k:, k])))
        if a[pivot, k] == 0:
            raise np.linalg.LinAlgError("a singular matrix")
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
            size = -size
        size = size * a[k, k]
        b[k], a[k] = b[k] / a[k, k], a[k] / a[k, k]
        for i in range(len(a)):
            if i != k:
                b[i], a[i] = b[i] - a[i, k] * b[k], a[i] - a[i, k] * a[k]
    return b, size


def _unit(a: Array) -> Array:
    return np.eye(len(a), dtype=a.dtype)


def _det(a: Array) -> Array:
    try:
        return _eliminated(a, _unit(a))[1]
    except np.linalg.LinAlgError:
        return a.dtype.type(0)


def _cofactor(a: Array) -> Array:
    result = np.empty_like(a)
    for i in range(len(a)):
        for j in range(len(a)):
            rest = np.delete(np.delete(a, i, 0), j, 1)
            result[i, j] = (-1) ** (i + j) * _det(rest)
    return result


def _cholesky(a: Array) -> Array:
    result = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i + 1):
            rest = a[i, j] - np.sum(result[i, :j] * result[j, :j])
            if i == j and not rest > 0:
                raise np.linalg.LinAlgError("a singular matrix")
            result[i, j] = np.sqrt(rest) if i == j else rest / result[j, j]
    return result


_inv = _each(lambda a: _eliminated(a, _unit(a))[0], lambda a: a)
_determinant = _each(_det, lambda a: ())


def _pinv(a: Array, rtol: float) -> Array:
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("a singular value that is none")
    return _inv(a)


def _logabsdet(a: Array) -> Array:
    return np.log(abs(_determinant(a)))


def _signdet(a: Array) -> Array:
    return np.sign(_determinant(a))


def _vector_norm(x: Array, ord: float, axis: Any = None, keepdims: bool = False) -> Array:
    if isinstance(axis, list):
        axis = tuple(axis)
    options: Any = {"axis": axis, "keepdims": keepdims}
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(abs(x), **options)
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), **options)
    return np.sum(abs(x) ** x.dtype.type(ord), **options) ** (1 / x.dtype.type(ord))


REFERENCE: dict[str, Callable[..., Any]] = {
    "inv": _inv, "pinv": _pinv,
    "solve": _each(lambda a, b: _eliminated(a, b)[0], lambda a, b: b), "det": _determinant,
    "logabsdet": _logabsdet, "signdet": _signdet,
    "slogdet": lambda a: [_signdet(a), _logabsdet(a)], "cofactor": _each(_cofactor, lambda a: a),
    "cholesky": _each(_cholesky, lambda a: a),
    "vector_norm": _vector_norm,
}  # fmt: skip
"""What they mean."""
