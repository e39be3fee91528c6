"""The record of an op on small tensors as machine code: its node, and the tensor of its result.

    tensor = function(array, *operands) or function(array, attrs, *operands)

It follows CPython's convention METH_FASTCALL | METH_KEYWORDS; its `self` is an ndarray of the words
that `compiler.llvm.recorder_words` lists. Operands are objects with slots, of which one holds the
node that made the operand, or None; or bare arrays, that nobody else holds. The result is such an
object with a node of its own if an operand has one: with the nodes of the operands, what of the
arrays is saved, and their version counters. All that is not plain goes to the function `general`:
classes that are not known, views whose memory has changed, operands that keep no count, calls while
something is paused or somebody watches new nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, NULL, POINTER
from staticgraph.compiler.llvm.loop_words import RECORDER_SYMBOL
from staticgraph.compiler.llvm.own_loops import loop_below, word_at
from staticgraph.compiler.llvm.recorder_words import (
    HEAD,
    MOST_AXES,
    MOST_OPERANDS,
    PATTERN,
)
from staticgraph.compiler.llvm.tensors import CALL, I32, VOID, TensorBuiltin
from staticgraph.compiler.llvm.trampoline_words import Fields

DICT_USED = 16
"""Where a dict has the number of its entries."""


def define_recorder(module: ir.Module, fields: Fields) -> None:
    """Define the function in a module."""
    Recorder(ir.Function(module, CALL, RECORDER_SYMBOL), fields).define()


class Recorder(TensorBuiltin):
    """A builtin function that makes nodes."""

    def __init__(self, function: ir.Function, fields: Fields, names: Sequence[str] = HEAD) -> None:
        super().__init__(function, names, fields)
        self.makers, self.cells, self.held = (
            self.builder.alloca(INT64, size=MOST_OPERANDS) for _ in range(3)
        )
        self.found = self.builder.alloca(INT64)

    def define(self) -> None:
        """Make its code."""
        builder = self.builder
        _, arguments, given, names = self.function.args
        count, first = self.constant("count"), self.constant("first")
        self.require(builder.icmp_unsigned("==", names, NULL))
        self.require(builder.icmp_signed("==", given, builder.add(count, first)))
        array = builder.inttoptr(builder.load(arguments), POINTER)
        self.require_same(self.field(array, self.fields.type, INT64), "ndarray")
        self.require_empty("paused", self.fields.data)
        self.require_empty("observers", DICT_USED)
        builder.store(INT64(0), self.found)
        with loop_below(builder, count) as i:
            self.read_operand(self.operand(i), i)
        pattern = builder.load(self.found)
        start = builder.add(INT64(len(HEAD)), builder.mul(pattern, INT64(len(PATTERN))))
        recipe, steps, holds, keeps_output, keeps = (
            word_at(builder, self.words, builder.add(start, INT64(i))) for i in range(len(PATTERN))
        )
        with builder.if_then(builder.icmp_signed("==", steps, INT64(0))):
            self.share(array)
            self.return_tensor(array)
        with loop_below(builder, count) as i, builder.if_then(self.bit(keeps, i)):
            self.require_counted(word_at(builder, self.cells, i))
        attrs = self.attributes(first)
        self.pause_collection()
        node = self.new_node(recipe, attrs, array)
        self.put_edges(node, count)
        made = self.cell_of_result(keeps_output)
        self.put_saved(node, array, count, keeps, keeps_output)
        self.put_guards(node, count, keeps, holds, made)
        self.share(array)
        self.return_tensor(array, made, builder.ptrtoint(node, INT64))
        self.define_general()

    def new_node(self, recipe: Any, attrs: Any, array: Any) -> Any:
        """A node of an array, to which edges and what is saved are still to be added."""
        node = self.new("node")
        self.own(node)
        for name, value in (("recipe", recipe), ("attrs", attrs), ("hooks", self.none)):
            self.put(node, f"node_{name}", self.shared(value))
        self.put_shape(node, "node_shape", array)
        self.put(node, "node_dtype", self.shared(self.field(array, self.fields.descr, INT64)))
        serial = self.call("PyIter_Next", POINTER, self.known("numbers"))
        self.require_made(serial)
        self.put(node, "node_serial", self.builder.ptrtoint(serial, INT64))
        return node

    def share(self, array: Any) -> None:
        """Own an array that the caller has as well."""
        self.own(self.builder.inttoptr(self.shared(self.builder.ptrtoint(array, INT64)), POINTER))

    def operand(self, i: Any) -> Any:
        """An operand, by its number."""
        place = self.builder.add(self.constant("first"), i)
        return self.builder.inttoptr(word_at(self.builder, self.arguments, place), POINTER)

    def bit(self, bits: object, i: object) -> Any:
        """Whether a bit is set."""
        found = self.builder.and_(self.builder.lshr(bits, i), INT64(1))
        return self.builder.icmp_signed("!=", found, INT64(0))

    def read_operand(self, operand: Any, i: Any) -> None:
        """Note the array of an operand, its node and its version counter; 0 of a bare array."""
        builder = self.builder
        kind = self.field(operand, self.fields.type, POINTER)
        bare = builder.icmp_unsigned("==", kind, self.known("ndarray"))
        with builder.if_else(bare, likely=False) as (array, tensor):
            with array:
                builder.store(builder.ptrtoint(operand, INT64), builder.gep(self.held, [i]))
                builder.store(INT64(0), builder.gep(self.cells, [i]))
                builder.store(self.none, builder.gep(self.makers, [i]))
            with tensor:
                self.read_tensor(operand, i)

    def read_tensor(self, operand: Any, i: Any) -> None:
        """Note what a tensor has, or go to `general`."""
        builder = self.builder
        self.require_plain(operand)
        maker = self.maker_of(operand)
        words = {self.held: self.slot(operand, "array"), self.cells: self.slot(operand, "cell")}
        for place, word in (*words.items(), (self.makers, maker)):
            builder.store(word, builder.gep(place, [i]))
        has = builder.zext(builder.icmp_signed("!=", maker, self.none), INT64)
        builder.store(builder.or_(builder.load(self.found), builder.shl(has, i)), self.found)

    def maker_of(self, given: Any) -> Any:
        """The node of a tensor, or None; of a view if it is up to date."""
        builder = self.builder
        maker, note = self.slot(given, "maker"), self.slot(given, "note")
        with builder.if_then(builder.icmp_signed("!=", note, self.none)):
            unknown = builder.icmp_signed("==", maker, self.none)
            with builder.if_else(unknown) as (of_nothing, of_node):
                with of_nothing:  # the base has none either, else the view is made one now
                    self.require_same(self.slot(self.noted(note, 0), "maker"), "none")
                with of_node:
                    cell = self.slot(given, "cell")
                    self.require(builder.icmp_signed("!=", cell, self.none))
                    self.require_counted(cell)
                    version = self.noted(note, 2)
                    self.require(builder.icmp_unsigned("==", version, self.version(cell)))
        return maker

    def noted(self, note: Any, i: int) -> Any:
        """What a view notes: its base, its origin, its version."""
        note = self.builder.inttoptr(note, POINTER)
        return self.call("PyTuple_GetItem", POINTER, note, INT64(i))

    def version(self, cell: Any) -> Any:
        """The version that a counter has."""
        cell = self.builder.inttoptr(cell, POINTER)
        return self.call("PyList_GetItem", POINTER, cell, INT64(0))

    def require_counted(self, cell: Any) -> None:
        """Go to `general` unless a version counter is a list, or nobody has asked for it yet."""
        builder = self.builder
        counts = builder.icmp_signed("!=", cell, self.none)
        counts = builder.and_(counts, builder.icmp_signed("!=", cell, INT64(0)))
        with builder.if_then(counts):
            kind = self.field(builder.inttoptr(cell, POINTER), self.fields.type, INT64)
            self.require_same(kind, "list")

    def attributes(self, first: Any) -> Any:
        """The attributes: behind the array, or by the number of axes of the first operand."""
        builder = self.builder
        with builder.goto_entry_block():
            found = builder.alloca(INT64)
        apart = builder.icmp_signed("==", self.constant("attrs"), INT64(0))
        with builder.if_else(apart) as (given, ready):
            with given:
                builder.store(word_at(builder, self.arguments, INT64(1)), found)
            with ready:
                array = builder.inttoptr(builder.load(self.held), POINTER)
                ndim = self.ndim(array)
                self.require(builder.icmp_signed("<=", ndim, INT64(MOST_AXES)))
                item = self.call("PyList_GetItem", POINTER, self.known("attrs"), ndim)
                builder.store(builder.ptrtoint(item, INT64), found)
        return builder.load(found)

    def new_cell(self) -> Any:
        """A version counter: [0, None]."""
        cell = self.call("PyList_New", POINTER, INT64(2))
        self.require_made(cell)
        for i, name in enumerate(("zero", "none")):
            value = self.builder.inttoptr(self.shared(self.constant(name)), POINTER)
            self.call("PyList_SetItem", I32, cell, INT64(i), value)
        return self.builder.ptrtoint(cell, INT64)

    def cell_of_result(self, keeps_output: object) -> Any:
        """The version counter of the result, None where that is not saved."""
        builder = self.builder
        found = builder.alloca(INT64)
        is_kept = builder.icmp_signed("!=", keeps_output, INT64(0))
        with builder.if_else(is_kept) as (kept, left):
            with kept:
                builder.store(self.new_cell(), found)
            with left:
                builder.store(self.shared(self.none), found)
        self.own(builder.inttoptr(builder.load(found), POINTER))
        return builder.load(found)

    def new_tuple(self, size: object) -> Any:
        """A tuple that is to be filled, when something owns it."""
        made = self.call("PyTuple_New", POINTER, size)
        self.require_made(made)
        return made

    def put_tuple(self, record: Any, name: str, size: object) -> Any:
        """Put a tuple that is to be filled into a slot of a new object."""
        made = self.new_tuple(size)
        self.put(record, name, self.builder.ptrtoint(made, INT64))
        return made

    def fill(self, items: object, i: object, word: Any) -> None:
        """Put what is owned into a new tuple."""
        self.call("PyTuple_SetItem", I32, items, i, self.builder.inttoptr(word, POINTER))

    def put_shape(self, record: Any, name: str, array: Any) -> None:
        """Put the shape of an array into a slot of a new object."""
        self.fill_shape(self.put_tuple(record, name, self.ndim(array)), array)

    def fill_shape(self, made: Any, array: Any) -> None:
        """Put the sizes of an array into a new tuple, which something owns."""
        builder = self.builder
        shape = self.shape(array)
        with loop_below(builder, self.ndim(array)) as axis:
            size = self.call("PyLong_FromSsize_t", POINTER, word_at(builder, shape, axis))
            self.require_made(size)
            self.fill(made, axis, builder.ptrtoint(size, INT64))

    def put_edges(self, node: Any, count: object) -> None:
        """Put the nodes of the operands into a node, None among them."""
        builder = self.builder
        made = self.put_tuple(node, "node_edges", count)
        with loop_below(builder, count) as i:
            self.fill(made, i, self.shared(word_at(builder, self.makers, i)))

    def put_saved(
        self, node: Any, array: Any, count: Any, keeps: object, keeps_output: object
    ) -> None:
        """Put per operand its array into a node, or what stands for it: its node, or its shape and
        dtype.
        """
        builder = self.builder
        made = self.put_tuple(node, "node_saved", builder.add(count, INT64(1)))
        with loop_below(builder, count) as i:
            own = word_at(builder, self.held, i)
            maker = word_at(builder, self.makers, i)
            with builder.if_else(self.bit(keeps, i)) as (kept, left):
                with kept:
                    self.fill(made, i, self.shared(own))
                with left:
                    unknown = builder.icmp_signed("==", maker, self.none)
                    with builder.if_else(unknown) as (described, known):
                        with described:
                            self.fill_described(made, i, builder.inttoptr(own, POINTER))
                        with known:
                            self.fill(made, i, self.shared(maker))
        is_kept = builder.icmp_signed("!=", keeps_output, INT64(0))
        last = builder.select(is_kept, builder.ptrtoint(array, INT64), self.none)
        self.fill(made, count, self.shared(last))

    def fill_described(self, items: object, i: object, array: Any) -> None:
        """Put the shape and dtype of an array into a new tuple, in an object."""
        made = self.new("spec")
        self.fill(items, i, self.builder.ptrtoint(made, INT64))
        self.put_shape(made, "spec_shape", array)
        descr = self.field(array, self.fields.descr, INT64)
        self.put(made, "spec_dtype", self.shared(descr))

    def put_guards(self, node: Any, count: Any, keeps: object, holds: object, made: Any) -> None:
        """Put the version counters of what is saved into the node, and what they are."""
        builder = self.builder
        holds = builder.icmp_signed("!=", holds, INT64(0))
        size = builder.select(holds, builder.add(count, INT64(1)), INT64(0))
        guards, versions = (
            self.put_tuple(node, f"node_{name}", size) for name in ("guards", "versions")
        )
        with builder.if_then(holds):
            with loop_below(builder, count) as i:
                bare = builder.icmp_signed("==", word_at(builder, self.cells, i), INT64(0))
                is_kept = builder.and_(self.bit(keeps, i), builder.not_(bare))
                self.fill_guard(guards, versions, i, is_kept)
            self.fill(guards, count, self.shared(made))
            self.fill(versions, count, self.shared(self.constant("zero")))

    def fill_guard(self, guards: object, versions: object, i: Any, is_kept: object) -> None:
        """Put the version counter of an operand that is saved into a tuple, and what it is."""
        builder = self.builder
        with builder.if_else(is_kept) as (kept, left):
            with kept:
                cell = self.counter(self.operand(i))
                self.fill(guards, i, self.shared(cell))
                version = builder.ptrtoint(self.version(cell), INT64)
                self.fill(versions, i, self.shared(version))
            with left:
                self.fill(guards, i, self.shared(self.none))
                self.fill(versions, i, self.shared(self.constant("zero")))

    def counter(self, operand: Any) -> Any:
        """The version counter of an operand, which gets one if it has none."""
        builder = self.builder
        before = self.slot(operand, "cell")
        with builder.if_then(builder.icmp_signed("==", before, self.none)):
            self.put(operand, "cell", self.new_cell())
            self.call("Py_DecRef", VOID, builder.inttoptr(self.none, POINTER))
        return self.slot(operand, "cell")
