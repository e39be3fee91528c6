"""Functions of vecmath that are called and not inlined, for loops that call very many.

LLVM takes 5 to 20 ms for each call that is inlined, and more for each where there are hundreds. A
call of a vector function takes as long as the inlined formula in chains; of 100 independent calls
on 1000 elements it takes 1.15 (exp), 1.09 (tanh) and 0.94 (sin) times as long, and a fifth to a
tenth of the time to compile. Two functions of one operand become one call (`joint`). Of several
hundred sines inlined code is the slower, for it leaves the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from llvmlite import ir

from staticgraph.compiler.llvm.vecmath.deferred import Deferred, give, in_lanes
from staticgraph.compiler.llvm.vecmath.lane import Lane

INT32 = ir.IntType(32)


class Outlined(Deferred):
    """A formula as a function that is called."""

    KIND: ClassVar[str] = "outlined"

    def define(self, module: object, widths: Sequence[int]) -> None:
        """Define its functions for vectors of the given widths."""
        for lanes in widths:
            if lanes == 1:
                self._of_scalars(module)
            else:
                _tabulate(in_lanes(module, self.function(lanes), self, lanes))

    def _of_scalars(self, module: object) -> None:
        function = self.declare(module, 1)
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        operands = (Lane(builder, one, self.format) for one in function.args)
        give(builder, [one.value for one in self.results(*operands)])


def _tabulate(function: Any) -> None:
    """Let a function read its numbers from a table, of which it needs one address.

    A kernel may lie anywhere in memory, so each number in it would have an address of its own, and
    an instruction of ten bytes to load that. Measured on exponentials: 1.1 to 1.3 times as fast.
    """
    uses = [
        (one, operand)
        for block in function.blocks
        for one in block.instructions
        for operand in one.operands
        if isinstance(operand, ir.Constant)
        and isinstance(operand.type, ir.FloatType | ir.DoubleType)
    ]
    builder = ir.IRBuilder()
    builder.position_at_start(function.entry_basic_block)
    for type in dict.fromkeys(operand.type for _, operand in uses):
        found = {str(one): one.constant for _, one in uses if one.type == type}
        kind = ir.ArrayType(type, len(found))
        # neither internal nor constant: LLVM would take the numbers out of it again
        table = ir.GlobalVariable(function.module, kind, f"table.{type}.{function.name}")
        table.initializer = ir.Constant(kind, list(found.values()))
        places = [builder.gep(table, [INT32(0), INT32(i)]) for i in range(len(found))]
        read = dict(zip(found, map(builder.load, places), strict=True))
        for one, operand in uses:
            if operand.type == type:
                one.replace_usage(operand, read[str(operand)])
