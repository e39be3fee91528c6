"""The tensor of a view as machine code, and its node.

    tensor = function(recipe, operand, array, attrs)

It follows CPython's convention METH_FASTCALL | METH_KEYWORDS; its `self` is an ndarray of the words
that `compiler.llvm.recorder_words` lists, without patterns. The tensor shares the version counter
of the operand, on whose memory the array is, and notes the tensor that has this memory. It has a
node if the operand has one. All that is not plain goes to the function `general`: see
`compiler.llvm.recorder`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, NULL
from staticgraph.compiler.llvm.own_loops import word_at
from staticgraph.compiler.llvm.recorder import DICT_USED, Recorder
from staticgraph.compiler.llvm.recorder_words import VIEWER_SYMBOL
from staticgraph.compiler.llvm.tensors import CALL
from staticgraph.compiler.llvm.trampoline_words import Fields


def define_viewer(module: ir.Module, fields: Fields) -> None:
    """Define the function in a module."""
    _Viewer(ir.Function(module, CALL, VIEWER_SYMBOL), fields).define()


class _Viewer(Recorder):
    def define(self) -> None:
        builder = self.builder
        _, _, given, names = self.function.args
        self.require(builder.icmp_unsigned("==", names, NULL))
        self.require(builder.icmp_signed("==", given, INT64(4)))
        recipe, _, _, attrs = (word_at(builder, self.arguments, INT64(i)) for i in range(4))
        operand, array = (self.argument(INT64(i)) for i in (1, 2))
        self.require_same(self.field(array, self.fields.type, INT64), "ndarray")
        self.require_empty("paused", self.fields.data)
        self.require_empty("observers", DICT_USED)
        self.require_plain(operand)
        self.require_counted(self.slot(operand, "cell"))
        maker = self.maker_of(operand)
        node = builder.alloca(INT64)
        builder.store(maker, node)
        with builder.if_then(builder.icmp_signed("!=", maker, self.none)):
            self.shared(maker)  # what is made here may have the operand changed
            builder.store(self.node(recipe, attrs, array, maker), node)
        with builder.if_then(builder.icmp_signed("==", maker, self.none)):
            self.shared(self.none)
        note = self.new_note(operand)
        cell = self.shared(self.slot(operand, "cell"))
        self.shared(builder.ptrtoint(array, INT64))
        self.return_tensor(array, cell, builder.load(node), note)
        self.define_general()

    def node(self, recipe: object, attrs: object, array: Any, maker: Any) -> Any:
        """The node of an array; it takes that of the operand."""
        node = self.new_node(recipe, attrs, array)
        items = {"edges": (maker,), "saved": (self.shared(maker), self.shared(self.none))}
        for name in ("edges", "saved", "guards", "versions"):
            words = items.get(name, ())
            made = self.new_tuple(INT64(len(words)))
            for i, word in enumerate(words):
                self.fill(made, INT64(i), word)
            self.put(node, f"node_{name}", self.builder.ptrtoint(made, INT64))
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
        version = builder.ptrtoint(self.version(counter), INT64)
        for i, word in enumerate((builder.load(base), builder.load(origin), version)):
            self.fill(made, INT64(i), self.shared(word))
        return builder.ptrtoint(made, INT64)
