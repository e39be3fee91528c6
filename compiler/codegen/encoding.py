"""Programs: the words that `compiler.llvm.run` reads.

An instruction begins with its kind and with how many words it has. A body is instructions and END.

    CALL    the address of a step, its operands: pairs (entry, addend)
    SHARE   the address of a step, the entries of how many chunks and iterations there are and of
            the pool, the operands
    HOST    the entry of the object that is called; the next is that of the words of the process
    SET     how many, triples (entry, entry, entry): the first becomes the sum of the others
    LOOP    the entry of the count, how many moves, pairs (entry, entry of what is added to it after
            each iteration), how many swaps, pairs of entries exchanged after each iteration, a body
    WHILE   the entry of the address of a bool, the words of the test, how many swaps, pairs, the
            test: a body that computes the bool, a body
    PRODUCTS the entry of the pool, a body during which the BLAS uses one thread
    CHANGE  nothing: variables change from here on, so the program runs to its end
    STOP    the entry that says whether a value was not finite, a body that runs before the end; the
            next entry says whether the program goes on
    IF      the entry of the address of a bool, the words of the first body, a body for true, a body
            for false
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.bytecode import (
    Branch,
    Call,
    Change,
    HostCall,
    Instruction,
    Repeat,
    Set,
    Share,
    Stop,
    TableOperand,
    While,
)

CALL, SHARE, SET, LOOP, WHILE, IF, PRODUCTS, CHANGE, HOST = 0, 1, 2, 3, 4, 5, 6, 7, 8
STOP, END = 9, -1


def program_words(
    program: Sequence[Instruction], addresses: Sequence[int], pool: int = 0
) -> list[int]:
    """The words of a body.

    `addresses` are those of the units' steps, and `pool` the table's entry of the pool.
    """
    words: list[int] = []
    for one in program:
        kind, operands = _instruction(one, addresses, pool)
        words += [kind, 2 + len(operands), *operands]
    return [*words, END]


def with_products(words: Sequence[int], pool: int) -> list[int]:
    """The words of a program that calls the BLAS; `pool` is the table's entry of the pool."""
    return [PRODUCTS, 3 + len(words), pool, *words, END]


def _instruction(one: Instruction, addresses: Sequence[int], pool: int) -> tuple[int, list[int]]:
    match one:
        case Call():
            return CALL, [addresses[one.unit], *_pairs(one.operands)]
        case Share():
            where = [one.chunks, one.extent, pool]
            return SHARE, [addresses[one.unit], *where, *_pairs(one.operands)]
        case HostCall():
            return HOST, [one.at]
        case Set():
            return SET, [len(one.sums), *_flat(one.sums)]
        case Change():
            return CHANGE, []
        case Stop():
            return STOP, [one.lost, *program_words(one.undo, addresses, pool)]
        case Repeat():
            body = program_words(one.body, addresses, pool)
            moves = [len(one.moves), *_flat(one.moves)]
            return LOOP, [one.count, *moves, len(one.swaps), *_flat(one.swaps), *body]
        case While():
            test, body = (program_words(part, addresses, pool) for part in (one.test, one.body))
            swaps = [len(one.swaps), *_flat(one.swaps)]
            return WHILE, [one.flag, len(test), *swaps, *test, *body]
        case Branch():
            bodies = [program_words(part, addresses, pool) for part in (one.yes, one.no)]
            return IF, [one.flag, len(bodies[0]), *bodies[0], *bodies[1]]


def _pairs(operands: Sequence[TableOperand]) -> list[int]:
    return [word for one in operands for word in (one.entry, one.addend)]


def _flat(groups: Sequence[Sequence[int]]) -> list[int]:
    return [word for group in groups for word in group]
