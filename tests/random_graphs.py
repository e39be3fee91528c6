"""Random graphs over the op library, and how far a compiled one may be from NumPy.

A graph is grown node by node from a `random.Random`, so that Hypothesis can shrink it and a seed
can name it. Operands are chosen so that their sizes agree for every value of the unknown sizes n
and m; functions with poles are applied where they are tame, so that most values are finite.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import staticgraph as sg
from compiler.errors import StaticGraphError
from compiler.graph.expression import Expression, ancestors
from compiler.runtime.interpret import interpret

SIZES = (
    {"n": 3, "m": 5}, {"n": 1, "m": 1}, {"n": 0, "m": 2}, {"n": 4, "m": 1}, {"n": 2, "m": 0},
    {"n": 66, "m": 131},
)  # fmt: skip
"""Values of the unknown sizes, of which one executable sees several."""

# What rounds its operands' sum, so that its error is relative to the operands, not to the result;
# comparisons, extrema and steps see their operands as they are.
_EXACT_OPERANDS = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "sign", "floor", "ceil",
    "trunc", "round", "max", "min", "argmax", "argmin", "maximum", "minimum", "floor_divide",
    "remainder", "relu", "where", "clamp",
}  # fmt: skip


@dataclass
class Graph:
    """A random graph: what to compile, and what it may be compared with."""

    inputs: list[Expression] = field(default_factory=list)
    variables: list[sg.Variable] = field(default_factory=list)
    pool: list[Expression] = field(default_factory=list)
    outputs: list[Expression] = field(default_factory=list)
    updates: list[tuple[sg.Variable, Expression]] = field(default_factory=list)


class Grower:
    """Grows one graph by random choices."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.graph = Graph()
        self.float = choose.choice(("float32", "float64"))

    def grow(self, steps: int) -> Graph:
        for i in range(self.choose.randint(1, 3)):
            self.add_leaf(i)
        if not any(leaf.dtype.kind == "f" for leaf in self.graph.pool):
            self.graph.pool.append(self.input("f", ("n", 3), self.float))
        for _ in range(steps):
            made = self.try_one()
            if made is not None:
                self.graph.pool.append(made)
        self.finish()
        return self.graph

    def try_one(self) -> Expression | None:
        try:
            return self.choose.choice(OPS)(self)
        except StaticGraphError:  # the maximum of nothing, and the like
            return None

    # -- leaves ------------------------------------------------------------------------------

    def add_leaf(self, i: int) -> None:
        shape = self.choose.choice(SHAPES)
        dtype = self.choose.choice((self.float,) * 6 + DTYPES)
        kind = self.choose.random()
        if kind < 0.6:
            leaf = self.input(f"x{i}", shape, dtype)
        else:
            static = tuple(size if isinstance(size, int) else 3 for size in shape)
            value = values(np.random.default_rng(self.choose.randint(0, 99)), static, dtype)
            if kind < 0.85:
                leaf = sg.variable(value, f"v{i}")
                self.graph.variables.append(leaf)
            else:
                leaf = sg.constant(value)
        self.graph.pool.append(leaf)

    def input(self, name: str, shape: tuple[Any, ...], dtype: str) -> Expression:
        leaf = sg.placeholder(name, shape, dtype)
        self.graph.inputs.append(leaf)
        return leaf

    # -- choices -----------------------------------------------------------------------------

    def pick(self, test: Callable[[Expression], bool] = lambda x: True) -> Expression | None:
        """A random member of the pool, the younger the likelier."""
        found = [x for x in self.graph.pool if test(x)]
        if not found:
            return None
        return found[max(self.choose.randrange(len(found)), self.choose.randrange(len(found)))]

    def real(self) -> Expression | None:
        return self.pick(lambda x: x.dtype.kind == "f")

    def pair(self, kinds: str, others: str) -> tuple[Expression, Expression] | None:
        """Two members of the pool whose dtypes are of these kinds, and that broadcast."""
        x = self.pick(lambda x: x.dtype.kind in kinds)
        if x is None:
            return None
        y = self.pick(lambda y: y.dtype.kind in others and broadcast(x.shape, y.shape) is not None)
        return None if y is None else (x, y)

    def axes(self, x: Expression) -> Any:
        if x.ndim == 0 or self.choose.random() < 0.25:
            return None
        if self.choose.random() < 0.6:
            return self.choose.randrange(-x.ndim, x.ndim)
        return tuple(self.choose.sample(range(x.ndim), self.choose.randint(0, x.ndim)))

    # -- roots -------------------------------------------------------------------------------

    def finish(self) -> None:
        graph, choose = self.graph, self.choose
        graph.outputs = [self.pick() for _ in range(choose.randint(1, 3))]
        if choose.random() < 0.6:
            graph.outputs += self.gradients()
        if choose.random() < 0.2:
            graph.outputs.append(choose.choice(graph.outputs))
        for variable in graph.variables:
            if choose.random() < 0.8:
                graph.updates.append((variable, self.next_value(variable)))
        roots = [*graph.outputs, *(new for _, new in graph.updates)]
        needed = {node.serial for node in ancestors(roots)}
        graph.outputs += [leaf for leaf in graph.inputs if leaf.serial not in needed]
        choose.shuffle(graph.outputs)

    def gradients(self) -> list[Expression]:
        terms = [x for x in (self.real() for _ in range(2)) if x is not None]
        terms = [sg.sum(x * self.choose.choice((1.0, 0.5, x))).astype(self.float) for x in terms]
        loss = terms[0] + terms[-1] * 0.25
        leaves = [
            node
            for node in ancestors([loss])
            if node.dtype.kind == "f" and (not node.operands or self.choose.random() < 0.1)
        ]
        wrt = [leaf for leaf in leaves if leaf.op.name != "constant"]
        return [loss, *sg.grad(loss, wrt)] if wrt else [loss]

    def next_value(self, variable: sg.Variable) -> Expression:
        same = self.pick(lambda x: x.type == variable.type)
        if same is not None and self.choose.random() < 0.5:
            return same
        other = self.pick(
            lambda x: (
                x.dtype == variable.dtype and broadcast(x.shape, variable.shape) == variable.shape
            )
        )
        if other is None or variable.dtype.kind == "b":
            return variable
        return variable * 2 - other if self.choose.random() < 0.5 else sg.maximum(variable, other)


def broadcast(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The shape that two shapes broadcast to whatever the unknown sizes are, or None."""
    result = []
    for axis in range(1, max(len(left), len(right)) + 1):
        sizes = [shape[-axis] for shape in (left, right) if axis <= len(shape)]
        long = [size for size in sizes if size != 1] or [1]
        if long[0] != long[-1]:
            return None
        result.append(long[0])
    return tuple(reversed(result))


SHAPES = (
    (), ("n",), ("m",), (1,), (3,), ("n", "m"), ("n", 3), (3, "m"), ("n", 1), (1, "m"), (2, 3),
    (3, 3), (1, 1), ("n", "m", 2), (2, "n", 3), ("n", 1, "m"), (2, 1, 3), ("n", "n"),
)  # fmt: skip
DTYPES = ("int64", "int32", "uint8", "bool", "float32", "float64")


# -- ops: each gives a new expression, or None where the pool has no operand for it ------------


def _unary(g: Grower) -> Expression | None:
    x = g.real()
    if x is None:
        return None
    function = g.choose.choice((
        sg.tanh, sg.sin, sg.cos, sg.sigmoid, sg.relu, sg.negative, sg.square, sg.abs, sg.softplus,
        sg.gelu, sg.silu, sg.atan, sg.erf, sg.sign, sg.floor, sg.leaky_relu, sg.elu, sg.round,
        sg.stop_gradient, sg.isnan, sg.expm1,
        lambda x: sg.exp(-sg.abs(x)), lambda x: sg.exp(sg.tanh(x)) - 1, lambda x: sg.negative(-x),
        lambda x: sg.log(1 + x * x), lambda x: sg.sqrt(sg.abs(x) + 0.5), lambda x: x * 1,
        lambda x: 1 / sg.sqrt(x * x + 0.25), lambda x: sg.log(sg.sigmoid(x)), lambda x: x / 4,
        lambda x: (sg.abs(x) + 0.5) ** g.choose.choice((0, 0.5, 1, 2, -1, 3, 1.5)),
        lambda x: x / 3, lambda x: x // 1.0, lambda x: sg.clip(x, -0.5, 1.0),
        lambda x: sg.log1p(sg.exp(sg.tanh(x))),
    ))  # fmt: skip
    return function(x)


def _binary(g: Grower) -> Expression | None:
    pair = g.pair("f", "f")
    if pair is None:
        return None
    function = g.choose.choice((
        sg.add, sg.subtract, sg.multiply, sg.multiply, sg.maximum, sg.minimum, sg.atan2,
        lambda x, y: x / (y * y + 1), lambda x, y: sg.sin(x) * y, lambda x, y: x + x * y,
        lambda x, y: x // (sg.abs(y) + 1.5), lambda x, y: x % (y * y + 2),
    ))  # fmt: skip
    return function(*pair)


def _integer(g: Grower) -> Expression | None:
    pair = g.pair("iu", "iu")
    if pair is None:
        return None
    function = g.choose.choice((
        sg.add, sg.subtract, sg.multiply, sg.floor_divide, sg.remainder, sg.maximum,
        lambda x, y: x // 1, lambda x, y: sg.abs(x) + 1, lambda x, y: sg.sign(x),
        lambda x, y: x.astype("float32"), lambda x, y: (x % 7).astype("uint8"),
        lambda x, y: x * 0.5,
    ))  # fmt: skip
    return function(*pair)


def _truth(g: Grower) -> Expression | None:
    pair = g.pair("b", "b")
    if pair is None:
        return None
    function = g.choose.choice((
        sg.logical_and, sg.logical_or, sg.logical_xor, lambda x, y: ~x, lambda x, y: x == y,
        lambda x, y: x.astype("int32"), lambda x, y: sg.any(x, axis=g.axes(x)),
        lambda x, y: sg.all(x, axis=g.axes(x)), lambda x, y: x.astype("float64"),
    ))  # fmt: skip
    return function(*pair)


def _compare(g: Grower) -> Expression | None:
    pair = g.pair("biuf", "biuf")
    if pair is None:
        return None
    return g.choose.choice((sg.less, sg.greater_equal, sg.equal, sg.not_equal))(*pair)


def _where(g: Grower) -> Expression | None:
    pair = g.pair("b", "f")
    if pair is None:
        return None
    condition, x = pair
    y = g.choose.choice((0.0, x, -x, sg.constant(1.0)))
    return sg.where(condition, x, y) if g.choose.random() < 0.5 else sg.where(condition, y, x)


def _reduce(g: Grower) -> Expression | None:
    x = g.pick()
    if x is None:
        return None
    names = ("max", "min") if x.dtype.kind != "f" else (
        "sum", "sum", "max", "min", "mean", "prod", "var", "std", "logsumexp"
    )  # fmt: skip
    if x.dtype.kind != "f":
        names += ("sum", "prod")
    name = g.choose.choice(names)
    if name == "prod" and x.dtype.kind == "f":
        x = sg.tanh(x)
    return getattr(sg, name)(x, axis=g.axes(x), keepdims=g.choose.random() < 0.5)


def _along_axis(g: Grower) -> Expression | None:
    x = g.real()
    if x is None or not x.ndim:
        return None
    axis = g.choose.randrange(x.ndim)
    function = g.choose.choice((
        sg.softmax, sg.log_softmax, sg.argmax, sg.argmin,
        lambda x, axis: sg.log(sg.softmax(x, axis)), lambda x, axis: x - x.mean(axis, True),
        lambda x, axis: sg.log(sg.sum(sg.exp(sg.tanh(x)), axis=axis, keepdims=True)),
        lambda x, axis: sg.sum(x * x.max(axis, keepdims=True), axis=axis),
        lambda x, axis: x / (sg.sum(x * x, axis=axis, keepdims=True) + 1),
        lambda x, axis: sg.layer_norm(x, x.shape[axis:]),
    ))  # fmt: skip
    return function(x, axis)


def _cross_entropy(g: Grower) -> Expression | None:
    x = g.pick(lambda x: x.dtype.kind == "f" and x.ndim == 2 and isinstance(x.shape[1], int))
    if x is None:
        return None
    label = sg.arange(x.shape[0]) % x.shape[1]
    return sg.cross_entropy(x, label, reduction=g.choose.choice(("mean", "sum", "none")))


def _matmul(g: Grower) -> Expression | None:
    x = g.pick(lambda x: x.dtype.kind != "b" and x.ndim > 0)
    if x is None:
        return None
    y = g.pick(lambda y: y.dtype.kind != "b" and _multiplies(x, y))
    return None if y is None else x @ y


def _multiplies(x: Expression, y: Expression) -> bool:
    if not y.ndim or x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        return False
    return broadcast(x.shape[:-2], y.shape[:-2]) is not None


def _move(g: Grower) -> Expression | None:
    x = g.pick()
    if x is None:
        return None
    order = tuple(g.choose.sample(range(x.ndim), x.ndim))
    moves: list[Callable[[Expression], Expression]] = [
        lambda x: sg.transpose(x, order), lambda x: sg.reshape(x, -1),
        lambda x: sg.expand_dims(x, g.choose.randint(0, x.ndim)), sg.squeeze,
        lambda x: sg.broadcast_to(x, (g.choose.choice((2, 3)), *x.shape)),
    ]  # fmt: skip
    if x.ndim:
        axis = g.choose.randrange(x.ndim)
        moves += [
            lambda x: sg.flip(x, axis), lambda x: sg.transpose(x, order), lambda x: _sliced(g, x),
            lambda x: sg.swapaxes(x, 0, -1), lambda x: _sliced(g, x), lambda x: sg.flip(x),
            lambda x: sg.pad(x, g.choose.choice((1, (0, 2))), g.choose.choice((0, 1))),
            lambda x: sg.concatenate([x, x], axis), lambda x: _repeated(g, x, axis),
            lambda x: sg.concatenate([x, sg.flip(x, axis)], axis),
            lambda x: sg.stack([x, x], axis),
        ]  # fmt: skip
    if x.ndim > 1:
        moves += [
            lambda x: sg.reshape(x, (-1, *x.shape[2:])),
            lambda x: sg.reshape(sg.swapaxes(x, 0, 1), (-1, *x.shape[2:])),
        ]
    return g.choose.choice(moves)(x) if x.ndim < 4 else sg.reshape(x, -1)


def _repeated(g: Grower, x: Expression, axis: int) -> Expression:
    if x.shape[axis] != 1:
        return x
    return sg.broadcast_to(x, (*x.shape[:axis], 3, *x.shape[axis + 1 :]))


def _sliced(g: Grower, x: Expression) -> Expression:
    keys: list[Any] = []
    for size in x.shape:
        slices = (
            slice(None), slice(None), slice(None, None, -1), slice(1, None), slice(None, -1),
            slice(None, None, 2), slice(-2, None), slice(None, 1),
        )  # fmt: skip
        known = isinstance(size, int) and size > 0
        keys.append(g.choose.choice((*slices, 0, -1) if known else slices))
    return x[tuple(keys)]


def _gather(g: Grower) -> Expression | None:
    x = g.pick(lambda x: x.ndim > 0)
    index = g.pick(lambda x: x.dtype.kind == "i" and x.ndim < 3)
    if x is None or index is None:
        return None
    axis = g.choose.randrange(x.ndim)
    return sg.take(x, index % x.shape[axis], axis=axis)


def _gather_along(g: Grower) -> Expression | None:
    x = g.pick(lambda x: x.ndim > 0)
    if x is None:
        return None
    axis = g.choose.randrange(x.ndim)
    size = x.shape[axis]
    index = sg.argmax(x, axis=axis, keepdims=True)
    if g.choose.random() < 0.5:
        numbers = sg.arange(size)
        numbers = sg.expand_dims(numbers, tuple(range(1, x.ndim - axis)))
        index = (index + numbers) % size
    return sg.take_along_axis(x, index - size if g.choose.random() < 0.3 else index, axis)


def _size(g: Grower) -> Expression | None:
    x = g.pick(lambda x: x.ndim > 0)
    if x is None:
        return None
    size = x.shape[g.choose.randrange(x.ndim)]
    return g.choose.choice((
        lambda: sg.arange(size), lambda: sg.zeros((size, 2), g.float),
        lambda: sg.full((), 0.5) * size, lambda: sg.one_hot(sg.arange(size), 3, g.float),
    ))()  # fmt: skip


OPS = (
    _unary, _unary, _unary, _binary, _binary, _binary, _reduce, _reduce, _along_axis, _along_axis,
    _matmul, _matmul, _move, _move, _move, _integer, _truth, _compare, _where, _gather,
    _gather_along, _cross_entropy, _size,
)  # fmt: skip


# -- values ------------------------------------------------------------------------------------


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Random values of a dtype; among floats ties, zeros of both signs, and no extremes."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if kind in "iu":
        return np.asarray(rng.integers(0 if kind == "u" else -4, 5, shape), dtype)
    smooth = rng.normal(size=shape)
    coarse = np.round(2 * smooth) / 2
    return np.asarray(np.where(rng.random(shape) < 0.7, smooth, coarse), dtype)


def feeds_of(graph: Graph, sizes: Mapping[str, int], seed: int) -> dict[Expression, np.ndarray]:
    """Random values for the inputs, and for the variables those that they have."""
    rng = np.random.default_rng(seed)
    feeds: dict[Expression, np.ndarray] = {}
    for leaf in graph.inputs:
        shape = tuple(size if isinstance(size, int) else sizes[str(size)] for size in leaf.shape)
        feeds[leaf] = values(rng, shape, leaf.dtype)
    return feeds | {variable: variable.value for variable in graph.variables}


def spread(
    roots: list[Expression], feeds: Mapping[Expression, np.ndarray], runs: int = 6
) -> list[np.ndarray]:
    """Per element of each root, how far rounding can move it: nan where its kind changes.

    Monte Carlo arithmetic (Parker 1997): every float that a node computes is moved at random by
    up to 8 units in the last place, and so are the operands of what sums; the spread of the
    results over several runs shows how they depend on rounding, steps included.
    """
    rng = np.random.default_rng(7)
    plain = interpret(roots, feeds)
    largest = [np.zeros(value.shape) for value in plain]
    for _ in range(runs):
        for i, value in enumerate(_noisy(roots, feeds, rng)):
            with np.errstate(all="ignore"):
                moved = np.abs(np.subtract(value, plain[i], dtype=np.float64))
            largest[i] = np.maximum(largest[i], moved)
    return largest


def _noisy(
    roots: list[Expression], feeds: Mapping[Expression, np.ndarray], rng: np.random.Generator
) -> list[np.ndarray]:
    values = dict(feeds)

    def moved(value: np.ndarray, terms: float = 1) -> np.ndarray:
        if value.dtype.kind != "f":
            return value
        step = 8 * np.finfo(value.dtype).eps
        noise = step * rng.uniform(-1, 1, value.shape)
        if terms > 64:
            # one after the other, that many terms of one sign may all be rounded the same way
            noise += step * rng.uniform(-1, 1) * terms / 64
        return np.asarray(value * (1 + noise), value.dtype)

    for node in ancestors(roots):
        if node in feeds:
            continue
        given = {operand: values[operand] for operand in node.operands}
        if node.op.name not in _EXACT_OPERANDS:
            terms = _terms(node, list(given.values()))
            given = {operand: moved(value, terms) for operand, value in given.items()}
        (value,) = interpret([node], {**feeds, **given})
        values[node] = moved(value) if node.operands else value
    return [values[root] for root in roots]


def _terms(node: Expression, operands: list[np.ndarray]) -> float:
    """How many elements of its operands an element of the result may be summed from."""
    if not operands:
        return 1
    shape = operands[0].shape
    if node.op.name == "matmul":
        return shape[-1]
    if node.op.name in ("cross_entropy", "layer_norm"):
        return operands[0].size
    axes = node.attrs.get("axes", (node.attrs.get("axis", len(shape)),))
    return float(np.prod([size for axis, size in enumerate(shape) if axis in axes]))
