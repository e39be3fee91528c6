"""The records of the loop IR: expressions, statements and functions.

Kernels are made of these. `compiler.ir.text` prints them as Python, `compiler.llvm.lower` makes
LLVM's IR of them, and what is asked about a kernel, such as what it costs or which variables a loop
leaves, is asked of them. A variable has the type of its first assignment; a pointer's is that of
the parameter that it is, such as `p_f32`. Integers are int64 unless a `Cast` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass


class Expr:
    """An expression; `+ - * // %` of two make another."""

    __slots__ = ()

    def __add__(self, other: Expr) -> Binary:
        return Binary("+", self, other)

    def __sub__(self, other: Expr) -> Binary:
        return Binary("-", self, other)

    def __mul__(self, other: Expr) -> Binary:
        return Binary("*", self, other)

    def __floordiv__(self, other: Expr) -> Binary:
        return Binary("//", self, other)

    def __mod__(self, other: Expr) -> Binary:
        return Binary("%", self, other)


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A number: a bool, an int64, or a float64."""

    value: float


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A variable or a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Hole(Expr):
    """Where `compiler.ir.walk.filled` puts an expression: the first operand of an op, say."""

    key: str


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """`-` or `not` of an operand."""

    sign: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """An operation or a comparison of two operands."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """A number as another type, such as `f32`."""

    type: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class CastLike(Expr):
    """A number as the type of `like`, which is not computed."""

    like: Expr
    operand: Expr


@dataclass(frozen=True, slots=True)
class Select(Expr):
    """`yes` where `test` is true, else `no`; both are computed."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function of scalars, such as `exp`, or of addresses, such as the BLAS."""

    function: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """The element at `index` of what a pointer points to."""

    pointer: Expr
    index: Expr


class Stmt:
    """A statement."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """A variable gets a value."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Store(Stmt):
    """The element at `index` of what a pointer points to gets a value."""

    pointer: Expr
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Evaluate(Stmt):
    """A call for what it does."""

    value: Expr


Block = tuple[Stmt, ...]
"""Statements one after the other."""
ZERO, ONE = Const(0), Const(1)


@dataclass(frozen=True, slots=True)
class For(Stmt):
    """`body` for `variable` from `start` to before `stop`; the step is positive."""

    variable: str
    start: Expr
    stop: Expr
    body: Block
    step: Expr = ONE


@dataclass(frozen=True, slots=True)
class While(Stmt):
    """`body` as long as `test` is true."""

    test: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class If(Stmt):
    """`yes` if `test` is true, else `no`."""

    test: Expr
    yes: Block
    no: Block = ()


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    """The end of the function, with its value."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function takes; no type says that it may be any."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function; that of kernels return int64."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
