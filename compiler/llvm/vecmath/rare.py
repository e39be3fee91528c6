"""Rare cases: code that a vector of lanes only runs where one of them needs it.

`rarely(mask, usual, exact, *operands)` is a selection. In a plain module it is just that, and both
are always computed. In a `KernelModule` it is a call of a function that is defined
when loops are vectors, and is then inlined: a test of the mask, a branch, and a call far from the
loop. The results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from llvmlite import ir

from staticgraph.compiler.llvm.vecmath.deferred import (
    Attributes,
    Deferred,
    Formula,
    KernelModule,
    in_lanes,
    kind_of,
)
from staticgraph.compiler.llvm.vecmath.lane import Lane, Mask, select

BIT, INT32 = ir.IntType(1), ir.IntType(32)
SELDOM = (1, 2000)


class Rare(Deferred):
    """A rare case: a function of the mask, the usual result and the operands, which is inlined."""

    KIND: ClassVar[str] = "rare"

    def declare(self, module: object, lanes: int) -> Any:
        """Declare its function for vectors of so many lanes."""
        kind = kind_of(self.format, lanes)
        mask = BIT if lanes == 1 else ir.VectorType(BIT, lanes)
        signature = ir.FunctionType(kind, [mask, kind] + [kind] * self.operands)
        return ir.Function(module, signature, self.function(lanes))

    def define(self, module: object, widths: Sequence[int]) -> None:
        """Define its functions for vectors of the given widths."""
        exact = in_lanes(module, f"exact.{self.function(1)}", self, self.widest)
        exact.linkage = "internal"
        for lanes in widths:
            _guard(self.declare(module, lanes), exact, self.widest, lanes)


def rarely(mask: Mask, usual: Lane, exact: Formula, *operands: Lane) -> Lane:
    """`exact(*operands)` where the mask is true, which is seldom, else `usual`."""
    module = usual.builder.module
    if not isinstance(module, KernelModule):
        return select(mask, exact(*operands), usual)
    function = module.declared(Rare(exact, len(operands), usual.format))
    values = [mask.value, usual.value, *(one.value for one in operands)]
    return Lane(usual.builder, usual.builder.call(function, values), usual.format)


def _guard(function: Any, exact: object, widest: int, lanes: int) -> None:
    """Define the function that calls `exact` where a mask is true in one of so many lanes."""
    function.attributes = Attributes(["alwaysinline", "nounwind"])
    mask, usual, *operands = function.args
    entry, seldom, end = (function.append_basic_block(name) for name in ("entry", "seldom", "end"))
    # lanes beyond the end of a loop have no value, on which one must not branch
    given = ir.Instruction(entry, mask.type, "freeze", [mask])
    entry.instructions.append(given)
    builder = ir.IRBuilder(entry)
    builder.cbranch(_any(builder, given, lanes), seldom, end).set_weights(SELDOM)
    builder.position_at_end(seldom)
    wide = [_resized(builder, one, widest) for one in operands]
    found = _resized(builder, builder.call(exact, wide), lanes)
    chosen = builder.select(mask, found, usual)
    builder.branch(end)
    builder.position_at_end(end)
    result = builder.phi(usual.type)
    result.add_incoming(usual, entry)
    result.add_incoming(chosen, seldom)
    builder.ret(result)


def _resized(builder: Any, value: Any, lanes: int) -> Any:
    """The first lanes of a vector or scalar; those that it lacks are like its first."""
    if lanes == 1:
        return builder.extract_element(value, INT32(0))
    if not isinstance(value.type, ir.VectorType):
        empty = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
        value = builder.insert_element(empty, value, INT32(0))
    order = [i if i < value.type.count else 0 for i in range(lanes)]
    numbers = ir.Constant(ir.VectorType(INT32, lanes), [INT32(i) for i in order])
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), numbers)


def _any(builder: Any, mask: Any, lanes: int) -> Any:
    if lanes == 1:
        return mask
    kind = ir.FunctionType(BIT, [mask.type])
    reduce = ir.Function(builder.module, kind, f"llvm.vector.reduce.or.v{lanes}i1")
    return builder.call(reduce, [mask])
