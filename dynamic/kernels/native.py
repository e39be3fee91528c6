"""Large arrays by compiled kernels: where NumPy needs many passes over memory, these take one.

A kernel is made of ops applied to placeholders: of one op's value, or of all its cotangents at
once. It serves every call with the same dtypes, attributes and pattern of sizes: which are 1, and
which are equal. It knows the sizes of a bias or weight, whose cotangent is a sum: threads share
such a sum if each can have memory for a part of it. They share chunks that depend on sizes alone,
and so do the results. Operands whose elements lie in another order are copied first, if
they differ in it. What no kernel serves is left to NumPy: other dtypes, and reductions of operands
that would have to be copied.

DYNAMIC_COMPILE_LARGE_OPS=0 in the environment leaves all to NumPy.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Collection, Sequence
from contextvars import Context
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size, unknown
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OutOfRangeError, ShapeError
from staticgraph.compiler.core.log import log, told
from staticgraph.compiler.core.lowering import Host, Reduce
from staticgraph.compiler.core.op import Attrs, Op, is_registered
from staticgraph.compiler.core.protocols import ArrayRunner
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.settings import COMPILE_LARGE_OPS
from staticgraph.compiler.ops import leaves
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.kernels.layouts import (
    Seen,
    call_of,
    held_by,
    options_of,
    row_major,
    seen_with,
)

LEAST = 1 << 17
"""The least number of elements that is worth a kernel.

A call takes 10 µs beside the loop, so that kernels are faster from 2**14 elements on. But a first
call takes 3 to 10 ms with the kernel in the cache and 30 to 100 ms without, and at 2**17 elements
it takes some hundred calls to save as much."""
LEAST_OF_ROWS = 1 << 15
"""The same for what goes over rows: composites, for which NumPy takes many passes."""
LEAST_NAMED = 1 << 14
"""The least number of elements that an index names: `np.add.at` takes 10 ns for each."""
MOST_SUMS = 1 << 14
"""The elements of a sum that threads share: as in `compiler.codegen.chunks`."""
KEPT = 1024
"""How many kernels are kept."""
MOST_SEEN = 4096
"""For how many calls it is kept which kernel serves them."""

_SWEPT = ("rows", "reduction", "blocks", "pairs", "slices", "places")
_INDEXED = ("slices", "places")
_COUNTED = ("pairs", *_INDEXED)
_DTYPES = frozenset((F32, F64, *(np.dtype(kind) for kind in ("i4", "i8", "u1", "?"))))

Make: TypeAlias = "Callable[[list[Any]], list[Any]]"
"""Results in ops, given an expression per operand."""


@mutable
class _State:
    enabled: bool


def _allowed() -> bool:
    if COMPILE_LARGE_OPS.is_off:
        return False
    return importlib.util.find_spec("llvmlite") is not None


state = _State(_allowed())
"""Whether kernels are used."""


@frozen
class KernelOperand:
    """What is known of an operand when a kernel is compiled.

    Attributes:
        sizes: per axis the size if it is known, or a negative number that equal ones share.
        held: the same for the array that holds its elements, where axes that only repeat them have
            size 1; None if there is no array, since nothing reads the elements.
    """

    dtype: Any
    sizes: tuple[int, ...]
    held: tuple[int, ...] | None


@frozen
class _Kernel:
    """A function of the arrays, and which of the results are the first operand as it is."""

    runner: ArrayRunner
    passed: tuple[bool, ...]


_kernels: dict[Any, _Kernel | None] = {}
_seen: dict[Any, Seen[_Kernel]] = {}
"""Calls whose operands lie as before, for which nothing has to be looked at."""


def evaluate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """The value of an op by a kernel, an array; None where no kernel serves the call."""
    call = call_of(op, None, arrays, attrs)
    seen = _seen.get(call)
    if seen is not None and state.enabled:
        found = _results(seen.kernel, seen.arrays_of(arrays), arrays)
        return None if found is None else found[0]
    if not serves(op, arrays) or (op.sweep in _COUNTED and not is_much(op, arrays, attrs)):
        return None
    if goes_over_rows(op) and max([one.size for one in arrays]) < LEAST_OF_ROWS:
        return None
    order = None
    if not all(one.flags.c_contiguous for one in arrays):
        if isinstance(op.lowering, Reduce) or _is_total(op):
            return None  # NumPy reads elements where they lie, in less time than a copy takes
        order = _order(op, arrays)
        arrays = [_permuted(one, order) for one in arrays]
    if op is ops.power and (times := _factors(arrays[1])):
        found = compute((op, times), attrs, lambda xs: [_multiplied(xs[0], times)], arrays[:1])
    else:
        # whoever asks for these knows that they are large
        much, known = op.sweep in _COUNTED or goes_over_rows(op), None if order else call
        found = compute((op, None), attrs, by_value(op, attrs), arrays, (), much, known)
    return None if found is None else _permuted_back(found[0], order)


def is_much(op: Op, operands: Sequence[Any], attrs: Attrs) -> bool:
    """Whether there is enough work for a kernel, for ops whose operands alone do not say it."""
    return _work(op, operands, attrs) >= (LEAST_NAMED if op.sweep in _INDEXED else LEAST)


def _work(op: Op, operands: Sequence[Any], attrs: Attrs) -> int:
    """How many elements an index, the last operand, names, or pairs of rows have."""
    x, index = operands[0], operands[-1]
    if op.sweep == "pairs":
        return math.prod(x.shape) * int(index.shape[-2])
    if op is ops.take_add:
        return int(x.size)
    size = x.shape[attrs["axis"]]
    slices: int = x.size // size if op.sweep == "slices" and size else 1
    return slices * int(index.size)


def cotangents(
    op: Op, positions: Sequence[int], g: Any, out: object, operands: Sequence[object], attrs: Attrs
) -> Sequence[Any] | None:
    """The cotangents of the operands at `positions` by one kernel; None as in `evaluate`.

    What the rules do not read may be anything that has a shape and a dtype.
    """
    given: Sequence[Any] = (g, out, *operands)
    call = call_of(op, tuple(positions), given, attrs)
    seen = _seen.get(call)
    if seen is not None and state.enabled:
        return _results(seen.kernel, seen.arrays_of(given), given)
    if _is_total(op) or not serves(op, operands):
        return None
    if op.sweep == "pairs":
        if not is_much(op, operands, attrs):
            return None
        return compute(
            (op, tuple(positions)), attrs, by_rules(op, positions, attrs), given, (), True, call
        )
    if op.sweep in _INDEXED:  # memory that tells how large x is, and is not touched
        x: Any = operands[0]
        if not isinstance(x, np.ndarray):
            given, call = (g, out, np.empty(x.shape, x.dtype), *operands[1:]), None
    order = None if g.flags.c_contiguous else _order(op, given)
    given = tuple([_permuted(one, order) for one in given])
    shapes = [given[2 + position].shape for position in positions]
    sums = [shape for shape in shapes if shape != given[0].shape and math.prod(shape) <= MOST_SUMS]
    known = frozenset([size for shape in sums for size in shape])
    make = by_rules(op, positions, attrs)
    name: Any = (op, tuple(positions))
    if op is ops.power and positions == (0,) and (times := _factors(operands[1])):
        name, make, given = (op, times, "slope"), _slope_of_product(times), (given[0], given[2])
        call = None
    much = op.sweep in _INDEXED or goes_over_rows(op)
    found = compute(name, attrs, make, given, known, much, None if order else call)
    return None if found is None else [_permuted_back(one, order) for one in found]


def _order(op: Op, operands: Sequence[Any]) -> tuple[int, ...] | None:
    """The axes in the order of memory, where all operands of a pointwise op lie in another one."""
    arrays = [one for one in operands if isinstance(one, np.ndarray) and one.ndim]
    if not op.elementwise or not arrays:
        return None
    strides = arrays[-1].strides
    order = tuple(sorted(range(len(strides)), key=lambda axis: -abs(strides[axis])))
    if any(len(one.shape) not in (0, len(order)) for one in operands):
        return None
    permuted = [one.transpose(order) for one in arrays]
    if order == tuple(range(len(order))) or any(held_by(one) is None for one in permuted):
        return None
    return order


def _permuted(operand: Any, order: tuple[int, ...] | None) -> Any:
    if order is None or not operand.shape:
        return operand
    if isinstance(operand, np.ndarray):
        return operand.transpose(order)
    return Spec(tuple([operand.shape[axis] for axis in order]), operand.dtype)


def _permuted_back(result: Any, order: tuple[int, ...] | None) -> Any:
    return result if order is None or not result.ndim else result.transpose(np.argsort(order))


def by_value(op: Op, attrs: Attrs) -> Make:
    """What computes the value of an op."""
    if is_registered(op):
        return lambda values: [op.bound(values, attrs)]
    expand = op.expand
    assert expand is not None
    return lambda values: [expand(*values, **attrs)]


def by_rules(op: Op, positions: Sequence[int], attrs: Attrs) -> Make:
    """What computes the cotangents of the operands at `positions` of g, out and the operands."""

    def make(values: list[Any]) -> list[Any]:
        rules = [op.rule(position) for position in positions]
        return [rule(*values, **attrs) for rule in rules if rule is not None]

    return make


def serves(op: Op, operands: Sequence[object]) -> bool:
    """Whether there are kernels for an op on such operands, and for its rules."""
    if not state.enabled or not operands:
        return False
    return op.elementwise or op.sweep in _SWEPT


def goes_over_rows(op: Op) -> bool:
    """Whether an op is a composite that goes over rows, or reduces them."""
    return op.sweep in ("rows", "reduction") and op.expand is not None


def least_of(op: Op) -> int:
    """The least number of elements of an op that is worth a kernel."""
    if op.sweep in _INDEXED:
        return LEAST_NAMED
    return LEAST_OF_ROWS if goes_over_rows(op) else LEAST


def _is_total(op: Op) -> bool:
    """Whether the cotangents of a reduction are views of `g`."""
    return op.sweep == "reduction" and op.linearity == "linear"


def _factors(exponent: object) -> int:
    """How many factors a power has that is a product of 2 to 4, as PyTorch computes it; else 0."""
    if not isinstance(exponent, np.ndarray) or exponent.ndim or exponent not in (2, 3, 4):
        return 0
    return int(exponent)


def _multiplied(x: Any, times: int) -> Any:
    """The product of x with itself, of 1 to 4 factors."""
    if times == 1:
        return x
    square = ops.square(x)
    return square if times == 2 else square * (x if times == 3 else square)


def _slope_of_product(times: int) -> Make:
    return lambda values: [values[0] * (times * _multiplied(values[1], times - 1))]


def compute(
    name: object,
    attrs: Attrs,
    make: Make,
    operands: Sequence[object],
    known: Collection[int] = (),
    much: bool = False,
    call: object = None,
) -> list[Any] | None:
    """What `make` says of the operands by a kernel, new arrays; None where no kernel serves it.

    Args:
        name: what tells `make` from others, together with `attrs`.
        operands: arrays, or what has a shape and a dtype where no element is read. One at least
            has to be a large array, and one has to have floats.
        known: sizes that the kernel knows.
        much: whether it is worth a kernel where no array is large.
        call: what is the same for all calls of these operands' layout, to find the kernel by.
    """
    if not state.enabled:
        return None
    described = _describe(operands, known, much)
    if described is None:
        return None
    arrays, kinds = described
    kernel = _kernel_of(name, attrs, make, kinds)
    if kernel is None:
        return None
    seen = None if call is None else seen_with(kernel, operands, arrays)
    if seen is not None:
        if len(_seen) >= MOST_SEEN:
            _seen.clear()
        _seen[call] = seen
    return _results(kernel, arrays, operands)


def run(
    name: object,
    attrs: Attrs,
    make: Make,
    operands: Sequence[object],
    arrays: Sequence[Any],
    kinds: Any,
) -> list[Any] | None:
    """`compute` for operands that are described.

    Args:
        arrays: those that hold the elements of the operands of which elements are read.
        kinds: for each operand the fields of an `KernelOperand`.
    """
    kernel = _kernel_of(name, attrs, make, kinds)
    return None if kernel is None else _results(kernel, arrays, operands)


def _kernel_of(name: object, attrs: Attrs, make: Make, kinds: Any) -> _Kernel | None:
    """The kernel for operands of these kinds; None where none serves them."""
    options = options_of(attrs)
    if options is None:
        return None
    key = (name, options, kinds)
    try:
        kernel = _kernels[key]
    except KeyError:
        if len(_kernels) >= KEPT:
            _kernels.clear()
            _seen.clear()
        # in a context of its own: the caller may be tracing a graph
        kernel = Context().run(_compile, _title(name), make, [KernelOperand(*one) for one in kinds])
        _kernels[key] = kernel
    return kernel


def _results(
    kernel: _Kernel, arrays: Sequence[Any], operands: Sequence[object]
) -> list[Any] | None:
    """What a kernel makes of arrays; None where the op itself has to say what is wrong."""
    try:
        results = iter(kernel.runner.run(arrays, {}))
    except (ShapeError, OutOfRangeError):
        return None
    return [operands[0] if passed else next(results) for passed in kernel.passed]


def _describe(
    operands: Sequence[Any], known: Collection[int], large: bool
) -> tuple[list[Any], tuple[Any, ...]] | None:
    """The arrays that a kernel takes, and the fields of an `KernelOperand` for each operand.

    None if an operand does not fit a kernel, or none is large.
    """
    numbers = {size: size for size in (1, *known)}
    arrays, kinds, many = [], [], False
    for one in operands:
        if isinstance(one, np.generic):
            one = np.asarray(one)
        dtype, shape = one.dtype, one.shape
        if dtype not in _DTYPES:
            return None
        sizes = tuple([numbers.setdefault(size, -len(numbers)) for size in shape])
        held = None
        if isinstance(one, np.ndarray):
            array = row_major(one)
            if array is None:
                return None
            held = sizes if array.shape == shape else tuple([numbers[size] for size in array.shape])
            many = many or array.size >= LEAST
            arrays.append(array)
        kinds.append((dtype, sizes, held))
    large = large or (many and any(is_float(one.dtype) for one in operands))
    return (arrays, tuple(kinds)) if large else None


def _title(name: object) -> str:
    """What a kernel is called: by its op, and whether it computes cotangents."""
    if isinstance(name, tuple) and isinstance(name[0], Op):
        return name[0].name if name[1] is None else f"cotangents of {name[0].name}"
    return str(name)


def _compile(name: str, make: Make, kinds: Sequence[KernelOperand]) -> _Kernel | None:
    """The kernel; None if the sizes do not fit, or are neither known nor those of arrays."""
    from staticgraph.compiler.compile import compile_graph
    from staticgraph.compiler.core.options import Options
    from staticgraph.compiler.graph.definition import define
    from staticgraph.compiler.graph.expression import at_line

    numbers = {number for one in kinds for number in one.sizes}
    given = {number for one in kinds for number in one.held or ()}
    if min(numbers - given, default=0) < 0:
        return None
    with at_line("-"):
        inputs, values = _placeholders(kinds)
        try:
            results = make(values)
        except ShapeError:
            return None
        if _has_host_steps(results):
            return None
    passed = tuple([one is values[0] for one in results])
    computed = [one for one, is_passed in zip(results, passed, strict=True) if not is_passed]
    if not computed:
        return None
    # a value that is recomputed later is computed in a loop of its own; these all fit into one
    options = Options(disabled=frozenset(("recompute_values",)))
    if "dispatch" in told:
        operands = ", ".join(str(leaf.type) for leaf in inputs)
        log("dispatch", f"{name}({operands}): computed by a kernel from now on")
    return _Kernel(compile_graph(define(inputs, computed), list, name, options), passed)


def _has_host_steps(results: Sequence[Any]) -> bool:
    """Whether a kernel would call NumPy for a part of the work, such as a sort."""
    from staticgraph.compiler.graph.expression import abstract
    from staticgraph.compiler.graph.traversal import ancestors

    for node in ancestors(results):
        expand = node.op.expand
        if isinstance(node.op.lowering, Host):
            return True
        if expand is not None:
            leaves = [abstract(operand.type) for operand in node.operands]
            if _has_host_steps([expand(*leaves, **node.attrs)]):
                return True
    return False


def _placeholders(kinds: Sequence[KernelOperand]) -> tuple[list[Any], list[Any]]:
    """The inputs of a kernel, and an expression for each operand."""
    from staticgraph.compiler.graph.expression import Expression

    numbers = {number for one in kinds for number in (1, *one.sizes)}
    symbols: dict[int, Size] = {n: n if n > 0 else unknown() for n in numbers}
    inputs, values = [], []
    for place, one in enumerate(kinds):
        shape = tuple([symbols[number] for number in one.sizes])
        held = shape if one.held is None else tuple([symbols[number] for number in one.held])
        attrs = leaves.leaf_attrs(held, one.dtype, place)
        leaf = Expression(leaves.placeholder, (), attrs, f"operand {place}")
        values.append(leaf if held == shape else ops.broadcast_to(leaf, shape))
        if one.held is not None:
            inputs.append(leaf)
    return inputs, values
