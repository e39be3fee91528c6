"""Ops of users around functions of arrays: steps that call Python, or what Numba compiled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.arrays import refuse_masked
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, GraphError, OptionError, ShapeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Attrs, Op, Operand, Rule, register
from staticgraph.compiler.core.own_ops import own_name
from staticgraph.compiler.core.types import TensorType, TupleType, Type, as_dtype, type_of
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.programs.control import items
from staticgraph.compiler.ops.programs.user_ops import (
    UserOp,
    binder,
    letters,
    parameters_of,
    place_of,
)

Declared: TypeAlias = Value
"""A `TensorType` or `(shape, dtype)`, a list of these for several results, or a function of the
operands' types and of what is given by keyword to one."""


KEPT = 256  # types of results, by those of the operands


class HostOp(UserOp):
    """An op around a function of arrays."""

    def __init__(
        self, function: Rule, name: str, declared: Declared, several: bool, jit: bool
    ) -> None:
        super().__init__(function, elementwise=False)
        self._name = name
        self._declared = declared
        self.several = several
        self._jit = jit
        self._called = _compiled(function) if jit else function
        self._wanted: dict[Value, Type] = {}

    def __call__(self, *operands: object, **attrs: object) -> Value:
        """The op applied to arrays, expressions or tensors; several results are a tuple."""
        found = self.record(*operands, **attrs)
        return items(found) if self.several else found

    def type_of_result(self, types: Sequence[TensorType], attrs: Attrs) -> Type:
        """The type of the result, as it was declared."""
        found = self._declared
        if callable(found):
            found = found(*types, **attrs)
        if not self.several:
            return _as_type(self._name, found)
        if not isinstance(found, list | tuple) or not found:
            raise OptionError(f"{self._name}: results is a list of types, not {found!r:.80}")
        return TupleType(tuple([_as_type(self._name, one) for one in found]))

    def evaluate(self, *operands: Value, **attrs: Value) -> Value:
        """The value, of the type that was declared.

        Raises:
            GraphError, DTypeError, ShapeError: the function returns something else.
        """
        given = list(map(_read_only if self._jit else _kept, operands))
        call = (*[(one.shape, one.dtype) for one in given], *attrs.items())
        wanted = self._wanted.get(call)
        if wanted is None:
            wanted = self.record.infer_type(*map(type_of, given), **attrs)
            if len(self._wanted) >= KEPT:
                self._wanted.clear()
            self._wanted[call] = wanted
        found = self.called(given, attrs)
        if isinstance(wanted, TensorType):
            return self._checked(found, wanted, given)
        if not isinstance(found, tuple | list) or len(found) != len(wanted.items):
            raise GraphError(
                f"{self._name}: it returns {_described(found)}, not {len(wanted.items)} results"
            )
        return tuple([
            self._checked(one, type, given)
            for one, type in zip(found, wanted.items, strict=True)
        ])  # fmt: skip

    def called(self, given: Sequence[Value], attrs: Attrs) -> Value:
        """What the function returns."""
        try:
            return self._called(*given, **attrs)
        except Exception as error:
            if self._called is self.function:
                raise
            raise _of_numba(self._name, error) from error

    def _checked(self, found: Value, wanted: TensorType, given: Sequence[Value]) -> Value:
        """What the function returns as an array of its own of the declared type."""
        name = self._name
        if isinstance(found, Operand):
            raise GraphError(f"{name}: it returns {_described(found)}, not an array of NumPy's")
        if type(found) in (bool, int, float):
            found = np.asarray(found, wanted.dtype)
        try:
            refuse_masked(found)
        except DTypeError as error:
            raise DTypeError(f"{name}: what it returns: {error}") from None
        array = np.asarray(found)
        if array.dtype.newbyteorder("=") == wanted.dtype:
            array = array.astype(wanted.dtype, copy=False)
        if array.dtype != wanted.dtype:
            raise DTypeError(f"{name}: it returns {_described(array)}, declared {wanted}")
        if not _is_shape(array.shape, wanted.shape):
            raise ShapeError(f"{name}: it returns {_described(array)}, declared {wanted}")
        if self._jit:  # it keeps nothing, so that what owns its memory is new
            owns = array.base is None and array.flags.writeable
            kept = not owns and any(np.may_share_memory(array, one) for one in given)
        else:  # it may write its next result to the same array
            kept = found is array or array.base is not None
        return np.array(array, order="C", copy=True if kept else None)

    def vjp_items(
        self,
        positions: Sequence[int],
        gs: Sequence[Value],
        out: Value,
        *operands: Value,
        **attrs: Value,
    ) -> Sequence[Value]:
        """The cotangents of operands of an op of several results."""
        outputs = items(out)
        given = tuple([
            zeros_like(one) if g is None else g for g, one in zip(gs, outputs, strict=True)
        ])  # fmt: skip
        found = self.cotangents(given, outputs, operands, attrs)
        return [zeros_like(operands[i]) if found[i] is None else found[i] for i in positions]


class Called(HostOp):
    """A function of arrays that is called without being declared; its type is an attribute."""

    def __init__(self, function: Rule, name: str, several: bool) -> None:
        super().__init__(function, name, _given, several, jit=False)

    def type_of_result(self, types: Sequence[TensorType], attrs: Attrs) -> Type:
        """The type that the call was given."""
        found: Type = attrs["type"]
        return found

    def called(self, given: Sequence[Value], attrs: Attrs) -> Value:
        """What the function returns."""
        return self.function(*given)

    def cotangents(
        self, g: Value, out: Value, operands: Sequence[Value], attrs: Attrs
    ) -> list[Value]:
        """There are none."""
        raise GraphError(
            f"{self._name} has no gradient: declare the function with sg.op(result=...), which "
            "takes one, or apply stop_gradient to what it is applied to"
        )


def _given(*types: TensorType, type: Type) -> Type:
    return type


def call_of(function: Rule, name: str, arity: int, several: bool) -> HostOp:
    """The op that calls a function of so many arrays; `type=` is that of what it returns."""
    made = Called(function, name, several)
    _register(made, name, arity, lambda *operands, type: (operands, {"type": type}))
    return made


def host(function: Rule, name: str, declared: Declared, several: bool, jit: bool) -> UserOp:
    """An op that calls a function of arrays.

    Args:
        function: takes read-only row-major arrays, and what is given by keyword; returns arrays.
        name: of the op.
        declared: the type of what it returns.
        several: whether it returns a tuple of several arrays.
        jit: whether Numba compiles it when it is first called.
    """
    arity = len(parameters_of(function, name, "array" if jit else "host"))
    name = own_name(name, *place_of(function))
    made = HostOp(function, name, declared, several, jit)
    _register(made, name, arity, binder(function, name))
    return made


def _register(made: HostOp, name: str, arity: int, bind: Rule) -> None:
    """Make the record of an op."""
    several = made.several

    def infer_type(*types: TensorType, **attrs: object) -> Type:
        if len(types) != arity:
            raise OptionError(f"{name}: takes {arity} operands, got {len(types)}")
        return made.type_of_result(types, attrs)

    made.record = register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=made.evaluate,
            vjp=() if several else tuple(map(made.rule, range(arity))),
            saves=(letters(arity),) * arity,
            vjp_arrays=None if several else made.arrays,
            vjp_items=made.vjp_items if several else None,
            batching=made.batch,
            checked=True,
            cost="expensive",
            bind=bind,
            lowering=Host(),
            doc=inspect.getdoc(made.function) or f"{name} of arrays.",
        ),
        own=True,
    )


def _is_shape(found: Sequence[int], wanted: Sequence[Size]) -> bool:
    """Whether a shape is what was declared; of arrays, sizes by names may be any."""
    return len(found) == len(wanted) and all(
        isinstance(size, Dim) or size == one for one, size in zip(found, wanted, strict=True)
    )


def _as_type(name: str, declared: Value) -> TensorType:
    """A declared type of one result."""
    if isinstance(declared, TensorType):
        shape, dtype = declared.shape, declared.dtype
    elif isinstance(declared, tuple) and len(declared) == 2 and isinstance(declared[0], Iterable):
        shape, dtype = declared
    else:
        raise OptionError(f"{name}: a result is (shape, dtype), not {declared!r:.80}")
    return TensorType(tuple([_size(name, size) for size in shape]), as_dtype(dtype, name))


def _size(name: str, size: Value) -> Size:
    if isinstance(size, Dim):
        return size
    if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0:
        raise ShapeError(f"{name}: {size!r:.80} in the shape of the result is no size")
    return int(size.__index__())


def _compiled(function: Rule) -> Rule:
    """The function as Numba compiles it, when it is first called."""

    @functools.cache
    def made() -> Rule:
        with fork.importing():
            import numba

        if isinstance(function, numba.core.dispatcher.Dispatcher):
            return function  # with the options that the user chose
        return numba.njit(nogil=True, boundscheck=True)(function)

    return lambda *operands, **attrs: made()(*operands, **attrs)


def _of_numba(name: str, error: Exception) -> Exception:
    """What is raised where Numba cannot compile a function; its own errors as they are."""
    if type(error).__module__.partition(".")[0] != "numba":
        return error
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    return GraphError(f"{name}: Numba cannot compile it: {' '.join(lines[:4])}")


def _read_only(operand: Value) -> Value:
    """An operand as an array that the function cannot write to, in row-major order."""
    if type(operand) is np.ndarray and operand.flags.c_contiguous and not operand.flags.writeable:
        return operand
    array = np.ascontiguousarray(operand).reshape(np.shape(operand)).view()
    array.flags.writeable = False
    return array


def _kept(operand: Value) -> Value:
    """An operand as an array that the function, or the traceback of what it raises, may keep.

    A program's operand lies in memory that the program frees, which a view does not hold on to.
    """
    if type(operand) is np.ndarray and not operand.flags.owndata:
        operand = operand.copy()
    return _read_only(operand)


def _described(found: Value) -> str:
    if isinstance(found, np.ndarray):
        return f"{found.dtype.name}{list(found.shape)}"
    return type(found).__name__
