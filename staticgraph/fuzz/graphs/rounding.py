"""How far rounding can move the results of a program: what a comparison may allow, and no more."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.dtypes import is_float, is_inexact, limits
from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.compiler.core.types import TensorType, mapped
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.expression import Expression, abstract
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops.programs.effects import EFFECTS
from staticgraph.compiler.ops.programs.regions import checkpoint
from staticgraph.fuzz.graphs.matrices_reference import REFERENCE
from staticgraph.fuzz.graphs.reference import EXACT

MATRICES = REFERENCE.keys() - {"vector_norm"}
_SUMS = frozenset(("sum", "matmul", "take_add", "along_add", "overlap_add"))
"""The ops that add up products or elements, of which others are made."""
UNIT = 3  # units in the last place by which a value is moved


def distance(left: Array, right: Array) -> Array:
    """|left - right|: 0 where both are nan, or the same infinity; inf where only one is."""
    both = np.result_type(left, right)
    wide: type[np.inexact] = np.float64 if both.itemsize <= 4 else np.longdouble
    if both.kind == "c":
        wide = np.clongdouble
    with np.errstate(all="ignore"):
        found = np.subtract(left, right, dtype=wide)
        found = np.abs(found)
        if np.isfinite(np.max(found, initial=0)):
            return found
        strange = ~np.isfinite(found)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(strange & same, 0, np.where(np.isnan(found), np.inf, found))


def tight(value: Array) -> Array:
    """What two ways of rounding one op may differ by."""
    if not is_inexact(value.dtype):
        return np.zeros(value.shape)
    info = limits(value.dtype)
    size = np.where(np.isfinite(value), np.abs(value).astype(np.float64), 0)
    return 16 * info.eps * size + 4 * float(info.tiny)


def spread(
    roots: Sequence[Expression], feeds: Mapping[Expression, Array], runs: int
) -> list[Array]:
    """Per element of each root, how far rounding moved it; inf where it changed its kind.

    Monte Carlo arithmetic (Parker 1997): every float that a node computes is moved at random by up
    to 3 units in the last place, and so are the operands of what sums; the spread of the results
    over several runs shows how they depend on rounding, steps included.
    """
    largest: list[Array] = []
    for found in _distances(roots, feeds, runs, interpret(roots, feeds)):
        gaps = [one.astype(np.float64) for one in found]
        largest = list(map(np.maximum, largest, gaps)) if largest else gaps
    return largest


def farthest(
    roots: Sequence[Expression],
    feeds: Mapping[Expression, Array],
    runs: int,
    axes: Sequence[int],
) -> list[Array]:
    """The largest elements of each array of `spread`: along all axes but so many first ones."""
    largest: list[Array] = []
    # from what composites are written in: what is wrong with that is not rounding
    for found in _distances(roots, feeds, runs, _noisy(roots, feeds, sizes(feeds), _STILL)):
        most = [largest_of(gaps, kept) for gaps, kept in zip(found, axes, strict=True)]
        largest = list(map(np.maximum, largest, most)) if largest else most
    return largest


def moved(
    roots: Sequence[Expression], feeds: Mapping[Expression, Array], rng: np.random.Generator
) -> list[Array]:
    """The values of one run of `spread`."""
    return _noisy(roots, feeds, sizes(feeds), rng)


def largest_of(values: Array, kept: int) -> Array:
    """The largest numbers along all axes but the first `kept`; 0 of none."""
    found = np.asarray(values, np.float64)
    return np.asarray(np.max(found, axis=tuple(range(kept, found.ndim)), initial=0.0))


def _distances(
    roots: Sequence[Expression],
    feeds: Mapping[Expression, Array],
    runs: int,
    plain: Sequence[Array],
) -> Iterator[Iterator[Array]]:
    """Per run, per root how far it was moved."""
    rng = np.random.default_rng(7)
    known = sizes(feeds)
    for _ in range(runs):
        try:
            noisy = _noisy(roots, feeds, known, rng)
        except LinAlgError:  # a decomposition that does not converge any more
            yield iter([np.full(value.shape, np.inf) for value in plain])
            return
        yield map(distance, noisy, plain)


def _noisy(
    roots: Sequence[Expression],
    feeds: Mapping[Expression, Array],
    sizes: Mapping[Unknown, int],
    rng: np.random.Generator,
) -> list[Array]:
    values: dict[Expression, Any] = dict(feeds)
    known: set[Expression] = set()  # numbers of constants, which are folded, op by op
    for node in ancestors(list(roots)):
        if node in feeds:
            continue
        given = [values[operand] for operand in node.operands]
        if isinstance(node.type, TensorType) and not node.ndim and known.issuperset(node.operands):
            known.add(node)
            values[node] = _evaluated(node, given, sizes, rng)
            continue
        if node.op in EFFECTS:  # what is checked need not hold of values that are moved
            values[node] = given[0]
            continue
        if node.op.name not in EXACT and node.op.name != "item":
            terms = _terms(node, given)
            move = _stirred if node.op.name in MATRICES else _moved
            exponents = given[1:] if node.op.name == "power" else []
            given = [move(value, rng, terms) for value in given]
            given[1:] = map(_whole_as_before, given[1:], exponents) if exponents else given[1:]
        if node.op.expand is not None and node.op.name not in EXACT and node.op is not checkpoint:
            leaves = [abstract(operand.type) for operand in node.operands]
            expanded = node.op.expand(*leaves, **node.attrs)
            fed = dict(zip(leaves, map(np.asarray, given), strict=True))
            (value,) = _noisy([expanded], fed, sizes, rng)
        else:
            value = _evaluated(node, given, sizes, rng)
            if node.op.name in _SUMS:
                value = _summed(node, value, given, sizes, rng)
        values[node] = _moved(value, rng) if node.operands else value
    return [np.asarray(values[root]) for root in roots]


def _summed(
    node: Expression,
    value: Any,
    operands: Sequence[Any],
    sizes: Mapping[Unknown, int],
    rng: np.random.Generator,
) -> Any:
    """A sum as it is at worst when each of its terms is moved: by so much of the terms' sizes.

    Where terms cancel, what is left of moves in all directions is small by chance, and the order
    in which they are added matters more (Higham, Accuracy and Stability, 2002, section 4.2).
    """
    if not is_float(value.dtype):
        return value
    step = float(UNIT * limits(value.dtype).eps) * np.sign(rng.uniform(-1, 1, np.shape(value)))
    with np.errstate(all="ignore"):
        sized = [abs(one) if is_inexact(np.asarray(one).dtype) else one for one in operands]
        most = step * _evaluated(node, sized, sizes, rng)
        return np.asarray(np.where(np.isfinite(most), value + most, value), value.dtype)


def _whole_as_before(moved: Any, value: Any) -> Any:
    """An exponent with its whole numbers as they were: of others a negative number has no power."""
    value = np.asarray(value)
    return np.where(value == np.trunc(value), value, moved) if value.dtype.kind == "f" else moved


class _Still(np.random.Generator):
    """A source of noise that is 0."""

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """The middle of the interval."""
        return np.full(size, 0.5, dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """The middle of the interval."""
        return np.full(() if size is None else size, (low + high) / 2)


_STILL = _Still(np.random.PCG64(0))


class _NoisyBody:
    """The body of a loop or a branch, in which every value is moved too."""

    def __init__(self, body: Body, rng: np.random.Generator) -> None:
        self.outputs = body.outputs
        self._inputs, self._results = _expressions(body)
        self._rng = rng

    def __call__(self, *arrays: object) -> list[Array]:
        fed = dict(zip(self._inputs, map(np.asarray, arrays), strict=True))
        return _noisy(self._results, fed, {}, self._rng)


@functools.lru_cache(maxsize=16)
def _expressions(body: Body) -> tuple[list[Expression], list[Expression]]:
    """Those of a body, which is evaluated once per iteration of what is around it."""
    return body.expressions()


def _evaluated(
    node: Expression,
    operands: Sequence[object],
    sizes: Mapping[Unknown, int],
    rng: np.random.Generator,
) -> Any:
    attrs = {
        name: mapped(value, lambda size: dims.evaluate(size, sizes))
        for name, value in node.attrs.items()
    }
    attrs |= {name: _NoisyBody(body, rng) for name, body in attrs.items() if isinstance(body, Body)}
    with np.errstate(all="ignore"):
        return node.op.value(*operands, **attrs)


def sizes(feeds: Mapping[Expression, Array]) -> dict[Unknown, int]:
    """The unknown sizes, each of which is an axis of an input."""
    found: dict[Unknown, int] = {}
    for node, value in feeds.items():
        for size, actual in zip(node.shape, value.shape, strict=True):
            atom = dims.as_unknown(size)
            if atom is not None:
                found[atom] = actual
    return found


def _moved(value: object, rng: np.random.Generator, terms: float = 1) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(one, rng, terms) for one in value)
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return _moved_complex(value, rng)
    if not is_float(value.dtype):
        return value
    step = float(UNIT * limits(value.dtype).eps)
    noise = _evenly(rng, value.shape, step)
    if terms > 64:
        # one after the other, that many terms of one sign may all be rounded the same way
        noise += step * rng.uniform(-1, 1) * terms / 64
    with np.errstate(all="ignore"):
        # to 24 bits, as the noise is: what is added is small, and rounded once
        moved = np.asarray(value + np.multiply(value, noise, dtype=value.dtype))
        if np.isfinite(np.sum(moved)) and np.count_nonzero(value) == value.size:
            return moved
    moved = np.where(np.isfinite(value), moved, value)
    # rules of gradients may give either zero, and nobody says which sign a nan has
    signed = (value == 0) | np.isnan(value)
    moved[signed] = np.copysign(value[signed], rng.uniform(-1, 1, int(signed.sum())))
    return moved


def _moved_complex(value: Array, rng: np.random.Generator) -> Array:
    """Each part by what rounding does to numbers of the whole's size: parts may cancel."""
    step = float(UNIT * limits(value.dtype).eps)
    noise = _evenly(rng, value.shape, step) + 1j * _evenly(rng, value.shape, step)
    with np.errstate(all="ignore"):
        moved = value + (np.abs(value) * noise).astype(value.dtype)
    return np.where(np.isfinite(value), moved, value)


def _evenly(rng: np.random.Generator, shape: tuple[int, ...], most: float) -> Array:
    """Numbers from -most to most: drawn with 24 bits, which takes half the time."""
    noise = rng.random(shape, np.float32)
    noise -= np.float32(0.5)
    noise *= np.float32(2 * most)
    return noise


def _stirred(value: object, rng: np.random.Generator, terms: float) -> Any:
    """A matrix as moved by elimination, whose errors have the size of its largest element."""
    value = np.asarray(value)
    with np.errstate(all="ignore"):
        largest = np.max(abs(value), axis=(-2, -1), keepdims=True, initial=0)
        noise = UNIT * limits(value.dtype).eps * rng.uniform(-1, 1, value.shape)
        return np.asarray(value + largest * noise, value.dtype)


def _terms(node: Expression, operands: Sequence[Array]) -> float:
    """How many elements of its operands an element of the result may be summed from."""
    if not operands or isinstance(operands[0], tuple):
        return 1
    shape = np.shape(operands[0])
    if node.op.name == "matmul":
        return float(shape[-1]) if shape else 1
    if node.op.name in ("cross_entropy", "layer_norm", "take_add", "along_add"):
        return float(np.size(operands[0]))
    axes = node.attrs.get("axes", (node.attrs.get("axis", len(shape)),))
    if not isinstance(axes, tuple):
        return float(np.size(operands[0]))
    return float(np.prod([size for axis, size in enumerate(shape) if axis in axes]))
