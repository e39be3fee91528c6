"""What runs a kernel: a table of int64 and a program of steps over it.

The table holds addresses and sizes. A step calls one unit; each of its operands is an entry of the
table plus a constant, so that equal loops over other memory are the same code.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.dims import Unknown


@dataclass(frozen=True, slots=True, eq=False)
class TableLayout:
    """Where the kernel's table holds what.

    Attributes:
        address: per slot of the memory plan the entry of its address; the sizes of an input's or
            output's axes follow it.
        unknown: the entry of each unknown size.
        gemm: the entry of the address of the BLAS for each dtype that the kernel multiplies.
        zero: the entry that holds 0.
        own: the entry that holds the address of the table.
        failed: the entry that receives an index out of range.
    """

    address: tuple[int, ...]
    unknown: dict[Unknown, int]
    gemm: dict[str, int]
    zero: int
    own: int
    failed: int

    @property
    def length(self) -> int:
        """The number of entries."""
        return self.failed + 1


@dataclass(frozen=True, slots=True)
class Operand:
    """The value of an entry of the table plus a constant: an address in bytes, a size, a number."""

    entry: int
    addend: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a unit."""

    unit: int
    operands: tuple[Operand, ...]
