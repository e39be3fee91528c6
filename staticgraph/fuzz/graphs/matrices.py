"""How a program comes to apply linear algebra: to matrices that are far from singular."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.graphs.grow import Generator, Grower, Value

FAR = 4.0
"""What is added to the diagonal of matrices of elements below 1."""


def _square(g: Grower, singular: float = 0.05) -> Value:
    """Matrices with a dominant diagonal; not always."""
    x = g.pick("f", lambda x: 0 < x.ndim < 4 and isinstance(x.shape[-1], int) and x.shape[-1] < 5)
    small = g.emit("tanh", x)
    column, row = (g.emit("expand_dims", small, axis) for axis in (small.ndim, small.ndim - 1))
    products = g.emit("multiply", column, row)
    if g.chance(singular):
        return products  # of rank 1
    size, dtype = x.shape[-1], x.expression.dtype.name
    unit = g.emit("one_hot", g.emit("arange", size), size, dtype)
    return g.emit("add", products, g.emit("multiply", unit, FAR))


def _of_a_square(g: Grower, op: str) -> Any:
    return g.emit(op, _square(g))


def _slogdet(g: Grower, op: str) -> Any:
    names = [f"{g.fresh()}s", f"{g.fresh()}l"]
    return g.add({"name": names, "op": op, "args": [_square(g).ref]})


def _solve(g: Grower, op: str) -> Any:
    a = _square(g)
    b = g.emit("expand_dims", g.emit("sum", a, axis=-1), -1)
    return g.emit(op, a, g.emit("concatenate", [b, a], -1) if g.chance(0.4) else b)


def _solve_triangular(g: Grower, op: str) -> Any:
    a = _square(g)
    b = g.emit("expand_dims", g.emit("sum", a, axis=-1), -1)
    return g.emit(op, a, b, upper=g.chance(0.5))


def _pinv(g: Grower, op: str) -> Any:
    return g.emit(op, _square(g, 0.0), rtol=1e-4)


def _vector_norm(g: Grower, op: str) -> Any:
    x = g.pick("f")
    order = g.choose.choice((2, 1, 3, 0, {"float": "inf"}, {"float": "-inf"}))
    return g.emit(op, g.emit("tanh", x), order, axis=g.axes(x), keepdims=g.chance(0.5))


def _symmetric(g: Grower) -> Value:
    """Symmetric matrices whose eigenvalues are apart; not always."""
    x = g.pick("f", lambda x: 0 < x.ndim < 3 and x.shape[-1] in (1, 2, 3))
    small = g.emit("multiply", g.emit("tanh", x), 0.3)
    column, row = (g.emit("expand_dims", small, axis) for axis in (small.ndim, small.ndim - 1))
    products = g.emit("multiply", column, row)
    size, dtype = x.shape[-1], x.expression.dtype.name
    unit = g.emit("one_hot", g.emit("arange", size), size, dtype)
    numbers = g.emit("astype", g.emit("add", g.emit("arange", size), 1), dtype)
    apart = g.emit("multiply", unit, numbers)
    return g.emit("add", products, apart)


def _of_a_symmetric(g: Grower, op: str) -> Any:
    return g.emit(op, _symmetric(g))


def _factors(g: Grower, op: str) -> Any:
    x = _symmetric(g) if op != "qr" else _square(g, 0.0)
    if op == "svd" and x.ndim > 1 and g.chance(0.5):  # of a matrix that is not square
        x = g.emit("getitem", x, {"tuple": [{"ellipsis": 1}, {"slice": [1, None, None]}]})
    count = {"svd": 3}.get(op, 2)
    names = [f"{g.fresh()}{letter}" for letter in "pqr"[:count]]
    options = {"options": {"full_matrices": False}} if op == "svd" else {}
    return g.add({"name": names, "op": op, "args": [x.ref], **options})


def _lstsq(g: Grower, op: str) -> Any:
    a = _square(g, 0.0)
    b = g.emit("sum", a, axis=-1)
    names = [f"{g.fresh()}{letter}" for letter in "xrv"]
    return g.add({"name": names, "op": op, "args": [a.ref, b.ref]})


def _matrix_norm(g: Grower, op: str) -> Any:
    order = g.choose.choice(("fro", "nuc", 1, -1, 2, -2, {"float": "inf"}, {"float": "-inf"}))
    return g.emit(op, _symmetric(g), order, keepdims=g.chance(0.5))


def _matrix_power(g: Grower, op: str) -> Any:
    return g.emit(op, _symmetric(g), g.choose.choice((0, 1, 2, 3, -1)))


def _slope(g: Grower, op: str) -> Any:
    a = _square(g)
    return g.emit(op, a, g.emit("tanh", a))


GENERATORS: dict[str, Generator] = {
    **dict.fromkeys(
        ("inv", "det", "logabsdet", "signdet", "cholesky", "cofactor", "expm"), _of_a_square
    ),
    "slogdet": _slogdet, "expm_frechet": _slope,
    "solve": _solve, "solve_triangular": _solve_triangular,
    "pinv": _pinv, "vector_norm": _vector_norm,
    **dict.fromkeys(("eigvalsh", "svdvals", "matrix_rank"), _of_a_symmetric),
    **dict.fromkeys(("eigh", "svd", "qr"), _factors), "lstsq": _lstsq,
    "matrix_norm": _matrix_norm, "matrix_power": _matrix_power,
}  # fmt: skip
"""The generators of these ops."""
