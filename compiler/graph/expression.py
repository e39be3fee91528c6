"""Expression: the symbolic handle. Applying an op to it makes a new one; nothing is computed."""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.arrays import as_array, refuse_matrix
from staticgraph.compiler.core.deciding import decider_of_user
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_inexact, promoted
from staticgraph.compiler.core.errors import DTypeError, GraphError
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.pickling import STREAM, Stream
from staticgraph.compiler.core.refusals import is_traced, refuse, remembered
from staticgraph.compiler.core.source import Scope, in_scope, scope_of
from staticgraph.compiler.core.types import DType, Shape, TensorType, as_dtype
from staticgraph.compiler.core.values import Tree, Value
from staticgraph.compiler.core.whose_code import caller, is_own
from staticgraph.compiler.graph.applied import Applied
from staticgraph.compiler.graph.promoted import is_weak, note_promoted
from staticgraph.compiler.graph.scope import current_scope
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.declare import NUMBERS
from staticgraph.compiler.ops.elementwise import arithmetic, comparison
from staticgraph.compiler.ops.elementwise.exact_comparison import compared_exactly
from staticgraph.compiler.ops.operators import Operators, method_named

_serials = itertools.count()
_line: ContextVar[str | None] = ContextVar("line", default=None)
_casts: ContextVar[list[Expression] | None] = ContextVar("casts", default=None)
_construct: ContextVar[Callable[..., Any] | None] = ContextVar("construct", default=None)


class Expression(Operators):
    """A value that is not computed yet: an op applied to other expressions. Immutable.

    Made by leaves (`sg.placeholder`, ...) and by ops. What it has, by subject:

    What it is       shape, dtype, ndim, type, name, source, op, operands, attrs, scope
    Shape            reshape, squeeze, expand_dims, swapaxes, transpose, broadcast_to, T, mT
    Parts            x[...], take; changed, as new values: x.at[...].set(v), .add(v), .min(v)
    Along axes       @, sum, mean, prod, var, std, max, min, argmax, softmax, logsumexp
    Elementwise      + - * / // % ** == < &, exp, log, sqrt, sin, tanh, clip, astype

    The rest are functions: `sg.cumsum(x)`. `sg.run` computes values, `sg.compile` functions.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> sg.exp(x) * 2
        <multiply: float32[3]>
    """

    __slots__ = {  # what `help` says of each
        "__weakref__": "",
        "attrs": "The attributes of the op, by name.",
        "effects": "Of a leaf, what `compiler.graph.effects` keeps there, if anything.",
        "name": "The name that the user gave, or None.",
        "op": "What is applied.",
        "operands": "What it is applied to: expressions.",
        "serial": "A number that grows with every expression: operands come before their uses.",
        "source": "`file:line` of the user's code; of a gradient, `gradient of OP at file:line`.",
        "type": "Its TensorType; `shape`, `dtype` and `ndim` are read from it.",
        "weak": "Whether it stands for a Python number, which takes the dtype of what it meets.",
    }

    effects: list[object]

    def __init__(
        self,
        op: Op,
        operands: tuple[Expression, ...],
        attrs: Attrs,
        name: str | None = None,
        source: str | None = None,
        type: TensorType | None = None,
    ) -> None:
        self.op = op
        self.operands = operands
        self.attrs = attrs
        self.name = name
        self.source = source or _line.get() or in_scope(user_line(), current_scope())
        self.type = type or self._infer()
        self.serial = next(_serials)
        self.weak = False

    def _infer(self) -> TensorType:
        types = [operand.type for operand in self.operands]
        # of several results it is a TupleType, which only `items` reads
        return cast(TensorType, self.op.infer_type(*types, **self.attrs))

    if not TYPE_CHECKING:  # a method is made when it is asked for

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name) or method_named(name) is None:  # or an empty slot
                said = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(said, name=name, obj=self)
            return getattr(self, name)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes: ints, or Dims where they are unknown until run time.

        Example:
            >>> sg.placeholder("x", (None, 3)).shape
            (x.0, 3)
        """
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The NumPy dtype.

        Example:
            >>> (sg.placeholder("x", (3,)) > 0).dtype
            dtype('bool')
        """
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes.

        Example:
            >>> sg.placeholder("x", (None, 3)).ndim
            2
        """
        return self.type.ndim

    @property
    def scope(self) -> Scope:
        """The names of the scopes that it was made in, the outermost first: see `sg.scope`.

        Example:
            >>> sg.placeholder("x", (None, 3)).scope
            ()
        """
        return scope_of(self.source)

    def _apply(self, op: Op, operands: Sequence[object], attrs: Attrs) -> Expression:
        """The expression of `op` on `operands`, promoted to one dtype where the op wants it."""
        for operand in operands:
            if isinstance(operand, Handle):
                handle: Expression = operand._apply(op, operands, attrs)
                return handle
        exact: Expression | None = compared_exactly(op, operands)
        if exact is not None:
            return exact
        made = construct(op, promote(op, operands), attrs)
        made.weak = _stays_weak(op, operands, made)
        return made

    def _constant(self, array: object) -> Expression:
        """A constant expression."""
        return constant(array)

    def __bool__(self) -> bool:
        current = decider_of_user()
        if current is not None and not self.ndim:
            return current.truth(self if self.dtype.kind == "b" else self != 0)
        raise remembered(
            GraphError(
                f"{self} ({self.source}) has no truth value before it runs: "
                "use where, maximum, minimum, clip or sg.cond instead of if, or sg.function"
            )
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError(f"len() of {self}: a scalar has no length")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Expression]:
        return (self[i] for i in range(len(self)))

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise remembered(
            GraphError(f"{self} ({self.source}) is not changed: x.at[key].set(value) is another")
        )

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of the array API standard: `staticgraph.xp`."""
        return provided.array_namespace(api_version)

    @property
    def device(self) -> str:
        """Where it will be computed, for code that is written for the array API standard."""
        return "cpu"

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise remembered(
            GraphError(f"{self} ({self.source}) has no value before it runs: use run or compile")
        )

    def _number(self, *_: object) -> NoReturn:
        """Refused: an expression has no value before it runs."""
        if not is_traced():
            raise GraphError(
                f"{self} ({self.source}) has no value before it runs: run or compile it, and take "
                "the number of what that returns"
            )
        refuse(
            f"{self} has no value before it runs",
            "compute with it as it is, or give it by keyword, which makes a number static",
        )

    __float__ = __int__ = __complex__ = __round__ = item = tolist = _number

    def round(self, decimals: int = 0) -> Value:
        """The nearest number of so many decimals, halves to even; of tens and so on if negative."""
        from staticgraph.compiler.ops.elementwise.rounding import rounded  # few programs round

        return rounded(self, decimals)

    def _repr_svg_(self) -> str | None:
        return provided.picture(self)

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Expression:
        for node in ancestors([self]):
            if id(node) not in memo:
                memo[id(node)] = node._copied(memo)
        copied: Expression = memo[id(self)]
        return copied

    def _copied(self, memo: dict[int, Any]) -> Expression:
        """The same over the copies of its operands: itself, unless some of them are others."""
        operands = tuple([memo[id(operand)] for operand in self.operands])
        if all(map(operator.is_, operands, self.operands)):
            return self
        made = again(self, operands)
        made.weak = self.weak
        return made

    def __reduce__(self) -> Any:
        return _unpickled, (STREAM, [node._record() for node in ancestors([self])])

    def _record(self) -> tuple[Any, ...]:
        operands = [operand.serial for operand in self.operands]
        kind, attrs = type(self), self.attrs
        return self.serial, kind, self.op, operands, attrs, self.name, self.source, self.weak

    def __repr__(self) -> str:
        label = f" {self.name!r}" if self.name else ""
        return f"<{self.op.name}{label}: {self.type}>"


def _unpickled(stream: Stream, records: Sequence[tuple[Any, ...]]) -> Expression:
    """The last one of the expressions, of which the stream may know some."""
    made = stream.expressions
    for serial, kind, op, operands, attrs, name, source, weak in records:
        if serial not in made:
            if op is leaves.placeholder:
                attrs = attrs | {"key": leaves.next_key()}
            inputs = tuple([made[operand] for operand in operands])
            made[serial] = kind(op, inputs, attrs, name, source)
            made[serial].weak = weak
    return made[records[-1][0]]


class Handle(Operand):
    """What stands for an expression, and gives ops another meaning than the expression itself.

    Attributes:
        like: `like(expression)` is a handle of the same kind.
        in_body: `in_body()` is a context for a function that becomes a part of the graph of its
            own, such as a branch: handles from outside must not be changed in it.
    """

    __slots__ = ()

    like: Callable[[Expression], Value]
    in_body: Callable[[], AbstractContextManager[None]]

    @property
    def expression(self) -> Expression:
        """What it stands for."""
        raise NotImplementedError


def is_symbolic(value: object) -> bool:
    """Whether a value is an expression or stands for one."""
    return isinstance(value, Expression | Handle)


def handle_among(values: Iterable[object]) -> Handle | None:
    """The first of the values that stands for an expression, or None."""
    return next((one for one in values if isinstance(one, Handle)), None)


def opened(value: object) -> Tree:
    """The expression that a handle stands for; what is no handle as it is."""
    return value.expression if isinstance(value, Handle) else value


def closed(value: object, handle: Handle | None) -> Tree:
    """An expression as a handle of this kind, if there is one; anything else as it is."""
    return value if handle is None or not isinstance(value, Expression) else handle.like(value)


def construct(op: Op, operands: Sequence[Expression], attrs: Attrs) -> Expression:
    """Make an expression; inside a pass, through the pass's own interning constructor."""
    current = _construct.get()
    if current is not None:
        made: Expression = current(op, tuple(operands), attrs)
        return made
    return Expression(op, tuple(operands), attrs)


def again(one: Applied, operands: tuple[Expression, ...]) -> Expression:
    """The same as a new expression over other operands of the same types."""
    return Expression(one.op, operands, one.attrs, one.name, one.source, one.type)


@contextmanager
def constructing(make: Callable[..., Expression]) -> Iterator[None]:
    """Inside the block, every application of an op to an expression goes through `make`."""
    token = _construct.set(make)
    try:
        yield
    finally:
        _construct.reset(token)


@contextmanager
def collecting_casts() -> Iterator[list[Expression]]:
    """Collect the casts in the block that give a Python number an integer dtype of others."""
    casts: list[Expression] = []
    token = _casts.set(casts)
    try:
        yield casts
    finally:
        _casts.reset(token)


@contextmanager
def at_line(source: str) -> Iterator[Callable[[str], object]]:
    """Inside the block, new expressions are attributed to this `file:line`; gives what sets it."""
    token = _line.set(source)
    try:
        yield _line.set
    finally:
        _line.reset(token)


def current_line() -> str:
    """The source that new expressions are attributed to inside `at_line`; else empty."""
    return _line.get() or ""


def user_line() -> str:
    """`file:line` of the innermost frame outside the project's own packages."""
    frame = sys._getframe(1)
    while is_own(file := frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return (is_own(file) and caller.get()) or f"{file}:{frame.f_lineno}"


def constant(array: Value) -> Expression:
    """A constant expression that holds a copy of `array`."""
    array = as_array(array)
    as_dtype(array.dtype, "constant")
    return construct(leaves.constant, (), {"value": leaves.Literal(array)})


def named(one: Applied) -> tuple[str, str]:
    """What reports say of an expression or a node: its op's name and its source."""
    return one.op.name, one.source


def next_serial() -> int:
    """A serial of its own: greater than those of all expressions made so far."""
    return next(_serials)


def abstract(type: TensorType) -> Expression:
    """An expression of which only the type is known: to infer what others are."""
    attrs = leaves.leaf_attrs(type.shape, type.dtype, "abstract")
    return Expression(leaves.placeholder, (), attrs, source="-", type=type)


def promote(op: Op, operands: Sequence[object]) -> list[Expression]:
    """All operands as expressions, cast to one dtype where the op wants it (NumPy's promotion).

    Python scalars are weak (NEP 50): they take the dtype of the others.
    """
    shared = range(len(operands))[op.promotes] if op.promotes else ()
    dtype = _common_dtype(op, [operands[i] for i in shared]) if len(shared) else None
    converted: list[Expression] = []
    for i, operand in enumerate(operands):
        wanted = dtype if i in shared else None
        if wanted is None and op.floating and not op.keeps_whole:
            wanted = _floating(_dtype_of(operand))
        converted.append(as_expression(op, operand, wanted))
    if dtype == np.float64:
        note_promoted(op, [opened(one) for one in operands], converted)
    return converted


def as_expression(op: Op, operand: object, dtype: DType | None) -> Expression:
    """An operand of an op as an expression, of this dtype if one is given."""
    operand = opened(operand)
    if isinstance(operand, Expression):
        if dtype is None or operand.dtype == dtype:
            return operand
        if operand.weak and operand.op is comparison.where:
            return _chosen(op, operand, dtype)
        made = construct(arithmetic.astype, (operand,), {"dtype": dtype})
        if operand.weak and operand.dtype.kind in "iu" and dtype.kind in "iu":
            casts = _casts.get()
            if casts is not None:
                casts.append(made)
        return made
    if isinstance(operand, Dim):
        scalar = construct(leaves.size_of, (), {"size": operand})
        return as_expression(op, scalar, dtype)
    if isinstance(operand, Operand):
        raise remembered(
            GraphError(
                f"{op.name}: an eager tensor of shape {tuple(operand.shape)} meets a symbolic "
                "expression: feed it to a placeholder, or use its numpy() as a constant"
            )
        )
    try:
        refuse_matrix(op.name, operand)
        array = np.asarray(operand, dtype)
    except OverflowError as error:
        raise DTypeError(f"{op.name}: {operand!r} does not fit {dtype}: {error}") from None
    return constant(array)


def _chosen(op: Op, one: Expression, dtype: DType) -> Expression:
    """A choice among Python numbers in another dtype: it is cast where it is made, once."""
    mask, *numbers = one.operands
    cast: list[Expression] = []
    for number in numbers:
        if number.op is leaves.constant and not number.ndim:
            cast.append(as_expression(op, number.attrs["value"].array.item(), dtype))
        else:
            cast.append(as_expression(op, number, dtype))
    return construct(comparison.where, (mask, *cast), {})


def _stays_weak(op: Op, operands: Sequence[object], made: Expression) -> bool:
    """Whether what is made of Python numbers, chosen, moved or computed with, counts as one."""
    if op.promotes is not None:
        shared = operands[op.promotes]
        return bool(shared) and all(map(is_weak, shared))
    if len(operands) != 1 or op is arithmetic.astype or not is_weak(operands[0]):
        return False
    return isinstance(made.type, TensorType) and made.dtype == _dtype_of(operands[0])


def _dtype_of(operand: object) -> Any:
    if isinstance(operand, Dim):
        return np.dtype(np.int64)
    return operand.dtype if hasattr(operand, "dtype") else np.asarray(operand).dtype


def _floating(dtype: DType) -> DType:
    return dtype if is_inexact(dtype) else np.dtype(np.float64)


def _common_dtype(op: Op, operands: Sequence[object]) -> DType:
    parts: list[Any] = []
    for operand in operands:
        if isinstance(operand, bool | int | float | complex):
            parts.append(operand)
        elif isinstance(operand, Dim):
            parts.append(0)
        elif isinstance(operand, Expression) and operand.weak:
            parts.append(NUMBERS[operand.dtype.kind])
        else:
            parts.append(_dtype_of(operand))
    dtype = as_dtype(promoted(*parts), op.name)
    return _floating(dtype) if op.floating and not op.keeps_whole else dtype


def _type_of_expansion(
    expand: Callable[..., Any], types: Sequence[TensorType], attrs: Mapping[str, object]
) -> TensorType:
    # to infer a type must not add nodes to a pass's graph
    with constructing(Expression), at_line("-"):
        inferred: TensorType = expand(*(abstract(type) for type in types), **attrs).type
    return inferred


provided.type_of_expansion.provide(_type_of_expansion)
