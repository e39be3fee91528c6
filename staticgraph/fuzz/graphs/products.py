"""How a program comes to apply products, convolutions, losses, gathers and scatters."""

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


def within(g: Grower, index: Value, x: Value, axis: int) -> Value:
    """The index moved into the axis; not always."""
    if g.chance(0.03):
        return index
    wide = g.emit("astype", index, "int64") if x.shape[axis] != 0 else index
    inside = g.emit("remainder", wide, size(x, axis))
    return g.emit("subtract", inside, size(x, axis)) if g.chance(0.2) else inside


def _take(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: 0 < x.ndim < 4)
    index = g.pick("iu", lambda y: y.ndim < 3)
    axis = g.choose.randrange(x.ndim)
    return g.emit(op, x, within(g, index, x, axis), axis)


def _take_add(g: Grower, op: str) -> Any:
    index = g.pick("iu", lambda y: 0 < y.ndim < 3)
    x = g.pick("f", lambda x: x.shape[: index.ndim] == index.shape)
    inside = g.emit("remainder", g.emit("astype", index, "int64"), 4)
    return g.emit(op, x, inside, 0, 4)


def index_along(g: Grower, x: Value, axis: int) -> Value:
    """An index of x's rank along an axis, one for each row or as long as the axis."""
    index = g.emit("argmax", x, axis=axis, keepdims=True)
    if g.chance(0.6):
        numbers = g.emit("arange", size(x, axis))
        if axis < x.ndim - 1:
            numbers = g.emit("expand_dims", numbers, {"tuple": list(range(1, x.ndim - axis))})
        index = within(g, g.emit("add", index, numbers), x, axis)
    return index


def _take_along_axis(g: Grower, op: str) -> Any:
    x = g.pick("f", lambda x: x.ndim > 0)
    axis = g.choose.randrange(x.ndim)
    return g.emit(op, x, index_along(g, x, axis), axis)


def _along_add(g: Grower, op: str) -> Any:
    x = g.pick("f", lambda x: x.ndim > 0 and all(isinstance(s, int) for s in x.shape))
    axis = g.choose.randrange(x.ndim)
    index = index_along(g, x, axis)
    if index.shape != x.shape:
        raise NoOperandError
    return g.emit(op, x, index, axis, x.shape[axis])


def _one_hot(g: Grower, op: str) -> Any:
    x = g.pick("iu", lambda x: x.ndim < 4)
    return g.emit(op, x, g.choose.choice((1, 3)), g.choose.choice(("float32", "float64", "bool")))


# -- products, convolutions, losses ------------------------------------------------------------


def _multiplies(x: Value, y: Value) -> bool:
    """Whether x @ y is a product."""
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        return False
    return broadcast(x.shape[:-2], y.shape[:-2]) is not None


def _matmul(g: Grower, op: str) -> Any:
    x = g.pick("iuf", lambda x: x.ndim > 0)
    if isinstance(x.shape[-1], int) and x.kind == "f" and g.chance(0.3):
        return g.emit(op, x, g.operand((x.shape[-1], g.choose.choice((1, 3, 4)))))
    return g.emit(op, x, g.pick("iuf", lambda y: _multiplies(x, y)))


def _dot(g: Grower, op: str) -> Any:
    x = g.pick("iuf", lambda x: x.ndim == 1)
    return g.emit(op, x, g.pick("iuf", lambda y: y.shape == x.shape))


def _outer(g: Grower, op: str) -> Any:
    return g.emit(op, *(g.pick("iuf", lambda x: x.ndim == 1) for _ in range(2)))


def _gemm(g: Grower, op: str) -> Any:
    a = g.pick("f", lambda x: x.ndim == 2)
    b = g.pick("f", lambda y: y.ndim == 2 and _multiplies(a, y))
    c = g.emit("matmul", a, b)
    if g.chance(0.5):
        c = g.emit("tanh", c)
    return g.emit(op, c, a, b, g.choose.choice((1.0, -2.0)), g.choose.choice((1.0, 0.5)))


def image(g: Grower) -> Value:
    """Images of known sizes."""

    def fits(x: Value) -> bool:
        return x.ndim == 4 and all(isinstance(s, int) and s > 0 for s in x.shape)

    if g.depth == 0 and g.chance(0.5):
        sizes = (
            g.choose.randint(1, 2),
            g.choose.choice((1, 2, 4)),
            *g.choose.sample((3, 4, 5, 6), 2),
        )
        return g.operand(sizes)
    return g.pick("f", fits)


def _conv2d(g: Grower, op: str) -> Any:
    x = image(g)
    channels, groups = x.shape[1], 1
    if channels % 2 == 0 and g.chance(0.3):
        groups = g.choose.choice((2, channels))
    window = [g.choose.randint(1, 3), g.choose.randint(1, 3)]
    if op == "conv2d":
        shape = [groups * g.choose.randint(1, 2), channels // groups, *window]
        out = shape[0]
    else:
        shape = [channels, g.choose.randint(1, 2), *window]
        out = shape[1] * groups
    weight = g.operand(shape, x.expression.dtype.name)
    bias = g.operand((out,), x.expression.dtype.name) if g.chance(0.4) else None
    options = {
        "stride": g.choose.choice((1, 2, {"tuple": [2, 1]})), "padding": g.choose.choice((0, 1)),
        "dilation": g.choose.choice((1, 1, 2)), "groups": groups,
    }  # fmt: skip
    return g.emit(op, x, weight, bias, **options)


def _cross_entropy(g: Grower, op: str) -> Any:
    x = g.pick("f", lambda x: x.ndim in (1, 2, 3) and isinstance(x.shape[min(1, x.ndim - 1)], int))
    axis = min(1, x.ndim - 1)
    label = g.emit("argmin", x, axis=axis)
    if g.chance(0.3):
        label = g.emit("astype", label, g.choose.choice(("uint8", "int32")))
    return g.emit(op, x, label, reduction=g.choose.choice(("mean", "sum", "none")))


def _loss(g: Grower, op: str) -> Any:
    x = g.pick("f")
    y = g.beside(x, "f")
    if op != "mse_loss":
        y = g.emit("sigmoid", y)
    return g.emit(op, x, y, reduction=g.choose.choice(("mean", "sum", "none")))


def _layer_norm(g: Grower, op: str) -> Any:
    x = g.pick("f", lambda x: x.ndim > 0)
    count = g.choose.randint(1, min(2, x.ndim))
    shape = [size(x, a) for a in range(x.ndim - count, x.ndim)]
    args: list[Any] = []
    if all(isinstance(s, int) for s in shape) and g.chance(0.5):
        args = [g.operand(shape, x.expression.dtype.name) for _ in range(g.choose.randint(1, 2))]
    return g.emit(op, x, {"tuple": shape}, *args)


PRODUCTS: dict[str, Generator] = {
    "take": _take, "take_add": _take_add, "take_along_axis": _take_along_axis,
    "along_add": _along_add, "one_hot": _one_hot, "matmul": _matmul, "dot": _dot,
    "outer": _outer, "gemm": _gemm, "conv2d": _conv2d, "conv_transpose2d": _conv2d,
    "cross_entropy": _cross_entropy, "mse_loss": _loss,
    "binary_cross_entropy_with_logits": _loss, "layer_norm": _layer_norm,
}  # fmt: skip
"""The generators of these ops."""
