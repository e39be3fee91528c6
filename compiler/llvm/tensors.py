"""What machine code that takes and makes tensors is made with: their slots, arrays, new objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, NULL, POINTER, Builtin
from staticgraph.compiler.llvm.own_loops import WORDS, loop_below, word_at
from staticgraph.compiler.llvm.recorder_words import TENSOR_SLOTS
from staticgraph.compiler.llvm.trampoline_words import Fields

I32 = ir.IntType(32)
VOID = ir.VoidType()
CALL = ir.FunctionType(POINTER, [POINTER, WORDS, INT64, POINTER])
"""METH_FASTCALL | METH_KEYWORDS."""


class TensorBuiltin(Builtin):
    """A builtin function of tensors that is being made; its `self` is an ndarray of words.

    Attributes:
        fields: where the fields of objects are.
        none: the address of None.
        arguments: the addresses of what it is given.
        failed: where it goes on if there is no memory: it lets go of what it owns.
    """

    def __init__(self, function: ir.Function, names: Sequence[str], fields: Fields) -> None:
        super().__init__(function, names, "general")
        self.fields = fields
        self.words = self.field(function.args[0], fields.data, WORDS)
        self.none = self.constant("none")
        self.arguments: Any = function.args[1]
        self.failed = function.append_basic_block("failed")
        self.owned: list[Any] = []
        self.collected = self.builder.alloca(I32)
        self.builder.store(I32(0), self.collected)

    def known(self, name: str) -> Any:
        """The object whose address is the word of a name."""
        return self.builder.inttoptr(self.constant(name), POINTER)

    def argument(self, i: Any) -> Any:
        """What it is given, by its number."""
        return self.builder.inttoptr(word_at(self.builder, self.arguments, i), POINTER)

    def require_equal(self, first: object, second: object) -> None:
        """Go to `general` unless two words are equal."""
        self.require(self.builder.icmp_signed("==", first, second))

    def require_same(self, word: object, name: str) -> None:
        """Go to `general` unless a word is that of a name."""
        self.require_equal(word, self.constant(name))

    def require_empty(self, name: str, offset: int) -> None:
        """Go to `general` unless there is nothing in a container."""
        self.require_equal(self.field(self.known(name), offset, INT64), INT64(0))

    def slot(self, record: Any, name: str) -> Any:
        """What is in a slot of an object."""
        place = self.builder.gep(record, [self.constant(name)])
        return self.builder.load(self.builder.bitcast(place, WORDS))

    def put(self, record: Any, name: str, word: object) -> None:
        """Put what is owned into a slot of a new object."""
        place = self.builder.gep(record, [self.constant(name)])
        self.builder.store(word, self.builder.bitcast(place, WORDS))

    def shared(self, word: Any) -> Any:
        """An object, which one more holds now."""
        self.call("Py_IncRef", VOID, self.builder.inttoptr(word, POINTER))
        return word

    def new(self, name: str) -> Any:
        """A new object of a class, with nothing in its slots."""
        made = self.call("PyType_GenericAlloc", POINTER, self.known(name), INT64(0))
        self.require_made(made)
        return made

    def own(self, made: Any) -> Any:
        """Something new, which is let go of if what follows fails; where that is noted."""
        with self.builder.goto_entry_block():
            place = self.builder.alloca(POINTER)
            self.builder.store(NULL, place)
        self.owned.append(place)
        self.require_made(made)
        self.builder.store(made, place)
        return place

    def require_made(self, made: object) -> None:
        """Go to `failed` if there is no memory for an object."""
        passed = self.function.append_basic_block()
        is_there = self.builder.icmp_unsigned("!=", made, NULL)
        self.builder.cbranch(is_there, passed, self.failed)
        self.builder.position_at_end(passed)

    def drop(self, place: Any) -> None:
        """Let go of what is owned."""
        self.call("Py_DecRef", VOID, self.builder.load(place))
        self.builder.store(NULL, place)

    def require_done(self, status: object) -> None:
        """Go to `failed` unless a call of Python's or NumPy's gave 0."""
        passed = self.function.append_basic_block()
        is_done = self.builder.icmp_signed("==", status, I32(0))
        self.builder.cbranch(is_done, passed, self.failed)
        self.builder.position_at_end(passed)

    def pause_collection(self) -> None:
        """Let no garbage be collected until `resume_collection`: a finalizer may change operands,
        of which the addresses are known here. Nothing in between may go to `general`.
        """
        self.builder.store(self.call("PyGC_Disable", I32), self.collected)

    def resume_collection(self) -> None:
        """Let garbage be collected, if it was before."""
        builder = self.builder
        was = builder.icmp_signed("!=", builder.load(self.collected), I32(0))
        with builder.if_then(was):
            self.call("PyGC_Enable", I32)

    def ndim(self, array: Any) -> Any:
        """The number of axes of an array."""
        return self.builder.sext(self.field(array, self.fields.ndim, I32), INT64)

    def shape(self, array: Any) -> Any:
        """Where the sizes of an array are."""
        return self.field(array, self.fields.shape, WORDS)

    def require_plain(self, given: Any) -> None:
        """Go to `general` unless something is a tensor of a known class that has an array."""
        builder = self.builder
        kind = self.field(given, self.fields.type, POINTER)
        usual = builder.icmp_unsigned("==", kind, self.known("tensor"))
        with builder.if_then(builder.not_(usual), likely=False):
            # a class of a class of its own may have a hash in Python, which may do anything
            self.require_same(self.field(kind, self.fields.type, INT64), "type")
            known = self.call("PySet_Contains", I32, self.known("plain"), kind)
            self.require(builder.icmp_signed("==", known, I32(1)))
        for name in ("array", "cell", "maker", "note"):  # nothing: of Tensor.__new__
            self.require(builder.icmp_signed("!=", self.slot(given, name), INT64(0)))

    def row_major(self, given: Any) -> Any:
        """The array of a tensor, which has to lie in row-major order."""
        array = self.builder.inttoptr(self.slot(given, "array"), POINTER)
        self.require_same(self.field(array, self.fields.type, INT64), "ndarray")
        required = I32(self.fields.required)
        flags = self.builder.and_(self.field(array, self.fields.flags, I32), required)
        self.require(self.builder.icmp_signed("==", flags, required))
        return array

    def has_place(self, given: Any) -> Any:
        """1 if a tensor may have a place on the tape, else 0."""
        builder = self.builder
        found = [
            builder.icmp_signed("!=", self.slot(given, name), self.none)
            for name in ("maker", "note")
        ]
        return builder.zext(builder.or_(*found), INT64)

    def itemsize_of_float(self, descr: object) -> Any:
        """The bytes of an element of a dtype that is float32 or float64."""
        builder = self.builder
        short, long = (
            builder.icmp_signed("==", descr, self.constant(name)) for name in ("float32", "float64")
        )
        self.require(builder.or_(short, long))
        return builder.select(short, INT64(4), INT64(8))

    def product(self, sizes: Any, count: object, place: Any) -> Any:
        """The product of some sizes."""
        builder = self.builder
        builder.store(INT64(1), place)
        with loop_below(builder, count) as i:
            builder.store(builder.mul(builder.load(place), word_at(builder, sizes, i)), place)
        return builder.load(place)

    def empty(self, descr: Any, ndim: object, shape: object) -> Any:
        """A new array."""
        builder = self.builder
        dtype = builder.inttoptr(self.shared(descr), POINTER)  # the array takes this reference
        made = self.call(
            "PyArray_NewFromDescr", POINTER, self.known("ndarray"), dtype,
            builder.trunc(ndim, I32), shape, ir.Constant(WORDS, None), NULL, I32(0), NULL,
        )  # fmt: skip
        self.own(made)
        return made

    def return_tensor(
        self, array: Any, cell: object = None, maker: object = None, note: object = None
    ) -> None:
        """Return a tensor that owns an array, a version counter, a node and what it is a view of,
        of which it may have none.
        """
        self.resume_collection()  # all of it is owned, so what the next object triggers is safe
        made = self.new("tensor")
        owned = self.builder.ptrtoint(array, INT64)
        words = {"array": owned, "cell": cell, "maker": maker, "note": note}
        for name in TENSOR_SLOTS:
            word = words.get(name)
            self.put(made, name, self.shared(self.none) if word is None else word)
        self.builder.ret(made)

    def return_finished(self, finish: object, handed: object, count: object, array: Any) -> None:
        """Return what a function makes of a new array, the first of what it is handed."""
        made = self.call("PyObject_Vectorcall", POINTER, finish, handed, count, NULL)
        self.call("Py_DecRef", VOID, array)
        self.builder.ret(made)

    def define_general(self) -> None:
        """Hand over to the general function what is not as it must be; end where memory ends."""
        builder = self.builder
        builder.position_at_end(self.failed)
        self.resume_collection()
        for place in self.owned:
            self.call("Py_DecRef", VOID, builder.load(place))  # does nothing for NULL
        builder.ret(NULL)
        _, arguments, given, names = self.function.args
        builder.position_at_end(self.otherwise)
        general = self.known("general")
        builder.ret(self.call("PyObject_Vectorcall", POINTER, general, arguments, given, names))
