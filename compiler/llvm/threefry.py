"""Threefry 2x32-20 as straight-line LLVM IR, which LLVM inlines and vectorises.

Of 32-bit words, as it is defined: written in the emitted language, whose integers are int64, it
took 2.5 times as long. A rotation is one instruction where the processor has it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.reference.threefry import PARITY, ROTATIONS

WORD, PAIR = ir.IntType(32), ir.IntType(64)


def threefry(builder: Any, key: Any, counter: object) -> Any:
    """The block of 64 random bits that belongs to a counter: two words, as key and counter are."""
    keys = [*_words(builder, key)]
    keys.append(builder.xor(builder.xor(*keys), WORD(PARITY)))
    kind = ir.FunctionType(WORD, [WORD] * 3)
    rotate = builder.module.declare_intrinsic("llvm.fshl", [WORD], kind)
    left, right = map(builder.add, _words(builder, counter), keys)
    for group in range(5):
        for count in ROTATIONS[group % 2]:
            left = builder.add(left, right)
            right = builder.xor(builder.call(rotate, [right, right, WORD(count)]), left)
        left = builder.add(left, keys[(group + 1) % 3])
        right = builder.add(builder.add(right, keys[(group + 2) % 3]), WORD(group + 1))
    high = builder.shl(builder.zext(left, PAIR), PAIR(32))
    return builder.or_(high, builder.zext(right, PAIR))


def _words(builder: Any, pair: object) -> tuple[Any, Any]:
    high = builder.trunc(builder.lshr(pair, PAIR(32)), WORD)
    return high, builder.trunc(pair, WORD)
