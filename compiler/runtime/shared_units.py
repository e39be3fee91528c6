"""Functions of the emitted language that arrays are handed to at once, threads sharing the work.

They run as the loops of kernels do: `compiler.llvm.pool` cuts their outermost loop into chunks.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.encoding import END, SHARE
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.runtime import threads
from staticgraph.compiler.runtime.cache.common import run_address
from staticgraph.compiler.runtime.cache.loader import load_unit
from staticgraph.compiler.runtime.signals import words_of_a_call

_CHUNKS, _EXTENT, _POOL, _GIVEN = 0, 1, 2, 4
"""Entries of the table: the pool has two, and then come the arguments."""


class SharedUnit:
    """A function whose last parameters are `first, last, chunk`, which says what part it does.

    The others are addresses and ints. Parts must not depend on each other.
    """

    __slots__ = ("_at", "_code", "_pool", "_program", "_run", "_watch")

    def __init__(self, source: str) -> None:
        unit = parsed_function(source)
        self._code = load_unit(unit, source)
        operands = [
            word for i in range(len(unit.parameters) - 3) for word in (_GIVEN + i, 0)
        ]  # fmt: skip
        head = [SHARE, 6 + len(operands), self._code.addresses[0], _CHUNKS, _EXTENT, _POOL]
        self._program = np.array([*head, *operands, END], np.int64)
        self._at = self._program.ctypes.data
        self._watch = array("q", words_of_a_call().tobytes())
        self._run = _run()
        self._pool = threads.pool_address()

    def __call__(self, extent: int, chunks: int, *given: int) -> None:
        """Do the parts of `extent` iterations in so many chunks."""
        limit = threads.limit()
        if chunks > 1:
            threads.start(limit)
        table, watch = array("q", (chunks, extent, self._pool, limit or 0, *given)), self._watch[:]
        self._run(self._at, table.buffer_info()[0], watch.buffer_info()[0])


@Once
def _run() -> Callable[[int, int, int], Any]:
    """The loop that runs programs, without the interpreter's lock."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(run_address())
