"""Whether words of memory are what they were: machine code that a builtin function is made of.

    same = unchanged()

It follows CPython's convention METH_NOARGS. Its `self` is an ndarray of int64: how many words are
compared, the addresses of `True`, of `False` and of `Py_IncRef`, then per word where it is, and
what it was. They are compared in order up to the first that differs, so that a word may say that
those behind it are still there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.trampoline_words import HEADER, UNCHANGED_SYMBOL, Fields

INT64 = ir.IntType(64)
WORDS = INT64.as_pointer()
POINTER = ir.IntType(8).as_pointer()


def define_unchanged(module: ir.Module, fields: Fields) -> None:
    """Define the function in a module."""
    kind = ir.FunctionType(POINTER, [POINTER, POINTER])
    function = ir.Function(module, kind, UNCHANGED_SYMBOL)
    head, body, following, done = (function.append_basic_block() for _ in range(4))
    builder = ir.IRBuilder(head)
    data = builder.gep(function.args[0], [INT64(fields.data)])
    words = builder.load(builder.bitcast(data, WORDS.as_pointer()))

    def word(at: Any) -> Any:
        return builder.load(builder.gep(words, [at]))

    count, true, false, incref = (word(INT64(HEADER.index(name))) for name in HEADER)
    end = builder.add(INT64(len(HEADER)), builder.mul(count, INT64(2)))
    is_some = builder.icmp_signed(">", count, INT64(0))
    builder.cbranch(is_some, body, done)
    builder.position_at_end(body)
    at = builder.phi(INT64)
    at.add_incoming(INT64(len(HEADER)), head)
    found = builder.load(builder.inttoptr(word(at), WORDS))
    same = builder.icmp_signed("==", found, word(builder.add(at, INT64(1))))
    builder.cbranch(same, following, done)
    builder.position_at_end(following)
    after = builder.add(at, INT64(2))
    at.add_incoming(after, following)
    builder.cbranch(builder.icmp_signed("<", after, end), body, done)
    builder.position_at_end(done)
    result = builder.phi(INT64)
    for value, block in ((true, head), (false, body), (true, following)):
        result.add_incoming(value, block)
    returned = builder.inttoptr(result, POINTER)
    counted = ir.FunctionType(ir.VoidType(), [POINTER]).as_pointer()
    builder.call(builder.inttoptr(incref, counted), [returned])
    builder.ret(returned)
