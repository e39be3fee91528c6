"""The records of the loop IR: expressions, statements and functions.

Kernels are made of these. `compiler.ir.text` prints them as Python, `compiler.llvm.lower` makes
LLVM's IR of them, and what is asked about a kernel, such as what it costs or which variables a loop
leaves, is asked of them. A variable has the type of its first assignment; a pointer's is that of
the parameter that it is, such as `p_f32`. Integers are int64 unless a `Cast` says otherwise.
"""

from __future__ import annotations

from dataclasses import field

from staticgraph.compiler.core.record import Record, record

NOWHERE = -1
"""The node of a statement that comes from none."""


class Expr(Record):
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


@record
class Const(Expr):
    """A number: a bool, an int64, or a float64."""

    value: float


@record
class Name(Expr):
    """A variable or a parameter."""

    name: str


@record
class Hole(Expr):
    """Where `compiler.ir.walk.filled` puts an expression: the first operand of an op, say."""

    key: str


@record
class Unary(Expr):
    """`-` or `not` of an operand."""

    sign: str
    operand: Expr


@record
class Binary(Expr):
    """An operation or a comparison of two operands."""

    sign: str
    left: Expr
    right: Expr


@record
class Cast(Expr):
    """A number as another type, such as `f32`."""

    type: str
    operand: Expr


@record
class CastLike(Expr):
    """A number as the type of `like`, which is not computed."""

    like: Expr
    operand: Expr


@record
class Select(Expr):
    """`yes` where `test` is true, else `no`; both are computed."""

    test: Expr
    yes: Expr
    no: Expr


@record
class Call(Expr):
    """A function of scalars, such as `exp`, or of addresses, such as the BLAS."""

    function: str
    operands: tuple[Expr, ...]


@record
class Load(Expr):
    """The element at `index` of what a pointer points to."""

    pointer: Expr
    index: Expr


class Stmt(Record):
    """A statement.

    Those that compute say of which `node` of the graph they do a part: whoever prints a kernel asks
    it for the op, the user's name and line. Statements that differ in it alone are equal, and have
    the same text in the kernel cache's key.
    """

    __slots__ = ()


@record
class Assign(Stmt):
    """A variable gets a value."""

    name: str
    value: Expr
    node: int = field(default=NOWHERE, kw_only=True)


@record
class Store(Stmt):
    """The element at `index` of what a pointer points to gets a value."""

    pointer: Expr
    index: Expr
    value: Expr
    node: int = field(default=NOWHERE, kw_only=True)


@record
class Evaluate(Stmt):
    """A call for what it does."""

    value: Expr
    node: int = field(default=NOWHERE, kw_only=True)


Block = tuple[Stmt, ...]
"""Statements one after the other."""
ZERO, ONE = Const(0), Const(1)


@record
class For(Stmt):
    """`body` for `variable` from `start` to before `stop`; the step is positive."""

    variable: str
    start: Expr
    stop: Expr
    body: Block
    step: Expr = ONE


@record
class While(Stmt):
    """`body` as long as `test` is true."""

    test: Expr
    body: Block


@record
class If(Stmt):
    """`yes` if `test` is true, else `no`."""

    test: Expr
    yes: Block
    no: Block = ()


@record
class Return(Stmt):
    """The end of the function, with its value."""

    value: Expr


@record
class Parameter(Record):
    """What a function takes; no type says that it may be any."""

    name: str
    type: str = ""


@record
class Function(Record):
    """A function; that of kernels return int64.

    Statements number the nodes of their graph, of which the first one is the kernel's `first`-th;
    those that name no node belong to `node`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    first: int = field(default=0, kw_only=True)
    node: int = field(default=NOWHERE, kw_only=True)
