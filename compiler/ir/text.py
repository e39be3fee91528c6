"""The loop IR as Python: no parenthesis more than Python needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Call,
    Cast,
    CastLike,
    Const,
    Evaluate,
    Expr,
    For,
    Function,
    Hole,
    If,
    Load,
    Name,
    Parameter,
    Return,
    Select,
    Stmt,
    Store,
    Unary,
    While,
)

INDENT = "    "
_COMPARISON, _NEGATION, _ATOM = 1, 8, 9
_BINDING = {
    "==": _COMPARISON, "!=": _COMPARISON, "<": _COMPARISON, "<=": _COMPARISON, ">": _COMPARISON,
    ">=": _COMPARISON, "|": 2, "^": 3, "&": 4, "<<": 5, ">>": 5, "+": 6, "-": 6, "*": 7, "/": 7,
    "//": 7, "%": 7,
}  # fmt: skip
"""How strongly an operation binds its operands."""


def expression(one: Expr, least: int = 0) -> str:
    """The text of an expression, in parentheses if it binds less than `least`."""
    if isinstance(one, Name):
        return one.name
    if isinstance(one, Const):
        return repr(one.value)
    if isinstance(one, Binary):
        binding = _BINDING[one.sign]
        # operations of one strength are done from the left; comparisons are not chained
        left = expression(one.left, binding + (binding == _COMPARISON))
        found = f"{left} {one.sign} {expression(one.right, binding + 1)}"
        return f"({found})" if binding < least else found
    if isinstance(one, Cast):
        return f"{one.type}({expression(one.operand)})"
    if isinstance(one, Call):
        return f"{one.function}({_listed(one.operands)})"
    if isinstance(one, Load):
        return f"{expression(one.pointer, _ATOM)}[{expression(one.index)}]"
    if isinstance(one, Select):
        return f"select({_listed((one.test, one.yes, one.no))})"
    if isinstance(one, Unary):
        if one.sign == "-":
            return f"-{expression(one.operand, _NEGATION)}"
        return f"(not {expression(one.operand)})" if least else f"not {expression(one.operand)}"
    if isinstance(one, CastLike):
        return f"type({expression(one.like)})({expression(one.operand)})"
    assert isinstance(one, Hole)
    return f"{{{one.key}}}"


def factor(one: Expr) -> str:
    """The text of an expression where it may be an operand of any operation."""
    return expression(one, _NEGATION)


def _listed(operands: Sequence[Expr]) -> str:
    return ", ".join([expression(one) for one in operands])


def lines(block: Sequence[Stmt], pad: str = "") -> Iterator[tuple[str, Stmt]]:
    """The lines of statements, each with the statement that it is of, or begins."""
    for one in block:
        if isinstance(one, Assign):
            yield f"{pad}{one.name} = {expression(one.value)}", one
        elif isinstance(one, Store):
            place = f"{expression(one.pointer, _ATOM)}[{expression(one.index)}]"
            yield f"{pad}{place} = {expression(one.value)}", one
        elif isinstance(one, For):
            yield f"{pad}for {one.variable} in range({_listed(_bounds(one))}):", one
            yield from lines(one.body, pad + INDENT)
        elif isinstance(one, If):
            yield f"{pad}if {expression(one.test)}:", one
            yield from lines(one.yes, pad + INDENT)
            if one.no:
                yield f"{pad}else:", one
                yield from lines(one.no, pad + INDENT)
        elif isinstance(one, While):
            yield f"{pad}while {expression(one.test)}:", one
            yield from lines(one.body, pad + INDENT)
        elif isinstance(one, Return):
            yield f"{pad}return {expression(one.value)}", one
        else:
            assert isinstance(one, Evaluate)
            yield pad + expression(one.value), one


def _bounds(loop: For) -> tuple[Expr, ...]:
    if loop.step != ONE:
        return loop.start, loop.stop, loop.step
    return (loop.stop,) if loop.start == ZERO else (loop.start, loop.stop)


def function(one: Function) -> str:
    """The text of a function."""
    return f"def {one.name}{definition(one.parameters, one.body)}"


def definition(parameters: Sequence[Parameter], body: Sequence[Stmt]) -> str:
    """The text of a function after its name."""
    inside = [line for line, _ in lines(body, INDENT)]
    return "\n".join([f"{signature(parameters)}:", *inside]) + "\n"


def signature(parameters: Sequence[Parameter]) -> str:
    """The text of what a function takes and gives."""
    taken = ", ".join([f"{one.name}: {one.type}" if one.type else one.name for one in parameters])
    result = " -> i64" if all(one.type for one in parameters) else ""
    return f"({taken}){result}"
