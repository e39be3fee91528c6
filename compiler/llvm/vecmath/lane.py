"""The expression layer: arithmetic on one SIMD lane, written as Python operators, built as LLVM IR.

A formula such as `exp(x: Lane) -> Lane` is a plain Python function over these handles. Running it
appends straight-line IR (no branch, no table, no call into libm) at the builder's position, which
is what LLVM's loop vectoriser needs. No instruction carries a fast-math flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from staticgraph.compiler.core.record import frozen


@frozen
class Format:
    """An IEEE 754 binary format: its width, stored fraction bits, and its extreme finite values."""

    bits: int
    fraction: int
    largest: float
    smallest_normal: float

    @property
    def bias(self) -> int:
        """Exponent bias, 127 or 1023."""
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next larger value."""
        return 2.0**-self.fraction

    @property
    def round_shift(self) -> float:
        """1.5 * 2**fraction: adding it rounds |v| < 2**(fraction - 1) to an integer, left in the
        low bits; unlike a conversion instruction this has a defined result for nan.
        """
        return 1.5 * 2.0**self.fraction

    @property
    def round_shift_bits(self) -> int:
        """The bit pattern of `round_shift`."""
        return ((self.bias + self.fraction) << self.fraction) | (1 << (self.fraction - 1))

    @property
    def float_type(self) -> Any:
        """The LLVM floating-point type."""
        return ir.FloatType() if self.bits == 32 else ir.DoubleType()

    @property
    def int_type(self) -> Any:
        """The LLVM integer type of the same width."""
        return ir.IntType(self.bits)


LONGEST_CHAIN = 8  # terms of a polynomial
BINARY32 = Format(32, 23, (2.0 - 2.0**-23) * 2.0**127, 2.0**-126)
BINARY64 = Format(64, 52, (2.0 - 2.0**-52) * 2.0**1023, 2.0**-1022)


@frozen(eq=False)
class Mask:
    """A truth value per lane."""

    builder: Any
    value: Any

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.or_(self.value, other.value))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.xor(self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(self.builder, self.builder.not_(self.value))


@frozen(eq=False)
class Bits:
    """A float's bit pattern as an integer of its width; arithmetic wraps, shifts are logical."""

    builder: Any
    value: Any
    format: Format

    def _operand(self, other: Bits | int) -> Any:
        return ir.Constant(self.format.int_type, other) if isinstance(other, int) else other.value

    def _wrap(self, value: object) -> Bits:
        return Bits(self.builder, value, self.format)

    def __add__(self, other: Bits | int) -> Bits:
        return self._wrap(self.builder.add(self.value, self._operand(other)))

    def __sub__(self, other: Bits | int) -> Bits:
        return self._wrap(self.builder.sub(self.value, self._operand(other)))

    def __and__(self, other: Bits | int) -> Bits:
        return self._wrap(self.builder.and_(self.value, self._operand(other)))

    def __or__(self, other: Bits | int) -> Bits:
        return self._wrap(self.builder.or_(self.value, self._operand(other)))

    def __xor__(self, other: Bits | int) -> Bits:
        return self._wrap(self.builder.xor(self.value, self._operand(other)))

    def __lshift__(self, count: int) -> Bits:
        return self._wrap(self.builder.shl(self.value, self._operand(count)))

    def __rshift__(self, count: int) -> Bits:
        return self._wrap(self.builder.lshr(self.value, self._operand(count)))

    def equals(self, other: Bits | int) -> Mask:
        """True where both patterns are the same."""
        compared = self.builder.icmp_unsigned("==", self.value, self._operand(other))
        return Mask(self.builder, compared)

    def narrowed(self, target: Format) -> Bits:
        """The low bits, as many as `target` has."""
        return Bits(self.builder, self.builder.trunc(self.value, target.int_type), target)

    def lookup(self, name: str, table: Sequence[float]) -> Lane:
        """`table[self]`: a load that LLVM vectorises as a gather; `name` is unique to the table."""
        kind = ir.ArrayType(self.format.float_type, len(table))
        module = self.builder.module
        if name not in module.globals:
            constant = ir.GlobalVariable(module, kind, name)
            constant.global_constant = True
            constant.linkage = "internal"
            constant.initializer = ir.Constant(kind, list(table))
        zero = ir.Constant(self.format.int_type, 0)
        address = self.builder.gep(module.globals[name], [zero, self.value], inbounds=True)
        return Lane(self.builder, self.builder.load(address), self.format)

    def as_float(self) -> Lane:
        """The float with this bit pattern."""
        value = self.builder.bitcast(self.value, self.format.float_type)
        return Lane(self.builder, value, self.format)


@frozen(eq=False)
class Lane:
    """A float32 or float64 value in one lane. Comparisons with nan are false, except `!=`."""

    builder: Any
    value: Any
    format: Format

    def _operand(self, other: Lane | float) -> Any:
        if isinstance(other, Lane):
            return other.value
        return ir.Constant(self.format.float_type, float(other))

    def _wrap(self, value: object) -> Lane:
        return Lane(self.builder, value, self.format)

    def constant(self, value: float) -> Lane:
        """A constant of this lane's format."""
        return self._wrap(ir.Constant(self.format.float_type, float(value)))

    def __add__(self, other: Lane | float) -> Lane:
        return self._wrap(self.builder.fadd(self.value, self._operand(other)))

    def __radd__(self, other: float) -> Lane:
        return self + other

    def __sub__(self, other: Lane | float) -> Lane:
        return self._wrap(self.builder.fsub(self.value, self._operand(other)))

    def __rsub__(self, other: float) -> Lane:
        return self._wrap(self.builder.fsub(self._operand(other), self.value))

    def __mul__(self, other: Lane | float) -> Lane:
        return self._wrap(self.builder.fmul(self.value, self._operand(other)))

    def __rmul__(self, other: float) -> Lane:
        return self * other

    def __truediv__(self, other: Lane | float) -> Lane:
        return self._wrap(self.builder.fdiv(self.value, self._operand(other)))

    def __rtruediv__(self, other: float) -> Lane:
        return self._wrap(self.builder.fdiv(self._operand(other), self.value))

    def truncated_remainder(self, other: Lane) -> Lane:
        """C's fmod: exact, with the sign of this value."""
        return self._wrap(self.builder.frem(self.value, other.value))

    def __neg__(self) -> Lane:
        return self._wrap(self.builder.fneg(self.value))

    def _compare(self, predicate: str, other: Lane | float) -> Mask:
        compared = self.builder.fcmp_ordered(predicate, self.value, self._operand(other))
        return Mask(self.builder, compared)

    def __lt__(self, other: Lane | float) -> Mask:
        return self._compare("<", other)

    def __le__(self, other: Lane | float) -> Mask:
        return self._compare("<=", other)

    def __gt__(self, other: Lane | float) -> Mask:
        return self._compare(">", other)

    def __ge__(self, other: Lane | float) -> Mask:
        return self._compare(">=", other)

    def equals(self, other: Lane | float) -> Mask:
        """True where the values are equal: +0 equals -0, nan equals nothing."""
        return self._compare("==", other)

    def is_nan(self) -> Mask:
        """True where the value is nan."""
        return self.unordered_with(self)

    def unordered_with(self, other: Lane) -> Mask:
        """True where either value is nan."""
        compared = self.builder.fcmp_unordered("uno", self.value, other.value)
        return Mask(self.builder, compared)

    def call(self, intrinsic: str, *others: Lane | float) -> Lane:
        """The result of an LLVM intrinsic on lanes of one format, e.g. `x.call("llvm.floor")`."""
        kind = self.format.float_type
        signature = ir.FunctionType(kind, [kind] * (1 + len(others)))
        callee = self.builder.module.declare_intrinsic(intrinsic, [kind], signature)
        operands = [self.value, *(self._operand(other) for other in others)]
        return self._wrap(self.builder.call(callee, operands))

    def __abs__(self) -> Lane:
        return self.call("llvm.fabs")

    def sqrt(self) -> Lane:
        """The correctly rounded square root."""
        return self.call("llvm.sqrt")

    def with_sign_of(self, other: Lane) -> Lane:
        """The magnitude with the sign bit of `other`."""
        return self.call("llvm.copysign", other)

    def bits(self) -> Bits:
        """The bit pattern."""
        value = self.builder.bitcast(self.value, self.format.int_type)
        return Bits(self.builder, value, self.format)

    def to_binary64(self) -> Lane:
        """The same value as a float64."""
        if self.format is BINARY64:
            return self
        value = self.builder.fpext(self.value, BINARY64.float_type)
        return Lane(self.builder, value, BINARY64)

    def to_format(self, target: Format) -> Lane:
        """The value rounded from float64 to `target`."""
        if self.format is target:
            return self
        return Lane(self.builder, self.builder.fptrunc(self.value, target.float_type), target)


def select(mask: Mask, chosen: Lane, otherwise: Lane | float) -> Lane:
    """`chosen` where the mask is true, else `otherwise`; both are always computed."""
    value = mask.builder.select(mask.value, chosen.value, chosen._operand(otherwise))
    return chosen._wrap(value)


def choose(mask: Mask, chosen: float, otherwise: float, like: Lane) -> Lane:
    """One of two constants in the format of `like`."""
    return select(mask, like.constant(chosen), otherwise)


def fma(a: Lane, b: Lane | float, c: Lane | float) -> Lane:
    """a * b + c with one rounding."""
    return a.call("llvm.fma", b, c)


def polynomial(x: Lane, coefficients: Sequence[float]) -> Lane:
    """Horner's rule; `coefficients` go from the constant term upwards."""
    total: Lane = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = fma(total, x, coefficient)
    return total


def split_polynomial(x: Lane, coefficients: Sequence[float]) -> Lane:
    """Horner's rule for the even and the odd terms, in turn: each waits less for its own results.

    Less accurate where even and odd terms cancel.
    """
    if len(coefficients) <= LONGEST_CHAIN:
        return polynomial(x, coefficients)
    square = x * x
    odd = split_polynomial(square, coefficients[1::2])
    return fma(odd, x, split_polynomial(square, coefficients[::2]))


def two_sum(a: Lane, b: Lane) -> tuple[Lane, Lane]:
    """a + b as rounded sum and exact error (Knuth, TAOCP vol. 2, 4.2.2)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def fast_two_sum(a: Lane, b: Lane) -> tuple[Lane, Lane]:
    """`two_sum` for |a| >= |b| or a = 0 (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Lane, b: Lane | float) -> tuple[Lane, Lane]:
    """a * b as rounded product and exact error, while neither under- nor overflows."""
    product = a * b
    return product, fma(a, b, -product)
