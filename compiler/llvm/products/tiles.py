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

A processor's core may also run another thread, and then has half of its instructions for ours: so
what is no multiply-add counts, though the units that multiply are busy without it. Large tiles take
several steps in a turn of their loop, and each address is a register and a distance, a number or
another register. LLVM would rather compute distances anew in each turn: `freeze` hides that it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from staticgraph.compiler.core.record import Record, record

LINE = 64  # bytes of a line of the cache
_TOGETHER = 3  # rows that one register addresses: at 0, 1 and 2 times their distance
AHEAD = 512  # bytes of a row of the right operand, from where it is read to where it is fetched
_TURN = 48  # multiply-adds of vectors in a turn of the loop of a large tile


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

    def steps(self, rows: int, vectors: int) -> int:
        """How many steps of the depth a turn takes: one, but in the tiles that most are."""
        is_large = vectors == self.vectors and rows >= self.rows - 1
        return _TURN // (self.rows * self.vectors) if is_large else 1

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
    Addresses and integers are int64, and distances in memory are in bytes. The elements of the left
    operand's rows lie side by side, or those of its columns.
    """
    return f"tile_{shape.bytes}"


def tiles_text(shape: Shape) -> str:
    """The module that defines it."""
    sizes = [(i, j) for i in range(1, shape.rows + 1) for j in range(1, shape.vectors + 1)]
    vectors = [j * shape.lanes for j in range(1, shape.vectors + 1)]
    declared = (fused(lanes, shape) for lanes in vectors)
    return "\n".join(
        [
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            *(f"declare {kind} {name}({kind}, {kind}, {kind})" for kind, name in declared),
            _chosen(shape, sizes),
            *(_Tile(shape, *size).text for size in sizes),
        ]
    )


def fused(lanes: int, shape: Shape) -> tuple[str, str]:
    """The type of some elements side by side, and the function that multiplies and adds them."""
    name = f"@llvm.fmuladd.v{lanes}f{8 * shape.bytes}"
    return f"<{lanes} x {shape.scalar}>", name


def _chosen(shape: Shape, sizes: list[tuple[int, int]]) -> str:
    """The function that calls the one for as many rows and vectors as there are."""
    scalar = shape.scalar
    tiles = ", ".join(f"ptr @tile_{i}_{j}" for i, j in sizes)
    return f"""@tiles = internal constant [{len(sizes)} x ptr] [{tiles}]
define i64 @{tile_symbol(shape)}(i64 %rows, i64 %columns, i64 %k, i64 %a, i64 %down, i64 %along,
    i64 %b, i64 %step, i64 %c, i64 %next, {scalar} %alpha, {scalar} %beta) noinline nounwind {{
  %left = inttoptr i64 %a to ptr
  %right = inttoptr i64 %b to ptr
  %to = inttoptr i64 %c to ptr
  %vectors = sdiv i64 %columns, {shape.lanes}
  %above = mul i64 %rows, {shape.vectors}
  %size = add i64 %above, %vectors
  %number = sub i64 %size, {shape.vectors + 1}
  %place = getelementptr ptr, ptr @tiles, i64 %number
  %tile = load ptr, ptr %place
  %done = tail call i64 %tile(i64 %k, ptr %left, i64 %down, i64 %along, ptr %right, i64 %step,
    ptr %to, i64 %next, {scalar} %alpha, {scalar} %beta)
  ret i64 %done
}}"""


class _Tile:
    """The function for some rows and vectors.

    A large one has two loops of several steps in a turn, for left operands whose rows' elements lie
    side by side and for those whose columns' do; then comes one of single steps, for the rest.
    """

    def __init__(self, shape: Shape, rows: int, vectors: int) -> None:
        self.scalar, self.size, self.rows = shape.scalar, shape.bytes, rows
        self.lanes, self.steps = vectors * shape.lanes, shape.steps(rows, vectors)
        self.kind, self.fused = fused(self.lanes, shape)
        self.lines: list[str] = []
        self._begin()
        if self.steps > 1:
            self._several()
        self._single()
        self._end()
        head = (
            f"define internal i64 @tile_{rows}_{vectors}(i64 %k, ptr %left, i64 %down, i64 %along,"
            f" ptr %right, i64 %step, ptr %to, i64 %next, {self.scalar} %alpha,"
            f" {self.scalar} %beta) noinline nounwind {{"
        )
        self.text = "\n".join((head, *self.lines, "}"))

    # -- its parts -----------------------------------------------------------------------------

    def _begin(self) -> None:
        """Have the result come to the first cache."""
        for i in range(self.rows):
            self._put(f"%below{i} = mul i64 %next, {i}")
            self._place(f"%to{i}", "%to", f"%below{i}")
            for at in (*range(0, self.lanes * self.size, LINE), self.lanes * self.size - 1):
                self._place(f"%line{i}.{at}", f"%to{i}", at)
                self._put(f"call void @llvm.prefetch.p0(ptr %line{i}.{at}, i32 1, i32 3, i32 1)")
        self._multiples("down", _TOGETHER - 1)

    def _several(self) -> None:
        """The loops of several steps in a turn, and what there is after them."""
        steps = self.steps
        self._put(f"%turns = udiv i64 %k, {steps}", f"%over = urem i64 %k, {steps}")
        self._put("%some = icmp ne i64 %turns, 0", "br i1 %some, label %many, label %then")
        self._label("many")
        self._multiples("step", steps)
        self._multiples("along", steps)
        rows = self._starts("many", "%left", steps * self.size)
        columns = {"from0": ("%left", f"%along{steps}")}
        self._put(f"%near = icmp eq i64 %along, {self.size}")
        self._put("br i1 %near, label %rows, label %columns")
        for name, lefts in (("rows", rows), ("columns", columns)):
            places = {"row": ("%right", f"%step{steps}"), **lefts}
            self._loop(name, ("many", "then"), "%turns", steps, places)
        self._label("then")
        self._joined("%row.then", "ptr", "%right", "row.next")
        self._joined("%left.then", "ptr", "%left", "from0.next")
        for i in range(self.rows):
            self._joined(f"%sum{i}.then", self.kind, "zeroinitializer", f"sum{i}.{steps}")

    def _single(self) -> None:
        """The loop of single steps: all of the depth, or what is left of it."""
        left, right, before, count = "%left", "%right", "0", "%k"
        if self.steps > 1:
            left, right, before, count = "%left.then", "%row.then", "then", "%over"
        places = {"row": (right, "%step"), **self._starts("rest", left, "%along")}
        self._put(f"%more = icmp ne i64 {count}, 0", "br i1 %more, label %rest, label %end")
        self._loop("rest", (before, "end"), count, 1, places)
        self._label("end")
        for i in range(self.rows):
            start = self._sum(before, i)
            self._put(f"%total{i} = phi {self.kind} [{start}, %{before}], [%rest.sum{i}.1, %rest]")

    def _end(self) -> None:
        """Add what is there, if it counts, and store the result."""
        kind = self.kind
        self._filled("%scale", "%alpha")
        self._filled("%weight", "%beta")
        self._put(f"%fresh = fcmp oeq {self.scalar} %beta, 0.0")
        self._put("br i1 %fresh, label %new, label %old")
        self._label("new")
        for i in range(self.rows):
            self._put(f"%result{i} = fmul {kind} %total{i}, %scale")
            self._put(f"store {kind} %result{i}, ptr %to{i}, align {self.size}")
        self._put("ret i64 0")
        self._label("old")
        for i in range(self.rows):
            self._put(f"%there{i} = load {kind}, ptr %to{i}, align {self.size}")
            self._put(f"%weighted{i} = fmul {kind} %there{i}, %weight")
            given = f"{kind} %total{i}, {kind} %scale, {kind} %weighted{i}"
            self._put(f"%added{i} = call {kind} {self.fused}({given})")
            self._put(f"store {kind} %added{i}, ptr %to{i}, align {self.size}")
        self._put("ret i64 0")

    # -- a loop --------------------------------------------------------------------------------

    def _loop(
        self,
        name: str,
        around: tuple[str, str],
        turns: str,
        steps: int,
        places: Mapping[str, tuple[str, object]],
    ) -> None:
        """A loop between two blocks, of places that begin somewhere and move by a distance."""
        before, after = around
        kind = self.kind
        self._label(name)
        self._put(f"%{name}.left = phi i64 [{turns}, %{before}], [%{name}.less, %{name}]")
        for place, (start, _) in places.items():
            moved = f"[%{name}.{place}.next, %{name}]"
            self._put(f"%{name}.{place} = phi ptr [{start}, %{before}], {moved}")
        for i in range(self.rows):
            more = f"[%{name}.sum{i}.{steps}, %{name}]"
            start = self._sum(before, i)
            self._put(f"%{name}.sum{i}.0 = phi {kind} [{start}, %{before}], {more}")
        for step in range(steps):
            self._step(name, step)
        for place, (_, distance) in places.items():
            self._place(f"%{name}.{place}.next", f"%{name}.{place}", distance)
        self._put(f"%{name}.less = sub i64 %{name}.left, 1")
        self._put(f"%{name}.more = icmp ne i64 %{name}.less, 0")
        self._put(f"br i1 %{name}.more, label %{name}, label %{after}")

    def _step(self, name: str, step: int) -> None:
        """One step of the depth: a row of the right operand times a column of the left one."""
        kind, size = self.kind, self.size
        row = self._moved(f"%{name}.row", "step", step)
        self._put(f"%{name}.across{step} = load {kind}, ptr {row}, align {size}")
        if self.steps == 1:  # it may be read once: rows that are far apart come late from memory
            self._place(f"%{name}.ahead", row, AHEAD)
            self._put(f"call void @llvm.prefetch.p0(ptr %{name}.ahead, i32 0, i32 3, i32 1)")
        for i in range(self.rows):
            if name == "columns":
                first = self._moved(f"%{name}.from0", "along", step, is_new=i == 0)
                away = i * size
            else:
                start = f"%{name}.from{i - i % _TOGETHER}"
                first = self._moved(start, "down", i % _TOGETHER, is_new=step == 0)
                away = step * size
            one, total = f"%{name}.one{i}.{step}", f"%{name}.sum{i}."
            self._place(f"{one}.at", first, away)
            self._put(f"{one} = load {self.scalar}, ptr {one}.at, align {size}")
            self._filled(f"{one}.each", one)
            given = f"{kind} {one}.each, {kind} %{name}.across{step}, {kind} {total}{step}"
            self._put(f"{total}{step + 1} = call {kind} {self.fused}({given})")

    # -- what they are made of -----------------------------------------------------------------

    def _put(self, *lines: str) -> None:
        self.lines += lines

    def _label(self, name: str) -> None:
        self._put(f"{name}:")

    def _place(self, name: str, start: str, distance: object) -> None:
        self._put(f"{name} = getelementptr i8, ptr {start}, i64 {distance}")

    def _filled(self, name: str, value: str) -> None:
        every = f"<{self.lanes} x i32> zeroinitializer"
        self._put(
            f"{name}.first = insertelement {self.kind} poison, {self.scalar} {value}, i32 0",
            f"{name} = shufflevector {self.kind} {name}.first, {self.kind} poison, {every}",
        )

    def _joined(self, name: str, kind: str, start: str, after: str) -> None:
        """What there is after the loops of several steps."""
        ends = ", ".join(f"[%{loop}.{after}, %{loop}]" for loop in ("rows", "columns"))
        self._put(f"{name} = phi {kind} [{start}, %0], {ends}")

    def _sum(self, before: str, i: int) -> str:
        """The sum of a row where a loop begins."""
        return f"%sum{i}.then" if before == "then" else "zeroinitializer"

    def _multiples(self, name: str, most: int) -> None:
        """Multiples of a distance, from two times on."""
        for times in range(2, most + 1):
            self._put(f"%{name}{times}.shown = mul i64 %{name}, {times}")
            self._put(f"%{name}{times} = freeze i64 %{name}{times}.shown")

    def _starts(self, block: str, left: str, step: object) -> dict[str, tuple[str, object]]:
        """Rows of the left operand that others are near to, and how they move."""
        found: dict[str, tuple[str, object]] = {"from0": (left, step)}
        for i in range(_TOGETHER, self.rows, _TOGETHER):
            name = f"%{block}.start{i}"
            self._put(f"{name}.away = mul i64 %down, {i}")
            self._place(f"{name}.shown", left, f"{name}.away")
            self._put(f"{name} = freeze ptr {name}.shown")
            found[f"from{i}"] = (name, step)
        return found

    def _moved(self, place: str, distance: str, times: int, *, is_new: bool = True) -> str:
        """A place so many times a distance after another."""
        if times and is_new:
            self._place(f"{place}.{times}", place, f"%{distance}{times if times > 1 else ''}")
        return f"{place}.{times}" if times else place


__all__ = ["AHEAD", "Shape", "fused", "tile_symbol", "tiles_text"]
