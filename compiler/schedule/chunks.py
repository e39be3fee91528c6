"""In how many parts a loop or a product is cut, which threads share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from staticgraph.compiler.core.dims import Size, Unknown, evaluate, product
from staticgraph.compiler.core.record import Record, record

PRODUCT_GRAIN = 1 << 20  # multiplications that one chunk of products does at least: 10 to 30 µs
PROCESSORS = os.cpu_count() or 1  # of the machine, however many of them threads may use
TILE = (4, 32)  # rows and columns that are not divided
# Each cell copies its operands. Copying an element of either takes as long as so many
# multiplications: on a Zen 4 by least squares 0 to 10, of transposed ones 5 to 10; on a Zen 3 up to
# 48 where they come from memory. There, with 2 threads, 8, 16 and 32 do 512 x 512 x 512 at 121, 143
# and 143 GFLOP/s, 1536 x 1536 x 1536 at 140, 154 and 149, 2048 x 256 x 1024 at 131, 142 and 147.
COPYING = 16
VECTOR = 16  # columns
SPARE = 4  # cells for each processor at most
WORTH = 1.015  # of the time: what more cells than processors may cost, for one may be held up


@record
class Chunks(Record):
    """A loop in chunks: how many iterations there are, and how many statements they run in all.

    A chunk has at least `least` iterations and runs at least `grain` statements; there are at most
    `most`.
    """

    extent: Size
    work: Size
    least: int
    grain: int
    most: int

    def count(self, sizes: Mapping[Unknown, int]) -> int:
        """How many chunks there are, given the sizes that are unknown before run time."""
        extent, work = evaluate(self.extent, sizes), evaluate(self.work, sizes)
        return max(1, min(self.most, extent // self.least, work // self.grain))


@record
class Cells(Record):
    """The result (rows, columns) of a product in cells, a chunk each: a grid, `down` x `across`.

    How many there are depends on the sizes and on the machine alone, never on how many threads
    there are: a BLAS may add in another order where a matrix is divided in another way.

    Attributes:
        rows, columns, depth: the sizes of the product.
        counted: what `count` is: of all cells, or of those `down` or `across`.
    """

    rows: Size
    columns: Size
    depth: Size
    counted: str = "cells"

    @property
    def extent(self) -> Cells:
        """A chunk is one cell."""
        return self

    @property
    def divides_rows(self) -> bool:
        """Whether there may be several cells down the result."""
        return not isinstance(self.rows, int) or self.rows > TILE[0]

    @property
    def divides_columns(self) -> bool:
        """Whether there may be several cells across the result."""
        return not isinstance(self.columns, int) or self.columns > TILE[1]

    @property
    def products(self) -> Size:
        """The multiplications in all: whole vectors of columns are computed."""
        return product((self.rows, (self.columns + VECTOR - 1) // VECTOR * VECTOR, self.depth))

    def count(self, sizes: Mapping[Unknown, int]) -> int:
        """The number of cells, or of those in a column or in a row of the grid."""
        m, n, work = (evaluate(one, sizes) for one in (self.rows, self.columns, self.products))
        down, across = _grid(m, n, min(PROCESSORS, work // PRODUCT_GRAIN))
        return {"cells": down * across, "down": down, "across": across}[self.counted]


Cut: TypeAlias = Chunks | Cells


@lru_cache
def _grid(rows: int, columns: int, threads: int) -> tuple[int, int]:
    """The rows and columns of cells that `threads` are done with first."""
    if threads <= 1:
        return 1, 1
    times = {
        (down, across): -(-down * across // threads)
        * _time(_longest(rows, down, TILE[0]), _longest(columns, across, TILE[1]))
        for down, across in _grids(-(-rows // TILE[0]), -(-columns // TILE[1]), threads)
    }
    most = WORTH * min(times.values())
    return max(
        (grid for grid, time in times.items() if time <= most),
        key=lambda grid: (grid[0] * grid[1], -times[grid], grid[0]),
    )


def _grids(down: int, across: int, threads: int) -> Iterator[tuple[int, int]]:
    for cells in range(threads, SPARE * threads + 1, threads):
        yield from ((i, min(across, cells // i)) for i in range(1, min(down, cells) + 1))


def _longest(size: int, parts: int, tile: int) -> int:
    """The size of the longest part of an axis (`part_start` of the emitted language)."""
    tiles = -(-size // tile)
    starts = [min(i * tiles // parts * tile, size) for i in range(parts + 1)]
    return max(end - start for start, end in pairwise(starts))


def _time(rows: int, columns: int) -> int:
    """What a cell takes for each element of the depth: multiplications, and its operands' copies.

    Whole vectors of columns are computed.
    """
    columns = -(-columns // VECTOR) * VECTOR
    return rows * columns + COPYING * (rows + columns)
