"""Which part of a product a call of gemm computes, such as a cell of the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.ir.records import ONE, Assign, Call, Const, Expr, Name, Stmt
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.schedule.chunks import TILE, Cells


@mutable
class Arguments:
    """What gemm is given, for the whole product or for a part of it.

    The sizes (m, k), (k, n) -> (m, n), where the matrices begin in memory, and their leading
    dimensions.
    """

    m: Expr
    n: Expr
    k: Expr
    a: Expr
    b: Expr
    c: Expr
    lda: Expr
    ldb: Expr
    ldc: Expr
    left_transposed: bool
    right_transposed: bool

    def rows(self, start: Expr, count: Expr) -> None:
        """Narrow to some rows of the result."""
        self.m = count
        self.a = total_of((self.a, start if self.left_transposed else times(start, self.lda)))
        self.c = total_of((self.c, times(start, self.ldc)))

    def columns(self, start: Expr, count: Expr) -> None:
        """Narrow to some columns of the result."""
        self.n = count
        self.b = total_of((self.b, times(start, self.ldb) if self.right_transposed else start))
        self.c = total_of((self.c, start))

    def depth(self, start: Expr, count: Expr) -> None:
        """Narrow to a part of what is summed over."""
        self.k = count
        self.a = total_of((self.a, times(start, self.lda) if self.left_transposed else start))
        self.b = total_of((self.b, start if self.right_transposed else times(start, self.ldb)))


def find_cell(
    cells: Cells, call: Arguments, size: Callable[[Size], Expr], side: Callable[[Cells], Expr]
) -> list[Stmt]:
    """The statements that find the rows and columns of a cell, to which `call` is narrowed.

    `side(cells)` is a number of cells.
    """
    chunk, row, column = map(Name, ("chunk", "row", "column"))
    found: list[Stmt] = []
    at = chunk
    if cells.divides_columns:
        across = side(replace(cells, counted="across"))
        found.append(Assign(column.name, chunk % across))
        found += _part("left", "columns", column, across, size(cells.columns), TILE[1])
        call.columns(Name("left"), Name("columns"))
        found.append(Assign(row.name, chunk // across))
        at = row
    if cells.divides_rows:
        down = side(replace(cells, counted="down"))
        found += _part("top", "rows", at, down, size(cells.rows), TILE[0])
        call.rows(Name("top"), Name("rows"))
    return found


def _part(start: str, count: str, at: Expr, parts: Expr, size: Expr, tile: int) -> list[Stmt]:
    """What finds where one of some parts of an axis starts: whole tiles, about as many."""

    def part_start(number: Expr) -> Expr:
        return Call("part_start", (number, parts, size, Const(tile)))

    return [
        Assign(start, part_start(at)),
        Assign(count, part_start(at + ONE) - Name(start)),
    ]
