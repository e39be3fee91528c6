"""The parts of a product of matrices that are made of vector instructions, in LLVM IR.

A *tile* is the block of the result that fits the processor's registers: `Shape.rows` rows of
`Shape.vectors` vectors. It is computed as a sum of outer products, one for each step of the depth:
vectors of the right operand times single elements of the left one (Goto and van de Geijn, "Anatomy
of high-performance matrix multiplication", ACM TOMS 34(3), 2008; Van Zee and van de Geijn, "BLIS",
ACM TOMS 41(3), 2015). So each element is one sum in the order of the depth, fused multiply-adds
where there are any, whatever the other rows and columns of the tile are.

Addresses and integers are int64, and distances in memory are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

_I1, _I32, _I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()
_LINE = 64  # bytes of a line of the cache
_TOGETHER = 3  # rows that one register addresses: at 0, 1 and 2 times their distance


@dataclass(frozen=True, slots=True)
class Shape:
    """What a tile is on a processor: `rows` rows of `vectors` vectors of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int
    bytes: int

    @property
    def columns(self) -> int:
        """The columns of a tile."""
        return self.vectors * self.lanes

    @property
    def scalar(self) -> Any:
        """The type of an element."""
        return ir.FloatType() if self.bytes == 4 else ir.DoubleType()

    @property
    def vector(self) -> Any:
        """The type of a vector."""
        return ir.VectorType(self.scalar, self.lanes)


class Emitter:
    """Makes the functions of one element type in a module; `functions` has them by name."""

    def __init__(self, module: Any, shape: Shape) -> None:
        self.module = module
        self.shape = shape
        self.functions: dict[str, Any] = {}
        self.builder: Any = None
        self._tile()
        self._copy_rows()
        self._fetch_rows()
        self._copy_columns()
        self._pack()
        self._pack_transposed()

    # -- the functions -------------------------------------------------------------------------

    def _tile(self) -> None:
        """tile(rows, columns, k, a, down, along, b, step, c, next, alpha, beta)

        The tile at `c`, whose rows are `next` apart: `alpha` times the product plus `beta` times
        what is there, which is not read if beta is 0. Element (i, p) of the left operand is at
        `a + i * down + p * along`, row p of the right one at `b + p * step`, and has whole vectors.
        """
        kinds = [_I64] * 10 + [self.shape.scalar] * 2
        function = self._begin("tile", kinds)
        builder, arguments = self.builder, function.args
        other = function.append_basic_block("none")
        index = builder.add(
            builder.mul(arguments[0], _I64(self.shape.vectors)),
            builder.sdiv(builder.sub(arguments[1], _I64(1)), _I64(self.shape.lanes)),
        )
        switch = builder.switch(index, other)
        ir.IRBuilder(other).ret(_I64(0))
        for rows in range(1, self.shape.rows + 1):
            for vectors in range(1, self.shape.vectors + 1):
                block = function.append_basic_block()
                switch.add_case(_I64(rows * self.shape.vectors + vectors - 1), block)
                one = self._tile_of(rows, vectors, kinds[1:])
                builder = ir.IRBuilder(block)
                builder.ret(builder.call(one, arguments[1:], tail=True))

    def _tile_of(self, rows: int, vectors: int, kinds: Sequence[object]) -> Any:
        function = self._begin(f"tile_{rows}_{vectors}", kinds, listed=False)
        builder, vector = self.builder, self.shape.vector
        columns, k, a, down, along, b, step, c, following, alpha, beta = function.args
        zero = ir.Constant(vector, [0.0] * self.shape.lanes)
        entry, body, done = builder.block, *(function.append_basic_block() for _ in range(2))
        starts = [builder.add(a, builder.mul(down, _I64(row))) for row in range(0, rows, _TOGETHER)]
        twice = builder.add(down, down)
        place = c
        for _ in range(rows):
            for j in range(vectors):
                self._fetch(self._vector(place, j))
            place = builder.add(place, following)
        builder.cbranch(builder.icmp_signed(">", k, _I64(0)), body, done)

        builder.position_at_end(body)
        left, right, *lines = (builder.phi(_I64) for _ in range(2 + len(starts)))
        totals = [builder.phi(vector) for _ in range(rows * vectors)]
        row = [self._load(self._vector(right, i)) for i in range(vectors)]
        new = []
        for i in range(rows):
            place = lines[i // _TOGETHER]
            if i % _TOGETHER:
                place = builder.add(place, (down, twice)[i % _TOGETHER - 1])
            one = self._broadcast(self._load(place, self.shape.scalar))
            new += [
                self._multiply_add(one, row[j], totals[i * vectors + j]) for j in range(vectors)
            ]
        nexts = [
            builder.sub(left, _I64(1)), builder.add(right, step),
            *(builder.add(line, along) for line in lines), *new,
        ]  # fmt: skip
        values = [left, right, *lines, *totals]
        firsts = [k, b, *starts, *[zero] * len(totals)]
        for phi, first, following_value in zip(values, firsts, nexts, strict=True):
            phi.add_incoming(first, entry)
            phi.add_incoming(following_value, body)
        builder.cbranch(builder.icmp_signed(">", nexts[0], _I64(0)), body, done)

        builder.position_at_end(done)
        results = [builder.phi(vector) for _ in totals]
        for phi, value in zip(results, new, strict=True):
            phi.add_incoming(zero, entry)
            phi.add_incoming(value, body)
        scale, weight = self._broadcast(alpha), self._broadcast(beta)
        masks = [None] * (vectors - 1) + [self._mask(columns, vectors - 1)]
        fresh = builder.fcmp_ordered("==", beta, self.shape.scalar(0))
        with builder.if_else(fresh) as branches:
            for branch, is_fresh in zip(branches, (True, False), strict=True):
                with branch:
                    place = c
                    for i in range(rows):
                        for j, mask in enumerate(masks):
                            at = self._vector(place, j)
                            value = builder.fmul(scale, results[i * vectors + j])
                            if not is_fresh:
                                old = builder.fmul(weight, self._load(at, mask=mask))
                                value = builder.fadd(old, value)
                            self._store(value, at, mask)
                        place = builder.add(place, following)
        builder.ret(_I64(0))
        return function

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
        count = self.builder.sdiv(self.builder.add(size, _I64(_LINE - 1)), _I64(_LINE))
        with (
            self._loop(rows, (a, following)) as (line,),
            self._loop(count, (line, _LINE)) as (place,),
        ):
            self._fetch(place, written=False, level=2)
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

    def _pack_transposed(self) -> None:
        """pack_transposed(columns, k, b, next, to): the same of one that is stored transposed.

        Squares of vectors are transposed in registers. It writes up to a vector's rows too many.
        """
        function = self._begin("pack_transposed", [_I64] * 5)
        builder, shape = self.builder, self.shape
        columns, k, b, following, to = function.args
        line, size = shape.columns * shape.bytes, shape.bytes
        squares = builder.sdiv(builder.add(k, _I64(shape.lanes - 1)), _I64(shape.lanes))
        for j in range(shape.vectors):
            left = builder.sub(columns, _I64(j * shape.lanes))
            start = builder.add(b, builder.mul(following, _I64(j * shape.lanes)))
            places = (start, shape.lanes * size), (self._vector(to, j), line * shape.lanes)
            # a vector of no columns is not read at all: see `_square`
            some = builder.icmp_signed(">", left, _I64(0))
            count = builder.select(some, squares, _I64(0))
            with self._loop(count, *places, (k, -shape.lanes)) as (source, target, rest):
                full = builder.and_(
                    builder.icmp_signed(">=", rest, _I64(shape.lanes)),
                    builder.icmp_signed(">=", left, _I64(shape.lanes)),
                )
                with builder.if_else(full) as branches:
                    for branch, is_full in zip(branches, (True, False), strict=True):
                        with branch:
                            self._square(source, following, target, line, rest, left, is_full)
        builder.ret(_I64(0))

    def _square(
        self, source: object, following: object, target: object, line: int,
        rest: object, left: object, is_full: bool,
    ) -> None:  # fmt: skip
        builder, lanes, first = self.builder, self.shape.lanes, source
        mask = None if is_full else self._mask(rest, 0)
        rows = []
        for i in range(lanes):
            read = mask
            if not is_full:
                inside = builder.icmp_signed("<", _I64(i), left)
                read = builder.select(inside, mask, self._none())
                # where nothing is read, an address without memory would cost hundreds of cycles
                source = builder.select(inside, source, first)
            rows.append(self._load(source, mask=read))
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
        return self.builder.add(place, _I64(index * self.shape.lanes * self.shape.bytes))

    def _none(self) -> Any:
        return ir.Constant(ir.VectorType(_I1, self.shape.lanes), [0] * self.shape.lanes)

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
        zero = ir.Constant(kind, [0.0] * self.shape.lanes)
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

    def _fetch(self, place: object, written: bool = True, level: int = 1) -> None:
        """Have a line of memory come to a level of the cache."""
        pointer = self.builder.inttoptr(place, _POINTER)
        kind = [_POINTER, _I32, _I32, _I32]
        fetch = self._declared("llvm.prefetch.p0", ir.VoidType(), kind)
        self.builder.call(fetch, [pointer, _I32(int(written)), _I32(4 - level), _I32(1)])

    def _masked(self, name: str, result: object, kinds: Sequence[object], vector: object) -> Any:
        symbol = f"llvm.masked.{name}.v{self.shape.lanes}f{8 * self.shape.bytes}.p0"
        return self._declared(symbol, result, kinds)

    def _declared(self, symbol: str, result: object, kinds: Sequence[object]) -> Any:
        found = self.module.globals.get(symbol)
        return found or ir.Function(self.module, ir.FunctionType(result, kinds), symbol)

    def _multiply_add(self, one: object, other: object, total: object) -> Any:
        vector = self.shape.vector
        symbol = f"llvm.fmuladd.v{self.shape.lanes}f{8 * self.shape.bytes}"
        return self.builder.call(self._declared(symbol, vector, [vector] * 3), [one, other, total])

    def _broadcast(self, value: Any) -> Any:
        lanes = self.shape.lanes
        kind = ir.VectorType(value.type, lanes)
        single = self.builder.insert_element(ir.Constant(kind, ir.Undefined), value, _I32(0))
        return self._shuffled(single, ir.Constant(kind, ir.Undefined), [0] * lanes)

    def _shuffled(self, one: object, other: object, places: Sequence[int]) -> Any:
        kind = ir.VectorType(_I32, len(places))
        return self.builder.shuffle_vector(one, other, ir.Constant(kind, list(places)))


__all__ = ["Emitter", "Shape"]
