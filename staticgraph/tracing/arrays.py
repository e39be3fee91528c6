"""Traced arrays: the expressions of a function on NumPy's arrays while it is traced.

They answer what Python and NumPy ask of arrays as an array would, or refuse it at the user's line:
an expression outside of a trace does not need to, and is not slowed down by it.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.deciding import decider_of_user
from staticgraph.compiler.core.lowering import Alias, IndexMap, Pointwise
from staticgraph.compiler.core.messages import deferred_text
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.watching import unwatched
from staticgraph.compiler.core.whose_code import by_user, is_called_by_own
from staticgraph.compiler.functions import numpy_protocol
from staticgraph.compiler.graph.expression import Expression, Handle
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.operators import method_named
from staticgraph.compiler.transforms.effects import raise_unless
from staticgraph.tracing.elements import Elements

_NUMBERS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float}
_OF_ARRAYS = frozenset(dir(np.ndarray))
_AS_FUNCTIONS = frozenset(
    (
        "argsort", "cumprod", "cumsum", "diagonal", "ravel", "repeat", "searchsorted", "trace",
    )
)  # fmt: skip
"""The methods of arrays that are NumPy's functions of their names, and none of expressions."""
_ASKED = frozenset((np.ndim, np.shape, np.size, np.iscomplexobj, np.result_type))
"""NumPy's functions of types alone."""
_TEXT = (
    "write sg.print('loss {:.3f}', loss) for print(f'loss {loss:.3f}'), and "
    "sg.check(condition, 'the loss is {}', loss) for an error"
)
_PLAIN = (bool, int, float, np.ndarray)
_SIGNED = np.dtype(np.int64)
_HELD = 3
"""The references to what `y += 1` is called on: the name, the stack, `self`, the count's own."""


_apply = unwatched(Expression._apply)


def _is_plain(operand: object) -> bool:
    """Whether no method of a class of the user's makes an array of it."""
    return type(operand) in _PLAIN or isinstance(operand, Expression | np.generic)


class TracedArray(Expression):
    """An expression that stands for an array in a function that is traced.

    Attributes:
        uses: how many operands of other expressions it is.
        viewed: whether a view of it was made.
        elements: of an array around the function, and of views of that, where they are read.
    """

    __slots__ = ("elements", "uses", "viewed")

    def __init__(
        self, op: Op, operands: tuple[Expression, ...], attrs: Attrs, name: str | None = None
    ) -> None:
        super().__init__(op, operands, attrs, name)
        self.uses = 0
        self.viewed = False
        self.elements: Elements | None = None
        view = isinstance(op.lowering, Alias | IndexMap)
        for one in operands:
            if type(one) is TracedArray:
                one.uses += 1
                one.viewed = one.viewed or view

    def _apply(self, op: Op, operands: Sequence[object], attrs: Attrs) -> Expression:
        """The expression of `op` on the operands."""
        if all(map(_is_plain, operands)):
            return _apply(self, op, operands, attrs)
        return super()._apply(op, operands, attrs)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told: to the user's code it is an array, or a number."""
        if is_called_by_own():
            return TracedArray
        if self.weak:
            return _NUMBERS[self.dtype.kind]
        return np.ndarray if self.ndim or self.op is leaves.placeholder else self.dtype.type

    def __bool__(self) -> bool:
        current = decider_of_user()
        if current is None:
            return super().__bool__()
        sizes = tuple(map(operator.index, self.shape))  # unknown ones are known in another trace
        if math.prod(sizes) != 1:
            return bool(np.broadcast_to(np.zeros((), self.dtype), sizes))
        value: Any = ops.reshape(self, ()) if sizes else self
        return current.truth(value if self.dtype.kind == "b" else value != 0)

    def __getitem__(self, key: object) -> Any:
        if self.elements is None:
            return super().__getitem__(key)
        found = self.elements.at(key)
        if found is not None and not isinstance(found, Elements):
            return found
        result = super().__getitem__(key)
        if isinstance(result, TracedArray):
            result.elements = found
        return result

    def copy(self, order: str = "C") -> Expression:
        """Its elements in memory of their own."""
        found: Expression = ops.copy(self)
        return found

    def dot(self, other: Any) -> Any:
        """As `np.dot`, which takes matrices and numbers, too."""
        return np.dot(self, other)

    def flatten(self, order: str = "C") -> Any:
        """Its elements along one axis, in memory of their own."""
        function: Any = np.ravel
        return ops.copy(function(self, order))

    @property
    def size(self) -> Any:
        """How many elements there are: an int, or a size that each call has."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        return self.size * self.itemsize

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __pos__(self) -> Expression:
        found: Expression = ops.copy(self)  # as NumPy's is
        return found

    def __hash__(self) -> int:
        if by_user():
            if self.ndim:
                raise TypeError("unhashable type: 'numpy.ndarray'")
            self._values("a key")
        return id(self) >> 4

    def _values(self, what: str, instead: str = "use sg.where or sg.cond") -> NoReturn:
        refuse(
            f"{what} needs the value of {self!s}, which it has not before it runs",
            f"compute it outside, and pass it by keyword, or {instead}",
        )

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        refuse(
            f"an array of NumPy would have the values of {self!s}, which are not known before it "
            "runs",
            "join what is traced with np.stack or np.concatenate, and write "
            "o = sg.asarray(o).at[key].set(x) for o[key] = x",
        )

    def __repr__(self) -> str:
        if by_user():
            self._values("its text", _TEXT)
        return Expression.__repr__(self)

    def __str__(self) -> str:
        if by_user():
            self._values("its text", _TEXT)
        return Expression.__repr__(self)

    def __format__(self, spec: str) -> str:
        if by_user():
            is_number = self.weak or self.op is leaves.placeholder
            text = None if self.ndim else deferred_text(self, spec, is_number)
            return self._values("its text", _TEXT) if text is None else text
        return Expression.__repr__(self)

    def _as_index(self) -> NoReturn:
        if not by_user():
            raise TypeError("'Expression' object cannot be interpreted as an integer")
        self._values("an index")

    __index__ = _as_index

    def __getattr__(self, name: str) -> Any:
        if method_named(name) is not None:  # made now, as of any expression
            return getattr(self, name)
        if name in _AS_FUNCTIONS:
            return functools.partial(getattr(np, name), self)
        if name in _OF_ARRAYS and not name.startswith("__") and by_user():
            refuse(
                f"asks for .{name}, which arrays have and what stands for them while the function "
                "is traced has not",
                "write it in functions of sg, or compute it outside and pass it by keyword",
            )
        raise AttributeError(f"'Expression' object has no attribute {name!r}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's elementwise functions are the ops of one of their names: `np.abs`, `sg.abs`."""
        if options.get("out") is not None:
            refuse(
                f"np.{ufunc.__name__} writes what is traced into an array",
                "use its result: y = y + x for y += x",
            )
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if numpy_protocol.of_method(ufunc, method) is None:
            self._of_numpy(name)
        return self._ours(name, numpy_protocol.of_ufunc, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: object, args: Any, kwargs: Any) -> Any:
        """NumPy's other functions are ours of the same name."""
        if function in _ASKED:
            return function.__wrapped__(*args, **kwargs)
        if numpy_protocol.counterpart(function) is None:
            self._of_numpy(function.__name__)
        return self._ours(function.__name__, numpy_protocol.of_function, function, args, kwargs)

    def _ours(self, name: str, call: Callable[..., Any], *args: Any) -> Any:
        """What a function of ours gives; what it does not take is refused."""
        try:
            return call(*args)
        except TypeError as error:
            refuse(f"np.{name}: {error}", "write it in functions of sg")

    def _of_numpy(self, name: str) -> NoReturn:
        refuse(f"np.{name} computes values at once, which are not known before it runs",
               "write functions of sg, or compute it outside")  # fmt: skip

    def __setitem__(self, key: object, value: object) -> NoReturn:
        refuse(
            "sets elements of a traced array, which is not changed in place",
            "make a new one, with sg.where, sg.concatenate or x.at[key].set",
        )


class OutsideArray(TracedArray):
    """What stands for an array of the surroundings in a function of tensors that is traced.

    Tensors compute with it, and may be made of it; what NumPy makes of it element by element is
    another such array.

    Attributes:
        plain: the input of the graph.
    """

    __slots__ = ("plain",)

    plain: Expression

    def _apply(self, op: Op, operands: Sequence[object], attrs: Attrs) -> Any:
        """What a tensor among the operands makes of them, or another array."""
        plain = [getattr(one, "plain", one) for one in operands]
        for one in operands:
            if isinstance(one, Handle):
                return one._apply(op, plain, attrs)
        is_fused = isinstance(op.lowering, Alias | IndexMap | Pointwise)
        if not is_fused or not all(map(_is_plain, plain)):
            refuse(f"{op.name} of an array without a tensor needs its values", "compute it outside")
        return _standing(self.plain._apply(op, plain, attrs))


def _standing(plain: Expression) -> OutsideArray:
    result = OutsideArray(plain.op, plain.operands, plain.attrs, plain.name)
    result.plain = plain
    return result


def outside(placeholder: Expression) -> Expression:
    """What stands for an array of the surroundings in a function of tensors."""
    return _standing(placeholder)


def refuse_outside(values: Iterable[object]) -> None:
    """Refuse results that stand for arrays in a function of tensors: a call returns arrays."""
    if any(type(one) is OutsideArray for one in values):
        refuse("returns an array from outside, or what NumPy makes of one", "return a tensor")


def _in_place(plain: str, sign: str) -> Any:
    """`y += x` as `y = y + x` of its shape and dtype, where nobody could tell them apart."""

    def method(self: TracedArray, other: object) -> Any:
        if self.weak:  # a number of Python's
            return NotImplemented
        if self.op is leaves.placeholder:
            refuse(
                "changes an argument in place, which a compiled function does not",
                f"write y = y {sign} ..., and return it",
            )
        held = sys.getrefcount(self) - 1 - self.uses
        if held > _HELD or self.viewed or isinstance(self.op.lowering, Alias | IndexMap):
            refuse(
                "changes in place what other names, or views, may share",
                f"write y = y {sign} ..., where the others are to be as they were",
            )
        if not self.ndim:  # numbers of NumPy are not changed in place
            return NotImplemented
        result = getattr(super(TracedArray, self), plain)(other)
        return result if result is NotImplemented else _put_into(self, result, sign)

    return method


def _put_into(target: TracedArray, result: Any, sign: str) -> Any:
    """What an array has after an operation in place: its shape and dtype stay."""
    if result.ndim > target.ndim or any(
        isinstance(old, int) and new != old
        for old, new in zip(target.shape, result.shape, strict=True)
    ):
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} doesn't match the "
            f"broadcast shape {result.shape}"
        )
    if result.dtype == target.dtype:
        return result
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise TypeError(
            f"{sign}=: cannot cast the result from {result.dtype!r} to {target.dtype!r} with "
            "casting rule 'same_kind'"
        )
    return ops.astype(result, target.dtype)


def _powers(plain: str) -> Any:
    """A power that raises what NumPy's does: whole numbers have no negative powers there."""

    def method(self: TracedArray, other: Any) -> Any:
        exponent = other if plain == "__pow__" else self
        kinds = {np.dtype(getattr(one, "dtype", type(one))).kind for one in (self, other)}
        if kinds <= {"i", "u"} and getattr(exponent, "dtype", _SIGNED).kind == "i":
            error = ValueError("Integers to negative integer powers are not allowed.")
            raise_unless(exponent >= 0 if type(exponent) is int else ops.all(exponent >= 0), error)
        return getattr(super(TracedArray, self), plain)(other)

    return method


def _unset(name: str) -> Any:
    def refuse_to_set(self: TracedArray, value: object) -> NoReturn:
        refuse(
            f"sets .{name} of a traced array, which is not changed in place",
            "make a new one: x.reshape(...), x.astype(...), x.at[key].set(...)",
        )

    return refuse_to_set


for _name in ("shape", "dtype", "real", "imag"):
    setattr(TracedArray, _name, property(getattr(Expression, _name).fget, _unset(_name)))
for _method, _sign in (
    ("__iadd__", "+"), ("__isub__", "-"), ("__imul__", "*"), ("__itruediv__", "/"),
    ("__ifloordiv__", "//"), ("__imod__", "%"), ("__ipow__", "**"), ("__imatmul__", "@"),
    ("__iand__", "&"), ("__ior__", "|"), ("__ixor__", "^"), ("__ilshift__", "<<"),
    ("__irshift__", ">>"),
):  # fmt: skip
    setattr(TracedArray, _method, _in_place(_method.replace("i", "", 1), _sign))
for _method in ("__pow__", "__rpow__"):
    setattr(TracedArray, _method, _powers(_method))


def made(op: Op, operands: Sequence[Expression], attrs: Attrs) -> Expression:
    """The expression of an op in a function on arrays."""
    return TracedArray(op, tuple(operands), attrs)


def argument(placeholder: Expression) -> Expression:
    """What stands for an argument that is an array."""
    result = TracedArray(placeholder.op, (), placeholder.attrs, placeholder.name)
    result.weak = placeholder.weak
    return result
