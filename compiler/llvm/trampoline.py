"""The trampoline of every kernel: machine code that reads ndarrays, makes the outputs and runs.

    results = trampoline(*inputs)

It follows CPython's convention METH_FASTCALL, so that a builtin function can be made of it. Its
`self` is an ndarray of addresses: of words that say which program to run and with which arrays, of
a table, and, if the inputs of the last call are to be kept, of a list for them and of a number that
grows with each call, which tells the last of several lists. So one piece of code, without an
address in it, serves all kernels, and who calls it hands the arguments on as they came. It checks
each input's type, dtype, shape and layout, notes its address in the table, checks that what is
written shares no memory with what was given before it, makes the outputs, and runs the program. It
returns the list of outputs, as a tuple if one of them that is a number, such as a loss, is inf or
nan; or an int: REJECTED if an input does not fit, BUSY if a variable is held, else the program's
status; or raises what the handler of a signal did.

Only fields with a place in the C interfaces of CPython and NumPy are read;
`compiler.runtime.trampoline` says where they are, tests it, and makes the function.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from staticgraph.compiler.llvm import watch
from staticgraph.compiler.llvm.builtins import INT64, NULL, POINTER, Builtin
from staticgraph.compiler.llvm.machine import emit_object
from staticgraph.compiler.llvm.parsed import parse
from staticgraph.compiler.llvm.run import define_run
from staticgraph.compiler.llvm.trampoline_words import (
    BOUND,
    CONSTANTS,
    ENTRY_SYMBOL,
    EXPONENTS,
    INPUT,
    NUMBER,
    OUTPUT,
    RUN_SYMBOL,
    Fields,
)
from staticgraph.compiler.llvm.unchanged import define_unchanged

INT1, I32 = ir.IntType(1), ir.IntType(32)


def trampoline_object(fields: Fields, machine: llvm.TargetMachine) -> bytes:
    """The object code of the trampoline, the loop that runs programs, and what compares words."""
    module = ir.Module("entry")
    module.triple = machine.triple
    run = define_run(module, RUN_SYMBOL)
    kind = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), INT64])
    _Trampoline(ir.Function(module, kind, ENTRY_SYMBOL), fields, run).define()
    define_unchanged(module, fields)
    parsed = parse(str(module))
    parsed.verify()
    _optimise(parsed, machine)
    return emit_object(machine, parsed)


def _optimise(module: object, machine: llvm.TargetMachine) -> None:
    """The passes that this code gains by: the others of LLVM take ten times as long."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


class _Trampoline(Builtin):
    def __init__(self, function: ir.Function, fields: Fields, run: object) -> None:
        super().__init__(function, CONSTANTS, "rejected")
        self.fields = fields
        self.run_program = run
        self.table: Any = None

    def define(self) -> None:
        builder = self.builder
        this, arguments, count = self.function.args
        bound = self.field(this, self.fields.data, INT64.as_pointer().as_pointer())
        self.words, self.table, kept, stamp = (
            builder.load(builder.gep(bound, [INT64(i)])) for i in range(len(BOUND))
        )
        inputs, outputs = self.constant("inputs"), self.constant("outputs")
        self.require(builder.icmp_signed("==", count, inputs))
        keeps = builder.icmp_unsigned("!=", kept, ir.Constant(kept.type, None))
        with builder.if_then(keeps, likely=False):
            self.keep(arguments, inputs, builder.bitcast(kept, POINTER), stamp)
        first = INT64(len(CONSTANTS))
        with self.loop(inputs) as i:
            record = builder.add(first, builder.mul(i, INT64(len(INPUT))))
            self.read_input(builder.load(builder.gep(arguments, [i])), record)
        written = self.constant("written")
        with self.loop(written) as i:
            position = builder.add(builder.sub(inputs, written), i)
            array = self.memory(position)
            with self.loop(position) as j:
                self.require_apart(array, self.memory(j))
        results = self.call("PyList_New", POINTER, outputs)
        self.return_if_null(results)
        first = builder.add(first, builder.mul(inputs, INT64(len(INPUT))))
        with self.loop(outputs) as i:
            record = builder.add(first, builder.mul(i, INT64(len(OUTPUT))))
            self.make_output(results, i, record)
        numbers = builder.add(first, builder.mul(outputs, INT64(len(OUTPUT))))
        self.run(results, numbers)
        builder.position_at_end(self.otherwise)
        builder.ret(self.call("PyLong_FromLongLong", POINTER, INT64(watch.REJECTED)))

    def keep(self, arguments: object, inputs: object, kept: object, stamp: object) -> None:
        """Put the inputs into a list, in place of those of an earlier call, and count the call."""
        builder = self.builder
        with self.loop(inputs) as i:
            array = builder.load(builder.gep(arguments, [i]))
            self.call("Py_IncRef", ir.VoidType(), array)  # the list takes this reference
            self.call("PyList_SetItem", I32, kept, i, array)
        calls = builder.inttoptr(self.constant("calls"), INT64.as_pointer())
        now = builder.add(builder.load(calls), INT64(1))
        builder.store(now, calls)
        builder.store(now, stamp)

    def read_input(self, array: object, record: object) -> None:
        """Check an input and note its address, or go to `rejected`."""
        builder, fields = self.builder, self.fields
        type = self.field(array, fields.type, INT64)
        self.require(builder.icmp_signed("==", type, self.constant("ndarray")))
        at, ndim, kind, itemsize, required = (self.word(record, i) for i in range(len(INPUT)))
        descr = self.field(array, fields.descr, POINTER)
        found_kind = builder.and_(self.field(descr, fields.kind, I32), I32(fields.kind_mask))
        required = builder.trunc(required, I32)
        flags = builder.and_(self.field(array, fields.flags, I32), required)
        found_ndim = builder.sext(self.field(array, fields.ndim, I32), INT64)
        for found, wanted in (
            (builder.zext(found_kind, INT64), kind),
            (self.field(descr, fields.itemsize, INT64), itemsize),
            (flags, required),
            (found_ndim, ndim),
        ):
            self.require(builder.icmp_signed("==", found, wanted))
        shape = self.field(array, fields.shape, INT64.as_pointer())
        expected = builder.gep(self.table, [builder.add(at, INT64(1))])
        with self.loop(ndim) as axis:
            sizes = [builder.load(builder.gep(sizes, [axis])) for sizes in (shape, expected)]
            self.require(builder.icmp_signed("==", *sizes))
        address = self.field(array, fields.data, INT64)
        builder.store(address, builder.gep(self.table, [at]))

    def memory(self, position: object) -> tuple[Any, Any]:
        """The addresses where an input that was read begins and ends."""
        builder = self.builder
        record = builder.mul(position, INT64(len(INPUT)))
        record = builder.add(INT64(len(CONSTANTS)), record)
        at, ndim, itemsize = (self.word(record, INPUT.index(n)) for n in ("at", "ndim", "itemsize"))
        with builder.goto_entry_block():
            size = builder.alloca(INT64)
        builder.store(itemsize, size)
        place = builder.gep(self.table, [at])
        with self.loop(ndim) as axis:
            length = builder.load(builder.gep(place, [builder.add(axis, INT64(1))]))
            builder.store(builder.mul(builder.load(size), length), size)
        start = builder.load(place)
        return start, builder.add(start, builder.load(size))

    def require_apart(self, left: tuple[object, object], right: tuple[object, object]) -> None:
        """Go to `rejected` if two arrays share memory, for which neither may be empty."""
        builder = self.builder
        shared = INT1(True)
        for start in (left[0], right[0]):
            for end in (left[1], right[1]):
                shared = builder.and_(shared, builder.icmp_signed("<", start, end))
        self.require(builder.not_(shared))

    def make_output(self, results: object, position: object, record: object) -> None:
        """Make an uninitialised array, put it into the results and note its address."""
        builder = self.builder
        at, ndim, descr = (self.word(record, i) for i in range(len(OUTPUT)))
        self.call("Py_IncRef", ir.VoidType(), descr)  # the new array takes this reference
        shape = builder.gep(self.table, [builder.add(at, INT64(1))])
        array = self.call(
            "PyArray_NewFromDescr", POINTER, self.constant("ndarray"), descr,
            builder.trunc(ndim, I32), shape, NULL, NULL, I32(0), NULL,
        )  # fmt: skip
        self.return_if_null(array, results)
        self.call("PyList_SetItem", I32, results, position, array)
        builder.store(self.field(array, self.fields.data, INT64), builder.gep(self.table, [at]))

    def run(self, results: object, numbers: object) -> None:
        """Run the program, without the interpreter's lock where the table says so."""
        builder = self.builder
        program = builder.inttoptr(self.constant("program"), INT64.as_pointer())
        with builder.goto_entry_block():
            watched = builder.alloca(INT64, size=watch.LENGTH)
        unlocks = self.constant("unlocks")
        guards = builder.add(unlocks, INT64(1))
        words = {
            watch.LEFT: INT64(watch.EVERY),
            watch.SIGNALS: self.constant("process"),
            watch.UNLOCKS: builder.load(builder.gep(self.table, [unlocks])),
            watch.GUARDS: builder.load(builder.gep(self.table, [guards])),
        }
        for place in (watch.SEEN, watch.THREAD, watch.HELD, watch.CHANGES):
            words[place] = INT64(0)
        for place, word in words.items():
            builder.store(word, builder.gep(watched, [INT64(place)]))
        status = builder.call(self.run_program, [program, self.table, watched])
        with builder.if_then(builder.icmp_signed("==", status, INT64(0)), likely=True):
            self.return_tuple_if_lost(results, numbers)
            builder.ret(results)
        self.call("Py_DecRef", ir.VoidType(), results)
        raised = builder.icmp_signed("==", status, INT64(watch.INTERRUPTED))
        with builder.if_then(raised, likely=False):
            builder.ret(NULL)
        builder.ret(self.call("PyLong_FromLongLong", POINTER, status))

    def return_tuple_if_lost(self, results: object, numbers: object) -> None:
        """Return the results as a tuple if one that is a number is inf or nan."""
        builder = self.builder
        with self.loop(self.constant("numbers")) as i:
            record = builder.add(numbers, builder.mul(i, INT64(len(NUMBER))))
            at, itemsize = (self.word(record, place) for place in range(len(NUMBER)))
            address = builder.load(builder.gep(self.table, [at]))
            for size, exponent in EXPONENTS.items():
                kind = ir.IntType(8 * size)
                with builder.if_then(builder.icmp_signed("==", itemsize, INT64(size))):
                    bits = builder.load(builder.inttoptr(address, kind.as_pointer()))
                    found = builder.and_(bits, kind(exponent))
                    lost = builder.icmp_unsigned("==", found, kind(exponent))
                    with builder.if_then(lost, likely=False):
                        listed = self.call("PyList_AsTuple", POINTER, results)
                        self.call("Py_DecRef", ir.VoidType(), results)
                        builder.ret(listed)

    def word(self, record: object, offset: int) -> Any:
        place = self.builder.add(record, INT64(offset))
        return self.builder.load(self.builder.gep(self.words, [place]))

    @contextmanager
    def loop(self, count: object) -> Iterator[Any]:
        """The body for each int from 0 below `count`."""
        builder = self.builder
        start = builder.block
        head, body, done = (self.function.append_basic_block() for _ in range(3))
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
