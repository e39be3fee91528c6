"""Host steps: what a program calls to have an op evaluated with NumPy.

An object of these is made per step and workspace, and its address put into the workspace's table
(`compiler.llvm.host`). It reads where its operands lie from the table, since in a loop that
changes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.bytecode import HostArray, HostCall
from staticgraph.compiler.core.dims import Unknown, evaluate
from staticgraph.compiler.core.errors import GraphError, StaticGraphError, located
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import op_named
from staticgraph.compiler.core.types import mapped


class Memory:
    """An array somewhere in a table's memory."""

    __slots__ = ("addend", "buffer", "dtype", "entry", "shape")

    def __init__(self, array: HostArray, sizes: Mapping[Unknown, int]) -> None:
        self.entry, self.addend = array.place.entry, array.place.addend
        self.shape = tuple([evaluate(size, sizes) for size in array.shape])
        self.dtype = array.dtype
        count = 1
        for size in self.shape:
            count *= size
        self.buffer = ctypes.c_char * (count * array.dtype.itemsize)

    def at(self, words: Any) -> Any:
        """The array, without a copy."""
        place: Any = self.buffer.from_address(words[self.entry] + self.addend)
        return np.ndarray(self.shape, self.dtype, place)


class HostStep:
    """A step of a program: called without arguments, it computes its results.

    Args:
        call: what is computed.
        table: the workspace's, whose memory outlives the step.
        sizes: of the workspace's calls.
        line: the user's line of a node of the kernel, for what goes wrong.
    """

    __slots__ = (
        "attrs", "evaluate", "into", "known", "line", "name", "node", "operands", "results",
        "words",
    )  # fmt: skip

    def __init__(
        self,
        call: HostCall,
        table: Any,
        sizes: Mapping[Unknown, int],
        line: Callable[[int], str],
    ) -> None:
        op = op_named(call.op)
        self.name = op.name
        self.evaluate = op.value
        self.into = op.lowering.into if isinstance(op.lowering, Host) else None
        self.attrs = {
            name: mapped(value, lambda size: evaluate(size, sizes)) for name, value in call.attrs
        }
        self.operands = [Memory(one, sizes) for one in call.operands]
        self.results = [None if one is None else Memory(one, sizes) for one in call.results]
        self.words = memoryview(table)
        self.node = call.node
        self.line = line
        self.known = ""

    @property
    def where(self) -> str:
        """The user's line: found once, since the kernel may have to be made again for it."""
        if not self.known:
            self.known = self.line(self.node)
        return self.known

    def __call__(self) -> None:
        """Compute the results; what the op raises has the user's line."""
        arrays = []
        for memory in self.operands:
            array = memory.at(self.words)
            array.setflags(False)  # an op is pure: what it reads, others read too
            arrays.append(array)
        try:
            with np.errstate(all="ignore"):
                if self.into and self.into(self._place(), *arrays, **self.attrs):
                    return
                value = self.evaluate(*arrays, **self.attrs)
        except StaticGraphError as error:
            raise located(error, self.where, f"{error} ({self.where})") from error
        except Exception as error:
            error.add_note(f"in {self.name} ({self.where})")
            raise
        values = value if type(value) is tuple else (value,)
        for place, one in zip(self.results, values, strict=True):
            if place is not None:  # somebody reads it
                self._store(place.at(self.words), np.asarray(one))

    def _place(self) -> Any:
        """Where the only result belongs: something reads it."""
        (memory,) = self.results
        assert memory is not None
        return memory.at(self.words)

    def _store(self, result: Any, value: Any) -> None:
        if value.shape != result.shape or value.dtype != result.dtype:
            raise GraphError(
                f"{self.name} evaluates to {value.dtype}{list(value.shape)}, inferred "
                f"{result.dtype}{list(result.shape)} ({self.where})"
            )
        result[...] = value
