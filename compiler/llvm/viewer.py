"""The tensor of a view as machine code, and its node.

    tensor = function(recipe, operand, array, attrs)
    tensor = function(operand, *sizes) or function(operand, sizes)

They follow CPython's convention METH_FASTCALL | METH_KEYWORDS; their `self` is an ndarray of the
words that `compiler.llvm.recorder_words` lists, without patterns. The tensor shares the version
counter of the operand, on whose memory the array is, and notes the tensor that has this memory. It
has a node if the operand has one. The second function makes the array too: that of the operand, if
it is row-major, in another shape. All that is not plain goes to the function `general`: see
`compiler.llvm.recorder`; of the second also sizes that are 0, do not fit, or are no ints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, NULL, POINTER
from staticgraph.compiler.llvm.loop_words import RESHAPER_SYMBOL, VIEWER_SYMBOL
from staticgraph.compiler.llvm.own_loops import WORDS, loop_below, word_at
from staticgraph.compiler.llvm.recorder import DICT_USED, Recorder
from staticgraph.compiler.llvm.recorder_words import (
    MOST_AXES,
    RESHAPER_HEAD,
)
from staticgraph.compiler.llvm.tensors import CALL, I32
from staticgraph.compiler.llvm.trampoline_words import Fields

_KEPT = 0x0500
"""The flags of an array that one on its memory has too: NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE."""


def define_views(module: ir.Module, fields: Fields) -> None:
    """Define the functions in a module."""
    _Viewer(ir.Function(module, CALL, VIEWER_SYMBOL), fields).define()
    reshaper = ir.Function(module, CALL, RESHAPER_SYMBOL)
    _Reshaper(reshaper, fields, RESHAPER_HEAD).define()


class _Viewer(Recorder):
    def define(self) -> None:
        builder = self.builder
        _, _, given, names = self.function.args
        self.require(builder.icmp_unsigned("==", names, NULL))
        self.require(builder.icmp_signed("==", given, INT64(4)))
        recipe, _, _, attrs = (word_at(builder, self.arguments, INT64(i)) for i in range(4))
        operand, array = (self.argument(INT64(i)) for i in (1, 2))
        self.require_same(self.field(array, self.fields.type, INT64), "ndarray")
        maker = self.require_viewed(operand)
        self.share(array)
        self.return_view(operand, maker, recipe, array, lambda: self.shared(attrs))
        self.define_general()

    def require_viewed(self, operand: Any) -> Any:
        """Go to `general` unless views of a tensor are plain; its node, or None."""
        self.require_empty("paused", self.fields.data)
        self.require_empty("observers", DICT_USED)
        self.require_plain(operand)
        self.require_counted(self.slot(operand, "cell"))
        return self.maker_of(operand)

    def return_view(
        self, operand: Any, maker: Any, recipe: Any, array: Any, attrs: Callable[[], Any]
    ) -> None:
        """Return the tensor of a view; `array` is owned, and what `attrs` gives."""
        builder = self.builder
        self.pause_collection()
        note = self.new_note(operand)
        cell = self.shared(self.slot(operand, "cell"))
        self.own(builder.inttoptr(cell, POINTER))
        node = builder.alloca(INT64)
        recorded = builder.icmp_signed("!=", maker, self.none)
        with builder.if_else(recorded) as (node_too, tensor_alone):
            with node_too:
                found = self.own(builder.inttoptr(attrs(), POINTER))
                word = builder.ptrtoint(builder.load(found), INT64)
                builder.store(self.node(recipe, word, array, maker), node)
                self.drop(found)
            with tensor_alone:
                self.own(builder.inttoptr(self.shared(self.none), POINTER))
                builder.store(self.none, node)
        self.return_tensor(array, cell, builder.load(node), note)

    def node(self, recipe: object, attrs: object, array: Any, maker: Any) -> Any:
        """The node of an array; its operand has the node `maker`."""
        node = self.new_node(recipe, attrs, array)
        items = {"edges": (maker,), "saved": (maker, self.none)}
        for name in ("edges", "saved", "guards", "versions"):
            words = items.get(name, ())
            made = self.put_tuple(node, f"node_{name}", INT64(len(words)))
            for i, word in enumerate(words):
                self.fill(made, INT64(i), self.shared(word))
        return self.builder.ptrtoint(node, INT64)

    def new_note(self, operand: Any) -> Any:
        """What the view notes: the tensor whose memory it is on, its origin, its version."""
        builder = self.builder
        counter = self.counter(operand)
        base, origin = builder.alloca(INT64), builder.alloca(INT64)
        builder.store(builder.ptrtoint(operand, INT64), base)
        builder.store(self.none, origin)
        note = self.slot(operand, "note")
        with builder.if_then(builder.icmp_signed("!=", note, self.none)):
            for i, place in enumerate((base, origin)):
                builder.store(builder.ptrtoint(self.noted(note, i), INT64), place)
        made = self.new_tuple(INT64(3))
        self.own(made)
        version = builder.ptrtoint(self.version(counter), INT64)
        for i, word in enumerate((builder.load(base), builder.load(origin), version)):
            self.fill(made, INT64(i), self.shared(word))
        return builder.ptrtoint(made, INT64)


class _Reshaper(_Viewer):
    def define(self) -> None:
        builder = self.builder
        _, _, given, names = self.function.args
        self.require(builder.icmp_unsigned("==", names, NULL))
        self.require(builder.icmp_signed(">", given, INT64(1)))
        operand = self.argument(INT64(0))
        maker = self.require_viewed(operand)
        array = self.row_major(operand)
        count, items = self.find_sizes(given)
        shape = self.read_sizes(array, count, items)
        made = self.array_of(array, count, shape)
        self.return_view(operand, maker, self.constant("recipe"), made, lambda: self.attrs(made))
        self.define_general()

    def find_sizes(self, given: Any) -> tuple[Any, Any]:
        """How many sizes there are, and where: in the arguments, or in a tuple that is the only."""
        builder = self.builder
        count, items = builder.alloca(INT64), builder.alloca(WORDS)
        builder.store(builder.sub(given, INT64(1)), count)
        builder.store(builder.gep(self.arguments, [INT64(1)]), items)
        first = self.argument(INT64(1))
        kind = self.field(first, self.fields.type, INT64)
        kinds = (builder.icmp_signed("==", kind, self.constant(one)) for one in ("tuple", "Size"))
        is_one = builder.icmp_signed("==", given, INT64(2))
        with builder.if_then(builder.and_(is_one, builder.or_(*kinds))):
            builder.store(self.field(first, self.fields.data, INT64), count)
            place = builder.gep(first, [INT64(self.fields.data + 8)])
            builder.store(builder.bitcast(place, WORDS), items)
        found = builder.load(count)
        self.require(builder.icmp_signed(">", found, INT64(0)))
        self.require(builder.icmp_signed("<=", found, INT64(MOST_AXES)))
        return found, builder.load(items)

    def read_sizes(self, array: Any, count: Any, items: Any) -> Any:
        """The sizes, of which one may be -1; they have to fit the array in another shape."""
        builder = self.builder
        sizes = builder.alloca(INT64, size=MOST_AXES)
        product, unknown, same, overflow = (builder.alloca(INT64) for _ in range(4))
        total = self.product(self.shape(array), self.ndim(array), product)
        self.require(builder.icmp_signed(">", total, INT64(0)))
        for place, value in ((product, 1), (unknown, -1)):
            builder.store(INT64(value), place)
        is_same = builder.icmp_signed("==", self.ndim(array), count)
        builder.store(builder.zext(is_same, INT64), same)
        with loop_below(builder, count) as i:
            item = builder.inttoptr(word_at(builder, items, i), POINTER)
            size = self.size(item, overflow)
            builder.store(size, builder.gep(sizes, [i]))
            is_unknown = builder.icmp_signed("==", size, INT64(-1))
            with builder.if_else(is_unknown) as (inferred, known):
                with inferred:
                    self.require_equal(builder.load(unknown), INT64(-1))
                    builder.store(i, unknown)
                with known:
                    self.require(builder.icmp_signed(">", size, INT64(0)))
                    self.require(builder.icmp_signed("<=", size, total))
                    builder.store(builder.mul(builder.load(product), size), product)
                    self.require(builder.icmp_signed("<=", builder.load(product), total))
        rest = builder.sdiv(total, builder.load(product))
        self.require_equal(builder.mul(rest, builder.load(product)), total)
        place = builder.load(unknown)
        has_unknown = builder.icmp_signed("!=", place, INT64(-1))
        with builder.if_else(has_unknown) as (inferred, known):
            with inferred:
                builder.store(rest, builder.gep(sizes, [place]))
            with known:
                self.require_equal(rest, INT64(1))
        self.require_other(array, count, sizes, same)
        return sizes

    def size(self, given: Any, overflow: Any) -> Any:
        """The value of a Python int."""
        builder = self.builder
        self.require_same(self.field(given, self.fields.type, INT64), "int")
        overflow = builder.bitcast(overflow, I32.as_pointer())
        found = self.call("PyLong_AsLongAndOverflow", INT64, given, overflow)
        self.require(builder.icmp_signed("==", builder.load(overflow), I32(0)))
        return found

    def require_other(self, array: Any, count: Any, sizes: Any, same: Any) -> None:
        """Go to `general` for the shape that the array has: NumPy keeps its strides."""
        builder = self.builder
        with builder.if_then(builder.icmp_signed("!=", builder.load(same), INT64(0))):
            shape = self.shape(array)
            with loop_below(builder, count) as i:
                pair = (word_at(builder, one, i) for one in (shape, sizes))
                equal = builder.zext(builder.icmp_signed("==", *pair), INT64)
                builder.store(builder.and_(builder.load(same), equal), same)
            self.require_equal(builder.load(same), INT64(0))

    def array_of(self, array: Any, count: Any, sizes: Any) -> Any:
        """An array on the memory of another."""
        builder = self.builder
        descr = self.shared(self.field(array, self.fields.descr, INT64))
        flags = builder.and_(self.field(array, self.fields.flags, I32), I32(_KEPT))
        made = self.call(
            "PyArray_NewFromDescr", POINTER, self.known("ndarray"),
            builder.inttoptr(descr, POINTER), builder.trunc(count, I32), sizes,
            ir.Constant(WORDS, None), self.field(array, self.fields.data, POINTER), flags, NULL,
        )  # fmt: skip
        self.own(made)
        self.shared(builder.ptrtoint(array, INT64))
        self.require_done(self.call("PyArray_SetBaseObject", I32, made, array))
        return made

    def attrs(self, array: Any) -> Any:
        """The attributes of the op: its shape."""
        made = self.call("PyDict_New", POINTER)
        attrs = self.own(made)
        shape = self.new_tuple(self.ndim(array))
        place = self.own(shape)
        self.fill_shape(shape, array)
        self.require_done(self.call("PyDict_SetItem", I32, made, self.known("key"), shape))
        self.drop(place)
        self.builder.store(NULL, attrs)  # the caller's from here on
        return self.builder.ptrtoint(made, INT64)
