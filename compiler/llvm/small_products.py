"""Products of small tensors, and a layer's: machine code that calls NumPy's loops.

    tensor = function(left, right) or function(left, right, bias)

Stacks of matrices (b, m, k) and (b, k, n); matrices (m, k) and (k, n) of several rows and columns,
or a vector (k,) instead of the second; or, where it `turns` the second, (m, k), (n, k) and a bias
(n,) or None. It follows CPython's convention METH_FASTCALL | METH_KEYWORDS; its `self` is an
ndarray of the words that `compiler.llvm.small_products_words` lists. The loop is that of
`np.matmul`, so each bit is NumPy's; the bias is added in place. All that is no small row-major
tensor of floats, does not fit, or sets an exception of which NumPy warns goes to the function
`general`. Where an operand has a place on the tape, or something is paused, `finish` makes the
tensor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.builtins import INT64, NULL, POINTER
from staticgraph.compiler.llvm.loop_words import PRODUCT_SYMBOL
from staticgraph.compiler.llvm.own_loops import LOOP, loop_below, word_at
from staticgraph.compiler.llvm.small_products_words import HEAD
from staticgraph.compiler.llvm.tensors import CALL, I32, VOID, TensorBuiltin
from staticgraph.compiler.llvm.trampoline_words import Fields


def define_product(module: ir.Module, fields: Fields) -> None:
    """Define the function in a module."""
    _Product(ir.Function(module, CALL, PRODUCT_SYMBOL), fields).define()


class _Product(TensorBuiltin):
    def __init__(self, function: ir.Function, fields: Fields) -> None:
        super().__init__(function, HEAD, fields)
        alloca = self.builder.alloca
        self.arrays, self.dims, self.handed = (alloca(INT64, size=4) for _ in range(3))
        self.sizes = alloca(INT64, size=3)
        self.strides = alloca(INT64, size=9)
        self.bias, self.noted, self.work, self.vector = (alloca(INT64) for _ in range(4))
        self.turns = self.builder.icmp_signed("!=", self.constant("turns"), INT64(0))

    def define(self) -> None:
        builder = self.builder
        _, _, given, names = self.function.args
        self.require(builder.icmp_unsigned("==", names, NULL))
        has_third = builder.icmp_signed("==", given, INT64(3))
        fits = builder.or_(
            builder.icmp_signed("==", given, INT64(2)), builder.and_(has_third, self.turns)
        )
        self.require(fits)
        paused = self.field(self.known("paused"), self.fields.data, INT64)  # the length of a list
        builder.store(paused, self.noted)
        left, right = (self.operand(INT64(i)) for i in range(2))
        descr = self.field(left, self.fields.descr, INT64)
        self.require_equal(descr, self.field(right, self.fields.descr, INT64))
        itemsize = self.itemsize_of_float(descr)
        self.read_sizes(left, right)
        self.read_bias(has_third, descr)
        self.note_strides(itemsize)
        batch, rows, _, columns = (self.size(i) for i in range(4))
        for place, size in enumerate((batch, rows, columns)):
            builder.store(size, builder.gep(self.sizes, [INT64(place)]))
        ndim = self.constant("ndim")
        shape = builder.gep(self.sizes, [builder.sub(INT64(3), ndim)])
        made = self.empty(descr, builder.sub(ndim, builder.load(self.vector)), shape)
        operands = [self.field(one, self.fields.data, INT64) for one in (left, right, made)]
        for place, address in enumerate(operands):
            builder.store(address, builder.gep(self.arrays, [INT64(place)]))
        mask = builder.trunc(self.constant("exceptions"), I32)
        self.call("feclearexcept", I32, mask)
        self.take("matmul", itemsize, self.dims, self.strides)
        has_bias = builder.icmp_signed("!=", builder.load(self.bias), INT64(0))
        with builder.if_then(has_bias):
            self.add_bias(operands[2], itemsize)
        raised = builder.icmp_signed("!=", self.call("fetestexcept", I32, mask), I32(0))
        with builder.if_then(raised, likely=False):
            self.call("Py_DecRef", VOID, made)
            builder.branch(self.otherwise)
            builder.position_at_end(builder.append_basic_block())
            builder.unreachable()
        with builder.if_then(builder.icmp_signed("!=", builder.load(self.noted), INT64(0))):
            self.finish(made, given)
        self.return_tensor(made)
        self.define_general()

    def operand(self, i: Any) -> Any:
        """The array of an operand."""
        builder = self.builder
        given = self.argument(i)
        self.require_plain(given)
        builder.store(builder.or_(builder.load(self.noted), self.has_place(given)), self.noted)
        return self.row_major(given)

    def size(self, i: int) -> Any:
        """How many matrices there are, their rows, what is summed, their columns."""
        return word_at(self.builder, self.dims, INT64(i))

    def read_sizes(self, left: Any, right: Any) -> None:
        """Note the sizes, which have to fit."""
        builder = self.builder
        ndim = self.constant("ndim")
        self.require_equal(self.ndim(left), ndim)
        of_matrix = builder.icmp_signed("==", self.constant("vectors"), INT64(1))
        is_vector = builder.icmp_signed("==", self.ndim(right), INT64(1))
        is_vector = builder.and_(is_vector, of_matrix)
        builder.store(builder.zext(is_vector, INT64), self.vector)
        found = builder.select(is_vector, ndim, self.ndim(right))
        self.require_equal(found, ndim)
        first, second = self.shape(left), self.shape(right)
        is_one = builder.icmp_signed("==", ndim, INT64(2))
        with builder.if_else(is_one) as (of_matrices, of_stacks):
            with of_matrices:
                sizes = [INT64(1), *(word_at(builder, first, INT64(i)) for i in range(2))]
                rows, columns = (word_at(builder, second, INT64(i)) for i in range(2))
                self.require_equal(sizes[2], builder.select(self.turns, columns, rows))
                self.require_matrices([*sizes[1:], builder.select(is_vector, INT64(2), columns)])
                columns = builder.select(is_vector, INT64(1), columns)
                self.note_sizes([*sizes, builder.select(self.turns, rows, columns)])
            with of_stacks:
                sizes = [word_at(builder, first, INT64(i)) for i in range(3)]
                for place, size in ((0, sizes[0]), (1, sizes[2])):
                    self.require_equal(size, word_at(builder, second, INT64(place)))
                self.note_sizes([*sizes, word_at(builder, second, INT64(2))])
        work = self.product(self.dims, INT64(4), self.work)
        self.require(builder.icmp_signed(">", work, INT64(0)))
        self.require(builder.icmp_signed("<=", work, self.constant("most")))

    def require_matrices(self, sizes: list[Any]) -> None:
        """Go to `general` for matrices of one row or column, of which NumPy makes vectors."""
        for size in sizes:
            several = self.builder.icmp_signed(">", size, INT64(1))
            self.require(self.builder.or_(several, self.turns))

    def note_sizes(self, sizes: list[Any]) -> None:
        """Note them; the product of large ones may be small, so that each is looked at."""
        for place, size in enumerate(sizes):
            self.require(self.builder.icmp_signed("<=", size, self.constant("most")))
            self.builder.store(size, self.builder.gep(self.dims, [INT64(place)]))

    def read_bias(self, has_third: object, descr: object) -> None:
        """Note where the bias is, or 0."""
        builder = self.builder
        builder.store(INT64(0), self.bias)
        with builder.if_then(has_third):
            given = builder.ptrtoint(self.argument(INT64(2)), INT64)
            with builder.if_then(builder.icmp_signed("!=", given, self.none)):
                bias = self.operand(INT64(2))
                self.require_equal(self.field(bias, self.fields.descr, INT64), descr)
                self.require_equal(self.ndim(bias), INT64(1))
                self.require_equal(builder.load(self.shape(bias)), self.size(3))
                builder.store(self.field(bias, self.fields.data, INT64), self.bias)

    def note_strides(self, itemsize: Any) -> None:
        """Note how the loop goes over the matrices, and over their rows and columns."""
        builder = self.builder
        _, rows, summed, columns = (self.size(i) for i in range(4))
        line = builder.mul(columns, itemsize)
        along = builder.mul(summed, itemsize)
        strides = [
            builder.mul(rows, along),
            builder.mul(summed, line),
            builder.mul(rows, line),
            along,
            itemsize,
            builder.select(self.turns, itemsize, line),
            builder.select(self.turns, along, itemsize),
            line,
            itemsize,
        ]
        for place, stride in enumerate(strides):
            builder.store(stride, builder.gep(self.strides, [INT64(place)]))

    def take(self, name: str, itemsize: object, dims: object, strides: object) -> None:
        """Call a loop of NumPy's."""
        builder = self.builder
        short = builder.icmp_signed("==", itemsize, INT64(4))
        loop, data = (
            builder.select(short, *(self.constant(f"{part}_{name}_{size}") for size in (4, 8)))
            for part in ("loop", "data")
        )
        call = builder.inttoptr(loop, LOOP.as_pointer())
        builder.call(call, [self.arrays, dims, strides, builder.inttoptr(data, POINTER)])

    def add_bias(self, result: Any, itemsize: Any) -> None:
        """Add the bias to each row of the result."""
        builder = self.builder
        for place in range(3):
            builder.store(itemsize, builder.gep(self.strides, [INT64(place)]))
        line = builder.mul(self.size(3), itemsize)
        with loop_below(builder, self.size(1)) as row:
            address = builder.add(result, builder.mul(row, line))
            for place, word in enumerate((address, builder.load(self.bias), address)):
                builder.store(word, builder.gep(self.arrays, [INT64(place)]))
            self.take("add", itemsize, builder.gep(self.dims, [INT64(3)]), self.strides)

    def finish(self, made: Any, given: Any) -> None:
        """Return what `finish` makes of the array and the operands."""
        builder = self.builder
        builder.store(builder.ptrtoint(made, INT64), self.handed)
        with loop_below(builder, given) as i:
            word = word_at(builder, self.arguments, i)
            builder.store(word, builder.gep(self.handed, [builder.add(i, INT64(1))]))
        count = builder.add(given, INT64(1))
        self.return_finished(self.known("finish"), self.handed, count, made)
