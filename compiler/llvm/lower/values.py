"""Typed values of the emitted language, their conversion and their arithmetic.

The rules are those of Numba with `error_model="numpy"`: integers and bools meet as int64, and wrap,
but for two uint64; floats meet in the wider format; no operation carries a fast-math flag but those
named for it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.core.dtypes import REGISTERS
from staticgraph.compiler.core.record import Record, frozen, record
from staticgraph.compiler.llvm.vecmath.lane import BINARY32, BINARY64, Lane


@record
class Scalar(Record):
    """A type of numbers: `kind` is b, i, u or f."""

    name: str
    kind: str
    bits: int

    @property
    def ir(self) -> Any:
        """The LLVM type of a value in a register."""
        if self.kind == "f":
            return ir.FloatType() if self.bits == 32 else ir.DoubleType()
        return ir.IntType(self.bits)


@record
class Pointer(Record):
    """The type of an address of numbers."""

    element: Scalar

    @property
    def ir(self) -> Any:
        """The LLVM type."""
        return self.element.ir.as_pointer()


BOOL = Scalar("boolean", "b", 1)
SCALARS = {"boolean": BOOL} | {
    name: Scalar(name, name[0], int(name[1:])) for name in REGISTERS.values() if name != "boolean"
}
INT64, UINT64 = SCALARS["i64"], SCALARS["u64"]
FLOAT32, FLOAT64 = SCALARS["f32"], SCALARS["f64"]
POINTERS = {f"p_{name}": Pointer(scalar) for name, scalar in SCALARS.items() if name != "boolean"}


@frozen(eq=False)
class Value:
    """An LLVM value and its type in the emitted language."""

    ir: Any
    type: Any

    def lane(self, builder: object) -> Lane:
        """A float for the formulas of vecmath."""
        return Lane(builder, self.ir, BINARY32 if self.type.bits == 32 else BINARY64)


def constant(value: float, type: Scalar) -> Value:
    """A literal."""
    return Value(ir.Constant(type.ir, value), type)


def convert(builder: Any, value: Value, to: Scalar) -> Value:
    """A number as another type: floats are cut to integers, integers wrap."""
    given = value.type
    if given == to:
        return value
    if to.kind == "b":
        return not_equal(builder, value, constant(0, given))
    if given.kind == "f":
        if to.kind == "f":
            cast = builder.fpext if to.bits > given.bits else builder.fptrunc
            return Value(cast(value.ir, to.ir), to)
        # by a wider integer, in which the numbers that NumPy wraps are still in range
        wide = ir.IntType(max(to.bits, 32))
        found = builder.fptosi(value.ir, wide)
        # of what is known to be nan LLVM makes what it likes, an index beyond its check among it
        frozen = ir.Instruction(builder.block, wide, "freeze", [found])
        builder._insert(frozen)
        found = frozen
        return Value(found if to.bits >= 32 else builder.trunc(found, to.ir), to)
    if to.kind == "f":
        cast = builder.sitofp if given.kind == "i" else builder.uitofp
        return Value(cast(value.ir, to.ir), to)
    if to.bits <= given.bits:
        return Value(builder.trunc(value.ir, to.ir) if to.bits < given.bits else value.ir, to)
    cast = builder.sext if given.kind == "i" else builder.zext
    return Value(cast(value.ir, to.ir), to)


def unify(builder: object, left: Value, right: Value) -> tuple[Value, Value]:
    """Two numbers in the type in which they meet."""
    if left.type == right.type:
        return left, right
    kinds = (left.type, right.type)
    if any(type.kind == "f" for type in kinds):
        both = FLOAT32 if all(type == FLOAT32 for type in kinds) else FLOAT64
    else:
        both = INT64
    return convert(builder, left, both), convert(builder, right, both)


def not_equal(builder: object, left: Value, right: Value) -> Value:
    """`left != right`; true where one is nan."""
    return compare(builder, "!=", left, right)


def compare(builder: Any, sign: str, left: Value, right: Value) -> Value:
    """A comparison; false where one is nan, except `!=`."""
    left, right = unify(builder, left, right)
    if left.type.kind == "f":
        test = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
    else:
        test = builder.icmp_signed if left.type.kind == "i" else builder.icmp_unsigned
    return Value(test(sign, left.ir, right.ir), BOOL)


def arithmetic(builder: object, sign: str, left: Value, right: Value, exact: bool = False) -> Value:
    """`+ - *` of numbers, `/` of floats, `& | ^ << >>` of integers or bools.

    `exact` says that an integer result is known not to wrap, as an index is.
    """
    left, right = unify(builder, left, right)
    if left.type.kind == "f":
        return Value(getattr(builder, _FLOAT[sign])(left.ir, right.ir), left.type)
    if sign in "&|^" and left.type == BOOL:
        return Value(getattr(builder, _INTEGER[sign])(left.ir, right.ir), BOOL)
    if left.type == UINT64:  # two of them meet as what they are
        name = "lshr" if sign == ">>" else _INTEGER[sign]
        return Value(getattr(builder, name)(left.ir, right.ir), UINT64)
    wide = [convert(builder, one, INT64).ir for one in (left, right)]
    flags = ("nsw",) if exact and sign in "+-*" else ()
    return Value(getattr(builder, _INTEGER[sign])(*wide, flags=flags), INT64)


COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INTEGER = {
    "+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor", "<<": "shl",
    ">>": "ashr",
}  # fmt: skip


def divide_integers(builder: Any, sign: str, left: Value, right: Value) -> Value:
    """Python's `//` or `%` of integers, rounded down; by 0 as by 1; the divisor is not -1."""
    if left.type == right.type == UINT64:
        is_zero = builder.icmp_unsigned("==", right.ir, UINT64.ir(0))
        divisor = builder.select(is_zero, UINT64.ir(1), right.ir)
        divide = builder.udiv if sign == "//" else builder.urem
        return Value(divide(left.ir, divisor), UINT64)
    a, b = (convert(builder, one, INT64).ir for one in (left, right))
    zero = ir.Constant(INT64.ir, 0)
    b = builder.select(builder.icmp_signed("==", b, zero), ir.Constant(INT64.ir, 1), b)
    rest = builder.srem(a, b)
    differ = builder.icmp_signed("<", builder.xor(rest, b), zero)
    wrong = builder.and_(differ, builder.icmp_signed("!=", rest, zero))
    if sign == "%":
        return Value(builder.add(rest, builder.select(wrong, b, zero)), INT64)
    quotient = builder.sdiv(a, b)
    return Value(builder.sub(quotient, builder.zext(wrong, INT64.ir)), INT64)


def negate(builder: Any, value: Value) -> Value:
    """`-value`."""
    if value.type.kind == "f":
        return Value(builder.fneg(value.ir), value.type)
    return Value(builder.neg(convert(builder, value, INT64).ir), INT64)


def invert(builder: Any, value: Value) -> Value:
    """`not value`."""
    truth = convert(builder, value, BOOL)
    return Value(builder.not_(truth.ir), BOOL)


def select(builder: Any, condition: Value, yes: Value, no: Value) -> Value:
    """`yes if condition else no`, without a branch."""
    yes, no = unify(builder, yes, no)
    return Value(builder.select(condition.ir, yes.ir, no.ir), yes.type)
