"""Formulas become Numba intrinsics: callable from njit code, inlined as LLVM IR, no typing cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import intrinsic

from compiler.emit.vecmath.lane import BINARY32, BINARY64, Format, Lane

Formula = Callable[..., Lane]


def format_of(numba_type: Any) -> Format:
    """The binary format of a Numba float32 or float64 type."""
    return BINARY32 if numba_type.bitwidth == 32 else BINARY64


def lanes_of(builder: Any, signature: Any, values: Any) -> list[Lane]:
    """Lowered arguments as lanes."""
    pairs = zip(signature.args, values, strict=True)
    return [Lane(builder, value, format_of(numba_type)) for numba_type, value in pairs]


def _codegen(formula: Formula) -> Callable[[Any, Any, Any, Any], Any]:
    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return formula(*lanes_of(builder, signature, values)).value

    return build


def _same_floats(*operands: Any) -> bool:
    first = operands[0]
    return isinstance(first, types.Float) and all(operand == first for operand in operands)


def unary(formula: Formula) -> Any:
    """An intrinsic T -> T for T in {float32, float64}; other types do not type."""

    def typer(typing_context: Any, x: Any) -> Any:
        return (x(x), _codegen(formula)) if _same_floats(x) else None

    return _named(typer, formula)


def binary(formula: Formula) -> Any:
    """An intrinsic (T, T) -> T for T in {float32, float64}; mixed formats do not type."""

    def typer(typing_context: Any, x: Any, y: Any) -> Any:
        return (x(x, y), _codegen(formula)) if _same_floats(x, y) else None

    return _named(typer, formula)


def ternary(formula: Formula) -> Any:
    """An intrinsic (T, T, T) -> T for T in {float32, float64}; mixed formats do not type."""

    def typer(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        return (x(x, y, z), _codegen(formula)) if _same_floats(x, y, z) else None

    return _named(typer, formula)


def extremum(formula: Formula, comparison: str) -> Any:
    """An intrinsic (T, T) -> T for T a float, integer or bool; integers take `comparison`."""

    def integer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        signed = getattr(signature.return_type, "signed", False)
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        x, y = values
        return builder.select(compare(comparison, x, y), x, y)

    def typer(typing_context: Any, x: Any, y: Any) -> Any:
        if _same_floats(x, y):
            return x(x, y), _codegen(formula)
        if x == y and isinstance(x, (types.Integer, types.Boolean)):
            return x(x, y), integer
        return None

    return _named(typer, formula)


def predicate(formula: Callable[[Lane], Any]) -> Any:
    """An intrinsic T -> bool for T in {float32, float64}."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return formula(*lanes_of(builder, signature, values)).value

    def typer(typing_context: Any, x: Any) -> Any:
        return (types.boolean(x), build) if _same_floats(x) else None

    return _named(typer, formula)


def _named(typer: Any, formula: Any) -> Any:
    typer.__name__ = typer.__qualname__ = formula.__name__
    typer.__doc__ = formula.__doc__
    return intrinsic(typer)
