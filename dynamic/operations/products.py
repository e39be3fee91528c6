"""Products of matrices and sums of products."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import promote_types, require_dtype
from staticgraph.dynamic.core.errors import AutogradError, SizeError
from staticgraph.dynamic.operations.arranging import movedim
from staticgraph.dynamic.operations.complex_numbers import conj
from staticgraph.dynamic.operations.diagonals import diagonal
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.narrowing import as_without, narrowing
from staticgraph.dynamic.tensors.outputs import put_out
from staticgraph.dynamic.tensors.scaled import refuse_complex_factor
from staticgraph.dynamic.tensors.short_ways import stack_products
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "einsum", "ger", "inner", "kron", "mm",
    "mv", "tensordot", "vdot",
]  # fmt: skip

Labels = list[str]


def _plus(input: Any, product: Any, beta: float, alpha: float) -> Any:
    if alpha != 1:
        refuse_complex_factor("alpha", alpha, product)
        product = product * alpha
    if beta != 1:
        refuse_complex_factor("beta", beta, product)
    if beta == 0:  # nan in the input is ignored
        total = product + ops.where(np.array(False), input, 0)
    else:
        total = (input if beta == 1 else input * beta) + product
    if total.ndim != product.ndim or tuple(total.shape) != tuple(product.shape):
        raise AutogradError(
            f"the expanded size of the input, {list(input.shape)}, must match that of the product, "
            f"{list(product.shape)}"
        )
    return total


def _require_rank(function: str, name: str, operand: Any, rank: int) -> None:
    if operand.ndim != rank:
        kind = ("vector", "matrix", "3D tensor")[rank - 1]
        raise AutogradError(
            f"{name} must be a {kind}: {function} of a tensor of shape {list(operand.shape)}"
        )


def mm(input: object, mat2: object) -> Any:
    """The product of two matrices: (n, m), (m, p) -> (n, p).

    Example:
        >>> dynamic.mm(dynamic.ones(1, 3), dynamic.ones(3, 2))
        tensor([[3., 3.]])
    """
    _require_rank("mm", "self", input, 2)
    _require_rank("mm", "mat2", mat2, 2)
    return ops.matmul(input, mat2)


@as_without
def mv(input: object, vec: object) -> Any:
    """The product of a matrix and a vector: (n, m), (m,) -> (n,).

    Example:
        >>> dynamic.mv(dynamic.ones(2, 3), dynamic.ones(3))
        tensor([3., 3.])
    """
    _require_rank("mv", "self", input, 2)
    _require_rank("mv", "vec", vec, 1)
    try:
        return ops.matmul(input, vec)
    except SizeError as error:
        raise SizeError(str(error).replace(": matmul: ", ": mv: ")) from None


def bmm(input: object, mat2: object, *, out: Any = None) -> Any:
    """The products of matrices in two stacks: (b, n, m), (b, m, p) -> (b, n, p).

    Example:
        >>> dynamic.bmm(dynamic.ones(2, 1, 3), dynamic.ones(2, 3, 4)).shape
        torch.Size([2, 1, 4])
    """
    if out is not None:
        return put_out("bmm", out, bmm(input, mat2), (input, mat2))
    return _products.function(input, mat2)


def _bmm(input: object, mat2: object) -> Any:
    _require_rank("bmm", "batch1", input, 3)
    _require_rank("bmm", "batch2", mat2, 3)
    return eager_ops.bmm(input, mat2)


_products = stack_products(_bmm)


@called("Addmm")
@narrowing
def addmm(input: object, mat1: object, mat2: object, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta input + alpha mat1 @ mat2: (n, p), (n, m), (m, p) -> (n, p); the input broadcasts.

    Example:
        >>> dynamic.addmm(dynamic.ones(2), dynamic.ones(1, 3), dynamic.ones(3, 2), beta=10)
        tensor([[13., 13.]])
    """
    require_dtype("self and mat2 must have the same dtype, but got {1} and {0}", mat2, input)
    _require_rank("addmm", "mat1", mat1, 2)
    _require_rank("addmm", "mat2", mat2, 2)
    return _plus(input, ops.matmul(mat1, mat2), beta, alpha)


@called("Addmv")
@as_without
def addmv(input: object, mat: object, vec: object, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta input + alpha mat @ vec: (n,), (n, m), (m,) -> (n,).

    Example:
        >>> dynamic.addmv(dynamic.ones(1), dynamic.ones(1, 3), dynamic.ones(3))
        tensor([4.])
    """
    _require_rank("addmv", "mat", mat, 2)
    _require_rank("addmv", "vec", vec, 1)
    return _plus(input, ops.matmul(mat, vec), beta, alpha)


@called("Addr")
def addr(input: object, vec1: object, vec2: object, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta input + alpha vec1 vec2^T: (n, m), (n,), (m,) -> (n, m).

    Example:
        >>> dynamic.addr(
        ...     dynamic.zeros(2, 2), dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0])
        ... )
        tensor([[3., 4.],
                [6., 8.]])
    """
    _require_rank("addr", "vec1", vec1, 1)
    _require_rank("addr", "vec2", vec2, 1)
    return _plus(input, ops.outer(vec1, vec2), beta, alpha)


@called("Baddbmm")
@narrowing
def baddbmm(
    input: object, batch1: object, batch2: object, *, beta: float = 1, alpha: float = 1
) -> Any:
    """beta input + alpha batch1 @ batch2: (b, n, p), (b, n, m), (b, m, p) -> (b, n, p).

    Example:
        >>> dynamic.baddbmm(dynamic.ones(1), dynamic.ones(2, 1, 3), dynamic.ones(2, 3, 1)).shape
        torch.Size([2, 1, 1])
    """
    _require_rank("baddbmm", "batch1", batch1, 3)
    _require_rank("baddbmm", "batch2", batch2, 3)
    return _plus(input, ops.matmul(batch1, batch2), beta, alpha)


@called("Addbmm")
@narrowing
def addbmm(
    input: object, batch1: object, batch2: object, *, beta: float = 1, alpha: float = 1
) -> Any:
    """beta input + alpha times the sum of batch1 @ batch2 over the batch: -> (n, p).

    Example:
        >>> dynamic.addbmm(dynamic.zeros(1, 1), dynamic.ones(2, 1, 3), dynamic.ones(2, 3, 1))
        tensor([[6.]])
    """
    _require_rank("addbmm", "batch1", batch1, 3)
    _require_rank("addbmm", "batch2", batch2, 3)
    return _plus(input, ops.sum(ops.matmul(batch1, batch2), 0), beta, alpha)


def ger(input: object, vec2: object) -> Any:
    """The products of each element of one vector with each of the other: (n,), (m,) -> (n, m).

    Example:
        >>> dynamic.ger(dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    return ops.outer(input, vec2)


def vdot(input: object, other: object) -> Any:
    """The sum of the products of two vectors, the first conjugated.

    Example:
        >>> dynamic.vdot(dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0]))
        tensor(11.)
    """
    return ops.dot(conj(input), other)


def inner(input: Any, other: Any) -> Any:
    """The sums of products over the last axes: (..., k), (..., k) -> (..., ...).

    Example:
        >>> dynamic.inner(dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0]))
        tensor(11.)
    """
    if not input.ndim or not other.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sums of products over pairs of axes: the last `dims` with the first, or two lists.

    Example:
        >>> dynamic.tensordot(dynamic.ones((2, 3)), dynamic.ones((3, 2)), 1)
        tensor([[3., 3.],
                [3., 3.]])
    """
    if hasattr(dims, "__index__"):
        if dims < 0:
            raise AutogradError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims = (range(-int(dims), 0), range(int(dims)))
    if not isinstance(dims, list | tuple) or len(dims) != 2:
        raise AutogradError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    pairs = [[axes] if hasattr(axes, "__index__") else list(axes) for axes in dims]
    for i, j in zip(*pairs, strict=True):
        if 1 in (a.shape[i], b.shape[j]) and a.shape[i] != b.shape[j]:  # the one is broadcast
            if a.shape[i] == 1:
                b = b.sum(j, keepdim=True)
            else:
                a = a.sum(i, keepdim=True)
        elif a.shape[i] != b.shape[j]:
            raise AutogradError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                f"and second has size {b.shape[j]} in dim {j}"
            )
    first, second = ([i % x.ndim for i in axes] for axes, x in zip(pairs, (a, b), strict=True))
    left = [str(axis) for axis in range(a.ndim)]
    right = [f"b{axis}" for axis in range(b.ndim)]
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    kept = [one for i, one in enumerate(left) if i not in first]
    kept += [one for j, one in enumerate(right) if j not in second]
    sizes = dict(zip(left + right, (*a.shape, *b.shape), strict=True))
    return _arranged(*_contract((a, left), (b, right), set(kept), sizes), kept)


@computed
def kron(input: Any, other: Any) -> Any:
    """The products of each element of the input with the whole other tensor, in its place.

    Example:
        >>> dynamic.kron(dynamic.tensor([1.0, 10.0]), dynamic.tensor([1.0, 2.0]))
        tensor([ 1.,  2., 10., 20.])
    """
    ndim = max(input.ndim, other.ndim)
    shapes = [(1,) * (ndim - x.ndim) + tuple(x.shape) for x in (input, other)]
    spread = [[size for one in shapes[0] for size in (one, 1)],
              [size for one in shapes[1] for size in (1, one)]]  # fmt: skip
    product = ops.reshape(input, tuple(spread[0])) * ops.reshape(other, tuple(spread[1]))
    return ops.reshape(product, tuple(m * n for m, n in zip(*shapes, strict=True)))


def einsum(equation: str, *operands: Any) -> Any:
    """Sums of products in Einstein's notation, such as "bij,bjk->bik": see NumPy's einsum.

    Operands are contracted from left to right, two at a time, as one product of matrices each.
    An ellipsis stands for axes that broadcast. Without an arrow the axes are those of the letters
    that occur once, in alphabetical order, after those of the ellipsis.

    Example:
        >>> a = dynamic.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> dynamic.einsum("ij,kj->ik", a, a)
        tensor([[ 5., 11.],
                [11., 25.]])
    """
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not operands:
        raise OptionError("einsum(): must provide at least one operand")
    if len(terms) != len(operands):
        which = "more" if len(operands) > len(terms) else "fewer"
        raise AutogradError(
            f"einsum(): {which} operands were provided than specified in the equation"
        )
    labels = [
        _labels(term, x.ndim, i) for i, (term, x) in enumerate(zip(terms, operands, strict=True))
    ]
    output = _output(right, labels) if arrow else _implicit(labels)
    sizes = _sizes(labels, operands)
    parts = [_without_repeats(x, list(names)) for x, names in zip(operands, labels, strict=True)]
    result = parts[0]
    for i, part in enumerate(parts[1:], 2):
        later = {name for _, names in parts[i:] for name in names}
        result = _contract(result, part, later | set(output), sizes)
    x, names = result
    gone = tuple(axis for axis, name in enumerate(names) if name not in output)
    if gone:
        x = ops.sum(x, gone)
    return _arranged(x, [name for name in names if name in output], output)


def _labels(term: str, ndim: int, number: int) -> Labels:
    """The name of each axis: a letter, or a dot and a number counted from the end."""
    before, dots, after = term.partition("...")
    letters = before + after
    if not all(one.isalpha() for one in letters):
        raise AutogradError(
            f"einsum(): invalid subscript given in {term!r}, subscripts must be in [a-zA-Z]"
        )
    if len(letters) > ndim or (not dots and len(letters) < ndim):
        what = "and no ellipsis was given" if not dots else "but an ellipsis was given"
        raise AutogradError(
            f"einsum(): the number of subscripts in the equation ({len(letters)}) "
            f"{'is more than' if dots else 'does not match'} the number of dimensions ({ndim}) "
            f"for operand {number} {what}"
        )
    hidden = [f".{i}" for i in reversed(range(ndim - len(letters)))]
    return [*before, *hidden, *after]


def _hidden(labels: Sequence[Labels]) -> Labels:
    """The axes that the ellipses stand for, in order."""
    found = {name for names in labels for name in names if name.startswith(".")}
    return sorted(found, key=lambda name: -int(name[1:]))


def _output(right: str, labels: Sequence[Labels]) -> Labels:
    before, dots, after = right.partition("...")
    known = {name for names in labels for name in names}
    for i, letter in enumerate(before + after):
        if letter in (before + after)[:i]:
            raise AutogradError(
                f"einsum(): output subscript {letter} appears more than once in the output"
            )
        if letter not in known:
            raise AutogradError(
                f"einsum(): output subscript {letter} does not appear in the equation for any "
                "input operand"
            )
    return [*before, *(_hidden(labels) if dots else []), *after]


def _implicit(labels: Sequence[Labels]) -> Labels:
    every = [name for names in labels for name in names if not name.startswith(".")]
    return _hidden(labels) + sorted(name for name in every if every.count(name) == 1)


def _sizes(labels: Sequence[Labels], operands: Sequence[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for i, (names, x) in enumerate(zip(labels, operands, strict=True)):
        for name, size in zip(names, x.shape, strict=True):
            seen = sizes.setdefault(name, size)
            if seen == 1:
                sizes[name] = size
            elif size not in (1, seen):
                raise AutogradError(
                    f"einsum(): subscript {name} has size {size} for operand {i} which does not "
                    f"broadcast with previously seen size {seen}"
                )
    return sizes


def _without_repeats(x: object, names: Labels) -> tuple[Any, Labels]:
    """The diagonal over axes that have the same name."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            x = diagonal(x, 0, first, second)
            names = [one for i, one in enumerate(names) if i not in (first, second)] + [name]
    return x, names


def _contract(
    first: tuple[Any, Labels], second: tuple[Any, Labels], kept: set[str], sizes: Mapping[str, int]
) -> tuple[Any, Labels]:
    """The product of two operands, summed over the names that are not kept."""
    (a, left), (b, right) = (_summed(*one, kept | set(other[1])) for one, other in
                             ((first, second), (second, first)))  # fmt: skip
    shared = [name for name in left if name in right]
    batch = [name for name in shared if name in kept]
    inside = [name for name in shared if name not in kept]
    if not inside and a.dtype != b.dtype:  # nothing is summed: PyTorch multiplies, and promotes
        common = promote_types(a.dtype.dtype, b.dtype.dtype)
        a, b = ops.astype(a, common), ops.astype(b, common)
    rows = [name for name in left if name not in shared]
    columns = [name for name in right if name not in shared]
    a = _spread(_arranged(a, left, batch + rows + inside), batch + rows + inside, shared, sizes)
    b = _spread(
        _arranged(b, right, batch + inside + columns), batch + inside + columns, shared, sizes
    )

    def count(names: Labels) -> int:
        return math.prod(sizes[name] for name in names)

    def own(x: Any, at: int, names: Labels) -> tuple[int, ...]:
        return tuple(x.shape[at : at + len(names)])

    row_sizes = own(a, len(batch), rows)
    column_sizes = own(b, len(batch) + len(inside), columns)
    product = ops.matmul(
        ops.reshape(a, (count(batch), math.prod(row_sizes), count(inside))),
        ops.reshape(b, (count(batch), count(inside), math.prod(column_sizes))),
    )
    shape = (*(sizes[name] for name in batch), *row_sizes, *column_sizes)
    return ops.reshape(product, shape), batch + rows + columns


def _summed(x: object, names: Labels, kept: set[str]) -> tuple[Any, Labels]:
    """The sums over the axes that nothing else needs."""
    gone = tuple(axis for axis, name in enumerate(names) if name not in kept)
    if not gone:
        return x, names
    return ops.sum(x, gone), [name for name in names if name in kept]


def _spread(x: Any, names: Labels, shared: Labels, sizes: Mapping[str, int]) -> Any:
    """x with the axes of size 1 that both operands have broadcast to their size."""
    shape = tuple(
        sizes[name] if name in shared else size for name, size in zip(names, x.shape, strict=True)
    )
    return x if shape == tuple(x.shape) else ops.broadcast_to(x, shape)


def _arranged(x: object, names: Labels, wanted: Labels) -> Any:
    """x with its axes in the wanted order."""
    if names == wanted:
        return x
    return movedim(x, [names.index(name) for name in wanted], list(range(len(wanted))))
