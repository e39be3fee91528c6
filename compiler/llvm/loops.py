"""Loops of NumPy's ufuncs in a row on small arrays: machine code for a builtin function.

    result, or a tuple of several = function(*inputs)

It follows CPython's convention METH_FASTCALL | METH_KEYWORDS. Its `self` is an ndarray of the words
that `compiler.llvm.loop_words` lists. Arrays of the dtypes listed there, row-major and aligned, all
of one shape but for those listed as numbers, get the results of the loops, called in their order on
all elements at once as NumPy calls them; so each bit is NumPy's. All other arguments, and values of
which a loop sets an exception, of which NumPy warns, go to the function `general`. Where the words
say so, an array may repeat one element: its strides are 0.

The inputs may be objects with slots, one of which holds the array: then the result is such an
object, made here if the inputs have nothing in their other slots, else by the function `finish`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from staticgraph.compiler.llvm.builtins import I8, INT64, NULL, POINTER
from staticgraph.compiler.llvm.joining import define_joining
from staticgraph.compiler.llvm.loop_steps import I32, REPEATED, ROW, Steps
from staticgraph.compiler.llvm.loop_words import (
    COLUMN,
    LARGEST_INT,
    LOOPS_SYMBOL,
    NUMBER,
    VECTOR,
    WHOLE,
)
from staticgraph.compiler.llvm.machine import emit_object
from staticgraph.compiler.llvm.own_loops import (
    DOUBLE,
    FLOAT,
    WORDS,
    define_own_loops,
    loop_below,
    word_at,
)
from staticgraph.compiler.llvm.parsed import parse
from staticgraph.compiler.llvm.recorder import define_recorder
from staticgraph.compiler.llvm.small_products import define_product
from staticgraph.compiler.llvm.trampoline_words import Fields
from staticgraph.compiler.llvm.viewer import define_views

_ALIGNED = 0x0100
_MOST_FLOAT, _MOST_DOUBLE = 3.4028234663852886e38, 1.7976931348623157e308
"""The largest finite numbers; larger ones overflow or are refused."""


def loops_object(fields: Fields, machine: llvm.TargetMachine) -> bytes:
    """The object code of the function, and of the loops that NumPy has no ufunc for."""
    module = ir.Module("loops")
    module.triple = machine.triple
    kind = ir.FunctionType(POINTER, [POINTER, WORDS, INT64, POINTER])
    _Loops(ir.Function(module, kind, LOOPS_SYMBOL), fields).define()
    define_own_loops(module)
    define_recorder(module, fields)
    define_views(module, fields)
    define_joining(module, fields)
    define_product(module, fields)
    parsed = parse(str(module))
    parsed.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.run(parsed, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return emit_object(machine, parsed)


class _Loops(Steps):
    def define(self) -> None:
        builder = self.builder
        _, arguments, given, names = self.function.args
        inputs, results = self.constant("inputs"), self.constant("results")
        self.require(builder.icmp_unsigned("==", names, NULL))
        self.require(builder.icmp_signed("==", given, inputs))
        tensors = builder.icmp_signed("!=", self.constant("tensors"), INT64(0))
        for place, value in ((self.ndim, -1), (self.row, 0), (self.lines, 0), (self.noted, 0)):
            builder.store(INT64(value), place)
        with builder.if_then(tensors):
            paused = builder.inttoptr(self.constant("paused"), POINTER)
            length = self.field(paused, self.fields.data, INT64)  # of a list
            builder.store(length, self.noted)
        self.forget_exceptions()
        with loop_below(builder, inputs) as i:
            self.read_input(word_at(builder, arguments, i), i, tensors)
        with loop_below(builder, inputs) as i:
            whole = builder.icmp_signed("==", self.slot(i, "kind"), INT64(WHOLE))
            with builder.if_then(whole):
                self.require_shape(i)
        self.require_few()
        first = self.make_results(inputs, results)
        self.place_scratch(builder.add(inputs, results))
        with loop_below(builder, self.constant("steps")) as i:
            self.take_step(i)
        fine, failed = (builder.append_basic_block() for _ in range(2))
        builder.cbranch(builder.icmp_signed("==", self.exceptions(), I32(0)), fine, failed)
        builder.position_at_end(fine)
        with builder.if_then(builder.not_(tensors)):
            builder.ret(first)
        self.return_tensor(first, arguments, given)
        builder.position_at_end(failed)
        self.call("Py_DecRef", ir.VoidType(), first)
        builder.branch(self.otherwise)
        builder.position_at_end(self.otherwise)
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
        with builder.goto_entry_block():
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
            held = builder.load(builder.bitcast(at, POINTER.as_pointer()))
            self.require(builder.icmp_unsigned("!=", held, NULL))  # of Tensor.__new__
            builder.store(held, found)
        return builder.load(found)

    def read_number(self, given: Any, itemsize: object, number: Any, place: Any) -> None:
        """Convert a Python float, or an int that is not large, and note where it is."""
        builder = self.builder
        kind = self.field(given, self.fields.type, INT64)
        with builder.goto_entry_block():
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
        most = builder.select(is_short, DOUBLE(_MOST_FLOAT), DOUBLE(_MOST_DOUBLE))
        for order, bound in (("<=", most), (">=", builder.fneg(most))):  # nan is neither
            self.require(builder.fcmp_ordered(order, found, bound))
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
        ndim = builder.sext(self.field(array, fields.ndim, I32), INT64)
        builder.store(INT64(0), builder.gep(self.rows, [i]))
        with builder.if_then(builder.icmp_signed("!=", flags, required), likely=False):
            self.require(builder.icmp_signed("!=", self.constant("repeats"), INT64(0)))
            self.require(builder.icmp_signed("==", kind, INT64(WHOLE)))
            self.require(builder.icmp_signed("!=", builder.and_(flags, I32(_ALIGNED)), I32(0)))
            strides = self.field(array, fields.shape + 8, WORDS)  # they follow the shape
            with loop_below(builder, ndim) as axis:
                stride = word_at(builder, strides, axis)
                self.require(builder.icmp_signed("==", stride, INT64(0)))
            builder.store(INT64(REPEATED), builder.gep(self.rows, [i]))
        is_whole = builder.icmp_signed("==", kind, INT64(WHOLE))
        with builder.if_else(is_whole) as (whole, other):
            with other:
                is_vector, is_column = (
                    builder.icmp_signed("==", kind, INT64(one)) for one in (VECTOR, COLUMN)
                )
                expected = builder.zext(builder.or_(is_vector, is_column), INT64)
                self.require(builder.icmp_signed("==", ndim, expected))
                with builder.if_then(is_column):
                    size = builder.load(self.field(array, fields.shape, WORDS))
                    builder.store(size, self.lines)
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
                builder.store(INT64(REPEATED), builder.gep(self.rows, [i]))
            with many:
                expected = builder.gep(builder.load(self.shape), [before])
                with loop_below(builder, ndim) as axis:
                    sizes = (word_at(builder, one, axis) for one in (shape, expected))
                    self.require(builder.icmp_signed("==", *sizes))
                with builder.if_then(builder.icmp_signed("!=", before, INT64(0))):
                    self.require(by_rows)
                    place = builder.gep(self.rows, [i])
                    moves = builder.icmp_signed("==", builder.load(place), INT64(0))
                    with builder.if_then(moves):  # else one element is repeated anyway
                        builder.store(INT64(ROW), place)
                        builder.store(builder.load(self.size), self.row)

    def count(self, ndim: object, shape: object, place: Any) -> None:
        """Note the number of elements of a shape."""
        builder = self.builder
        builder.store(INT64(1), place)
        with loop_below(builder, ndim) as axis:
            builder.store(builder.mul(builder.load(place), word_at(builder, shape, axis)), place)

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
            size = word_at(builder, builder.load(self.shape), last)
            self.require(builder.icmp_signed("==", size, columns))
            self.require(builder.icmp_signed(">", found, columns))
        lines = builder.load(self.lines)
        with builder.if_then(builder.icmp_signed("!=", lines, INT64(0))):
            self.require(builder.icmp_signed("==", builder.load(self.ndim), INT64(2)))
            self.require(builder.icmp_signed("==", builder.mul(lines, columns), found))

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
        with loop_below(builder, results) as i:
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
        kind = self.slot(at, "kind")
        is_whole, is_column = (builder.icmp_signed("==", kind, INT64(i)) for i in (WHOLE, COLUMN))
        ndim = builder.load(self.ndim)
        before = builder.sub(ndim, INT64(1))
        is_vector = builder.icmp_signed("==", kind, INT64(VECTOR))
        skipped = builder.select(is_vector, before, INT64(0))
        others = builder.select(is_column, before, builder.zext(is_vector, INT64))
        ndim = builder.select(is_whole, ndim, others)
        kind = builder.inttoptr(self.constant("ndarray"), POINTER)
        return self.call(
            "PyArray_NewFromDescr", POINTER, kind, dtype, builder.trunc(ndim, I32),
            builder.gep(builder.load(self.shape), [skipped]), ir.Constant(WORDS, None), NULL,
            I32(0), NULL,
        )  # fmt: skip

    def place_scratch(self, first: Any) -> None:
        """Note the addresses of scratch arrays, on the stack, and of constants."""
        builder = self.builder
        scratch, size = self.constant("scratch"), builder.mul(INT64(8), builder.load(self.counts))
        memory = builder.alloca(I8, size=builder.add(builder.mul(scratch, size), INT64(64)))
        start = builder.add(builder.ptrtoint(memory, INT64), INT64(63))
        aligned = builder.and_(start, INT64(-64))
        with loop_below(builder, scratch) as i:
            place = builder.gep(self.places, [builder.add(first, i)])
            builder.store(builder.add(aligned, builder.mul(i, size)), place)
        first = builder.add(first, scratch)
        with loop_below(builder, self.constant("constants")) as i:
            at = builder.add(first, i)
            builder.store(self.slot(at, "dtype"), builder.gep(self.places, [at]))

    def return_tensor(self, array: Any, arguments: Any, given: Any) -> None:
        """Return a tensor of the array: of class `first_class`, or what `finish` makes."""
        builder = self.builder
        noted = builder.icmp_signed("!=", builder.load(self.noted), INT64(0))
        with builder.if_then(noted):
            handed = builder.alloca(INT64, size=builder.add(given, INT64(1)))
            builder.store(builder.ptrtoint(array, INT64), handed)
            with loop_below(builder, given) as i:
                place = builder.gep(handed, [builder.add(i, INT64(1))])
                builder.store(word_at(builder, arguments, i), place)
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
