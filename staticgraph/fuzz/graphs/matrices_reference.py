"""What linear algebra means in plain NumPy: by elimination, in any precision."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.graphs.undefined import UndefinedError

ROUGH = {np.dtype(np.float32): 1e5}
"""How much sooner than a float64 matrix one of another dtype is singular."""


def _each(function: Callable[..., object], shape: Callable[..., Any]) -> Callable[..., Array]:
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


def _series(a: Array) -> Array:
    """The exponential: its series for the matrix halved until it is small, squared as often."""
    halvings = max(0, int(np.ceil(np.log2(np.abs(a).sum(0).max(initial=1e-9)))))
    small = a / a.dtype.type(2**halvings)
    term = result = _unit(a)
    for k in range(1, 25):
        term = term @ small / a.dtype.type(k)
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result


_inv = _each(lambda a: _eliminated(a, _unit(a))[0], lambda a: a)
_expm = _each(_series, lambda a: a)


def _expm_frechet(a: Array, e: Array) -> Array:
    size = a.shape[-1]
    return _expm(np.block([[a, e], [np.zeros_like(a), a]]))[..., :size, size:]


_determinant = _each(_det, lambda a: ())


def _pinv(a: Array, rtol: float) -> Array:
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError("a singular value that is none")
    return _inv(a)


def _logabsdet(a: Array) -> Array:
    return np.log(abs(_determinant(a)))


def _signdet(a: Array) -> Array:
    return np.sign(_determinant(a))


def _vector_norm(x: Array, ord: float, axis: object = None, keepdims: bool = False) -> Array:
    if isinstance(axis, list):
        axis = tuple(axis)
    options: Any = {"axis": axis, "keepdims": keepdims}
    if abs(ord) == np.inf:
        return (np.max if ord > 0 else np.min)(abs(x), **options)
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), **options)
    return np.sum(abs(x) ** x.dtype.type(ord), **options) ** (1 / x.dtype.type(ord))


def _wide(a: Array) -> Array:
    _check_definite(a @ np.swapaxes(a, -1, -2) if a.shape[-2] < a.shape[-1] else a)
    return a.astype(np.longdouble)


def _apart(values: Array) -> None:
    """UndefinedError for vectors of values that are nearly equal: any basis of theirs will do."""
    gaps = np.abs(np.diff(values))
    if gaps.size and gaps.min() < 1e-2 * abs(values).max():
        raise UndefinedError


def _rotated(a: Array) -> tuple[Array, Array]:
    """The eigenvalues in order and the vectors of a symmetric matrix, by Jacobi's rotations."""
    a = np.tril(a) + np.tril(a, -1).T
    n = len(a)
    vectors = np.eye(n, dtype=a.dtype)
    for _ in range(30):
        for i, j in itertools.combinations(range(n), 2):
            if a[i, j] == 0:
                continue
            angle = np.arctan2(2 * a[i, j], a[j, j] - a[i, i]) / 2
            turn = np.eye(n, dtype=a.dtype)
            turn[i, i] = turn[j, j] = np.cos(angle)
            turn[i, j], turn[j, i] = np.sin(angle), -np.sin(angle)
            a, vectors = turn.T @ a @ turn, vectors @ turn
    order = np.argsort(np.diag(a))
    return np.diag(a)[order], vectors[:, order]


def _each_listed(function: Callable[[Array], Sequence[Array]]) -> Callable[..., list[Array]]:
    """A function of one matrix that gives several arrays, for each of the leading axes."""

    def every(a: Array, **options: object) -> list[Array]:
        if not a.size:
            raise UndefinedError
        wide, lead = _wide(a), a.shape[:-2]
        found = [function(wide[place]) for place in np.ndindex(lead)]
        return [
            np.stack(column).reshape(lead + column[0].shape).astype(a.dtype)
            for column in zip(*found, strict=True)
        ]

    return every


def _eigh(a: Array) -> Sequence[Array]:
    values, vectors = _rotated(a)
    _apart(values)
    return values, vectors**2


def _svd(a: Array) -> Sequence[Array]:
    tall = len(a) >= len(a[0])
    squares, right = _rotated(a.T @ a if tall else a @ a.T)
    values, right = np.sqrt(np.maximum(squares[::-1], 0)), right[:, ::-1]
    _apart(values)
    if values.min() < 1e-2 * values.max():
        raise UndefinedError
    left = (a if tall else a.T) @ right / values
    u, v = (left, right) if tall else (right, left)
    return u**2, values, (v.T) ** 2


def _qr(a: Array) -> Sequence[Array]:
    columns: list[Array] = []
    for column in a.T:
        for _ in range(2):
            for other in columns:
                column = column - other * (other @ column)
        columns.append(column / np.sqrt(column @ column))
    q = np.stack(columns, 1)
    return q**2, np.triu(q.T @ a) ** 2


def _eigvalsh(a: Array) -> Array:
    return _each_listed(lambda one: [_rotated(one)[0]])(a)[0]


def _svdvals(a: Array) -> Array:
    squares = _each_listed(lambda one: [_rotated(one.T @ one)[0][::-1]])(a)[0]
    return np.sqrt(np.maximum(squares, 0))


def _lstsq(a: Array, b: Array) -> list[Array]:
    wide = _wide(a)
    x = (_inv(wide) @ b[..., None])[..., 0].astype(a.dtype)
    rank = np.full(a.shape[:-2], a.shape[-1], np.int64)
    return [x, rank, _svdvals(a)]


def _matrix_norm(a: Array, ord: Any, keepdims: bool = False) -> Array:
    if ord == "fro":
        found = np.sqrt(np.sum(a * a, (-2, -1)))
    elif ord in ("nuc", 2, -2):
        values = _svdvals(a)
        found = np.sum(values, -1) if ord == "nuc" else values[..., 0 if ord == 2 else -1]
    else:
        sums = np.sum(abs(a), -2 if abs(ord) == 1 else -1)
        found = (np.max if ord > 0 else np.min)(sums, -1)
    return found[..., None, None] if keepdims else np.asarray(found)


def _matrix_power(a: Array, n: int) -> Array:
    if n < 0:
        a, n = _inv(a), -n
    result = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    for _ in range(n):
        result = result @ a
    return np.array(result)


def _matrix_rank(a: Array) -> Array:
    values = _svdvals(a)
    if (values[..., -1] < 1e-2 * values[..., 0]).any():
        raise UndefinedError
    return np.full(a.shape[:-2], a.shape[-1], np.int64)


def _solve_triangular(a: Array, b: Array, upper: bool) -> Array:
    triangle = np.triu(a) if upper else np.tril(a)
    return _solve(triangle, b)


_solve = _each(lambda a, b: _eliminated(a, b)[0], lambda a, b: b)

REFERENCE: dict[str, Callable[..., Any]] = {
    "inv": _inv, "pinv": _pinv, "expm": _expm, "expm_frechet": _expm_frechet,
    "solve": _solve, "solve_triangular": _solve_triangular, "det": _determinant,
    "logabsdet": _logabsdet, "signdet": _signdet,
    "slogdet": lambda a: [_signdet(a), _logabsdet(a)], "cofactor": _each(_cofactor, lambda a: a),
    "cholesky": _each(_cholesky, lambda a: a),
    "vector_norm": _vector_norm, "eigh": _each_listed(_eigh), "svd": _each_listed(_svd),
    "qr": _each_listed(_qr), "eigvalsh": _eigvalsh, "svdvals": _svdvals, "lstsq": _lstsq,
    "matrix_norm": _matrix_norm, "matrix_power": _matrix_power, "matrix_rank": _matrix_rank,
}  # fmt: skip
"""What they mean."""
