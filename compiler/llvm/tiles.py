"""Products of matrices that lie in the cache: machine code that is the same for all kernels.

    void tiles(turned, m, n, k, a, lda, b, ldb, adds, c, ldc)

computes `c = a @ b`, or `c += a @ b` if `adds`, on row-major matrices (m, k), (k, n) -> (m, n); if
`turned`, a is stored as (k, m). a, b and c are addresses, every argument is int64.

Unlike a BLAS it copies no operand, so each call is worthwhile, however few columns are in the cache
at a time. A tile of the result is in registers while all of the depth is added to it: elements of a
are spread over vectors, rows of b are read as vectors. That is the inner kernel of Van Zee and van
de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS 41(3), 2015,
without packing. Measured on a Zen 4, one thread, k from 576 to 4608 and 48 to 1000 columns of b in
the second level of the cache: 106 to 116 of 118 GFLOP/s, where OpenBLAS has 75 to 103.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from compiler.codegen.bytecode import TILES
from compiler.llvm.machine import Vectors

_I64 = ir.IntType(64)
ACROSS = 3  # vectors of a tile
FEW = 4  # rows of a tile where there are no more


def tiles_object(symbol: str, machine: llvm.TargetMachine, vectors: Vectors) -> bytes:
    """The object code of the function for a dtype, whose symbol is one of `TILES`."""
    module = ir.Module("tiles")
    module.triple = machine.triple
    scalar = ir.FloatType() if symbol == TILES["float32"] else ir.DoubleType()
    _Tiles(module, scalar, vectors).define(symbol)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.run(parsed, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return bytes(machine.emit_object(parsed))


@dataclass(frozen=True, slots=True)
class _Size:
    """A tile: its rows, its vectors in each, and whether the last one may be a part of one."""

    rows: int
    across: int
    is_part: bool


class _Tiles:
    """Defines the functions of one module, for one type of numbers."""

    def __init__(self, module: Any, scalar: Any, machine: Vectors) -> None:
        self.module = module
        self.scalar = scalar
        self.fused = machine.fused
        self.letter = "f32" if isinstance(scalar, ir.FloatType) else "f64"
        self.itemsize = 4 if self.letter == "f32" else 8
        self.lanes = machine.bytes // self.itemsize
        self.vector = ir.VectorType(scalar, self.lanes)
        # beside a row of b and an element of a
        self.rows = (machine.registers - ACROSS - 1) // ACROSS // FEW * FEW

    def define(self, name: str) -> None:
        """The function that goes over the tiles of the result."""
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [_I64] * 11), name)
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        turned, m, n, k, a, lda, b, ldb, adds, c, ldc = function.args
        is_turned = builder.icmp_signed("!=", turned, _I64(0))
        down = builder.select(is_turned, _I64(1), lda)
        deep = builder.select(is_turned, lda, _I64(1))
        a, b, c = (builder.inttoptr(one, self.scalar.as_pointer()) for one in (a, b, c))
        rest = builder.srem(m, _I64(self.rows))
        is_few = builder.and_(
            builder.icmp_signed("<=", rest, _I64(FEW)), builder.icmp_signed("<", _I64(0), rest)
        )
        middle = builder.select(is_few, builder.sub(m, rest), m)
        for rows, start, stop in ((self.rows, _I64(0), middle), (FEW, middle, m)):
            with _loop(builder, start, stop, rows) as row:
                left = self._at(builder, a, builder.mul(row, down))
                result = self._at(builder, c, builder.mul(row, ldc))
                size = builder.sub(m, row), n
                self._row(builder, rows, size, (left, down, b, result, k, deep, ldb, adds, ldc))
        builder.ret_void()

    def _row(self, builder: Any, rows: int, size: tuple[Any, Any], given: Sequence[Any]) -> None:
        """The tiles of some rows."""
        left, down, b, result, *others = given
        present, n = size
        width = ACROSS * self.lanes
        middle = builder.mul(builder.sdiv(n, _I64(width)), _I64(width))
        for across in range(ACROSS + 1):
            # whole tiles; then one of as many vectors as there are left, maybe a part
            one = _Size(rows, across or ACROSS, across > 0)
            start, stop = _I64(0), middle
            if across:
                rest = builder.sub(n, middle)
                more = builder.icmp_signed(">", rest, _I64((across - 1) * self.lanes))
                enough = builder.icmp_signed("<=", rest, _I64(across * self.lanes))
                start, stop = middle, builder.select(builder.and_(more, enough), n, middle)
            tile = self._tile(one)
            with _loop(builder, start, stop, one.across * self.lanes) as at:
                right, place = (self._at(builder, pointer, at) for pointer in (b, result))
                sizes = present, builder.sub(n, at)
                builder.call(tile, [*sizes, left, down, right, place, *others])

    def _tile(self, size: _Size) -> Any:
        """The function that computes a tile, or as many of its rows as there are."""
        name = f"tile_{size.rows}_{size.across}{'_part' if size.is_part else ''}"
        found = self.module.globals.get(name)
        if found is not None:  # a whole tile of few rows
            return found
        pointer = self.scalar.as_pointer()
        words = [_I64, _I64, pointer, _I64, pointer, pointer, *[_I64] * 5]
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), words), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        rows, columns, a, down, b, c, k, deep, ldb, adds, ldc = function.args
        room = builder.alloca(self.vector, size.rows * size.across)
        present = None
        if size.is_part:
            before = builder.sub(columns, _I64((size.across - 1) * self.lanes))
            numbers = ir.VectorType(_I64, self.lanes)
            lanes = ir.Constant(numbers, list(range(self.lanes)))
            present = builder.icmp_signed("<", lanes, _spread(builder, numbers, before))
        rows = _least(builder, rows, _I64(size.rows))
        last = builder.sub(rows, _I64(1))  # is computed again for rows that are not there
        lefts = [
            self._at(builder, a, builder.mul(down, _least(builder, last, _I64(row))))
            for row in range(size.rows)
        ]
        sums = self._summed(builder, size, (k, deep, lefts, b, ldb), present)
        for i, value in enumerate(sums):
            self._write(builder, self._at(builder, room, _I64(i * self.lanes)), value, None)
        self._put(builder, size, (rows, room, c, adds, ldc), present)
        builder.ret_void()
        return function

    def _summed(
        self, builder: Any, size: _Size, given: Sequence[Any], present: object
    ) -> list[Any]:
        """The sums of a tile over the depth."""
        k, deep, lefts, b, ldb = given
        sums = [ir.Constant(self.vector, [0.0] * self.lanes)] * (size.rows * size.across)
        before = builder.block
        body, done = (builder.append_basic_block() for _ in range(2))
        builder.cbranch(builder.icmp_signed(">", k, _I64(0)), body, done)
        builder.position_at_end(body)
        phis = []
        for start in (_I64(0), _I64(0), _I64(0), *sums):
            phis.append(builder.phi(start.type))
            phis[-1].add_incoming(start, before)
        at, to_left, to_right, *totals = phis
        row = self._row_of(builder, size, self._at(builder, b, to_right), present)
        found = []
        for i, left in enumerate(lefts):
            element = builder.load(self._at(builder, left, to_left), typ=self.scalar)
            spread = _spread(builder, self.vector, element)
            for j, right in enumerate(row):
                found.append(self._add(builder, spread, right, totals[i * size.across + j]))
        steps = (at, _I64(1)), (to_left, deep), (to_right, ldb)
        following = [builder.add(*step) for step in steps]
        for phi, value in zip(phis, [*following, *found], strict=True):
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", following[0], k), body, done)
        builder.position_at_end(done)
        results = []
        for start, value in zip(sums, found, strict=True):
            results.append(builder.phi(self.vector))
            results[-1].add_incoming(start, before)
            results[-1].add_incoming(value, body)
        return results

    def _put(self, builder: Any, size: _Size, given: Sequence[Any], present: object) -> None:
        """Put a tile into the result, or add it."""
        rows, room, c, adds, ldc = given
        is_added = builder.icmp_signed("!=", adds, _I64(0))
        with _loop(builder, _I64(0), rows, 1) as row:
            start = self._at(builder, room, builder.mul(row, _I64(size.across * self.lanes)))
            result = self._at(builder, c, builder.mul(row, ldc))
            values = self._row_of(builder, size, start, None)
            olds = self._row_of(builder, size, result, present)
            for j, (value, old) in enumerate(zip(values, olds, strict=True)):
                kept = builder.select(is_added, builder.fadd(old, value), value)
                mask = present if j == size.across - 1 else None
                self._write(builder, self._at(builder, result, _I64(j * self.lanes)), kept, mask)

    def _row_of(self, builder: Any, size: _Size, start: Any, present: object) -> list[Any]:
        """The vectors of a row of a tile."""
        return [
            self._read(
                builder,
                self._at(builder, start, _I64(j * self.lanes)),
                present if j == size.across - 1 else None,
            )
            for j in range(size.across)
        ]

    def _read(self, builder: Any, place: Any, present: object) -> Any:
        place = builder.bitcast(place, self.vector.as_pointer())
        if present is None:
            return builder.load(place, align=self.itemsize, typ=self.vector)
        nothing = ir.Constant(self.vector, [0.0] * self.lanes)
        given = place, ir.IntType(32)(self.itemsize), present, nothing
        return self._call(builder, f"llvm.masked.load.{self._kind}.p0", self.vector, given)

    def _write(self, builder: Any, place: Any, value: object, present: object) -> None:
        place = builder.bitcast(place, self.vector.as_pointer())
        if present is None:
            builder.store(value, place, align=self.itemsize)
            return
        given = value, place, ir.IntType(32)(self.itemsize), present
        self._call(builder, f"llvm.masked.store.{self._kind}.p0", ir.VoidType(), given)

    def _add(self, builder: Any, one: object, other: object, total: object) -> Any:
        """`total + one * other`, with one rounding where the machine has that."""
        if not self.fused:
            return builder.fadd(total, builder.fmul(one, other))
        return self._call(builder, f"llvm.fma.{self._kind}", self.vector, (one, other, total))

    @property
    def _kind(self) -> str:
        return f"v{self.lanes}{self.letter}"

    def _call(self, builder: Any, name: str, result: object, given: Sequence[Any]) -> Any:
        found = self.module.globals.get(name)
        if found is None:
            kind = ir.FunctionType(result, [one.type for one in given])
            found = ir.Function(self.module, kind, name)
        return builder.call(found, given)

    def _at(self, builder: Any, start: Any, offset: object) -> Any:
        """The pointer so many elements further on."""
        return builder.gep(start, [offset], source_etype=self.scalar)


def _spread(builder: Any, vector: Any, value: object) -> Any:
    """A vector of which every element is the value."""
    undefined = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.IntType(32)(0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, undefined, everywhere)


def _least(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.icmp_signed("<", one, other), one, other)


@contextmanager
def _loop(builder: Any, start: Any, stop: object, step: int) -> Iterator[Any]:
    """A loop; nothing runs if it is empty."""
    before = builder.block
    body, done = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_signed("<", start, stop), body, done)
    builder.position_at_end(body)
    index = builder.phi(_I64)
    index.add_incoming(start, before)
    yield index
    following = builder.add(index, _I64(step))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, stop), body, done)
    builder.position_at_end(done)
