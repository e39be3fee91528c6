"""The loop that runs programs: machine code that is the same for all of them.

    int64 run(int64 *program, int64 *table, int64 *watch)

executes instructions in order and returns the first status of a step that is not 0, or else 0.
`compiler.llvm.watch` says what the words of `watch` are, and what a program does that runs for
long; `compiler.codegen.encoding` says what the words of the instructions are. It is written in the
emitted language.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from staticgraph.compiler.codegen.bytecode import NOT_FINITE
from staticgraph.compiler.codegen.encoding import (
    CALL,
    CHANGE,
    END,
    HOST,
    IF,
    LOOP,
    PRODUCTS,
    SET,
    SHARE,
    STOP,
    WHILE,
)
from staticgraph.compiler.ir.parse import function_of
from staticgraph.compiler.llvm import host, pool, watch
from staticgraph.compiler.llvm.lower.translate import Translator
from staticgraph.compiler.llvm.lower.values import INT64, POINTERS

SOURCE = f"""
def execute(program, t, watch):
    at = program
    while at[0] != {END}:
        kind = at[0]
        left = watch[{watch.LEFT}] - 1
        watch[{watch.LEFT}] = left
        if left <= 0:
            status = look(watch)
            if status != 0:
                return status
        if kind == {CALL}:
            status = call(at[2], t, offset(at, 3), 0, 0, 0)
            if status != 0:
                return status
        elif kind == {SHARE}:
            status = share(at, t, watch)
            if status != 0:
                return status
        elif kind == {SET}:
            for i in range(at[2]):
                t[at[3 + 3 * i]] = t[at[4 + 3 * i]] + t[at[5 + 3 * i]]
        elif kind == {LOOP}:
            moves = offset(at, 4)
            swaps = offset(moves, 2 * at[3])
            body = offset(swaps, 1 + 2 * swaps[0])
            for iteration in range(t[at[2]]):
                status = execute(body, t, watch)
                if status != 0:
                    return status
                for i in range(at[3]):
                    t[moves[2 * i]] = t[moves[2 * i]] + t[moves[2 * i + 1]]
                for i in range(swaps[0]):
                    address = t[swaps[1 + 2 * i]]
                    t[swaps[1 + 2 * i]] = t[swaps[2 + 2 * i]]
                    t[swaps[2 + 2 * i]] = address
        elif kind == {WHILE}:
            swaps = offset(at, 4)
            body = offset(swaps, 1 + 2 * swaps[0])
            status = execute(body, t, watch)
            if status != 0:
                return status
            while byte(t[at[2]]) != 0:
                status = execute(offset(body, at[3]), t, watch)
                if status != 0:
                    return status
                for i in range(swaps[0]):
                    address = t[swaps[1 + 2 * i]]
                    t[swaps[1 + 2 * i]] = t[swaps[2 + 2 * i]]
                    t[swaps[2 + 2 * i]] = address
                status = execute(body, t, watch)
                if status != 0:
                    return status
        elif kind == {PRODUCTS}:
            pool = t[at[2]]
            quiet = i64(0)
            if pool != 0:
                quiet = pointer(pool)[{pool.BLAS_SET}]
            if quiet != 0:
                quieted = quiet_blas(pointer(pool))
            status = execute(offset(at, 3), t, watch)
            if quiet != 0:
                woken = wake_blas(pointer(pool))
            if status != 0:
                return status
        elif kind == {HOST}:
            if watch[{watch.HELD}] == 0:  # the step may let other threads run
                held = hold(watch)
            status = host(t, at[2])
            if status != 0:
                return status
        elif kind == {CHANGE}:
            begun = begin_changes(watch)
        elif kind == {STOP}:
            if (t[at[2]] != 0) & (t[at[2] + 1] == 0):
                undone = execute(offset(at, 3), t, watch)
                return {NOT_FINITE}
        elif kind == {IF}:
            body = offset(at, 4)
            if byte(t[at[2]]) == 0:
                body = offset(body, at[3])
            status = execute(body, t, watch)
            if status != 0:
                return status
        at = offset(at, at[1])
    return 0


def run(program, t, watch):
    if watch[{watch.GUARDS}] != 0:
        if is_busy(pointer(watch[{watch.GUARDS}])) != 0:
            return {watch.BUSY}
    if watch[{watch.UNLOCKS}] != 0:
        unlocked = unlock(watch)
    status = execute(program, t, watch)
    finished = finish(watch)
    return status
"""


_SELDOM = ("are_awake", "hold", "host", "is_busy", "let_go", "look", "share", "unlock")
"""What short programs do not call: inlined, it would cost them registers."""

_POINTERS = ("guards", "pool", "program", "record", "t", "watch")


def define_run(module: ir.Module, symbol: str) -> Any:
    """Add the function to a module, and those that it calls."""
    words = POINTERS["p_i64"]
    trees = ast.parse(watch.SOURCE + pool.SOURCE + host.SOURCE + SOURCE).body
    external_names = {"run": symbol, "work": pool.SYMBOL, "borrowed": pool.BORROWED_SYMBOL}
    functions: dict[str, Any] = {}
    for one in map(function_of, trees):
        names = [parameter.name for parameter in one.parameters]
        types = [words if name in _POINTERS else INT64 for name in names]
        external = external_names.get(one.name)
        kind = ir.FunctionType(INT64.ir, [type.ir for type in types])
        function = functions[one.name] = ir.Function(module, kind, external or one.name)
        if external is None:
            function.linkage = "internal"
        if one.name in _SELDOM:
            function.attributes.add("noinline")
        translator = Translator(function, names, types, INT64)
        translator.functions |= functions
        translator.run(one.body)
    return functions["run"]
