"""Sizes and places as expressions of the loop IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add, mul

from staticgraph.compiler.core.dims import Atom, Size, Unknown
from staticgraph.compiler.ir.records import ONE, ZERO, Call, Const, Expr, Name


def size_expression(size: Size, names: Mapping[Unknown, str]) -> Expr:
    """The size as an expression of the variables that `names` gives to the unknowns."""
    if isinstance(size, int):
        return Const(size)
    parts: list[Expr] = []
    for monomial, coefficient in size.terms:
        factors = [_atom_expression(atom, names) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, Const(coefficient))
        parts.append(reduce(mul, factors))
    return reduce(add, parts)


def _atom_expression(atom: Atom, names: Mapping[Unknown, str]) -> Expr:
    if isinstance(atom, Unknown):
        return Name(names[atom])
    left, right = (size_expression(argument, names) for argument in atom.arguments)
    return left // right if atom.function == "floordiv" else Call(atom.function, (left, right))


def total_of(terms: Iterable[Expr]) -> Expr:
    """The sum of terms, without those that are 0."""
    some = [one for one in terms if one != ZERO]
    return reduce(add, some) if some else ZERO


def times(value: Expr, factor: Expr) -> Expr:
    """The product with a factor, which may be 0 or 1."""
    if factor == ZERO:
        return ZERO
    return value if factor == ONE else value * factor
