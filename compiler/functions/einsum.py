"""Sums of products in Einstein's notation, contracted two operands at a time in a cheap order.

The order is that of opt_einsum (Smith, Gray 2018, "opt_einsum - A Python package for optimizing
contraction order for einsum-like expressions"): the best of all orders for few operands, else the
greedy one. Each step is a sum, a product of elements or a matrix product, so that gradients,
batches and kernels are those of these ops.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import diagonal
from staticgraph.compiler.ops.declare import as_operand, common_dtype

__all__ = ["einsum", "einsum_path"]

_ASSUMED = 64
"""What a size that is unknown counts for when orders are compared."""
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_EXHAUSTIVE = 5
"""Up to so many operands all orders are compared: 180 of 5."""

Labels = tuple[str, ...]


class Formula(NamedTuple):
    """The labels of the axes of each operand, and of the result."""

    inputs: tuple[Labels, ...]
    output: Labels


def einsum(subscripts: Value, *operands: Value, optimize: bool | str | None = None) -> Value:
    """The sums of products of operands whose axes have labels: "ij,jk->ik" is a matrix product.

    Axes with one label are multiplied element by element, and summed over unless the label is in
    the result, behind "->". Without "->" the result has the labels that appear once, in the order
    of the alphabet. A label twice in an operand is its diagonal; "..." are leading axes that
    broadcast. Labels may be lists of numbers after each operand, and a last one of the result.

    Args:
        subscripts: the labels, or the first operand if labels are lists.
        operands: the tensors.
        optimize: "greedy", "optimal" or False (from left to right); by default the best of all
            orders for up to five operands, and else the greedy one.

    Raises:
        ShapeError: axes of one label have different sizes, or an operand has other axes.
        OptionError: the labels are none.

    Example:
        >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> sg.einsum("ij,kj->ik", a, a)
        array([[ 5., 11.],
               [11., 25.]])
    """
    formula, tensors = _read(subscripts, operands)
    sizes = _sizes(formula, tensors)
    # one dtype from the start, as a product of narrow integers would overflow before it is widened
    dtype = common_dtype(*tensors)
    terms = [
        _without_repeats(x if x.dtype == dtype else ops.astype(x, dtype), labels)
        for x, labels in zip(tensors, formula.inputs, strict=True)
    ]
    for first, second in _order(formula, sizes, optimize):
        kept = set(formula.output).union(
            *(labels for i, (_, labels) in enumerate(terms) if i not in (first, second))
        )
        made = _contract(terms[first], terms[second], kept, sizes)
        terms = [one for i, one in enumerate(terms) if i not in (first, second)] + [made]
    ((x, labels),) = terms
    x, labels = _summed(x, labels, set(formula.output))
    return _arranged(x, labels, formula.output)


def einsum_path(
    subscripts: Value, *operands: Value, optimize: bool | str | None = None
) -> list[tuple[int, int]]:
    """The order in which `einsum` contracts: places of two operands, whose result becomes the last.

    Example:
        >>> a = np.zeros((2, 3))
        >>> sg.einsum_path("ij,kj,k->i", a, a, np.zeros(2))
        [(1, 2), (0, 1)]
    """
    formula, tensors = _read(subscripts, operands)
    return _order(formula, _sizes(formula, tensors), optimize)


# -- reading ---------------------------------------------------------------------------------------


def _read(subscripts: Any, operands: Sequence[Any]) -> tuple[Formula, list[Any]]:
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    tensors = [as_operand(one) for one in operands]
    if len(parts) != len(tensors):
        raise OptionError(f"einsum: {text!r} is of {len(parts)} operands, {len(tensors)} given")
    if not set(text) <= set("->,.") | {c for c in text if c.isalpha()}:
        raise OptionError(f"einsum: {text!r} has other characters than letters, commas, '->', '.'")
    longest = 0
    inputs = []
    for part, x in zip(parts, tensors, strict=True):
        before, dots, after = part.partition("...")
        if "." in before + after:
            raise OptionError(f"einsum: {part!r} has dots that are no '...'")
        rest = x.ndim - len(before) - len(after)
        if rest < 0 or (rest and not dots):
            raise ShapeError(f"einsum: {part!r} does not name the {x.ndim} axes of an operand")
        longest = max(longest, rest)
        inputs.append((*before, *_leading(rest), *after))
    if arrow:
        before, dots, after = right.partition("...")
        output: Labels = (*before, *_leading(longest if dots else 0), *after)
    else:
        letters = sorted(set(left) - set(",."))
        once = [one for one in letters if left.count(one) == 1]
        output = (*_leading(longest), *once)
    known = set().union(*inputs)
    for label in output:
        if label not in known or output.count(label) > 1:
            raise OptionError(f"einsum: {text!r}: {label!r} of the result is not one input label")
    return Formula(tuple(inputs), output), tensors


def _leading(count: int) -> Labels:
    """The labels of leading axes, numbered from the last."""
    return tuple(str(i) for i in reversed(range(count)))


def _from_lists(given: Sequence[Any]) -> tuple[str, list[Any]]:
    """Operands followed by lists of numbers, as text."""
    pairs, rest = len(given) // 2, given[len(given) // 2 * 2 :]
    parts = [list(given[2 * i + 1]) for i in range(pairs)]
    named = {int(one) for part in parts for one in part if one is not Ellipsis}
    if len(named) > len(_LETTERS):
        raise OptionError(f"einsum: {len(named)} labels, of at most {len(_LETTERS)}")
    letters: dict[Any, str] = dict(zip(sorted(named), _LETTERS, strict=False))
    letters[Ellipsis] = "..."
    last = list(rest[0]) if rest else []
    for label in last:
        if label not in letters:
            raise OptionError(f"einsum: label {label} of the result is none of the operands")
    text = ",".join("".join(letters[one] for one in part) for part in parts)
    if rest:
        text += "->" + "".join(letters[one] for one in last)
    return text, [given[2 * i] for i in range(pairs)]


def _sizes(formula: Formula, tensors: Sequence[Any]) -> dict[str, Size]:
    """The size of each label; an axis of size 1 of a leading label broadcasts."""
    sizes: dict[str, Size] = {}
    for x, labels in zip(tensors, formula.inputs, strict=True):
        for label, size in zip(labels, x.shape, strict=True):
            before = sizes.get(label, size)
            if label.isdigit() and 1 in (before, size):
                sizes[label] = size if before == 1 else before
                continue
            common = unify(before, size)
            if common is None:
                raise ShapeError(f"einsum: axes {label!r} have the sizes {before} and {size}")
            sizes[label] = common
    return sizes


# -- the order -------------------------------------------------------------------------------------


def _order(
    formula: Formula, sizes: Mapping[str, Size], optimize: bool | str | None
) -> list[tuple[int, int]]:
    count = len(formula.inputs)
    if optimize is None or optimize is True:
        optimize = "optimal" if count <= _EXHAUSTIVE else "greedy"
    known = {
        label: _ASSUMED if isinstance(size, Dim) else int(size) for label, size in sizes.items()
    }
    terms = [frozenset(one) for one in formula.inputs]
    output = frozenset(formula.output)
    if optimize is False:
        return [(0, 1), *((0, count - 1 - i) for i in range(1, count - 1))][: count - 1]
    if optimize == "optimal":
        return _optimal(terms, output, known)[1]
    if optimize == "greedy":
        return _greedy(terms, output, known)
    raise OptionError(f"einsum: optimize is 'greedy', 'optimal', True or False, not {optimize!r}")


def _count(labels: frozenset[str], sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[one] for one in labels)


def _left(
    terms: Sequence[frozenset[str]], output: frozenset[str], i: int, j: int
) -> frozenset[str]:
    """The labels of the product of two terms, summed over what nothing else needs."""
    needed = output.union(*(one for k, one in enumerate(terms) if k not in (i, j)))
    return (terms[i] | terms[j]) & needed


def _optimal(
    terms: list[frozenset[str]], output: frozenset[str], sizes: Mapping[str, int]
) -> tuple[int, list[tuple[int, int]]]:
    """The fewest multiplications of all orders, and the order."""
    if len(terms) < 2:
        return 0, []
    best: tuple[int, list[tuple[int, int]]] | None = None
    for i, j, rest in _pairs(terms, output):
        cost = _count(terms[i] | terms[j], sizes)
        if best is None or cost < best[0]:
            after, path = _optimal(rest, output, sizes)
            if best is None or cost + after < best[0]:
                best = cost + after, [(i, j), *path]
    assert best is not None
    return best


def _pairs(
    terms: list[frozenset[str]], output: frozenset[str]
) -> Iterator[tuple[int, int, list[frozenset[str]]]]:
    for i, j in itertools.combinations(range(len(terms)), 2):
        rest = [one for k, one in enumerate(terms) if k not in (i, j)]
        yield i, j, [*rest, _left(terms, output, i, j)]


def _greedy(
    terms: list[frozenset[str]], output: frozenset[str], sizes: Mapping[str, int]
) -> list[tuple[int, int]]:
    """At each step the pair whose result is smallest beside what it is made of; then few products.

    Outer products wait until nothing else is left, as they grow.
    """
    path = []
    while len(terms) > 1:
        found = []
        for i, j, rest in _pairs(terms, output):
            grown = _count(rest[-1], sizes) - _count(terms[i], sizes) - _count(terms[j], sizes)
            apart = not terms[i] & terms[j]
            found.append((apart, grown, _count(terms[i] | terms[j], sizes), i, j, rest))
        *_, i, j, terms = min(found, key=lambda one: one[:5])
        path.append((i, j))
    return path


# -- contraction -----------------------------------------------------------------------------------

Term = tuple[Any, Labels]


def _without_repeats(x: Any, labels: Labels) -> Term:
    """The diagonal of axes with one label."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = (*(one for i, one in enumerate(labels) if i not in (first, second)), label)
    return x, labels


def _summed(x: Any, labels: Labels, kept: set[str]) -> Term:
    """The sum over the axes that nothing else needs."""
    gone = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    if not gone:
        return x, labels
    return summed(x, gone), tuple(one for one in labels if one in kept)


def summed(x: Any, axes: int | tuple[int, ...]) -> Any:
    """The sum in x's own dtype, as matrix products have it; of bools whether one holds."""
    found = ops.sum(x, axis=axes)
    return found if np.dtype(x.dtype) == found.dtype else ops.astype(found, x.dtype)


def _arranged(x: Any, labels: Labels, wanted: Labels) -> Any:
    """x with its axes in the wanted order."""
    return x if labels == wanted else ops.transpose(x, tuple(labels.index(one) for one in wanted))


def _contract(first: Term, second: Term, kept: set[str], sizes: Mapping[str, Size]) -> Term:
    """The product of two terms, summed over the labels that are not kept."""
    a, left = _summed(*first, kept | set(second[1]))
    b, right = _summed(*second, kept | set(left))
    shared = [one for one in left if one in right]
    inside = tuple(one for one in shared if one not in kept)
    batch = tuple(one for one in shared if one in kept)
    rows = tuple(one for one in left if one not in shared)
    columns = tuple(one for one in right if one not in shared)
    if not inside:
        output = (*batch, *rows, *columns)
        return _spread(a, left, output) * _spread(b, right, output), output
    a = _arranged(_grown(a, left, inside, sizes), left, (*batch, *rows, *inside))
    b = _arranged(_grown(b, right, inside, sizes), right, (*batch, *inside, *columns))
    own = (*a.shape[len(batch) : len(batch) + len(rows)], *b.shape[len(batch) + len(inside) :])
    product = ops.matmul(_matrices(a, len(batch), len(rows)), _matrices(b, len(batch), len(inside)))
    shape = (*product.shape[: len(batch)], *own)
    return ops.reshape(product, shape), (*batch, *rows, *columns)


def _grown(x: Any, labels: Labels, summed: Labels, sizes: Mapping[str, Size]) -> Any:
    """x with axes of size 1 that broadcast, and are summed over, in their size."""
    shape = tuple(
        sizes[one] if one in summed and one.isdigit() else size
        for one, size in zip(labels, x.shape, strict=True)
    )
    return x if shape == tuple(x.shape) else ops.broadcast_to(x, shape)


def _spread(x: Any, labels: Labels, output: Labels) -> Any:
    """x with an axis for each label of the output, of size 1 where it has none."""
    own = tuple(one for one in output if one in labels)
    missing = tuple(i for i, one in enumerate(output) if one not in labels)
    x = _arranged(x, labels, own)
    return ops.expand_dims(x, missing) if missing else x


def _matrices(x: Any, batch: int, rows: int) -> Any:
    """x as matrices: axes behind the batch as one, and those behind these as another."""
    shape = tuple(x.shape)
    lead, first, last = shape[:batch], shape[batch : batch + rows], shape[batch + rows :]
    if len(first) == len(last) == 1:
        return x
    return ops.reshape(x, (*lead, dims.product(first), dims.product(last)))
