"""Loops of NumPy's ufuncs in a row on small arrays: machine code for a builtin function.

    result, or a tuple of several = function(*inputs)

It follows CPython's convention METH_FASTCALL | METH_KEYWORDS. Its `self` is an ndarray of the words
that `compiler.llvm.loop_words` lists. Arrays of the dtypes listed there, row-major and aligned, all
of one shape but for those listed as numbers, get the results of the loops, called in their order on
all elements at once as NumPy calls them; so each bit is NumPy's. All other arguments, and values of
which a loop sets an exception, of which NumPy warns, go to the function `general`.

The inputs may be objects with slots, one of which holds the array: then the result is such an
object, made here if the inputs have nothing in their other slots, else by the function `finish`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from staticgraph.compiler.llvm.loop_words import (
    BY_ROW,
    COLUMN,
    EACH,
    HEAD,
    LARGEST_INT,
    LARGEST_SYMBOLS,
    LOOPS_SYMBOL,
    MOST_OPERANDS,
    MOST_SLOTS,
    NEAR,
    NUMBER,
    OF_COLUMN,
    OPERAND,
    ROW_SUMS,
    SCALAR,
    SELECT_SYMBOLS,
    SHIFT,
    SHIFT_SYMBOLS,
    SLOT,
    SMALLEST_SYMBOLS,
    STEP,
    SUM,
    VECTOR,
    WHOLE,
    WIDEN_SYMBOLS,
)
from staticgraph.compiler.llvm.machine import emit_object
from staticgraph.compiler.llvm.parsed import parse
from staticgraph.compiler.llvm.trampoline_words import Fields

I8, I32, INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
POINTER, WORDS = I8.as_pointer(), INT64.as_pointer()
NULL = ir.Constant(POINTER, None)
_LOOP = ir.FunctionType(ir.VoidType(), [WORDS, WORDS, WORDS, POINTER])
_ARITY = MOST_OPERANDS
_ROW, _REPEATED = 1, 2
"""How an input that is smaller than another goes with it."""


def loops_object(fields: Fields, machine: llvm.TargetMachine) -> bytes:
    """The object code of the function, and of the loops that NumPy has no ufunc for."""
    module = ir.Module("loops")
    module.triple = machine.triple
    kind = ir.FunctionType(POINTER, [POINTER, WORDS, INT64, POINTER])
    _Loops(ir.Function(module, kind, LOOPS_SYMBOL), fields).define()
    for itemsize, symbol in SELECT_SYMBOLS.items():
        _define_select(ir.Function(module, _LOOP, symbol), ir.IntType(8 * itemsize))
    for itemsize, symbol in WIDEN_SYMBOLS.items():
        _define_widen(ir.Function(module, _LOOP, symbol), ir.IntType(8 * itemsize))
    for symbols, order in ((LARGEST_SYMBOLS, ">"), (SMALLEST_SYMBOLS, "<")):
        for itemsize, symbol in symbols.items():
            kind = FLOAT if itemsize == 4 else DOUBLE
            _define_extreme(ir.Function(module, _LOOP, symbol), kind, order)
    for itemsize, symbol in SHIFT_SYMBOLS.items():
        kind = FLOAT if itemsize == 4 else DOUBLE
        _define_shift(ir.Function(module, _LOOP, symbol), kind)
    parsed = parse(str(module))
    parsed.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.run(parsed, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return emit_object(machine, parsed)


@contextmanager
def _loop(builder: Any, count: object) -> Iterator[Any]:
    """The body for each int from 0 below `count`."""
    start = builder.block
    head, body, done = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(INT64)
    index.add_incoming(INT64(0), start)
    builder.cbranch(builder.icmp_signed("<", index, count), body, done)
    builder.position_at_end(body)
    yield index
    index.add_incoming(builder.add(index, INT64(1)), builder.block)
    builder.branch(head)
    builder.position_at_end(done)


def _at(builder: Any, words: object, place: Any) -> Any:
    return builder.load(builder.gep(words, [place]))


def _element(builder: Any, arguments: tuple[Any, Any], number: int, i: object, kind: Any) -> Any:
    """The address of the element `i` of one of the arrays of a loop."""
    arrays, strides = arguments
    offset = builder.mul(i, _at(builder, strides, INT64(number)))
    address = builder.add(_at(builder, arrays, INT64(number)), offset)
    return builder.inttoptr(address, kind.as_pointer())


def _define_select(function: Any, kind: Any) -> None:
    """Of a mask and two arrays the element of the first where it holds, else of the second."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, count, strides, _ = function.args
    with _loop(builder, builder.load(count)) as i:
        place = [_element(builder, (arrays, strides), k, i, t) for k, t in enumerate((I8, *[kind] * 3))]
        mask, first, second = (builder.load(one) for one in place[:3])
        holds = builder.icmp_unsigned("!=", mask, I8(0))
        builder.store(builder.select(holds, first, second), place[3])
    builder.ret_void()


def _define_widen(function: Any, kind: Any) -> None:
    """Of int8 the ints of more bytes."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, count, strides, _ = function.args
    with _loop(builder, builder.load(count)) as i:
        source, target = (
            _element(builder, (arrays, strides), k, i, t) for k, t in enumerate((I8, kind))
        )
        builder.store(builder.sext(builder.load(source), kind), target)
    builder.ret_void()


def _define_extreme(function: Any, kind: Any, order: str) -> None:
    """The first largest or smallest element of all, or the first that is nan."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, count, strides, _ = function.args
    target = builder.inttoptr(_at(builder, arrays, INT64(1)), kind.as_pointer())
    first = _element(builder, (arrays, strides), 0, INT64(0), kind)
    builder.store(builder.load(first), target)
    with _loop(builder, builder.load(count)) as i:
        value = builder.load(_element(builder, (arrays, strides), 0, i, kind))
        best = builder.load(target)
        passes = builder.or_(
            builder.fcmp_ordered(order, value, best), builder.fcmp_unordered("uno", value, value)
        )
        passes = builder.and_(passes, builder.fcmp_ordered("ord", best, best))
        builder.store(builder.select(passes, value, best), target)
    builder.ret_void()


def _define_shift(function: Any, kind: Any) -> None:
    """Per row its largest element, or where all elements are near each other the largest of all."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, counts, _, _ = function.args
    source, target = (
        builder.inttoptr(_at(builder, arrays, INT64(i)), kind.as_pointer()) for i in range(2)
    )
    rows, columns = (builder.load(builder.gep(counts, [INT64(i)])) for i in range(2))
    greatest, least = builder.alloca(kind), builder.alloca(kind)
    for place in (greatest, least):
        builder.store(builder.load(source), place)
    with _loop(builder, rows) as row:
        start = builder.gep(source, [builder.mul(row, columns)])
        best = builder.gep(target, [row])
        builder.store(builder.load(start), best)
        with _loop(builder, columns) as i:
            value = builder.load(builder.gep(start, [i]))
            for place, order in ((best, ">"), (greatest, ">"), (least, "<")):
                before = builder.load(place)
                passes = builder.or_(
                    builder.fcmp_ordered(order, value, before),
                    builder.fcmp_unordered("uno", value, value),
                )
                builder.store(builder.select(passes, value, before), place)
    wide = [builder.load(place) for place in (greatest, least)]
    if kind is FLOAT:
        wide = [builder.fpext(one, DOUBLE) for one in wide]
    with builder.if_then(builder.fcmp_ordered("<", builder.fsub(*wide), DOUBLE(NEAR))):
        with _loop(builder, rows) as row:
            builder.store(builder.load(greatest), builder.gep(target, [row]))
    builder.ret_void()


class _Loops:
    def __init__(self, function: ir.Function, fields: Fields) -> None:
        self.function = function
        self.fields = fields
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.general = function.append_basic_block("general")
        builder = self.builder
        self.words: Any = self.field(function.args[0], fields.data, WORDS)
        self.places, self.numbers, self.rows = (
            builder.alloca(INT64, size=MOST_SLOTS) for _ in range(3)
        )
        self.arrays, self.strides = (builder.alloca(INT64, size=_ARITY) for _ in range(2))
        self.advances = builder.alloca(INT64, size=_ARITY)
        self.core = builder.alloca(INT64, size=9)  # the strides where a loop sums
        self.dims = builder.alloca(INT64, size=4)
        self.counts = builder.alloca(INT64, size=2)
        self.row = builder.alloca(INT64)
        self.ndim, self.shape = builder.alloca(INT64), builder.alloca(WORDS)
        self.ndims = builder.alloca(INT64, size=MOST_SLOTS)
        self.shapes = builder.alloca(WORDS, size=MOST_SLOTS)
        self.size = builder.alloca(INT64)
        self.noted = builder.alloca(INT64)
        self.overflow = builder.alloca(I32)

    def define(self) -> None:
        builder = self.builder
        _, arguments, given, names = self.function.args
        inputs, results = self.constant("inputs"), self.constant("results")
        self.require(builder.icmp_unsigned("==", names, NULL))
        self.require(builder.icmp_signed("==", given, inputs))
        tensors = builder.icmp_signed("!=", self.constant("tensors"), INT64(0))
        for place, value in ((self.ndim, -1), (self.row, 0), (self.noted, 0)):
            builder.store(INT64(value), place)
        with builder.if_then(tensors):
            paused = builder.inttoptr(self.constant("paused"), POINTER)
            length = self.field(paused, self.fields.data, INT64)  # of a list
            builder.store(length, self.noted)
        self.forget_exceptions()
        for i in range(_ARITY):
            builder.store(INT64(0), builder.gep(self.rows, [INT64(i)]))
        with _loop(builder, inputs) as i:
            self.read_input(_at(builder, arguments, i), i, tensors)
        with _loop(builder, inputs) as i:
            whole = builder.icmp_signed("==", self.slot(i, "kind"), INT64(WHOLE))
            with builder.if_then(whole):
                self.require_shape(i)
        self.require_few()
        first = self.make_results(inputs, results)
        self.place_scratch(builder.add(inputs, results))
        with _loop(builder, self.constant("steps")) as i:
            self.take_step(i)
        fine, failed = (builder.append_basic_block() for _ in range(2))
        builder.cbranch(builder.icmp_signed("==", self.exceptions(), I32(0)), fine, failed)
        builder.position_at_end(fine)
        with builder.if_then(builder.not_(tensors)):
            builder.ret(first)
        self.return_tensor(first, arguments, given)
        builder.position_at_end(failed)
        self.call("Py_DecRef", ir.VoidType(), first)
        builder.branch(self.general)
        builder.position_at_end(self.general)
        general = builder.inttoptr(self.constant("general"), POINTER)
        builder.ret(self.call("PyObject_Vectorcall", POINTER, general, arguments, given, names))

    def forget_exceptions(self) -> None:
        """Clear what floating-point operations before have set."""
        self.call("feclearexcept", I32, self.builder.trunc(self.constant("exceptions"), I32))

    def exceptions(self) -> Any:
        """Those that have been set since."""
        mask = self.builder.trunc(self.constant("exceptions"), I32)
        return self.call("fetestexcept", I32, mask)

    def read_input(self, given: Any, i: object, tensors: object) -> None:
        """Check an input and note its address, or go to `general`."""
        builder = self.builder
        kind, itemsize = self.slot(i, "kind"), self.slot(i, "itemsize")
        given = builder.inttoptr(given, POINTER)
        place = builder.gep(self.places, [i])
        is_number = builder.icmp_signed("==", kind, INT64(NUMBER))
        with builder.if_else(is_number, likely=False) as (number, array):
            with number:
                self.read_number(given, itemsize, builder.gep(self.numbers, [i]), place)
            with array:
                found = self.array_of(given, tensors)
                self.check_array(found, i, kind)
                builder.store(self.field(found, self.fields.data, INT64), place)
        guarded = builder.icmp_signed("!=", self.slot(i, "guarded"), INT64(0))
        with builder.if_then(guarded, likely=False):
            self.require_bits(builder.load(place), itemsize, self.slot(i, "bits"))

    def array_of(self, given: Any, tensors: object) -> Any:
        """The array of a tensor; note whether another of its fields is not None."""
        builder = self.builder
        found = builder.alloca(POINTER)
        builder.store(given, found)
        with builder.if_then(tensors):
            kind = self.field(given, self.fields.type, INT64)
            fits = [
                builder.icmp_signed("==", kind, self.constant(name))
                for name in ("first_class", "second_class")
            ]
            self.require(builder.or_(*fits))
            none = self.constant("none")
            for name in ("maker", "note"):
                at = builder.gep(given, [self.constant(name)])
                held = builder.load(builder.bitcast(at, WORDS))
                self.require(builder.icmp_signed("!=", held, INT64(0)))
                noted = builder.zext(builder.icmp_signed("!=", held, none), INT64)
                builder.store(builder.or_(builder.load(self.noted), noted), self.noted)
            at = builder.gep(given, [self.constant("array")])
            builder.store(builder.load(builder.bitcast(at, POINTER.as_pointer())), found)
        return builder.load(found)

    def read_number(self, given: Any, itemsize: object, number: Any, place: Any) -> None:
        """Convert a Python float, or an int that is not large, and note where it is."""
        builder = self.builder
        kind = self.field(given, self.fields.type, INT64)
        value = builder.alloca(DOUBLE)
        is_float = builder.icmp_signed("==", kind, self.constant("float"))
        with builder.if_else(is_float) as (of_float, of_int):
            with of_float:
                builder.store(self.field(given, self.fields.data, DOUBLE), value)
            with of_int:
                self.require(builder.icmp_signed("==", kind, self.constant("int")))
                found = self.call("PyLong_AsLongAndOverflow", INT64, given, self.overflow)
                for bound, order in ((LARGEST_INT, "<="), (-LARGEST_INT, ">=")):
                    self.require(builder.icmp_signed(order, found, INT64(bound)))
                overflow = builder.load(self.overflow)
                self.require(builder.icmp_signed("==", overflow, I32(0)))
                builder.store(builder.sitofp(found, DOUBLE), value)
        found = builder.load(value)
        is_short = builder.icmp_signed("==", itemsize, INT64(4))
        with builder.if_else(is_short) as (short, long):
            with short:
                rounded = builder.fptrunc(found, FLOAT)
                builder.store(rounded, builder.bitcast(number, FLOAT.as_pointer()))
            with long:
                builder.store(found, builder.bitcast(number, DOUBLE.as_pointer()))
        builder.store(builder.ptrtoint(number, INT64), place)

    def require_bits(self, address: object, itemsize: object, bits: object) -> None:
        """Go to `general` unless a number is the one that the program is for."""
        builder = self.builder
        for size in (4, 8):
            kind = ir.IntType(8 * size)
            with builder.if_then(builder.icmp_signed("==", itemsize, INT64(size))):
                found = builder.load(builder.inttoptr(address, kind.as_pointer()))
                found = found if size == 8 else builder.zext(found, INT64)
                self.require(builder.icmp_signed("==", found, bits))

    def check_array(self, array: Any, i: object, kind: object) -> None:
        """Go to `general` unless an array has the dtype, the layout and the shape."""
        builder, fields = self.builder, self.fields
        expected = (
            (fields.type, self.constant("ndarray")),
            (fields.descr, self.slot(i, "dtype")),
        )
        for offset, wanted in expected:
            self.require(builder.icmp_signed("==", self.field(array, offset, INT64), wanted))
        required = I32(fields.required)
        flags = builder.and_(self.field(array, fields.flags, I32), required)
        self.require(builder.icmp_signed("==", flags, required))
        ndim = builder.sext(self.field(array, fields.ndim, I32), INT64)
        is_whole = builder.icmp_signed("==", kind, INT64(WHOLE))
        with builder.if_else(is_whole) as (whole, other):
            with other:
                is_vector = builder.icmp_signed("==", kind, INT64(VECTOR))
                expected = builder.zext(is_vector, INT64)
                self.require(builder.icmp_signed("==", ndim, expected))
                with builder.if_then(is_vector):
                    size = builder.load(self.field(array, fields.shape, WORDS))
                    self.require(builder.icmp_signed("==", size, self.constant("columns")))
            with whole:
                self.note_shape(ndim, self.field(array, fields.shape, WORDS), i)

    def note_shape(self, ndim: Any, shape: Any, i: object) -> None:
        """Note the shape of an array, and that of the largest, which the others go with."""
        builder = self.builder
        self.require(builder.icmp_signed("!=", ndim, INT64(0)))
        builder.store(ndim, builder.gep(self.ndims, [i]))
        builder.store(shape, builder.gep(self.shapes, [i]))
        self.count(ndim, shape, self.size)
        most = builder.load(self.ndim)
        is_more = builder.icmp_signed(">", ndim, most)
        is_larger = builder.icmp_signed(">", builder.load(self.size), builder.load(self.counts))
        is_larger = builder.and_(builder.icmp_signed("==", ndim, most), is_larger)
        with builder.if_then(builder.or_(is_more, is_larger)):
            builder.store(ndim, self.ndim)
            builder.store(shape, self.shape)
            builder.store(builder.load(self.size), self.counts)

    def require_shape(self, i: object) -> None:
        """Go to `general` unless an array has the shape of the largest, its last sizes, or one
        element; the last two only where there is one step.
        """
        builder = self.builder
        ndim = builder.load(builder.gep(self.ndims, [i]))
        shape = builder.load(builder.gep(self.shapes, [i]))
        before = builder.sub(builder.load(self.ndim), ndim)
        by_rows = builder.icmp_signed("!=", self.constant("rows"), INT64(0))
        self.count(ndim, shape, self.size)
        one = builder.icmp_signed("==", builder.load(self.size), INT64(1))
        more = builder.icmp_signed("!=", builder.load(self.counts), INT64(1))
        with builder.if_else(builder.and_(by_rows, builder.and_(one, more))) as (single, many):
            with single:
                builder.store(INT64(_REPEATED), builder.gep(self.rows, [i]))
            with many:
                expected = builder.gep(builder.load(self.shape), [before])
                with _loop(builder, ndim) as axis:
                    sizes = (_at(builder, one, axis) for one in (shape, expected))
                    self.require(builder.icmp_signed("==", *sizes))
                with builder.if_then(builder.icmp_signed("!=", before, INT64(0))):
                    self.require(by_rows)
                    builder.store(INT64(_ROW), builder.gep(self.rows, [i]))
                    builder.store(builder.load(self.size), self.row)

    def count(self, ndim: object, shape: object, place: Any) -> None:
        """Note the number of elements of a shape."""
        builder = self.builder
        builder.store(INT64(1), place)
        with _loop(builder, ndim) as axis:
            builder.store(builder.mul(builder.load(place), _at(builder, shape, axis)), place)

    def require_few(self) -> None:
        """Note the number of elements: some, and few."""
        builder = self.builder
        self.count(builder.load(self.ndim), builder.load(self.shape), self.counts)
        found = builder.load(self.counts)
        self.require(builder.icmp_signed(">", found, INT64(0)))
        self.require(builder.icmp_signed("<=", found, self.constant("most")))
        columns = self.constant("columns")
        with builder.if_then(builder.icmp_signed("!=", columns, INT64(0))):
            last = builder.sub(builder.load(self.ndim), INT64(1))
            size = _at(builder, builder.load(self.shape), last)
            self.require(builder.icmp_signed("==", size, columns))
            self.require(builder.icmp_signed(">", found, columns))

    def make_results(self, inputs: Any, results: object) -> Any:
        """The array of the only result, or the tuple of all."""
        builder = self.builder
        made = builder.alloca(POINTER)
        builder.store(NULL, made)
        is_one = builder.icmp_signed("==", results, INT64(1))
        with builder.if_then(builder.not_(is_one)):
            several = self.call("PyTuple_New", POINTER, results)
            self.return_if_null(several)
            builder.store(several, made)
        with _loop(builder, results) as i:
            at = builder.add(inputs, i)
            array = self.empty(at)
            with builder.if_then(builder.icmp_unsigned("==", array, NULL), likely=False):
                others = builder.load(made)
                with builder.if_then(builder.icmp_unsigned("!=", others, NULL)):
                    self.call("Py_DecRef", ir.VoidType(), others)
                builder.ret(NULL)
            place = builder.gep(self.places, [at])
            builder.store(self.field(array, self.fields.data, INT64), place)
            with builder.if_else(is_one) as (one, many):
                with one:
                    builder.store(array, made)
                with many:
                    self.call("PyTuple_SetItem", I32, builder.load(made), i, array)
        return builder.load(made)

    def empty(self, at: object) -> Any:
        """An array for the result in a slot."""
        builder = self.builder
        dtype = builder.inttoptr(self.slot(at, "dtype"), POINTER)
        self.call("Py_IncRef", ir.VoidType(), dtype)  # the new array takes this reference
        is_scalar = builder.icmp_signed("!=", self.slot(at, "kind"), INT64(WHOLE))
        ndim = builder.select(is_scalar, INT64(0), builder.load(self.ndim))
        kind = builder.inttoptr(self.constant("ndarray"), POINTER)
        return self.call(
            "PyArray_NewFromDescr", POINTER, kind, dtype, builder.trunc(ndim, I32),
            builder.load(self.shape), ir.Constant(WORDS, None), NULL, I32(0), NULL,
        )  # fmt: skip

    def place_scratch(self, first: Any) -> None:
        """Note the addresses of scratch arrays, on the stack, and of constants."""
        builder = self.builder
        scratch, size = self.constant("scratch"), builder.mul(INT64(8), builder.load(self.counts))
        memory = builder.alloca(I8, size=builder.add(builder.mul(scratch, size), INT64(64)))
        start = builder.add(builder.ptrtoint(memory, INT64), INT64(63))
        aligned = builder.and_(start, INT64(-64))
        with _loop(builder, scratch) as i:
            place = builder.gep(self.places, [builder.add(first, i)])
            builder.store(builder.add(aligned, builder.mul(i, size)), place)
        first = builder.add(first, scratch)
        with _loop(builder, self.constant("constants")) as i:
            at = builder.add(first, i)
            builder.store(self.slot(at, "dtype"), builder.gep(self.places, [at]))

    def take_step(self, number: object) -> None:
        """Call a loop on the arrays in its slots, once, or for each row if one of them is a row."""
        builder = self.builder
        start = builder.add(INT64(len(HEAD)), builder.mul(INT64(len(SLOT)), self.slots()))
        length = len(STEP) + MOST_OPERANDS * len(OPERAND)
        start = builder.add(start, builder.mul(number, INT64(length)))

        def word(at: Any) -> Any:
            return _at(builder, self.words, builder.add(start, at))

        loop, data, arity, mode = (word(INT64(i)) for i in range(4))
        columns = self.constant("columns")
        of_column = builder.icmp_signed("==", mode, INT64(OF_COLUMN))
        with _loop(builder, arity) as i:
            first = builder.add(INT64(len(STEP)), builder.mul(i, INT64(len(OPERAND))))
            slot, itemsize, kind = (word(builder.add(first, INT64(k))) for k in range(3))
            address = _at(builder, self.places, slot)
            builder.store(address, builder.gep(self.arrays, [i]))
            kept = builder.load(builder.gep(self.rows, [builder.and_(slot, INT64(_ARITY - 1))]))
            repeats = builder.and_(
                builder.icmp_signed("==", kept, INT64(_REPEATED)),
                builder.icmp_signed("<", slot, self.constant("inputs")),
            )
            whole, column, vector = (
                builder.icmp_signed("==", kind, INT64(one)) for one in (WHOLE, COLUMN, VECTOR)
            )
            moves = builder.and_(builder.or_(whole, vector), builder.not_(repeats))
            moves = builder.or_(moves, builder.and_(column, of_column))
            stride = builder.select(moves, itemsize, INT64(0))
            builder.store(stride, builder.gep(self.strides, [i]))
            by_line = builder.select(whole, builder.mul(columns, itemsize), INT64(0))
            by_line = builder.select(column, itemsize, by_line)
            builder.store(by_line, builder.gep(self.advances, [i]))
        call = builder.inttoptr(loop, _LOOP.as_pointer())
        data = builder.inttoptr(data, POINTER)
        usual = builder.and_(
            builder.icmp_signed("==", mode, INT64(EACH)),
            builder.icmp_signed("==", builder.load(self.row), INT64(0)),
        )
        with builder.if_else(usual, likely=True) as (each, special):
            with each:
                builder.call(call, [self.arrays, self.counts, self.strides, data])
            with special:
                self.take_special(call, data, arity, mode)

    def take_special(self, call: object, data: object, arity: object, mode: object) -> None:
        """Call a loop on rows, on a number per row, or on what it sums."""
        builder = self.builder
        columns = self.constant("columns")
        found = builder.load(self.counts)
        is_one = builder.icmp_signed("==", columns, INT64(0))
        lines = builder.sdiv(found, builder.select(is_one, INT64(1), columns))
        itemsize = builder.load(self.strides)
        done = builder.append_basic_block()
        cases = builder.switch(mode, done)
        for number in (EACH, SUM, BY_ROW, OF_COLUMN, ROW_SUMS, SHIFT):
            block = builder.append_basic_block()
            cases.add_case(INT64(number), block)
            builder.position_at_end(block)
            dims, strides = self.dims, self.strides
            if number == EACH:
                self.take_rows(call, data, arity)
            elif number == BY_ROW:
                self.take_lines(call, data, arity, lines)
            else:
                steps: list[Any] = []
                if number == SUM:
                    sizes = [INT64(1), found]
                    steps = [INT64(0)] * 3 + [_at(builder, strides, INT64(i)) for i in range(2)]
                elif number == ROW_SUMS:
                    sizes = [INT64(1), lines, columns, INT64(1)]
                    along = builder.mul(columns, itemsize)
                    steps = [INT64(0)] * 3 + [
                        along, itemsize, itemsize, INT64(0), itemsize, INT64(0)
                    ]  # fmt: skip
                else:
                    sizes = [lines, columns]
                for values, place in ((sizes, dims), (steps, self.core)):
                    for i, value in enumerate(values):
                        builder.store(value, builder.gep(place, [INT64(i)]))
                strides = self.core if steps else strides
                builder.call(call, [self.arrays, dims, strides, data])
            builder.branch(done)
        builder.position_at_end(done)

    def take_lines(self, call: object, data: object, arity: object, lines: object) -> None:
        """Call a loop for each row."""
        builder = self.builder
        builder.store(self.constant("columns"), self.dims)
        with _loop(builder, lines):
            builder.call(call, [self.arrays, self.dims, self.strides, data])
            with _loop(builder, arity) as i:
                place = builder.gep(self.arrays, [i])
                advance = _at(builder, self.advances, i)
                builder.store(builder.add(builder.load(place), advance), place)

    def take_rows(self, call: object, data: object, arity: Any) -> None:
        """Call a loop for each row, of which one of the inputs, which come first, is the only."""
        builder = self.builder
        row = builder.load(self.row)
        rows = builder.sdiv(builder.load(self.counts), row)
        with _loop(builder, rows):
            builder.call(call, [self.arrays, self.row, self.strides, data])
            with _loop(builder, arity) as i:
                is_row = builder.load(builder.gep(self.rows, [i]))
                last = builder.icmp_signed("==", i, builder.sub(arity, INT64(1)))
                stays = builder.and_(
                    builder.icmp_signed("==", is_row, INT64(_ROW)), builder.not_(last)
                )
                stride = builder.mul(_at(builder, self.strides, i), row)
                place = builder.gep(self.arrays, [i])
                moved = builder.add(builder.load(place), stride)
                builder.store(builder.select(stays, builder.load(place), moved), place)

    def return_tensor(self, array: Any, arguments: Any, given: Any) -> None:
        """Return a tensor of the array: of class `first_class`, or what `finish` makes."""
        builder = self.builder
        noted = builder.icmp_signed("!=", builder.load(self.noted), INT64(0))
        with builder.if_then(noted):
            handed = builder.alloca(INT64, size=builder.add(given, INT64(1)))
            builder.store(builder.ptrtoint(array, INT64), handed)
            with _loop(builder, given) as i:
                place = builder.gep(handed, [builder.add(i, INT64(1))])
                builder.store(_at(builder, arguments, i), place)
            finish = builder.inttoptr(self.constant("finish"), POINTER)
            count = builder.add(given, INT64(1))
            made = self.call("PyObject_Vectorcall", POINTER, finish, handed, count, NULL)
            self.call("Py_DecRef", ir.VoidType(), array)
            builder.ret(made)
        kind = builder.inttoptr(self.constant("first_class"), POINTER)
        made = self.call("PyType_GenericAlloc", POINTER, kind, INT64(0))
        self.return_if_null(made, array)
        none = self.constant("none")
        for name in ("cell", "home", "maker", "note"):
            self.call("Py_IncRef", ir.VoidType(), builder.inttoptr(none, POINTER))
            at = builder.gep(made, [self.constant(name)])
            builder.store(none, builder.bitcast(at, WORDS))
        at = builder.gep(made, [self.constant("array")])
        builder.store(array, builder.bitcast(at, POINTER.as_pointer()))
        builder.ret(made)

    def slots(self) -> Any:
        """How many there are."""
        builder = self.builder
        parts = (self.constant(name) for name in ("inputs", "results", "scratch", "constants"))
        total = INT64(0)
        for part in parts:
            total = builder.add(total, part)
        return total

    def slot(self, number: Any, name: str) -> Any:
        builder = self.builder
        start = builder.mul(number, INT64(len(SLOT)))
        place = builder.add(start, INT64(len(HEAD) + SLOT.index(name)))
        return _at(builder, self.words, place)

    def field(self, record: object, offset: int, type: ir.Type) -> Any:
        place = self.builder.gep(record, [INT64(offset)])
        return self.builder.load(self.builder.bitcast(place, type.as_pointer()))

    def constant(self, name: str) -> Any:
        return _at(self.builder, self.words, INT64(HEAD.index(name)))

    def call(self, name: str, result: ir.Type, *arguments: Any) -> Any:
        """Call the function whose address is a constant of `self`."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        address = self.builder.inttoptr(self.constant(name), kind.as_pointer())
        return self.builder.call(address, arguments)

    def require(self, condition: object) -> None:
        passed = self.function.append_basic_block()
        self.builder.cbranch(condition, passed, self.general)
        self.builder.position_at_end(passed)

    def return_if_null(self, pointer: object, *owned: object) -> None:
        is_null = self.builder.icmp_unsigned("==", pointer, NULL)
        with self.builder.if_then(is_null, likely=False):
            for reference in owned:
                self.call("Py_DecRef", ir.VoidType(), reference)
            self.builder.ret(NULL)
