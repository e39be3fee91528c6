"""Small tensors joined along an axis that they have, or a new one: machine code.

    tensor = function(tensors) or function(tensors, axis)

It follows CPython's convention METH_FASTCALL | METH_KEYWORDS; its `self` is an ndarray of the words
that `compiler.llvm.joining_words` lists. Row-major arrays of float32 or float64, of sizes that go
together, are copied in blocks. All else goes to the function `general`. Where a tensor has a place
on the tape, or something is paused, one of the functions `finishes` makes the result.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, NULL, POINTER
from staticgraph.compiler.llvm.joining_words import (
    HEAD,
    MOST_AXES,
    MOST_TENSORS,
)
from staticgraph.compiler.llvm.loop_words import JOINING_SYMBOL
from staticgraph.compiler.llvm.own_loops import WORDS, loop_below, word_at
from staticgraph.compiler.llvm.tensors import CALL, I32, TensorBuiltin
from staticgraph.compiler.llvm.trampoline_words import Fields

_ITEMS = 8
"""Where, behind the number of its items, a tuple has them, and a list their address."""


def define_joining(module: ir.Module, fields: Fields) -> None:
    """Define the function in a module."""
    _Joining(ir.Function(module, CALL, JOINING_SYMBOL), fields).define()


class _Joining(TensorBuiltin):
    def __init__(self, function: ir.Function, fields: Fields) -> None:
        super().__init__(function, HEAD, fields)
        alloca = self.builder.alloca
        self.sources, self.blocks = (alloca(INT64, size=MOST_TENSORS) for _ in range(2))
        self.sizes = alloca(INT64, size=MOST_AXES + 1)
        self.handed = alloca(INT64, size=MOST_TENSORS + 2)
        self.items, self.axis, self.noted, self.total, self.held = (
            alloca(WORDS), *(alloca(INT64) for _ in range(4))
        )  # fmt: skip
        self.overflow = alloca(I32)

    def define(self) -> None:
        builder = self.builder
        _, _, given, names = self.function.args
        self.require(builder.icmp_unsigned("==", names, NULL))
        count = self.read_sequence(self.argument(INT64(0)))
        self.read_axis(given)
        first = self.array(INT64(0))
        adds = self.constant("adds")
        ndim = builder.add(self.ndim(first), adds)
        self.require(builder.icmp_signed(">", ndim, INT64(0)))
        self.require(builder.icmp_signed("<=", ndim, INT64(MOST_AXES)))
        axis = builder.load(self.axis)
        from_end = builder.icmp_signed("<", axis, INT64(0))
        axis = builder.select(from_end, builder.add(axis, ndim), axis)
        self.require(builder.icmp_signed(">=", axis, INT64(0)))
        self.require(builder.icmp_signed("<", axis, ndim))
        self.note_sizes(first, ndim, axis, adds)
        descr = self.field(first, self.fields.descr, INT64)
        itemsize = self.itemsize_of_float(descr)
        paused = self.field(self.known("paused"), self.fields.data, INT64)  # the length of a list
        builder.store(paused, self.noted)
        builder.store(INT64(0), self.total)
        with loop_below(builder, count) as i:
            self.read_tensor(i, first, axis, itemsize)
        along = builder.load(self.total)
        along = builder.select(builder.icmp_signed("!=", adds, INT64(0)), count, along)
        builder.store(along, builder.gep(self.sizes, [axis]))
        whole = builder.mul(self.product(self.sizes, ndim, self.held), itemsize)
        self.require(builder.icmp_signed(">", whole, INT64(0)))
        self.require(builder.icmp_signed("<=", whole, self.constant("most")))
        made = self.empty(descr, ndim, self.sizes)
        outer = self.product(self.sizes, axis, self.held)
        self.copy(self.field(made, self.fields.data, INT64), outer, count)
        with builder.if_then(builder.icmp_signed("!=", builder.load(self.noted), INT64(0))):
            self.finish(made, axis, count)
        self.return_tensor(made)
        self.define_general()

    def read_sequence(self, given: Any) -> Any:
        """Note where the items of a tuple or list are; how many there are."""
        builder = self.builder
        kind = self.field(given, self.fields.type, INT64)
        is_tuple = builder.icmp_signed("==", kind, self.constant("tuple"))
        is_list = builder.icmp_signed("==", kind, self.constant("list"))
        self.require(builder.or_(is_tuple, is_list))
        at = self.fields.data + _ITEMS
        inside = builder.bitcast(builder.gep(given, [INT64(at)]), WORDS)
        with builder.if_else(is_tuple) as (near, far):
            with near:
                builder.store(inside, self.items)
            with far:
                builder.store(self.field(given, at, WORDS), self.items)
        count = self.field(given, self.fields.data, INT64)
        self.require(builder.icmp_signed(">", count, INT64(0)))
        self.require(builder.icmp_signed("<=", count, INT64(MOST_TENSORS)))
        with loop_below(builder, count) as i:
            self.require_plain(self.item(i))
        return count

    def read_axis(self, given: object) -> None:
        """Note the axis: 0 if none is given."""
        builder = self.builder
        builder.store(INT64(0), self.axis)
        with builder.if_then(builder.icmp_signed("!=", given, INT64(1))):
            self.require_equal(given, INT64(2))
            axis = self.argument(INT64(1))
            self.require_same(self.field(axis, self.fields.type, INT64), "int")
            found = self.call("PyLong_AsLongAndOverflow", INT64, axis, self.overflow)
            builder.store(found, self.axis)  # -1 if it is large: no longer what is asked for
            self.require(builder.icmp_signed("==", builder.load(self.overflow), I32(0)))

    def item(self, i: object) -> Any:
        """One of the tensors."""
        builder = self.builder
        return builder.inttoptr(word_at(builder, builder.load(self.items), i), POINTER)

    def array(self, i: object) -> Any:
        """The array of one of the tensors."""
        return self.row_major(self.item(i))

    def note_sizes(self, first: Any, ndim: Any, axis: Any, adds: Any) -> None:
        """Note the sizes of the first array, one of its axes after another."""
        builder = self.builder
        shape = self.shape(first)
        with loop_below(builder, builder.sub(ndim, adds)) as i:
            behind = builder.icmp_signed(">=", i, axis)
            place = builder.add(i, builder.select(behind, adds, INT64(0)))
            builder.store(word_at(builder, shape, i), builder.gep(self.sizes, [place]))

    def read_tensor(self, i: Any, first: Any, axis: Any, itemsize: object) -> None:
        """Note the memory of an array, whose sizes are those of the first but along the axis."""
        builder = self.builder
        array = self.array(i)
        adds = builder.icmp_signed("!=", self.constant("adds"), INT64(0))
        descr = self.fields.descr
        self.require_equal(self.field(array, descr, INT64), self.field(first, descr, INT64))
        ndim, shape, expected = self.ndim(array), self.shape(array), self.shape(first)
        self.require_equal(ndim, self.ndim(first))
        with loop_below(builder, ndim) as k:
            own = word_at(builder, shape, k)
            equal = builder.icmp_signed("==", own, word_at(builder, expected, k))
            free = builder.and_(builder.icmp_signed("==", k, axis), builder.not_(adds))
            self.require(builder.or_(equal, free))
        inner = builder.gep(shape, [axis])
        size = self.product(inner, builder.sub(ndim, axis), self.held)
        self.require(builder.icmp_signed(">", size, INT64(0)))
        builder.store(builder.mul(size, itemsize), builder.gep(self.blocks, [i]))
        memory = self.field(array, self.fields.data, INT64)
        builder.store(memory, builder.gep(self.sources, [i]))
        with builder.if_then(builder.not_(adds)):
            total = builder.add(builder.load(self.total), builder.load(inner))
            builder.store(total, self.total)
        noted = builder.or_(builder.load(self.noted), self.has_place(self.item(i)))
        builder.store(noted, self.noted)

    def copy(self, target: object, outer: object, count: object) -> None:
        """Copy a block of each array in turn, and again."""
        builder = self.builder
        builder.store(target, self.held)
        with loop_below(builder, outer), loop_below(builder, count) as i:
            block = word_at(builder, self.blocks, i)
            source = builder.gep(self.sources, [i])
            to, of = builder.load(self.held), builder.load(source)
            pointers = (builder.inttoptr(one, POINTER) for one in (to, of))
            self.call("memcpy", POINTER, *pointers, block)
            for place in (self.held, source):
                builder.store(builder.add(builder.load(place), block), place)

    def finish(self, made: Any, axis: object, count: Any) -> None:
        """Return what the function for so many tensors makes of the array."""
        builder = self.builder
        attrs = self.call("PyList_GetItem", POINTER, self.known("attrs"), axis)
        for place, word in enumerate((made, attrs)):
            address = builder.gep(self.handed, [INT64(place)])
            builder.store(builder.ptrtoint(word, INT64), address)
        with loop_below(builder, count) as i:
            word = builder.ptrtoint(self.item(i), INT64)
            builder.store(word, builder.gep(self.handed, [builder.add(i, INT64(2))]))
        finish = self.call("PyList_GetItem", POINTER, self.known("finishes"), count)
        self.return_finished(finish, self.handed, builder.add(count, INT64(2)), made)
