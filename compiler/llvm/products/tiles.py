"""The tiles of a product of matrices: its innermost loops, as text in LLVM's language.

A *tile* is the block of the result that fits the processor's registers: `Shape.rows` rows of
`Shape.vectors` vectors. It is computed as a sum of outer products, one for each step of the depth:
vectors of the right operand times single elements of the left one (Goto and van de Geijn, "Anatomy
of high-performance matrix multiplication", ACM TOMS 34(3), 2008; Van Zee and van de Geijn, "BLIS",
ACM TOMS 41(3), 2015). So each element is one sum in the order of the depth, fused multiply-adds
where there are any, whatever the other rows and columns of the tile are.

There is a function for each number of rows and of vectors, which a first start waits for: hence
text, which takes a fiftieth of the time of llvmlite's builder and printer, and the vectors of a row
as one, which LLVM divides: it halves what there is to read.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from compiler.core.record import Record, record

LINE = 64  # bytes of a line of the cache
_TOGETHER = 3  # rows that one register addresses: at 0, 1 and 2 times their distance


@record
class Shape(Record):
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


def tile_symbol(shape: Shape) -> str:
    """The name of the function that computes a tile.

    tile(rows, columns, k, a, down, along, b, step, c, next, alpha, beta) -> 0

    puts `alpha` times the product plus `beta` times what is there at `c`, whose rows are `next`
    apart; what is there is not read if beta is 0. The columns are whole vectors. Element (i, p) of
    the left operand is at `a + i * down + p * along`, row p of the right one at `b + p * step`.
    Addresses and integers are int64, and distances in memory are in bytes.
    """
    return f"tile_{shape.bytes}"


def tiles_text(shape: Shape) -> str:
    """The module that defines it."""
    sizes = [(i, j) for i in range(1, shape.rows + 1) for j in range(1, shape.vectors + 1)]
    scalar = str(shape.scalar)
    nothing = ", ".join([f"{scalar} -0.0"] * shape.columns)
    vectors = [j * shape.lanes for j in range(1, shape.vectors + 1)]
    declared = (_fused(lanes, shape) for lanes in vectors)
    return "\n".join(
        [
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            *(f"declare {kind} {name}({kind}, {kind}, {kind})" for kind, name in declared),
            # x + -0.0 is x, so nothing is added to a result that is not there yet
            f"@nothing = internal constant [{shape.columns} x {scalar}] [{nothing}], align {LINE}",
            _chosen(shape, sizes),
            *(_tile(shape, *size) for size in sizes),
        ]
    )


def _fused(lanes: int, shape: Shape) -> tuple[str, str]:
    """The type of some elements side by side, and the function that multiplies and adds them."""
    name = f"@llvm.fmuladd.v{lanes}f{8 * shape.bytes}"
    return f"<{lanes} x {shape.scalar}>", name


def _chosen(shape: Shape, sizes: list[tuple[int, int]]) -> str:
    """The function that calls the one for as many rows and vectors as there are."""
    scalar = shape.scalar
    given = (
        "i64 %k, ptr %left, i64 %down, i64 %along, ptr %right, i64 %step, ptr %to, i64 %next, "
        f"ptr %old, i64 %apart, {scalar} %alpha, {scalar} %beta"
    )
    cases = "".join(f"i64 {i * shape.vectors + j}, label %of_{i}_{j} " for i, j in sizes)
    calls = "".join(
        f"of_{i}_{j}:\n  %done_{i}_{j} = tail call i64 @tile_{i}_{j}({given})\n"
        f"  ret i64 %done_{i}_{j}\n"
        for i, j in sizes
    )
    return f"""
define i64 @{tile_symbol(shape)}(i64 %rows, i64 %columns, i64 %k, i64 %a, i64 %down, i64 %along,
    i64 %b, i64 %step, i64 %c, i64 %next, {scalar} %alpha, {scalar} %beta) noinline nounwind {{
  %left = inttoptr i64 %a to ptr
  %right = inttoptr i64 %b to ptr
  %to = inttoptr i64 %c to ptr
  %fresh = fcmp oeq {scalar} %beta, 0.0
  %old = select i1 %fresh, ptr @nothing, ptr %to
  %apart = select i1 %fresh, i64 0, i64 %next
  %vectors = sdiv i64 %columns, {shape.lanes}
  %above = mul i64 %rows, {shape.vectors}
  %size = add i64 %above, %vectors
  switch i64 %size, label %none [{cases}]
none:
  ret i64 0
{calls}}}"""


def _tile(shape: Shape, rows: int, vectors: int) -> str:
    """The function for some rows and vectors; `old` is what is added, of rows `apart`."""
    scalar, size, lanes = shape.scalar, shape.bytes, vectors * shape.lanes
    kind, fused = _fused(lanes, shape)
    every = f"<{lanes} x i32> zeroinitializer"
    starts = range(0, rows, _TOGETHER)
    lines: list[str] = []

    def put(text: str) -> None:
        lines.append(f"  {text}")

    def place(name: str, start: str, distance: object) -> None:
        put(f"{name} = getelementptr i8, ptr {start}, i64 {distance}")

    def filled(name: str, value: str) -> None:
        put(f"{name}.first = insertelement {kind} poison, {scalar} {value}, i32 0")
        put(f"{name} = shufflevector {kind} {name}.first, {kind} poison, {every}")

    for i in range(rows):
        put(f"%below{i} = mul i64 %next, {i}")
        place(f"%to{i}", "%to", f"%below{i}")
        for at in (*range(0, lanes * size, LINE), lanes * size - 1):
            place(f"%line{i}.{at}", f"%to{i}", at)
            put(f"call void @llvm.prefetch.p0(ptr %line{i}.{at}, i32 1, i32 3, i32 1)")
    put("%down2 = add i64 %down, %down")
    for i in starts:
        put(f"%first{i} = mul i64 %down, {i}")
        place(f"%start{i}", "%left", f"%first{i}")
    put("%deep = icmp sgt i64 %k, 0")
    put("br i1 %deep, label %body, label %done")

    lines.append("body:")
    put("%rest = phi i64 [%k, %0], [%less, %body]")
    put("%row = phi ptr [%right, %0], [%row.next, %body]")
    for i in starts:
        put(f"%from{i} = phi ptr [%start{i}, %0], [%from{i}.next, %body]")
    for i in range(rows):
        put(f"%sum{i} = phi {kind} [zeroinitializer, %0], [%sum{i}.next, %body]")
    put(f"%across = load {kind}, ptr %row, align {size}")
    for i in range(rows):
        if i % _TOGETHER:
            place(f"%from{i}", f"%from{i - i % _TOGETHER}", ("", "%down", "%down2")[i % _TOGETHER])
        put(f"%one{i} = load {scalar}, ptr %from{i}, align {size}")
        filled(f"%each{i}", f"%one{i}")
        put(f"%sum{i}.next = call {kind} {fused}({kind} %each{i}, {kind} %across, {kind} %sum{i})")
    for i in starts:
        place(f"%from{i}.next", f"%from{i}", "%along")
    place("%row.next", "%row", "%step")
    put("%less = sub i64 %rest, 1")
    put("%more = icmp sgt i64 %less, 0")
    put("br i1 %more, label %body, label %done")

    lines.append("done:")
    for i in range(rows):
        put(f"%total{i} = phi {kind} [zeroinitializer, %0], [%sum{i}.next, %body]")
    filled("%scale", "%alpha")
    filled("%weight", "%beta")
    for i in range(rows):
        put(f"%under{i} = mul i64 %apart, {i}")
        place(f"%old{i}", "%old", f"%under{i}")
        put(f"%there{i} = load {kind}, ptr %old{i}, align {size}")
        put(f"%weighted{i} = fmul {kind} %there{i}, %weight")
        put(f"%scaled{i} = fmul {kind} %total{i}, %scale")
        put(f"%result{i} = fadd {kind} %weighted{i}, %scaled{i}")
        put(f"store {kind} %result{i}, ptr %to{i}, align {size}")
    put("ret i64 0")
    head = (
        f"define internal i64 @tile_{rows}_{vectors}(i64 %k, ptr %left, i64 %down, i64 %along, "
        "ptr %right, i64 %step, ptr %to, i64 %next, ptr %old, i64 %apart, "
        f"{scalar} %alpha, {scalar} %beta) noinline nounwind {{"
    )
    return "\n".join(("", head, *lines, "}"))


__all__ = ["Shape", "tile_symbol", "tiles_text"]
