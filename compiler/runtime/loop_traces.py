"""The program of a function on arrays: which loops of NumPy's it runs, found by running it.

`program_of` calls the function with arrays that note each ufunc that is applied to them, twice, on
arrays of different sizes and values. What such arrays do not note is refused: another function of
NumPy's, a value that decides what is done, a result that another way than through ufuncs leads to.
A number may decide, if it is an operand; then the program is for that number. Both times the
programs must be equal, and give the bits that the function gave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.llvm.loop_words import (
    BY_ROW,
    COLUMN,
    COLUMN_SUMS,
    EACH,
    LARGEST_SYMBOLS,
    LESS_SYMBOLS,
    NUMBER,
    OF_COLUMN,
    PICK_SYMBOLS,
    ROW_SUMS,
    ROWS,
    SCALAR,
    SELECT_SYMBOLS,
    SHIFT_SYMBOLS,
    SMALLEST_SYMBOLS,
    SUM,
    VECTOR,
    WHOLE,
    WIDEN_SYMBOLS,
)
from staticgraph.compiler.runtime.loop_places import Places
from staticgraph.compiler.runtime.loops import (
    MOST,
    Program,
    Slot,
    Step,
    loops_function,
    own_loop,
    ufunc_loop,
)

_I8 = np.dtype(np.int8)
_I64 = np.dtype(np.int64)
_BOOL = np.dtype(bool)
_SHAPES = ((3, 5), (4, 7))
_GOLDEN_RATIO = (1 + math.sqrt(5)) / 2


class UntraceableError(Exception):
    """A function does what is not noted."""


@record
class Kind(Record):
    """What is given: arrays of a dtype and one shape, or numbers; `value`: of what has no axes."""

    dtype: DType
    kind: int = WHOLE
    value: Any = None


def program_of(
    function: Callable[..., Any], kinds: Sequence[Kind], columns: int = 0
) -> Program | None:
    """The program of a function for such operands; None if it has none.

    With `columns` it is for arrays whose last axis is so long, and may go along it.
    """
    if columns:
        shapes: Sequence[tuple[int, ...]] = [(r, columns) for r in (3, 4, 5) if r != columns][:2]
    else:
        shapes = _SHAPES if any(not one.kind for one in kinds) else ((), ())
    found: list[Program] = []
    for seed, shape in enumerate(shapes):
        arrays = _operands(kinds, shape, seed)
        try:
            with np.errstate(all="ignore"):
                trace = _Trace(shape, arrays, kinds, columns)
                found.append(trace.program(function(*trace.inputs)))
                expected = function(*arrays)
        except (UntraceableError, TypeError, ValueError, AttributeError, IndexError):
            return None
        if not _gives(found[-1], arrays, expected):
            return None
    return found[0] if _text(found[0]) == _text(found[1]) else None


def _operands(kinds: Sequence[Kind], shape: tuple[int, ...], seed: int) -> list[Any]:
    """Values of the kinds, neither large nor 0: from the multiples of the golden ratio modulo 1.

    They differ as random ones do, which take longer to import than all else here. Source: Knuth,
    The Art of Computer Programming, volume 3, 6.4.
    """
    arrays = []
    for place, one in enumerate(kinds):
        if one.value is not None:
            arrays.append(np.array(one.value, one.dtype))
            continue
        sizes = {WHOLE: shape, VECTOR: shape[-1:], COLUMN: shape[:1]}.get(one.kind, ())
        numbers = 1 + 100 * (10 * seed + place) + np.arange(math.prod(sizes)).reshape(sizes)
        spread = numbers * _GOLDEN_RATIO % 1
        if one.dtype in (_I64, _BOOL):
            values = spread * shape[-1] if one.dtype == _I64 else spread > 0.5
        else:
            values = 0.1 + 0.8 * spread
        arrays.append(np.array(values, one.dtype))
    return arrays


def _gives(program: Program, arrays: Sequence[Any], expected: Any) -> bool:
    """Whether the program gives the bits that are expected."""
    inputs = tuple(
        [
            Slot(one.dtype, SCALAR if one.kind == NUMBER else one.kind, one.value)
            for one in program.inputs
        ]
    )
    function = loops_function(program.taking(inputs), lambda *_: None)
    found = None if function is None else function(*arrays)
    if found is None:
        return False
    several = isinstance(expected, list | tuple)
    pairs = zip(found, expected, strict=True) if several and len(expected) > 1 else None
    if pairs is None:
        pairs = zip((found,), tuple(expected) if several else (expected,), strict=True)
    return all(
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        for one, other in pairs
    )


def _text(program: Program) -> object:
    """What equal programs have in common."""
    values = [np.ravel(one.value)[:1] for one in program.constants]  # type: ignore[arg-type]
    constants = [
        (one.dtype, one.kind, value.tobytes())
        for one, value in zip(program.constants, values, strict=True)
    ]
    inputs = [(one.dtype, one.kind, one.value is None) for one in program.inputs]
    results = [(one.dtype, one.kind) for one in program.results]
    others = program.scratch, program.steps, program.rows, program.columns
    return inputs, results, constants, others


class _Trace:
    """The steps of a function that is running.

    Slots are numbered as they are made: inputs, then the values of steps and constants as they
    come; `program` orders them.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        arrays: Sequence[Any],
        kinds: Sequence[Kind],
        columns: int = 0,
    ) -> None:
        self.shape = shape
        self.columns = columns
        self.slots: list[Slot] = []
        self.steps: list[Step] = []
        self.roots: list[int] = []  # by slot that of the same memory, for one that is read anew
        self.constants: list[int] = []
        self.numbers: dict[int, tuple[Any, int]] = {}  # by id the array, which so stays, its slot
        self.fixed = [one.value is not None for one in kinds]
        self.guarded: dict[int, Any] = {}
        self.inputs = []
        for array, kind in zip(arrays, kinds, strict=True):
            slot = self._slot(array.dtype, kind.kind)
            self.inputs.append(self._known(array, slot))

    def _slot(self, dtype: DType, kind: int, value: Any = None) -> int:
        self.slots.append(Slot(dtype, kind, value))
        self.roots.append(len(self.roots))
        return len(self.slots) - 1

    def _known(self, array: Any, slot: int) -> Any:
        """An array that notes what is done with it, known to be that of a slot."""
        view = array.view(_Noting)
        view.trace = self
        for one in (array, view):
            self.numbers[id(one)] = one, slot
        return view

    def alias(self, view: Any, array: object) -> Any:
        """A view that has the elements of an array, read as another dtype perhaps."""
        root = self.slot_of(array)
        slot = self._slot(view.dtype, self.slots[root].kind)
        self.roots[slot] = self.roots[root]
        return self._known(view, slot)

    def slot_of(self, array: object) -> int:
        """The slot of an array that is known."""
        found = self.numbers.get(id(array))
        if found is None:
            raise UntraceableError
        return found[1]

    def value(self, array: Any) -> Any:
        """A number that is an input, for which alone the program is from now on."""
        slot = self.slot_of(array)
        if slot >= len(self.inputs) or not self.fixed[slot]:
            raise UntraceableError
        self.guarded[slot] = array.view(np.ndarray)
        return array.view(np.ndarray).item()

    def operand(self, given: Any, dtype: DType) -> int:
        """The slot of an operand of a loop that takes this dtype; numbers become constants."""
        if id(given) in self.numbers:
            slot = self.numbers[id(given)][1]
            if self.slots[slot].dtype != dtype:
                raise UntraceableError
            return slot
        if _is_repeated(given):
            slot = self._slot(dtype, WHOLE, given.base)
            self.constants.append(slot)
            return slot
        plain = type(given) is np.ndarray or isinstance(given, np.generic | float | int)
        array = np.asarray(given)
        known = [one.view(np.ndarray) for one, _ in self.numbers.values()]
        shared = any(np.may_share_memory(array, one) for one in known)
        if not plain or array.ndim or shared:
            raise UntraceableError
        slot = self._slot(dtype, SCALAR, np.array(array, dtype))
        self.constants.append(slot)
        return slot

    def call(self, ufunc: Any, given: Sequence[Any], out: Any) -> Any:
        """A ufunc on operands, written to `out` if that is not None."""
        plain = [one.view(np.ndarray) if isinstance(one, _Noting) else one for one in given]
        if ufunc.nout != 1 or ufunc.signature is not None:
            raise UntraceableError
        result = np.asarray(ufunc(*plain))
        dtypes = [
            type(one) if isinstance(one, float | int) and not isinstance(one, np.generic)
            else one.dtype
            for one in given
        ]  # fmt: skip
        resolved = ufunc.resolve_dtypes((*dtypes, None))
        return self.step(ufunc_loop(ufunc, resolved), given, resolved[:-1], result, out)

    def step(
        self, loop: tuple[int, int] | None, given: Sequence[Any], dtypes: Sequence[DType],
        result: Any, out: Any = None, mode: int | None = None,
    ) -> Any:  # fmt: skip
        """Note a loop, and its result."""
        kind = self.kind_of(result)
        if loop is None:
            raise UntraceableError
        slots = [self.operand(one, dtype) for one, dtype in zip(given, dtypes, strict=True)]
        if mode is None:
            mode = self.mode_of(kind, {self.slots[i].kind for i in slots})
        slot = self._slot(result.dtype, kind)
        operands = [(i, self.slots[i].dtype, self.slots[i].kind) for i in (*slots, slot)]
        self.steps.append(Step(*loop, tuple(operands), mode))
        if out is None:
            return self._known(result, slot)
        if out.shape != result.shape or out.dtype != result.dtype:
            raise UntraceableError
        target = out.view(np.ndarray)
        target[...] = result
        for key, (one, _) in tuple(self.numbers.items()):
            if one.ctypes.data == target.ctypes.data:
                self.numbers[key] = one, slot
        self.numbers[id(out)] = out, slot
        return out if isinstance(out, _Noting) else self._known(out, slot)

    def kind_of(self, array: Any) -> int:
        """The kind of an array by its shape."""
        rows = self.shape[:-1]
        if array.shape == self.shape and array.ndim:
            return WHOLE
        if not array.ndim:
            return SCALAR
        if self.columns and array.shape in (rows, (*rows, 1)):
            return COLUMN
        if self.columns and array.shape == self.shape[-1:]:
            return VECTOR
        raise UntraceableError

    def mode_of(self, kind: int, operands: set[int]) -> int:
        """How an elementwise loop goes over operands of these kinds to a result of a kind."""
        if kind == COLUMN:
            if not operands <= {COLUMN, SCALAR}:
                raise UntraceableError
            return OF_COLUMN
        return BY_ROW if kind == WHOLE and operands & {COLUMN, VECTOR} else EACH

    def program(self, result: Any) -> Program:
        """The program, whose results are these."""
        results = list(result) if isinstance(result, list | tuple) else [result]
        shown = [self.slot_of(one) for one in results]
        given = [self.roots[slot] for slot in shown]
        count = len(self.inputs)
        steps = [(one, tuple([self.roots[i] for i, _, _ in one.operands])) for one in self.steps]
        if len(set(given)) < len(given) or not {slots[-1] for _, slots in steps}.issuperset(given):
            raise UntraceableError  # an operand itself, or a value twice
        places = Places([slots for _, slots in steps], count, given, self.constants)
        kinds = {self.slots[i].kind for i in places.between}
        if SCALAR in kinds and len(kinds) > 1:
            raise UntraceableError
        inputs = [
            Slot(one.dtype, one.kind, self.guarded.get(i))
            for i, one in enumerate(self.slots[:count])
        ]
        placed = [
            Step(
                one.loop,
                one.data,
                tuple(
                    [
                        (places.found[i], dtype, kind)
                        for i, (_, dtype, kind) in zip(slots, one.operands, strict=True)
                    ]
                ),
                one.mode,
            )
            for one, slots in steps
        ]
        return Program(
            tuple(inputs), tuple([self.slots[i] for i in shown]), places.scratch,
            tuple([self.slots[i] for i in self.constants]), tuple(placed),
            len(placed) == 1 and count == 2 and len(placed[0].operands) == 3 and not self.columns,
            self.columns,
        )  # fmt: skip


def _is_repeated(given: Any) -> bool:
    """Whether an array is the start of a longer one, whose elements are all the same."""
    longest = getattr(given, "base", None)
    if type(given) is not np.ndarray or type(longest) is not np.ndarray or not given.ndim:
        return False
    starts = given.ctypes.data == longest.ctypes.data and given.flags.c_contiguous
    is_long = longest.ndim == 1 and longest.size >= MOST
    return starts and is_long and bool((longest == longest[0]).all())


@record
class _Place(Record):
    """Where in an array the first largest or smallest element is."""

    array: Any
    symbols: Any


def _refuse(*_: object, **__: object) -> NoReturn:
    raise UntraceableError


class _Noting(np.ndarray[Any, Any]):
    """An array that notes what is done with it.

    Attributes:
        trace: where.
    """

    trace: _Trace | None = None  # type: ignore[assignment]
    notes_calls = True

    def _own(self) -> _Trace:
        if self.trace is None:
            raise UntraceableError
        return self.trace

    def __array_ufunc__(
        self, ufunc: Any, method: str, *given: Any, out: Any = None, **options: object
    ) -> Any:
        trace = next(
            one.trace for one in (*given, *(out or ())) if isinstance(one, _Noting) and one.trace
        )
        if method != "__call__" or options:
            raise UntraceableError
        return trace.call(ufunc, given, None if out is None else out[0])

    def __array_function__(self, function: Any, types: object, given: Any, options: Any) -> Any:
        trace = self._own()
        plain = [one.view(np.ndarray) if isinstance(one, _Noting) else one for one in given]
        if function is np.empty_like and not options and len(given) == 1:
            made = np.empty_like(plain[0]).view(_Noting)
            made.trace = trace
            return made
        if function is np.where and not options and len(given) == 3:
            result = np.asarray(np.where(*plain))
            dtypes = (_BOOL, result.dtype, result.dtype)
            return trace.step(own_loop(SELECT_SYMBOLS, result.dtype, "fiub"), given, dtypes, result)
        if function is np.shape:
            return self.shape
        raise UntraceableError

    def view(self, *kinds: Any) -> Any:  # type: ignore[override]
        """The elements as those of another dtype of as many bytes."""
        found = super().view(*kinds)
        if kinds and isinstance(kinds[0], type) and issubclass(kinds[0], np.ndarray):
            return found
        if found.shape != self.shape or self.trace is None:
            raise UntraceableError
        return self._own().alias(super().view(np.ndarray).view(*kinds), self)

    def astype(self, dtype: Any, *options: object, **others: object) -> Any:
        """The elements in another dtype: ints of int8."""
        if options or others or self.dtype != _I8:
            raise UntraceableError
        wanted = np.dtype(dtype)
        result = self.view(np.ndarray).astype(wanted)
        return self._own().step(own_loop(WIDEN_SYMBOLS, wanted, "i"), (self,), (_I8,), result)

    def item(self, *at: object) -> Any:
        """The number of an operand without axes."""
        if at or self.ndim:
            raise UntraceableError
        return self._own().value(self)

    def ravel(self) -> Any:  # type: ignore[override]
        """All elements along one axis."""
        return self._own().alias(self.view(np.ndarray).ravel(), self)

    def dot(self, other: Any) -> Any:  # type: ignore[override]
        """The sum of all elements, as the product with ones."""
        trace = self._own()
        if not _is_repeated(other) or other[0] != 1 or self.ndim != (2 if trace.columns else 1):
            raise UntraceableError
        result = np.asarray(self.view(np.ndarray).dot(other))
        product, mode = (np.matmul, ROW_SUMS) if trace.columns else (np.vecdot, SUM)
        loop = ufunc_loop(product, (self.dtype,) * 3)
        return trace.step(loop, (self, other), (self.dtype,) * 2, result, None, mode)

    def note_columns(self, ones: Any) -> Any:
        """The sums of columns, as the product with ones: `compiler.reference.totals.total`."""
        trace = self._own()
        if not trace.columns or self.ndim != 2:
            raise UntraceableError
        result = np.asarray(ones[: len(self)].dot(self.view(np.ndarray)))
        loop = ufunc_loop(np.matmul, (self.dtype,) * 3)
        given = ones[: len(self)], self
        return trace.step(loop, given, (self.dtype,) * 2, result, None, COLUMN_SUMS)

    def note_shift(self, axis: int) -> Any:
        """What is subtracted before exp: `compiler.reference.direct.shift`."""
        trace = self._own()
        if not trace.columns or self.ndim != 2 or axis not in (1, -1):
            raise UntraceableError
        result = np.maximum.reduce(self.view(np.ndarray), 1, keepdims=True)
        loop = own_loop(SHIFT_SYMBOLS, self.dtype, "f")
        return trace.step(loop, (self,), (self.dtype,), result, None, ROWS)

    def note_named(self, names: Any) -> Any:
        """Of each row the element that a number names: `compiler.reference.classes.named`."""
        plain = self.view(np.ndarray)
        result = plain[np.arange(len(plain)), names.view(np.ndarray)]
        return self._by_names(PICK_SYMBOLS, names, result)

    def note_less(self, names: Any) -> Any:
        """The rows with that element less by 1: `compiler.reference.classes.less`."""
        result = self.view(np.ndarray).copy()
        result[np.arange(len(result)), names.view(np.ndarray)] -= 1
        return self._by_names(LESS_SYMBOLS, names, result)

    def _by_names(self, symbols: Any, names: Any, result: Any) -> Any:
        trace = self._own()
        if not trace.columns or self.ndim != 2:
            raise UntraceableError
        loop = own_loop(symbols, self.dtype, "f")
        return trace.step(loop, (self, names), (self.dtype, _I64), result, None, ROWS)

    def argmax(self) -> Any:  # type: ignore[override]
        """Where the first largest element is."""
        return _Place(self, LARGEST_SYMBOLS)

    def argmin(self) -> Any:  # type: ignore[override]
        """Where the first smallest element is."""
        return _Place(self, SMALLEST_SYMBOLS)

    def __getitem__(self, key: object) -> Any:
        """The largest or smallest of all elements; numbers of rows with an axis more."""
        if key == (slice(None), None) and self.ndim == 1 and self._own().columns:
            return self._own().alias(self.view(np.ndarray)[:, None], self)
        if type(key) is not _Place or key.array is not self or self.ndim != 1:
            raise UntraceableError
        plain = self.view(np.ndarray)
        result = np.asarray(plain.max() if key.symbols is LARGEST_SYMBOLS else plain.min())
        loop = own_loop(key.symbols, self.dtype, "f")
        return self._own().step(loop, (self,), (self.dtype,), result)

    __setitem__ = __bool__ = __float__ = __int__ = __index__ = _refuse
    __iter__ = __contains__ = __complex__ = _refuse
    tolist = tobytes = any = all = sum = max = min = _refuse
    reshape = copy = fill = take = transpose = squeeze = mean = nonzero = flatten = _refuse
