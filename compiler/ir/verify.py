"""What functions of the loop IR have to keep, where LLVM would end the process without a word."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.ir.records import Assign, Block, For, Function, If, While
from staticgraph.compiler.ir.walk import expressions, names


def verify(function: Function) -> None:
    """Look whether the variables of loops are only that.

    GraphError if one is assigned, or is the variable of another loop, inside its loop, or if it is
    read outside: it is a value of its loop alone, not memory. Who makes such a function is wrong,
    not the user.
    """
    known = {one.name for one in function.parameters}
    _block(function, function.body, known, frozenset(), set())


def _block(
    function: Function, block: Block, known: set[str], loops: frozenset[str], ended: set[str]
) -> None:
    """Look at statements.

    Args:
        known: the parameters, and the variables that were assigned.
        loops: the variables of the loops around them.
        ended: those of loops before them.
    """
    for one in block:
        if ended:
            for whole in expressions(one):
                _require_not(function, "read behind its loop", names(whole) - known - loops, ended)
        if isinstance(one, Assign):
            _require_not(function, "assigned inside its loop", (one.name,), loops)
            known.add(one.name)
        elif isinstance(one, For):
            what = "the variable of another loop inside its loop"
            _require_not(function, what, (one.variable,), loops)
            _block(function, one.body, known, loops | {one.variable}, ended)
            ended.add(one.variable)
        elif isinstance(one, While):
            _block(function, one.body, known, loops, ended)
        elif isinstance(one, If):
            _block(function, one.yes, known, loops, ended)
            _block(function, one.no, known, loops, ended)


def _require_not(function: Function, what: str, found: Iterable[str], wrong: Iterable[str]) -> None:
    bad = sorted({*found} & {*wrong})
    if bad:
        raise GraphError(
            f"{function.name}: internal error: the loop variable {bad[0]!r} is {what}, which the "
            "loop IR does not have: please report it, with the program"
        )
