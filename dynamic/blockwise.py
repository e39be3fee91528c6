"""Large arrays in blocks: a chain of NumPy calls stays in the cache, and threads share the blocks.

Only what computes much per element is worth it: composites and their rules, and functions such as
exp and tanh; a sum of two arrays waits for memory, whatever it does.

An op whose `sliceable` holds computes each slice of its result along the first axis from the
slices of its operands there. So do its gradient rules, except that an operand which all slices
share (a bias, the weight of a layer norm) gets the sum of what the slices give it. The blocks
depend on shapes alone, and so do the results, bit by bit, whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from compiler.lowering import Pointwise
from compiler.op import Attrs, Op
from dynamic.nodes import Spec
from dynamic.parallel import run

LARGE = 1 << 18
"""The least number of elements that is worth more than one block."""
BLOCK = 1 << 17
"""The elements of a block: a NumPy call takes long enough that threads seldom meet at the GIL."""

Slices = Sequence[slice]


def evaluate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """`op.evaluate(*arrays, **attrs)`, in blocks where that is possible."""
    cut = _cut(op, arrays, attrs) if op.expand is not None or _is_costly(op) else None
    if cut is None:
        return op.evaluate(*arrays, **attrs)
    slices, cuts, flat = cut
    parts = [_flat(array) if flat and c else array for array, c in zip(arrays, cuts, strict=True)]
    function = op.evaluate
    in_place = isinstance(function, np.ufunc)

    def operands(place: slice) -> list[Any]:
        return [_part(part, place, is_cut) for part, is_cut in zip(parts, cuts, strict=True)]

    first = function(*operands(slice(0, 1)), **attrs)  # what the results are like
    shape = arrays[cuts.index(True)].shape if flat else (slices[-1].stop, *first.shape[1:])
    result = np.empty(shape, first.dtype)
    rows = result.reshape(-1) if flat else result

    def task(i: int) -> None:
        place = slices[i]
        if in_place:
            function(*operands(place), out=rows[place], **attrs)
        else:
            rows[place] = function(*operands(place), **attrs)

    run(task, len(slices))
    return result


def cotangents(
    op: Op, positions: Sequence[int], g: Any, out: Any, operands: Sequence[Any], attrs: Attrs
) -> Sequence[Any]:
    """`op.cotangents(positions, g, out, *operands, **attrs)`, in blocks where that is possible."""
    worth = op.expand is not None or _is_costly(op)
    cut = _cut(op, operands, attrs, (g, out)) if worth else None
    if cut is None:
        return op.cotangents(positions, g, out, *operands, **attrs)
    slices, cuts, flat = cut
    results = []
    for i in positions:
        shape = operands[i].shape
        results.append(np.empty(shape if cuts[i] else (len(slices), *shape), operands[i].dtype))
    rows = [result.reshape(-1) if flat else result for result in results]
    are_cut = (True, True, *cuts)
    parts = [
        _flat(one) if flat and is_cut else one
        for one, is_cut in zip((g, out, *operands), are_cut, strict=True)
    ]

    def task(i: int) -> None:
        place = slices[i]
        given = [_part(part, place, is_cut) for part, is_cut in zip(parts, are_cut, strict=True)]
        found = op.cotangents(positions, *given, **attrs)
        for position, row, cotangent in zip(positions, rows, found, strict=True):
            row[place if cuts[position] else i] = cotangent

    run(task, len(slices))
    return [
        result if cuts[i] else np.add.reduce(result, 0)
        for i, result in zip(positions, results, strict=True)
    ]


def _is_costly(op: Op) -> bool:
    return isinstance(op.lowering, Pointwise) and not op.lowering.cheap


def _cut(
    op: Op, operands: Sequence[Any], attrs: Attrs, results: Sequence[Any] = ()
) -> tuple[Slices, tuple[bool, ...], bool] | None:
    """Where to cut, which operands are cut, and whether all are flattened before; or None.

    `results` are arrays of the shape of the op's result, which are to be cut as well.
    """
    shapes = [operand.shape for operand in operands]
    ndim = max(map(len, shapes), default=0)
    if not ndim or not (op.elementwise or (op.sliceable and op.sliceable(ndim, **attrs))):
        return None
    if op.elementwise:
        full = {shape for shape in shapes if shape}
        if len(full) == 1 and all(_is_flat(one) for one in (*operands, *results)):
            slices = _slices(math.prod(full.pop()), BLOCK)
            return (slices, tuple(map(bool, shapes)), True) if len(slices) > 1 else None
    length = max(shape[0] for shape in shapes if len(shape) == ndim)
    cuts = tuple([len(shape) == ndim and shape[0] == length for shape in shapes])
    if any(len(s) == ndim and not c and s[0] != 1 for s, c in zip(shapes, cuts, strict=True)):
        return None  # they do not broadcast: the op says so
    row = max(math.prod(shape[1:]) for shape, c in zip(shapes, cuts, strict=True) if c)
    slices = _slices(length, max(1, BLOCK // max(1, row)))
    return (slices, cuts, False) if len(slices) > 1 else None


def _slices(length: int, step: int) -> Slices:
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


def _is_flat(operand: Any) -> bool:
    """Whether the flat form of an array is a view; shapes without values have no order."""
    return not isinstance(operand, np.ndarray) or bool(
        operand.flags.c_contiguous or not any(operand.strides)
    )


def _flat(operand: Any) -> Any:
    if not isinstance(operand, np.ndarray):
        return Spec((operand.size,), operand.dtype)
    if operand.flags.c_contiguous:
        return operand.reshape(-1)
    return as_strided(operand, (operand.size,), (0,), writeable=False)


def _part(operand: Any, place: slice, is_cut: bool) -> Any:
    if not is_cut:
        return operand
    if isinstance(operand, np.ndarray):
        return operand[place]
    return Spec((place.stop - place.start, *operand.shape[1:]), operand.dtype)
