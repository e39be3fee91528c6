"""Functions of whole arrays: as the campaigns define them, or written out here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.op import all_ops
from staticgraph.fuzz.graphs.reference import REFERENCE
from tests.derivatives.case import Case, Draw, M, between, normal, regular

_RECORDS = {op.name: op for op in all_ops()}
INDEX = np.array([2, 0, 2])
BELOW = np.array([[1, 0, 2, 1], [0, 0, 1, 2]])
TARGET = np.array([1, 0, 2])


def exp(x: Any) -> Any:
    """Of each number."""
    return np.exp(np.asarray(x, object))


def _public(name: str) -> Callable[..., Any]:
    return getattr(ops, name, None) or _RECORDS[name]


def _op(
    name: str,
    *draws: Draw,
    given: tuple[Any, ...] = (),
    exact: Callable[..., Any] | None = None,
    ours: Callable[..., Any] | None = None,
    order: int = 2,
    **options: Any,
) -> Case:
    """An op of arrays, with more operands after them; by itself, and by its reference."""
    called, meant = ours or _public(name), exact or REFERENCE.get(name)
    assert meant is not None, name
    return Case(
        name,
        lambda *x: called(*x, *given, **options),
        lambda *x: meant(*x, *given, **options),
        draws,
        order=order,
    )  # fmt: skip


def _softmax(x: Any) -> Any:
    e = exp(x)
    return e / np.sum(e, -1, keepdims=True)


def _logsumexp(x: Any) -> Any:
    return np.log(np.sum(exp(x), -1))


def _cross_entropy(x: Any, target: Any) -> Any:
    logs = x - _logsumexp(x)[:, None]
    return -sum(logs[i, k] for i, k in enumerate(target)) / len(target)


def _logits(x: Any, y: Any) -> Any:
    return np.mean(np.log(1 + exp(-x)) * y + np.log(1 + exp(x)) * (1 - y))


def _var(x: Any) -> Any:
    centred = x - np.sum(x, -1, keepdims=True) / x.shape[-1]
    return np.sum(centred * centred, -1) / x.shape[-1]


def _layer_norm(x: Any, w: Any, b: Any) -> Any:
    centred = x - np.sum(x, -1, keepdims=True) / x.shape[-1]
    return centred / np.sqrt(_var(x) + M.mpf(1e-5))[:, None] * w + b


def _sparsemax(x: Any) -> Any:
    found = np.empty_like(x)
    for i, row in enumerate(x):
        for k in range(len(row), 0, -1):
            top = np.sort(row)[::-1][:k]
            threshold = (np.sum(top) - 1) / k
            if top[-1] > threshold:
                found[i] = np.maximum(row - threshold, M.mpf(0))
                break
    return found


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = (q @ k.T) * M.mpf(0.5)
    weights = exp(scores) * np.tri(*scores.shape, dtype=np.int64)
    return weights / np.sum(weights, -1, keepdims=True) @ v


def _attention_gradients(q: Any, k: Any, v: Any, g: Any) -> list[Any]:
    scores = (q @ k.T) * M.mpf(0.5)
    weights = _softmax(scores)
    by_weights = g @ v.T
    by_scores = weights * (by_weights - np.sum(weights * by_weights, -1, keepdims=True))
    by_scores = by_scores * M.mpf(0.5)
    return [by_scores @ k, by_scores.T @ q, weights.T @ g]


def _windows_norm(x: Any) -> Any:
    parts = [[x[:, :, i:i + 2, j:j + 2] for j in (0, 2)] for i in (0, 2)]  # fmt: skip
    return np.stack([
        np.stack([np.sum(one**3, (2, 3)) ** (M.mpf(1) / 3) for one in row], -1) for row in parts
    ], -2)  # fmt: skip


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """The solution of a x = b, and the determinant, by Gauss and Jordan."""
    a, b, size = a.copy(), b.copy(), M.mpf(1)
    for k in range(len(a)):
        size = size * a[k, k]
        b[k], a[k] = b[k] / a[k, k], a[k] / a[k, k]
        for i in range(len(a)):
            if i != k:
                b[i], a[i] = b[i] - a[i, k] * b[k], a[i] - a[i, k] * a[k]
    return b, size


def _solve(a: Any, b: Any) -> Any:
    return _eliminated(a, b)[0]


def _inv(a: Any) -> Any:
    return _solve(a, np.eye(len(a), dtype=int).astype(object) * M.mpf(1))


def _expm(a: Any) -> Any:
    term = total = np.eye(len(a), dtype=int).astype(object) * M.mpf(1)
    for k in range(1, 90):
        term = term @ a / k
        total = total + term
    return total


def _expm_frechet(a: Any, e: Any) -> Any:
    return _expm(np.block([[a, e], [0 * a, a]]))[:2, 2:]


def _det(a: Any) -> Any:
    return _eliminated(a, a)[1]


def _cholesky(a: Any) -> Any:
    a = (a + a.T) / 2
    found = np.full(a.shape, M.mpf(0))
    for i in range(len(a)):
        for j in range(i + 1):
            rest = a[i, j] - np.sum(found[i, :j] * found[j, :j])
            found[i, j] = np.sqrt(rest) if i == j else rest / found[j, j]
    return found


def _definite(n: int) -> Draw:
    def draw(rng: np.random.Generator) -> Any:
        a = rng.normal(size=(n, n))
        return a @ a.T + np.eye(n)

    return draw


def _symmetric(a: Any) -> Any:
    return (a + sg.swapaxes(a, -1, -2)) / 2


def _pinv(a: Any) -> Any:
    return _solve(a.T @ a, a.T)


def _gram_schmidt(a: Any) -> list[Any]:
    columns: list[Any] = []
    for column in a.T:
        for other in columns:
            column = column - other * (other @ column)
        columns.append(column / np.sqrt(column @ column))
    q = np.stack(columns, 1)
    r = q.T @ a * np.triu(np.ones((a.shape[1],) * 2, int))
    return [q**2, r**2]


def _squared_qr(a: Any) -> Any:
    q, r = sg.linalg.qr(a)
    return [q**2, r**2]


def _rebuilt(a: Any) -> Any:
    values, vectors = sg.linalg.eigh(_symmetric(a))
    return (vectors * values**3) @ sg.swapaxes(vectors, -1, -2)


def _cubed(a: Any) -> Any:
    a = (a + a.T) / 2
    return a @ a @ a


def _rebuilt_svd(a: Any) -> Any:
    u, s, vh = sg.linalg.svd(a, full_matrices=False)
    return (u * s**3) @ vh


def _norm(x: Any) -> Any:
    return np.sum(abs(x) ** 3, -1) ** (M.mpf(1) / 3)


def _cum(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def running(x: Any) -> Any:
        found = [x[:, 0]]
        for i in range(1, x.shape[1]):
            found.append(combine(found[-1], x[:, i]))
        return np.stack(found, 1)

    return running


def _sum_of_squares(x: Any) -> Any:
    return np.sum(x * x)


_MATRIX, _ROW, _IMAGE = normal(2, 4), normal(3), normal(1, 2, 4, 4)
ARRAYS = [
    _op("after", _MATRIX), _op("recompute", _MATRIX),
    _op("along_add", _MATRIX, given=(BELOW, 1, 3)),
    _op("along_prod", _MATRIX, given=(BELOW, 1, 3)),
    _op("along_extremum", _MATRIX, given=(BELOW, 1, 3),
        exact=lambda x, index, axis, size: _extremum(x)),
    _op("as_strided", normal(7), given=((2, 3), (4, 1))),
    _op("attention", normal(3, 2), normal(3, 2), normal(3, 2), exact=_attention,
        ours=lambda q, k, v: ops.attention(q, k, v, scale=0.5, causal=True)),
    _op("attention_gradients", normal(3, 2), normal(3, 2), normal(3, 2), normal(3, 2),
        exact=_attention_gradients, ours=lambda *x: ops.attention_gradients(
            *x, scale=0.5, causal=False)),
    _op("avg_pool2d", _IMAGE, given=(2,)), _op("max_pool2d", _IMAGE, given=(2,)),
    _op("lp_pool2d", lambda rng: rng.uniform(0.1, 2, (1, 2, 4, 4)), exact=_windows_norm,
        ours=lambda x: sg.lp_pool2d(x, 3, 2)),
    _op("conv2d", _IMAGE, normal(2, 1, 3, 2), normal(2), given=(1, 1, 1, 2)),
    _op("conv_transpose2d", normal(1, 2, 2, 2), normal(2, 1, 2, 3), given=(None, 2)),
    _op("sliding_windows", normal(6), given=((2,), (1,), (2,))),
    _op("overlap_add", normal(3, 2), given=((7,), (2,), (1,))),
    _op("binary_cross_entropy_with_logits", normal(3), between(0, 1, 3), exact=_logits),
    _op("cross_entropy", normal(3, 3), given=(TARGET,), exact=_cross_entropy),
    _op("mse_loss", _ROW, _ROW, exact=lambda x, y: _sum_of_squares(x - y) / 3),
    _op("broadcast_to", _ROW, given=((2, 3),)), _op("reshape", _MATRIX, given=((4, 2),)),
    _op("transpose", _MATRIX), _op("expand_dims", _ROW, given=(0,)),
    _op("squeeze", normal(1, 3)), _op("flip", _MATRIX, given=(1,)),
    _op("strided_slice", _MATRIX, given=((0, 1), (2, 2), (1, 2))),
    _op("embed", _ROW, given=((1,), (8,), (2,))),
    _op("concatenate", _ROW, normal(2), ours=lambda x, y: sg.concatenate([x, y]),
        exact=lambda x, y: np.concatenate([x, y])),
    _op("take", _MATRIX, given=(INDEX, 1)), _op("take_add", normal(3, 2), given=(INDEX, 0, 4)),
    _op("take_along_axis", _MATRIX, given=(BELOW, 1)),
    _op("index_add", normal(3, 2), normal(3, 2), ours=lambda x, y: sg.index_add(x, INDEX, y),
        exact=lambda x, y: REFERENCE["index_add"](x, INDEX, y)),
    _op("index_copy", normal(3, 2), normal(3, 2), ours=lambda x, y: sg.index_copy(x, INDEX, y),
        exact=lambda x, y: REFERENCE["index_copy"](x, INDEX, y)),
    _op("index_fill", normal(3), normal(), ours=lambda x, y: sg.index_fill(x, INDEX, y, 0),
        exact=lambda x, y: np.stack([+y if i in INDEX else row for i, row in enumerate(x)])),
    _op("put", _MATRIX, _ROW, ours=lambda x, y: sg.put(x, INDEX, y),
        exact=lambda x, y: REFERENCE["put"](x, INDEX, y)),
    *(_op(name, normal(2, 4), normal(2, 4), ours=lambda x, y, f=name: getattr(sg, f)(x, BELOW, y),
          exact=lambda x, y, f=name: REFERENCE[f](x, BELOW, y)) for name in ("scatter",
          "scatter_add")),
    _op("scatter_reduce", normal(2, 4), normal(2, 4),
        ours=lambda x, y: sg.scatter_reduce(x, BELOW, y, 1, "prod"),
        exact=lambda x, y: REFERENCE["scatter_reduce"](x, BELOW, y, 1, "prod")),
    _op("sum", _MATRIX, given=(1,)), _op("prod", _MATRIX, given=(1,)),
    _op("mean", _MATRIX, exact=lambda x: np.sum(x, 1) / 4, ours=lambda x: sg.mean(x, 1)),
    _op("max", _MATRIX, given=(1,)), _op("min", _MATRIX, given=(1,)),
    _op("var", _MATRIX, exact=_var, ours=lambda x: sg.var(x, -1)),
    _op("std", _MATRIX, exact=lambda x: np.sqrt(_var(x)), ours=lambda x: sg.std(x, -1)),
    _op("logsumexp", _MATRIX, exact=_logsumexp, ours=lambda x: sg.logsumexp(x, -1)),
    _op("softmax", _MATRIX, exact=_softmax),
    _op("log_softmax", _MATRIX, exact=lambda x: np.log(_softmax(x))),
    _op("sparsemax", _MATRIX, exact=_sparsemax),
    _op("layer_norm", _MATRIX, normal(4), normal(4), exact=_layer_norm,
        ours=lambda x, w, b: sg.layer_norm(x, 4, w, b)),
    _op("cumsum", _MATRIX, exact=_cum(lambda x, y: x + y), ours=lambda x: sg.cumsum(x, 1)),
    _op("cumprod", _MATRIX, exact=_cum(lambda x, y: x * y), ours=lambda x: sg.cumprod(x, 1)),
    _op("logcumsumexp", _MATRIX, exact=lambda x: np.log(_cum(lambda a, b: a + b)(exp(x))),
        ours=lambda x: sg.logcumsumexp(x, 1)),
    _op("sort", _MATRIX, exact=lambda x: np.sort(x, -1)),
    _op("matmul", normal(2, 3), normal(3, 2)), _op("dot", _ROW, _ROW), _op("outer", _ROW, _ROW),
    _op("gemm", normal(2, 2), normal(2, 3), normal(3, 2), given=(0.5, -2.0),
        exact=lambda c, a, b, s, t: a @ b / 2 - 2 * c),
    _op("vector_norm", _MATRIX, exact=_norm, ours=lambda x: sg.linalg.vector_norm(x, 3, axis=-1)),
    _op("expm", normal(3, 3), exact=_expm),
    _op("expm_frechet", normal(2, 2), normal(2, 2), exact=_expm_frechet),
    _op("inv", regular(3, 3), exact=_inv), _op("det", regular(3, 3), exact=_det),
    _op("logabsdet", regular(3, 3), exact=lambda a: np.log(abs(np.asarray(_det(a))))),
    _op("cofactor", regular(3, 3), exact=lambda a: _inv(a).T * _det(a)),
    _op("solve", regular(3, 3), normal(3, 2), exact=_solve),
    _op("solve_triangular", regular(3, 3), normal(3, 2),
        exact=lambda a, b: _solve(a * np.tri(3, dtype=np.int64), b)),
    _op("cholesky", _definite(3), exact=_cholesky,
        ours=lambda a: sg.linalg.cholesky(_symmetric(a))),
    _op("pinv", normal(4, 2), exact=_pinv), _op("qr", normal(4, 2), exact=_gram_schmidt,
        ours=_squared_qr),
    _op("eigh", _definite(3), exact=_cubed, ours=_rebuilt),
    _op("eigvalsh", _definite(3), exact=lambda a: np.trace(_cubed(a)),
        ours=lambda a: sg.sum(sg.linalg.eigvalsh(_symmetric(a)) ** 3)),
    _op("svd", normal(3, 2), exact=lambda a: a @ a.T @ a, ours=_rebuilt_svd),
    _op("svdvals", normal(3, 2), exact=lambda a: np.trace(a.T @ a @ a.T @ a),
        ours=lambda a: sg.sum(sg.linalg.svdvals(a) ** 4)),
]  # fmt: skip


def _extremum(x: Any) -> Any:
    """The largest of the elements of two rows that share a place of three."""
    return np.array([
        [max([x[i, j] for j in range(4) if BELOW[i, j] == k], default=M.mpf(0)) for k in range(3)]
        for i in range(2)
    ])  # fmt: skip
