"""What copies the operands of a product of matrices, and results at its edges, in LLVM IR.

They are copied by vectors, with masks where there is less than one. Addresses and integers are
int64, and distances in memory are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.products.tiles import LINE, Shape

_I1, _I32, _I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()


class Emitter:
    """Makes the functions of one element type in a module; `functions` has them by name."""

    def __init__(self, module: Any, shape: Shape) -> None:
        self.module = module
        self.shape = shape
        self.functions: dict[str, Any] = {}
        self.builder: Any = None
        self._copy_rows()
        self._fetch_rows()
        self._copy_columns()
        self._pack()
        self._pack_transposed()
        self._unpack()

    # -- the functions -------------------------------------------------------------------------

    def _copy_rows(self) -> None:
        """copy_rows(rows, k, a, next, to, step): rows of the left operand, `step` apart."""
        function = self._begin("copy_rows", [_I64] * 6)
        builder = self.builder
        rows, k, a, following, to, step = function.args
        whole = builder.and_(k, _I64(-self.shape.lanes))
        mask = self._mask(builder.sub(k, whole), 0)
        count = builder.sdiv(k, _I64(self.shape.lanes))
        across = self.shape.lanes * self.shape.bytes
        with self._loop(rows, (a, following), (to, step)) as (source, target):
            with self._loop(count, (source, across), (target, across)) as (one, other):
                self._store(self._load(one), other)
            end = builder.mul(whole, _I64(self.shape.bytes))
            with builder.if_then(builder.icmp_signed("<", whole, k)):
                rest = self._load(builder.add(source, end), mask=mask)
                self._store(rest, builder.add(target, end))
        builder.ret(_I64(0))

    def _fetch_rows(self) -> None:
        """fetch_rows(rows, k, a, next): have rows of the left operand come to the second cache."""
        function = self._begin("fetch_rows", [_I64] * 4)
        rows, k, a, following = function.args
        size = self.builder.mul(k, _I64(self.shape.bytes))
        count = self.builder.sdiv(self.builder.add(size, _I64(LINE - 1)), _I64(LINE))
        with (
            self._loop(rows, (a, following)) as (line,),
            self._loop(count, (line, LINE)) as (place,),
        ):
            self._fetch(place)
        self.builder.ret(_I64(0))

    def _copy_columns(self) -> None:
        """copy_columns(rows, k, a, next, to): the same of an operand that is stored transposed.

        The elements of one step of the depth are `next` apart, and then lie one after the other.
        """
        function = self._begin("copy_columns", [_I64] * 5)
        rows, k, a, following, to = function.args
        masks = self._masks(rows, -(-self.shape.rows // self.shape.lanes))
        line = self.shape.rows * self.shape.bytes
        with self._loop(k, (a, following), (to, line)) as (source, target):
            found = [self._load(self._vector(source, i), mask=mask) for i, mask in enumerate(masks)]
            for i, value in enumerate(found):
                self._store(value, self._vector(target, i))
        self.builder.ret(_I64(0))

    def _pack(self) -> None:
        """pack(columns, k, b, next, to): at most a tile's columns of the right operand.

        What there is less than a tile's is 0. The rows lie one after the other.
        """
        function = self._begin("pack", [_I64] * 5)
        builder = self.builder
        columns, k, b, following, to = function.args
        line = self.shape.columns * self.shape.bytes
        full = builder.icmp_signed("==", columns, _I64(self.shape.columns))
        partial = self._masks(columns)
        with builder.if_else(full) as branches:
            for branch, masks in zip(branches, (None, partial), strict=True):
                with branch, self._loop(k, (b, following), (to, line)) as (source, target):
                    for j in range(self.shape.vectors):
                        mask = masks[j] if masks else None
                        value = self._load(self._vector(source, j), mask=mask)
                        self._store(value, self._vector(target, j))
        builder.ret(_I64(0))

    def _unpack(self) -> None:
        """unpack(columns, rows, from, to, next): the inverse of `pack`, for a tile's result."""
        function = self._begin("unpack", [_I64] * 5)
        builder, lanes = self.builder, self.shape.lanes
        columns, rows, source, target, following = function.args
        size, line = self.shape.bytes, self.shape.columns * self.shape.bytes
        whole = builder.and_(columns, _I64(-lanes))
        end = builder.mul(whole, _I64(size))
        vectors = builder.sdiv(columns, _I64(lanes)), source, target, lanes
        # less than a vector is stored in halves of it, quarters, ...: some processors take a dozen
        # cycles for each masked store, even of nothing
        parts, part = [vectors], lanes // 2
        start, to = builder.add(source, end), builder.add(target, end)
        while part:
            count = builder.and_(builder.udiv(columns, _I64(part)), _I64(1))
            parts.append((count, start, to, part))
            moved = builder.mul(count, _I64(part * size))
            start, to = builder.add(start, moved), builder.add(to, moved)
            part //= 2
        for count, start, to, part in parts:
            kind = ir.VectorType(self.shape.scalar, part)
            with (
                self._loop(count, (start, part * size), (to, part * size)) as (one, other),
                self._loop(rows, (one, line), (other, following)) as (near, far),
            ):
                self._store(self._load(near, kind), far)
        builder.ret(_I64(0))

    def _pack_transposed(self) -> None:
        """pack_transposed(columns, k, b, next, to): the same of one that is stored transposed.

        Squares of vectors are transposed in registers. It writes up to a vector's rows too many.
        """
        function = self._begin("pack_transposed", [_I64] * 5)
        builder, shape = self.builder, self.shape
        columns, k, b, following, to = function.args
        lanes, line, size = shape.lanes, shape.columns * shape.bytes, shape.bytes
        edge = builder.alloca(shape.vector, lanes)
        edge.align = LINE
        edge = builder.ptrtoint(edge, _I64)
        squares = builder.sdiv(builder.add(k, _I64(lanes - 1)), _I64(lanes))
        block = (b, builder.mul(following, _I64(lanes))), (to, lanes * size), (columns, -lanes)
        with self._loop(_I64(shape.vectors), *block) as (start, place, left):
            # a vector of no columns is not read at all: see `_copy_edge`
            some = builder.icmp_signed(">", left, _I64(0))
            count = builder.select(some, squares, _I64(0))
            moving = (start, lanes * size), (place, line * lanes), (k, -lanes)
            with self._loop(count, *moving) as (source, target, rest):
                least = builder.select(builder.icmp_signed("<", rest, left), rest, left)
                full = builder.icmp_signed(">=", least, _I64(lanes))
                before = builder.block
                with builder.if_then(builder.not_(full)):
                    self._copy_edge(source, following, edge, rest, left)
                    copied = builder.block
                near = builder.phi(_I64)
                near.add_incoming(source, before)
                near.add_incoming(edge, copied)
                step = builder.phi(_I64)
                step.add_incoming(following, before)
                step.add_incoming(_I64(lanes * size), copied)
                self._square(near, step, target, line)
        builder.ret(_I64(0))

    def _copy_edge(
        self, source: Any, following: object, edge: object, rest: object, left: object
    ) -> None:
        """Copy what there is of a square; what is not there is 0."""
        builder, shape = self.builder, self.shape
        mask, first = self._mask(rest, 0), source
        places = (source, following), (edge, shape.lanes * shape.bytes), (left, -1)
        with self._loop(_I64(shape.lanes), *places) as (place, to, rows):
            inside = builder.icmp_signed(">", rows, _I64(0))
            read = builder.select(inside, mask, self._none())
            # where nothing is read, an address without memory would cost hundreds of cycles
            place = builder.select(inside, place, first)
            self._store(self._load(place, mask=read), to)

    def _square(self, source: Any, following: object, target: object, line: int) -> None:
        builder = self.builder
        rows = []
        for _ in range(self.shape.lanes):
            rows.append(self._load(source))
            source = builder.add(source, following)
        for i, value in enumerate(self._transposed(rows)):
            self._store(value, builder.add(target, _I64(line * i)))

    def _transposed(self, rows: list[Any]) -> list[Any]:
        """The columns of a square of vectors: blocks of 1, 2, 4, ... elements change places."""
        lanes, width = self.shape.lanes, 1
        while width < lanes:
            low = [e if not e & width else lanes + e - width for e in range(lanes)]
            high = [e + width if not e & width else lanes + e for e in range(lanes)]
            found = list(rows)
            for i in range(lanes):
                if not i & width:
                    pair = rows[i], rows[i + width]
                    found[i], found[i + width] = (self._shuffled(*pair, one) for one in (low, high))
            rows, width = found, 2 * width
        return rows

    # -- what they are made of -----------------------------------------------------------------

    def _begin(self, name: str, kinds: Sequence[object], listed: bool = True) -> Any:
        function = ir.Function(
            self.module, ir.FunctionType(_I64, kinds), f"{name}_{self.shape.bytes}"
        )
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("nounwind")
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        if listed:
            self.functions[name] = function
        return function

    @contextmanager
    def _loop(self, count: object, *moving: tuple[Any, Any]) -> Iterator[list[Any]]:
        """A loop of `count` iterations, of values that begin somewhere and move by a step."""
        builder = self.builder
        before = builder.block
        body, done = (builder.function.append_basic_block() for _ in range(2))
        builder.cbranch(builder.icmp_signed(">", count, _I64(0)), body, done)
        builder.position_at_end(body)
        phis = [builder.phi(_I64) for _ in range(1 + len(moving))]
        yield phis[1:]
        starts = [count, *(start for start, _ in moving)]
        steps = [-1, *(step for _, step in moving)]
        nexts = [
            builder.add(phi, _I64(step) if isinstance(step, int) else step)
            for phi, step in zip(phis, steps, strict=True)
        ]
        for phi, start, following in zip(phis, starts, nexts, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed(">", nexts[0], _I64(0)), body, done)
        builder.position_at_end(done)

    def _vector(self, place: object, index: int) -> Any:
        """Where the `index`-th vector from a place on is."""
        if not index:
            return place
        return self.builder.add(place, _I64(index * self.shape.lanes * self.shape.bytes))

    def _none(self) -> Any:
        return ir.Constant(ir.VectorType(_I1, self.shape.lanes), None)

    def _masks(self, count: object, vectors: int | None = None) -> list[Any]:
        """Of each vector of some, which lanes are among the first `count` elements."""
        return [self._mask(count, i) for i in range(vectors or self.shape.vectors)]

    def _mask(self, count: object, index: int) -> Any:
        lanes = self.shape.lanes
        kind = ir.VectorType(_I32, lanes)
        numbers = ir.Constant(kind, [index * lanes + lane for lane in range(lanes)])
        given = self._broadcast(self.builder.trunc(count, _I32))
        return self.builder.icmp_signed("<", numbers, given)

    def _load(self, place: object, kind: Any = None, mask: Any = None) -> Any:
        kind = kind or self.shape.vector
        pointer = self.builder.inttoptr(place, kind.as_pointer())
        if mask is None:
            return self.builder.load(pointer, typ=kind, align=self.shape.bytes)
        zero = ir.Constant(kind, None)
        load = self._masked("load", kind, [kind.as_pointer(), _I32, mask.type, kind], kind)
        return self.builder.call(load, [pointer, _I32(self.shape.bytes), mask, zero])

    def _store(self, value: Any, place: object, mask: Any = None) -> None:
        kind = value.type
        pointer = self.builder.inttoptr(place, kind.as_pointer())
        if mask is None:
            self.builder.store(value, pointer, align=self.shape.bytes)
            return
        store = self._masked(
            "store", ir.VoidType(), [kind, kind.as_pointer(), _I32, mask.type], kind
        )
        self.builder.call(store, [value, pointer, _I32(self.shape.bytes), mask])

    def _fetch(self, place: object) -> None:
        """Have a line of memory come to the second cache."""
        pointer = self.builder.inttoptr(place, _POINTER)
        kind = [_POINTER, _I32, _I32, _I32]
        fetch = self._declared("llvm.prefetch.p0", ir.VoidType(), kind)
        self.builder.call(fetch, [pointer, _I32(0), _I32(2), _I32(1)])

    def _masked(self, name: str, result: object, kinds: Sequence[object], vector: object) -> Any:
        symbol = f"llvm.masked.{name}.v{self.shape.lanes}f{8 * self.shape.bytes}.p0"
        return self._declared(symbol, result, kinds)

    def _declared(self, symbol: str, result: object, kinds: Sequence[object]) -> Any:
        found = self.module.globals.get(symbol)
        return found or ir.Function(self.module, ir.FunctionType(result, kinds), symbol)

    def _broadcast(self, value: Any) -> Any:
        lanes = self.shape.lanes
        kind = ir.VectorType(value.type, lanes)
        single = self.builder.insert_element(ir.Constant(kind, ir.Undefined), value, _I32(0))
        first = ir.Constant(ir.VectorType(_I32, lanes), None)
        return self.builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), first)

    def _shuffled(self, one: object, other: object, places: Sequence[int]) -> Any:
        kind = ir.VectorType(_I32, len(places))
        return self.builder.shuffle_vector(one, other, ir.Constant(kind, list(places)))


__all__ = ["Emitter"]
