"""Two functions of the same operands that are called, as one call that gives both results.

A sine and a cosine of one angle share its reduction, as they do where they are inlined. LLVM's
vectoriser knows no calls with two results, so calls are joined when loops are vectors.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, NamedTuple

from llvmlite import ir

from staticgraph.compiler.core.record import record
from staticgraph.compiler.llvm.parsed import parse
from staticgraph.compiler.llvm.vecmath.deferred import Formula, KernelModule, kind_of
from staticgraph.compiler.llvm.vecmath.lane import Lane
from staticgraph.compiler.llvm.vecmath.outlined import Outlined

_BLOCK = re.compile(r"(?:[\w.]+|\"[^\"]*\"):|define ")
_CALL = re.compile(r"  (%[\w.]+) = (?:tail )?call [^@]*@(outlined\.[\w.]+)\((.*)\)")


@record
class Joint(Outlined):
    """A formula and another one of the same operands."""

    other: Formula

    KIND: ClassVar[str] = "joint"

    def function(self, lanes: int) -> str:
        """The name of its function for vectors of so many lanes; 1 is a scalar."""
        names = f"{self.exact.__name__}.{self.other.__name__}"
        name = f"{self.KIND}.{names}.{self.format.bits}"
        return name if lanes == 1 else f"{name}.{lanes}"

    def result(self, lanes: int) -> Any:
        """The LLVM type of what its function for vectors of so many lanes gives."""
        return ir.LiteralStructType([kind_of(self.format, lanes)] * 2)

    def results(self, *operands: Lane) -> tuple[Lane, ...]:
        """What its function gives: both values."""
        return self.exact(*operands), self.other(*operands)


def join_calls(parsed: object, module: KernelModule) -> Any:
    """The code `parsed`, optimised from `module`, with one call for two of the same operands."""
    if not module.variants:
        return parsed
    lines = str(parsed).split("\n")
    pairs = _pairs(lines)
    if not pairs:
        return parsed
    declared: dict[str, str] = {}
    for pair in pairs:
        calls = {i: _found(lines[i]) for i in pair}
        # the same function whichever is called first
        ordered = sorted(pair, key=lambda i: calls[i].function)
        (one, lanes), (other, _) = (module.variants[calls[i].function] for i in ordered)
        joint = Joint(one.exact, one.operands, one.format, other.exact)
        kind, function = joint.result(lanes), joint.function(lanes)
        module.variants[function] = joint, lanes
        given = ", ".join([str(kind_of(joint.format, lanes))] * joint.operands)
        declared[function] = f"declare {kind} @{function}({given})"
        first = calls[pair[0]]
        both = f"%joint.{first.value[1:]}"
        # in place of the calls, so that values without names keep their numbers
        for position, i in enumerate(ordered):
            lines[i] = f"  {calls[i].value} = extractvalue {kind} {both}, {position}"
        lines[pair[0]] = f"  {both} = call {kind} @{function}({first.operands})\n{lines[pair[0]]}"
    return parse("\n".join([*lines, *declared.values()]))


class _Call(NamedTuple):
    """A call as LLVM prints it: the value that it gives, its function and its operands."""

    value: str
    function: str
    operands: str


def _found(line: str) -> _Call:
    call = _CALL.match(line)
    assert call is not None
    return _Call(*call.groups())


def _pairs(lines: list[str]) -> list[tuple[int, int]]:
    """The lines of calls of two functions of the same operands in one block."""
    pairs = []
    alone: dict[str, tuple[int, str]] = {}
    for i, line in enumerate(lines):
        if _BLOCK.match(line):
            alone = {}
        elif (call := _CALL.match(line)) is not None:
            _, function, operands = call.groups()
            first, other = alone.setdefault(operands, (i, function))
            if other != function:
                pairs.append((first, i))
                del alone[operands]
    return pairs
