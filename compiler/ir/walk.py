"""What expressions and statements have in them, and how holes are filled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from staticgraph.compiler.core.record import Record
from staticgraph.compiler.core.scalars import ScalarFunction, scalar_functions
from staticgraph.compiler.ir.records import (
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


def filled(one: Expr, holes: Mapping[str, Expr]) -> Expr:
    """An expression with other ones where it has holes."""
    if isinstance(one, Hole):
        return holes[one.key]
    if isinstance(one, Name | Const):
        return one
    if isinstance(one, Binary):
        return Binary(one.sign, filled(one.left, holes), filled(one.right, holes))
    if isinstance(one, Call):
        return Call(one.function, tuple([filled(part, holes) for part in one.operands]))
    if isinstance(one, Cast):
        return Cast(one.type, filled(one.operand, holes))
    if isinstance(one, Select):
        return Select(filled(one.test, holes), filled(one.yes, holes), filled(one.no, holes))
    if isinstance(one, Unary):
        return Unary(one.sign, filled(one.operand, holes))
    if isinstance(one, Load):
        return Load(filled(one.pointer, holes), filled(one.index, holes))
    assert isinstance(one, CastLike)
    return CastLike(filled(one.like, holes), filled(one.operand, holes))


def operands(one: Expr) -> tuple[Expr, ...]:
    """What an expression is directly made of."""
    if isinstance(one, Binary):
        return one.left, one.right
    if isinstance(one, Call):
        return one.operands
    if isinstance(one, Cast | Unary):
        return (one.operand,)
    if isinstance(one, Load):
        return one.pointer, one.index
    if isinstance(one, Select):
        return one.test, one.yes, one.no
    if isinstance(one, CastLike):
        return one.like, one.operand
    return ()


def parts(one: Expr) -> Iterator[Expr]:
    """An expression and all that is in it."""
    pending = [one]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(operands(found))


def statements(block: Iterable[Stmt]) -> Iterator[Stmt]:
    """Statements and those inside them."""
    for one in block:
        yield one
        if isinstance(one, For | While):
            yield from statements(one.body)
        elif isinstance(one, If):
            yield from statements(one.yes)
            yield from statements(one.no)


def expressions(one: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement, but not those of statements inside it."""
    if isinstance(one, Assign | Evaluate | Return):
        return (one.value,)
    if isinstance(one, Store):
        return one.pointer, one.index, one.value
    if isinstance(one, For):
        return one.start, one.stop, one.step
    assert isinstance(one, If | While)
    return (one.test,)


def names(one: Expr) -> set[str]:
    """The variables that an expression reads."""
    return {part.name for part in parts(one) if isinstance(part, Name)}


def calls(one: Expr) -> list[str]:
    """The functions that an expression calls, as often as it does; those of a `Cast` are none."""
    return [part.function for part in parts(one) if isinstance(part, Call)]


def functions(one: Expr) -> set[str]:
    """The names of functions and types in an expression's text."""
    found = set(calls(one))
    for part in parts(one):
        if isinstance(part, Cast):
            found.add(part.type)
        elif isinstance(part, Select):
            found.add("select")
    return found


def scalars_of(units: Iterable[Function]) -> list[ScalarFunction]:
    """The functions of users that units call."""
    known = scalar_functions()
    found = (part for unit in units for one in statements(unit.body) for part in expressions(one))
    names = dict.fromkeys(name for part in found for name in calls(part))
    return [known[name] for name in names if name in known]


def block_names(block: Iterable[Stmt]) -> set[str]:
    """The variables that statements read."""
    return {name for one in statements(block) for part in expressions(one) for name in names(part)}


def stored(block: Iterable[Stmt]) -> set[Expr]:
    """The pointers that statements write to."""
    return {one.pointer for one in statements(block) if isinstance(one, Store)}


def variables(function: Function) -> set[str]:
    """The variables of a function, its parameters too."""
    found = {one.name for one in function.parameters} | block_names(function.body)
    for one in statements(function.body):
        if isinstance(one, Assign):
            found.add(one.name)
        elif isinstance(one, For):
            found.add(one.variable)
    return found


def rewritten(one: object, change: Callable[[Record], Record]) -> Any:
    """A record, or a tuple of them, in which `change` was made to each, the innermost first."""
    if isinstance(one, tuple):
        return tuple([rewritten(part, change) for part in one])
    if not isinstance(one, Record):
        return one
    found: Any = one
    inside = {part.name: rewritten(getattr(one, part.name), change) for part in fields(found)}
    return change(replace(found, **inside))


def renamed(function: Function, names: Mapping[str, str]) -> Function:
    """A function with other names for some variables; no two may get the same."""

    def change(one: Record) -> Record:
        if isinstance(one, Name | Assign | Parameter):
            return replace(one, name=names.get(one.name, one.name))
        if isinstance(one, For):
            return replace(one, variable=names.get(one.variable, one.variable))
        return one

    found: Function = rewritten(function, change)
    return found
