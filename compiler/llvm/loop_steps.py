"""What the machine code of `compiler.llvm.loops` is made with, and its steps: calls of loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, POINTER, Builtin
from staticgraph.compiler.llvm.loop_words import (
    BY_ROW,
    COLUMN,
    COLUMN_SUMS,
    EACH,
    HEAD,
    MOST_OPERANDS,
    MOST_SLOTS,
    OF_COLUMN,
    OPERAND,
    ROW_SUMS,
    ROWS,
    SLOT,
    STEP,
    SUM,
    VECTOR,
    WHOLE,
)
from staticgraph.compiler.llvm.own_loops import LOOP, WORDS, loop_below, word_at
from staticgraph.compiler.llvm.trampoline_words import Fields

I32 = ir.IntType(32)
ROW, REPEATED = 1, 2
"""How an input that is smaller than another goes with it."""


class Steps(Builtin):
    """A function that is being made: where its arrays are, and the calls of loops on them."""

    def __init__(self, function: ir.Function, fields: Fields) -> None:
        super().__init__(function, HEAD, "general")
        self.fields = fields
        builder = self.builder
        self.words = self.field(function.args[0], fields.data, WORDS)
        self.places, self.numbers, self.rows = (
            builder.alloca(INT64, size=MOST_SLOTS) for _ in range(3)
        )
        self.arrays, self.strides = (builder.alloca(INT64, size=MOST_OPERANDS) for _ in range(2))
        self.advances = builder.alloca(INT64, size=MOST_OPERANDS)
        self.core = builder.alloca(INT64, size=9)  # the strides where a loop sums
        self.dims = builder.alloca(INT64, size=4)
        self.counts = builder.alloca(INT64, size=2)
        self.row = builder.alloca(INT64)
        self.lines = builder.alloca(INT64)
        self.ndim, self.shape = builder.alloca(INT64), builder.alloca(WORDS)
        self.ndims = builder.alloca(INT64, size=MOST_SLOTS)
        self.shapes = builder.alloca(WORDS, size=MOST_SLOTS)
        self.size = builder.alloca(INT64)
        self.noted = builder.alloca(INT64)
        self.overflow = builder.alloca(I32)

    def take_step(self, number: object) -> None:
        """Call a loop on the arrays in its slots, once, or for each row if one of them is a row."""
        builder = self.builder
        start = builder.add(INT64(len(HEAD)), builder.mul(INT64(len(SLOT)), self.slots()))
        length = len(STEP) + MOST_OPERANDS * len(OPERAND)
        start = builder.add(start, builder.mul(number, INT64(length)))

        def word(at: Any) -> Any:
            return word_at(builder, self.words, builder.add(start, at))

        loop, data, arity, mode = (word(INT64(i)) for i in range(4))
        columns = self.constant("columns")
        of_column = builder.icmp_signed("==", mode, INT64(OF_COLUMN))
        with loop_below(builder, arity) as i:
            first = builder.add(INT64(len(STEP)), builder.mul(i, INT64(len(OPERAND))))
            slot, itemsize, kind = (word(builder.add(first, INT64(k))) for k in range(3))
            address = word_at(builder, self.places, slot)
            builder.store(address, builder.gep(self.arrays, [i]))
            is_input = builder.icmp_signed("<", slot, self.constant("inputs"))
            near = builder.select(is_input, slot, INT64(0))
            kept = builder.load(builder.gep(self.rows, [near]))
            repeats = builder.and_(builder.icmp_signed("==", kept, INT64(REPEATED)), is_input)
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
        call = builder.inttoptr(loop, LOOP.as_pointer())
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
        for number in (EACH, SUM, BY_ROW, OF_COLUMN, ROW_SUMS, ROWS, COLUMN_SUMS):
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
                    steps = [INT64(0)] * 3 + [word_at(builder, strides, INT64(i)) for i in range(2)]
                elif number == COLUMN_SUMS:
                    sizes = [INT64(1), INT64(1), lines, columns]
                    along = builder.mul(columns, itemsize)
                    steps = [INT64(0)] * 3 + [
                        builder.mul(lines, itemsize), itemsize, along, itemsize, along, itemsize
                    ]  # fmt: skip
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
        with loop_below(builder, lines):
            builder.call(call, [self.arrays, self.dims, self.strides, data])
            with loop_below(builder, arity) as i:
                place = builder.gep(self.arrays, [i])
                advance = word_at(builder, self.advances, i)
                builder.store(builder.add(builder.load(place), advance), place)

    def take_rows(self, call: object, data: object, arity: Any) -> None:
        """Call a loop for each row, of which one of the inputs, which come first, is the only."""
        builder = self.builder
        row = builder.load(self.row)
        rows = builder.sdiv(builder.load(self.counts), row)
        with loop_below(builder, rows):
            builder.call(call, [self.arrays, self.row, self.strides, data])
            with loop_below(builder, arity) as i:
                is_row = builder.load(builder.gep(self.rows, [i]))
                last = builder.icmp_signed("==", i, builder.sub(arity, INT64(1)))
                stays = builder.and_(
                    builder.icmp_signed("==", is_row, INT64(ROW)), builder.not_(last)
                )
                stride = builder.mul(word_at(builder, self.strides, i), row)
                place = builder.gep(self.arrays, [i])
                moved = builder.add(builder.load(place), stride)
                builder.store(builder.select(stays, builder.load(place), moved), place)

    def slots(self) -> Any:
        """How many there are."""
        builder = self.builder
        parts = (self.constant(name) for name in ("inputs", "results", "scratch", "constants"))
        total = INT64(0)
        for part in parts:
            total = builder.add(total, part)
        return total

    def slot(self, number: Any, name: str) -> Any:
        """A word of the record of a slot."""
        builder = self.builder
        start = builder.mul(number, INT64(len(SLOT)))
        place = builder.add(start, INT64(len(HEAD) + SLOT.index(name)))
        return word_at(builder, self.words, place)
