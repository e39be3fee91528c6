"""Large arrays in blocks: a chain of NumPy calls stays in the cache, and threads share the blocks.

An op that is `elementwise`, or whose `sliceable` counts leading axes along which slices of the
result come from those of the operands, is computed in slices along these axes, taken as one. So
are its gradient rules, except that an operand which all slices share (a bias, the weight of a
layer norm) gets the sum of what the slices give it. The blocks depend on shapes and strides alone,
and so do the results, bit by bit, whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Attrs, Op
from compiler.reference.writing import is_writing, slices
from dynamic.core.spec import Spec
from dynamic.kernels import native, native_windows
from dynamic.kernels.large_rules import RULES
from dynamic.kernels.parallel import run

LARGE = native.LEAST
"""The least number of elements that is worth a look at how an op is computed."""
WORTH_BLOCKS = 1 << 18
"""The least number of elements that is worth more than one block."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """How an op is cut.

    Attributes:
        axes: the number of leading axes that are taken as one.
        lead: their sizes in the result.
        cuts: per operand whether it is cut; the others are shared by all slices.
        slices: the blocks along the joined axis.
        width: the size of the last axis.
    """

    axes: int
    lead: tuple[int, ...]
    cuts: tuple[bool, ...]
    slices: tuple[slice, ...]
    width: int

    def joined(self, operand: Any) -> Any:
        """An operand, or what stands in for it, with the leading axes as one, of the same rank."""
        shape = (1,) * (self.axes - 1) + (-1, *operand.shape[self.axes :])
        if isinstance(operand, np.ndarray):
            return operand.reshape(shape)
        length = math.prod(operand.shape[: self.axes])
        return Spec((*shape[: self.axes - 1], length, *shape[self.axes :]), operand.dtype)

    def part(self, operand: Any, block: slice) -> Any:
        """A block of a joined operand."""
        if isinstance(operand, np.ndarray):
            return operand[(slice(None),) * (self.axes - 1) + (block,)]
        size = block.stop - block.start
        shape = operand.shape
        return Spec((*shape[: self.axes - 1], size, *shape[self.axes :]), operand.dtype)


def evaluate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """`op.evaluate(*arrays, **attrs)`, by a kernel or in blocks where that is possible."""
    if op in native_windows.WINDOWED:
        value = native_windows.evaluate(op, arrays, attrs)
        return op.evaluate(*arrays, **attrs) if value is None else value
    value = native.evaluate(op, arrays, attrs)
    if value is not None:
        return value
    cut = _cut(op, arrays, attrs)
    if cut is None:
        return _sum(op, arrays, attrs) if op is ops.sum else op.evaluate(*arrays, **attrs)
    function = op.evaluate
    writes = is_writing(function)
    parts = _joined(cut, arrays, cut.cuts)
    first = function(*_block(cut, parts, cut.cuts, slice(0, 1)), **attrs)  # what results are like
    result = np.empty((*cut.lead, *first.shape[cut.axes :]), first.dtype)
    rows = cut.joined(result)

    def task(i: int) -> None:
        operands = _block(cut, parts, cut.cuts, cut.slices[i])
        target = cut.part(rows, cut.slices[i])
        if writes:
            function(*operands, out=target, **attrs)
        else:
            target[...] = function(*operands, **attrs)

    with rows_as_they_are(cut.width):
        run(task, len(cut.slices))
    return result


def _sum(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """The sum, by the sums of blocks if it is that of a whole array."""
    (x,) = arrays
    places = slices(x.size, 1)
    whole = len(attrs["axes"]) == x.ndim and x.flags.c_contiguous and x.dtype.kind == "f"
    if not whole or len(places) < 2:
        return op.evaluate(x, **attrs)
    flat, sums = x.reshape(-1), np.empty(len(places), x.dtype)

    def task(i: int) -> None:
        sums[i] = np.add.reduce(flat[places[i]])

    run(task, len(places))
    return np.add.reduce(sums).reshape((1,) * x.ndim if attrs["keepdims"] else ())


def cotangents(
    op: Op, positions: Sequence[int], g: Any, out: Any, operands: Sequence[Any], attrs: Attrs
) -> Sequence[Any]:
    """`op.cotangents(positions, g, out, *operands, **attrs)`, as `evaluate` computes."""
    windowed = op in native_windows.WINDOWED
    kernels = native_windows if windowed else native
    by_kernel = kernels.cotangents(op, positions, g, out, operands, attrs)
    if by_kernel is not None:
        return by_kernel
    cut = None if windowed else _cut(op, operands, attrs, (g, out))
    if cut is None:
        return op.cotangents(positions, g, out, *operands, **attrs)
    cuts, count = cut.cuts, len(cut.slices)
    are_cut = (True, True, *cuts)
    parts = _joined(cut, (g, out, *operands), are_cut)
    given = _block(cut, parts, are_cut, slice(0, 1))
    first = op.cotangents(positions, *given, **attrs)  # what the results are like
    # the cotangent of the result itself, as that of a sum is
    passed = [one is given[0] and cuts[i] for i, one in zip(positions, first, strict=True)]
    if all(passed):
        return [g] * len(passed)
    results, rows = [], []
    for i, one, is_passed in zip(positions, first, passed, strict=True):
        shape = operands[i].shape
        result = g if is_passed else np.empty(shape if cuts[i] else (count, *shape), one.dtype)
        results.append(result)
        rows.append(cut.joined(result) if cuts[i] else result)
    rule = RULES.get(op)
    if any(passed) or any(operands[i].shape != g.shape for i in positions):
        rule = None
    writes = is_writing(op.vjp_arrays)

    def task(i: int) -> None:
        given = _block(cut, parts, are_cut, cut.slices[i])
        targets = [
            cut.part(row, cut.slices[i]) if cuts[position] else row[i, ...]
            for position, row in zip(positions, rows, strict=True)
        ]
        if rule is not None:
            for position, target in zip(positions, targets, strict=True):
                rule(given[0], given[1], given[2:], position, target)
            return
        found = op.cotangents(positions, *given, **(attrs | {"into": targets} if writes else attrs))
        for target, cotangent, is_passed in zip(targets, found, passed, strict=True):
            if cotangent is not target and not is_passed:
                target[...] = cotangent

    with rows_as_they_are(cut.width):
        run(task, count)
    return [
        result if cuts[i] else np.add.reduce(result, 0)
        for i, result in zip(positions, results, strict=True)
    ]


def add_into(x: Any, y: Any) -> None:
    """x += y, in blocks where the arrays are large."""
    cut = _cut(ops.add, (x, y), {}) if x.size >= LARGE and x.shape == y.shape else None
    if cut is None:
        np.add(x, y, x)
        return
    total, term = cut.joined(x), cut.joined(y)

    def task(i: int) -> None:
        part = cut.part(total, cut.slices[i])
        np.add(part, cut.part(term, cut.slices[i]), part)

    run(task, len(cut.slices))


@contextmanager
def rows_as_they_are(width: int) -> Iterator[None]:
    """Have NumPy loop over rows where they lie.

    Where its buffer is larger than a row, it copies operands that broadcast into the buffer
    first, so that the loops get longer; that takes longer than the loop over the row.
    """
    if width < 256:
        yield
        return
    before = np.setbufsize(min(width, 8192) // 16 * 16)
    try:
        yield
    finally:
        np.setbufsize(before)


def _joined(cut: _Cut, operands: Sequence[Any], are_cut: Sequence[bool]) -> list[Any]:
    return [cut.joined(one) if c else one for one, c in zip(operands, are_cut, strict=True)]


def _block(cut: _Cut, parts: Sequence[Any], are_cut: Sequence[bool], block: slice) -> list[Any]:
    return [cut.part(part, block) if c else part for part, c in zip(parts, are_cut, strict=True)]


def _cut(op: Op, operands: Sequence[Any], attrs: Attrs, results: Sequence[Any] = ()) -> _Cut | None:
    """How to cut the operands, and `results`, which are arrays of the result's shape; or None."""
    shapes = [operand.shape for operand in operands]
    ndim = max(map(len, shapes), default=0)
    limit = ndim if op.elementwise else op.sliceable(ndim, **attrs) if op.sliceable else 0
    limit = min([limit, *[ndim - len(shape) for shape in shapes if len(shape) < ndim]])
    if limit < 1:
        return None
    full = [shape for shape in shapes if len(shape) == ndim]
    axes = _common(full, limit)
    whole = [*[operand for operand in operands if len(operand.shape) == ndim], *results]
    if not all(_merges(one, axes) for one in whole):
        axes = 1
    axes = max(1, axes)
    lead = max([shape[:axes] for shape in full])
    cuts = tuple([len(shape) == ndim and shape[:axes] == lead for shape in shapes])
    if any(len(s) == ndim and not c and s[0] != 1 for s, c in zip(shapes, cuts, strict=True)):
        return None  # they do not broadcast: the op says so
    length = math.prod(lead)
    row = max(math.prod(shape[axes:]) for shape in full)
    places = slices(length, row)
    if len(places) < 2 or length * row < WORTH_BLOCKS:
        return None
    return _Cut(axes, lead, cuts, places, max(shape[-1] for shape in full))


def _common(shapes: Sequence[tuple[int, ...]], limit: int) -> int:
    """The number of leading axes, up to `limit`, in which the shapes agree."""
    for axis in range(limit):
        if any(shape[axis] != shapes[0][axis] for shape in shapes):
            return axis
    return limit


def _merges(operand: Any, axes: int) -> bool:
    """Whether the leading axes can be taken as one in a view; shapes without values can."""
    if axes < 2 or not isinstance(operand, np.ndarray) or operand.flags.c_contiguous:
        return True
    expected = None
    leading = zip(operand.shape[axes - 1 :: -1], operand.strides[axes - 1 :: -1], strict=True)
    for size, stride in leading:
        if size != 1:
            if expected is not None and stride != expected:
                return False
            expected = size * stride
    return True
