"""The loop that runs programs: machine code that is the same for all of them.

    int64 run(int64 *program, int64 *table)

calls the steps of a program in order and returns the first status that is not 0, or else 0.
`compiler.runtime.program` says what the words of a program are.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from compiler.runtime.program import CALL, HEADER

INT64 = ir.IntType(64)
WORDS = INT64.as_pointer()
RUN = ir.FunctionType(INT64, [WORDS, WORDS])
STEP = ir.FunctionType(INT64, [WORDS, WORDS])


def define_run(module: ir.Module, symbol: str) -> Any:
    """Add the function to a module."""
    function = ir.Function(module, RUN, symbol)
    program, table = function.args
    start, head, call, following, done = (
        function.append_basic_block(name) for name in ("start", "head", "call", "next", "done")
    )
    builder = ir.IRBuilder(start)
    builder.branch(head)
    builder.position_at_end(head)
    at = builder.phi(WORDS)
    at.add_incoming(program, start)
    kind = builder.load(at)
    builder.cbranch(builder.icmp_signed("==", kind, INT64(CALL)), call, done)
    builder.position_at_end(call)
    length, address = (builder.load(builder.gep(at, [INT64(i)])) for i in (1, 2))
    step = builder.inttoptr(address, STEP.as_pointer())
    status = builder.call(step, [table, builder.gep(at, [INT64(HEADER)])])
    builder.cbranch(builder.icmp_signed("==", status, INT64(0)), following, done)
    builder.position_at_end(following)
    at.add_incoming(builder.gep(at, [length]), following)
    builder.branch(head)
    builder.position_at_end(done)
    result = builder.phi(INT64)
    result.add_incoming(INT64(0), head)
    result.add_incoming(status, call)
    builder.ret(result)
    return function
