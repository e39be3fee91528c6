"""Print which part of a product a call of the BLAS computes, such as a cell of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from compiler.core.dims import Size
from compiler.schedule.chunks import TILE, Cells


@dataclass(slots=True)
class Arguments:
    """The texts of what the BLAS is given, for the whole product or for a part of it."""

    m: str
    n: str
    k: str
    a: str
    b: str
    c: str
    lda: str
    ldb: str
    ldc: str
    left_transposed: bool
    right_transposed: bool

    def rows(self, start: str, count: str) -> None:
        """Narrow to some rows of the result."""
        self.m = count
        self.a += f" + {start}" if self.left_transposed else f" + {start} * ({self.lda})"
        self.c += f" + {start} * ({self.ldc})"

    def columns(self, start: str, count: str) -> None:
        """Narrow to some columns of the result."""
        self.n = count
        self.b += f" + {start} * ({self.ldb})" if self.right_transposed else f" + {start}"
        self.c += f" + {start}"

    def depth(self, start: str, count: str) -> None:
        """Narrow to a part of what is summed over."""
        self.k = count
        self.a += f" + {start} * ({self.lda})" if self.left_transposed else f" + {start}"
        self.b += f" + {start}" if self.right_transposed else f" + {start} * ({self.ldb})"


def print_cell(
    cells: Cells, call: Arguments, size: Callable[[Size], str], side: Callable[[Cells], str]
) -> Iterator[str]:
    """The lines that find the rows and columns of a cell, to which `call` is narrowed.

    `side(cells)` names a number of cells.
    """
    at = "chunk"
    if cells.divides_columns:
        across = side(replace(cells, counted="across"))
        yield f"column = chunk % {across}"
        yield from _part("left", "columns", "column", across, size(cells.columns))
        call.columns("left", "columns")
        yield f"row = chunk // {across}"
        at = "row"
    if cells.divides_rows:
        down = side(replace(cells, counted="down"))
        yield from _part("top", "rows", at, down, size(cells.rows))
        call.rows("top", "rows")


def _part(start: str, count: str, at: str, parts: str, size: str) -> Iterator[str]:
    """The lines that find where one of some parts of an axis starts: whole tiles, about as many."""
    yield f"{start} = part_start({at}, {parts}, {size}, {TILE})"
    yield f"{count} = part_start({at} + 1, {parts}, {size}, {TILE}) - {start}"
