"""Loops that NumPy has no ufunc for, in the convention of its own (`PyUFuncGenericFunction`).

loop(addresses of the arrays, numbers of elements, strides, NULL)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import I8, INT64, POINTER
from staticgraph.compiler.llvm.loop_words import (
    LARGEST_SYMBOLS,
    LESS_SYMBOLS,
    NEAR,
    PICK_SYMBOLS,
    SELECT_SYMBOLS,
    SHIFT_SYMBOLS,
    SMALLEST_SYMBOLS,
    WIDEN_SYMBOLS,
)

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
WORDS = INT64.as_pointer()
LOOP = ir.FunctionType(ir.VoidType(), [WORDS, WORDS, WORDS, POINTER])


def define_own_loops(module: ir.Module) -> None:
    """Define all of them in a module."""
    for itemsize, symbol in SELECT_SYMBOLS.items():
        _define_select(ir.Function(module, LOOP, symbol), ir.IntType(8 * itemsize))
    for itemsize, symbol in WIDEN_SYMBOLS.items():
        _define_widen(ir.Function(module, LOOP, symbol), ir.IntType(8 * itemsize))
    for symbols, order in ((LARGEST_SYMBOLS, ">"), (SMALLEST_SYMBOLS, "<")):
        for itemsize, symbol in symbols.items():
            _define_extreme(ir.Function(module, LOOP, symbol), _FLOATS[itemsize], order)
    for itemsize, symbol in SHIFT_SYMBOLS.items():
        _define_shift(ir.Function(module, LOOP, symbol), _FLOATS[itemsize])
    for itemsize, symbol in PICK_SYMBOLS.items():
        _define_pick(ir.Function(module, LOOP, symbol), _FLOATS[itemsize])
    for itemsize, symbol in LESS_SYMBOLS.items():
        _define_less(ir.Function(module, LOOP, symbol), _FLOATS[itemsize])


_FLOATS = {4: FLOAT, 8: DOUBLE}


@contextmanager
def loop_below(builder: Any, count: object) -> Iterator[Any]:
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


def word_at(builder: Any, words: object, place: Any) -> Any:
    """One of some words."""
    return builder.load(builder.gep(words, [place]))


def _element(builder: Any, arguments: tuple[Any, Any], number: int, i: object, kind: Any) -> Any:
    """The address of the element `i` of one of the arrays of a loop."""
    arrays, strides = arguments
    offset = builder.mul(i, word_at(builder, strides, INT64(number)))
    address = builder.add(word_at(builder, arrays, INT64(number)), offset)
    return builder.inttoptr(address, kind.as_pointer())


def _define_select(function: Any, kind: Any) -> None:
    """Of a mask and two arrays the element of the first where it holds, else of the second."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, count, strides, _ = function.args
    with loop_below(builder, builder.load(count)) as i:
        place = [
            _element(builder, (arrays, strides), k, i, t) for k, t in enumerate((I8, *[kind] * 3))
        ]
        mask, first, second = (builder.load(one) for one in place[:3])
        holds = builder.icmp_unsigned("!=", mask, I8(0))
        builder.store(builder.select(holds, first, second), place[3])
    builder.ret_void()


def _define_widen(function: Any, kind: Any) -> None:
    """Of int8 the ints of more bytes."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, count, strides, _ = function.args
    with loop_below(builder, builder.load(count)) as i:
        source, target = (
            _element(builder, (arrays, strides), k, i, t) for k, t in enumerate((I8, kind))
        )
        builder.store(builder.sext(builder.load(source), kind), target)
    builder.ret_void()


def _define_extreme(function: Any, kind: Any, order: str) -> None:
    """The first largest or smallest element of all, or the first that is nan."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, count, strides, _ = function.args
    target = builder.inttoptr(word_at(builder, arrays, INT64(1)), kind.as_pointer())
    first = _element(builder, (arrays, strides), 0, INT64(0), kind)
    builder.store(builder.load(first), target)
    with loop_below(builder, builder.load(count)) as i:
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
        builder.inttoptr(word_at(builder, arrays, INT64(i)), kind.as_pointer()) for i in range(2)
    )
    rows, columns = (builder.load(builder.gep(counts, [INT64(i)])) for i in range(2))
    greatest, least = builder.alloca(kind), builder.alloca(kind)
    for place in (greatest, least):
        builder.store(builder.load(source), place)
    with loop_below(builder, rows) as row:
        start = builder.gep(source, [builder.mul(row, columns)])
        best = builder.gep(target, [row])
        builder.store(builder.load(start), best)
        with loop_below(builder, columns) as i:
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
    is_near = builder.fcmp_ordered("<", builder.fsub(*wide), DOUBLE(NEAR))
    with builder.if_then(is_near), loop_below(builder, rows) as row:
        builder.store(builder.load(greatest), builder.gep(target, [row]))
    builder.ret_void()


@contextmanager
def _named(builder: Any, function: Any, kind: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Per row its number, where in all rows the element is that a number names, and the arrays.

    A number out of range raises the exception of an invalid operation.
    """
    arrays, counts, _, _ = function.args
    types = (kind, INT64, kind)
    pointers = [
        builder.inttoptr(word_at(builder, arrays, INT64(i)), one.as_pointer())
        for i, one in enumerate(types)
    ]
    rows, columns = (builder.load(builder.gep(counts, [INT64(i)])) for i in range(2))
    with loop_below(builder, rows) as row:
        name = word_at(builder, pointers[1], row)
        fits = builder.icmp_unsigned("<", name, columns)
        place = builder.add(builder.mul(row, columns), builder.select(fits, name, INT64(0)))
        yield row, place, pointers
        with builder.if_then(builder.not_(fits), likely=False):
            zero = builder.fmul(builder.sitofp(name, kind), kind(0.0))
            invalid = builder.fdiv(zero, zero)
            builder.store(invalid, builder.gep(pointers[2], [INT64(0)]))


def _define_pick(function: Any, kind: Any) -> None:
    """Per row the element that a number names."""
    builder = ir.IRBuilder(function.append_basic_block())
    with _named(builder, function, kind) as (row, place, (source, _, target)):
        value = builder.load(builder.gep(source, [place]))
        builder.store(value, builder.gep(target, [row]))
    builder.ret_void()


def _define_less(function: Any, kind: Any) -> None:
    """The rows with that element of each less by 1."""
    builder = ir.IRBuilder(function.append_basic_block())
    arrays, counts, _, _ = function.args
    source, target = (
        builder.inttoptr(word_at(builder, arrays, INT64(i)), kind.as_pointer()) for i in (0, 2)
    )
    rows, columns = (builder.load(builder.gep(counts, [INT64(i)])) for i in range(2))
    with loop_below(builder, builder.mul(rows, columns)) as i:
        builder.store(builder.load(builder.gep(source, [i])), builder.gep(target, [i]))
    with _named(builder, function, kind) as (_, place, (_, _, rows_less)):
        at = builder.gep(rows_less, [place])
        builder.store(builder.fsub(builder.load(at), kind(1.0)), at)
    builder.ret_void()
