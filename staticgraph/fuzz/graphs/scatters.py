"""How a program comes to apply scatters, along an axis and anywhere."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.graphs.grow import (
    Generator,
    Grower,
    NoOperandError,
    Value,
    broadcast,
    size,
)
from staticgraph.fuzz.graphs.products import index_along, within


def _ranked(g: Grower, kinds: str = "iuf") -> Value:
    return g.pick(kinds, lambda x: x.ndim > 0)


def _values(g: Grower, x: Value, shape: tuple[object, ...]) -> Any:
    """What broadcasts to a shape: another value, or a number."""
    if g.chance(0.25):
        return 2 if x.kind in "iu" else 1.5
    kinds = "iu" if x.kind in "iu" else "f"
    return g.pick(kinds, lambda y: y.ndim <= len(shape) and broadcast(y.shape, shape) == shape)


def _scatter(g: Grower, op: str) -> Any:
    x = _ranked(g)
    axis = g.choose.randrange(x.ndim)
    index = index_along(g, x, axis)
    return g.emit(op, x, index, _values(g, x, index.shape), axis)


def _scatter_reduce(g: Grower, op: str) -> Any:
    x = _ranked(g)
    axis = g.choose.randrange(x.ndim)
    index = index_along(g, x, axis)
    values = _values(g, x, index.shape)
    how = g.choose.choice(("sum", "prod", "mean", "amax", "amin"))
    return g.emit(op, x, index, values, axis, how, g.chance(0.5))


def _laid(g: Grower, op: str) -> Any:
    x = g.pick("f", lambda x: x.ndim > 0)
    axis = g.choose.randrange(x.ndim)
    index = index_along(g, x, axis)
    if index.shape != x.shape or not all(isinstance(one, int) for one in x.shape):
        raise NoOperandError
    if op == "along_prod":
        x = g.emit("tanh", x)
    return g.emit(op, x, index, axis, x.shape[axis])


def _last_positions(g: Grower, op: str) -> Any:
    x = _ranked(g)
    axis = g.choose.randrange(x.ndim)
    return g.emit(op, index_along(g, x, axis), axis, size(x, axis))


def _vector(g: Grower) -> Value:
    return g.pick("iu", lambda y: y.ndim == 1)


def _index(g: Grower, op: str) -> Any:
    x = _ranked(g)
    axis = g.choose.randrange(x.ndim)
    index = within(g, _vector(g), x, axis)
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    return g.emit(op, x, index, _values(g, x, () if op == "index_fill" else shape), axis)


def _places(g: Grower, x: Value) -> Value:
    """An integer tensor of positions in the flat x."""
    index = g.pick("iu", lambda y: y.ndim < 3)
    whole = g.emit("reshape", x, {"tuple": [-1]})
    return within(g, index, whole, 0)


def _put(g: Grower, op: str) -> Any:
    x = _ranked(g)
    index = _places(g, x)
    return g.emit(op, x, index, _values(g, x, index.shape))


def _index_put(g: Grower, op: str) -> Any:
    x = _ranked(g)
    first = within(g, _vector(g), x, 0)
    indices = [first]
    if x.ndim > 1 and g.chance(0.5):
        other = g.pick("iu", lambda y: y.ndim == 1 and y.shape == first.shape)
        indices.append(within(g, other, x, 1))
    shape = (first.shape[0], *x.shape[len(indices) :])
    return g.emit(op, x, indices, _values(g, x, shape), accumulate=g.chance(0.5))


def _ravel_multi_index(g: Grower, op: str) -> Any:
    first, second = _vector(g), g.pick("iu", lambda y: y.ndim < 2)
    if broadcast(first.shape, second.shape) is None:
        raise NoOperandError
    return g.emit(
        op, [g.emit("remainder", first, 3), g.emit("remainder", second, 4)], {"tuple": [3, 4]}
    )


def _masked_fill(g: Grower, op: str) -> Any:
    x = g.pick("iuf")
    mask = g.beside(x, "b") if g.chance(0.5) else g.emit("greater", x, 0)
    return g.emit(op, x, mask, _values(g, x, ()))


GENERATORS: dict[str, Generator] = {
    **dict.fromkeys(("scatter", "scatter_add", "put_along_axis"), _scatter),
    "scatter_reduce": _scatter_reduce, "along_prod": _laid, "along_extremum": _laid,
    "last_positions": _last_positions,
    **dict.fromkeys(("index_add", "index_copy", "index_fill"), _index),
    "put": _put, "index_put": _index_put, "ravel_multi_index": _ravel_multi_index,
    "masked_fill": _masked_fill,
}  # fmt: skip
"""The generators of these ops."""
