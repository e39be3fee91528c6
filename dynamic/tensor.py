"""Tensor: an ndarray with a place on the tape, and the flat path by which ops are applied to it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from compiler import ops
from compiler.errors import GraphError, ShapeError, StaticGraphError
from compiler.op import Attrs, Op, Operand
from compiler.ops.operators import Operators
from compiler.types import type_of
from dynamic.autograd_methods import Autograd
from dynamic.blockwise import LARGE
from dynamic.blockwise import evaluate as evaluate_large
from dynamic.dtypes import F32, F64, get_default_dtype, result_type
from dynamic.eager_ops import VIEWS
from dynamic.errors import SizeError
from dynamic.grad_mode import inferring, mode
from dynamic.inplace import into
from dynamic.inplace_methods import InPlace
from dynamic.methods import Methods
from dynamic.tape import recipe, record, record_pair
from dynamic.versions import UNTRACKED
from dynamic.views import View, make_view, shares_memory

_plain: set[type] = set()
"""The classes of tensors that are what they hold, unlike the tracers of `dynamic.func`."""

_new = object.__new__
_ndarray = np.ndarray
_array = np.array
_asarray = np.asarray


class Tensor(Autograd, InPlace, Methods, Operators):
    """An array that records the ops applied to it if it requires grad (PyTorch's Tensor).

    `Tensor(2, 3)` is uninitialised, `Tensor(data)` a copy of `data`, both of the default dtype;
    the factory functions of the package say more.
    """

    __slots__ = ("__weakref__", "_array", "_counter", "_home", "_node", "_view", "_views")

    _array: Any
    """The ndarray."""
    _counter: list[Any]
    """Its version, shared by all tensors on its memory, and the line that changed it last."""
    _home: Any
    """What holds its gradient: an AccumulateGrad, a Cell, or None."""
    _node: Any
    """The node that made it; the AccumulateGrad of a leaf that requires grad; or None."""
    _view: View | None
    """What it is a view of."""
    _views: list[weakref.ref[Tensor]] | None
    """The views of it."""

    def __init_subclass__(cls, plain: bool = True) -> None:
        super().__init_subclass__()
        if plain:
            _plain.add(cls)

    def __init__(self, *data: Any) -> None:
        dtype = get_default_dtype().dtype
        if data and not all(isinstance(size, int) for size in data):
            self._array = np.array(data[0], dtype)
        else:
            self._array = np.empty(data or (0,), dtype)
        self._counter = UNTRACKED if mode.inference else [0, None]
        self._home = self._node = self._view = self._views = None

    @staticmethod
    def constant(array: Any) -> Tensor:
        """A tensor on the memory of `array`, without a gradient."""
        return wrap(_asarray(array))

    def apply(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Tensor:
        """The value of `op`, recorded if an operand requires grad and grad mode is on."""
        if op.elementwise and len(operands) == 1 and operands[0] is self and not attrs:
            x = self._array
            if x.dtype.kind == "f" and x.size < LARGE:  # a function of one tensor, the short way
                result = wrap(op.evaluate(x))
                if self._node is not None and mode.enabled:
                    result._node = record(
                        op, attrs, operands, result._array, result._counter, False
                    )
                return result
        arrays: Sequence[Any]
        number = mixed = False
        if len(operands) == 1 and operands[0] is self:  # the usual case, without a loop
            arrays = (self._array,)
            dtype = self._array.dtype
            needed = self._node is not None
        else:
            arrays, dtype, needed, mixed = _gather(op, operands)
        if mixed or (op.floating and dtype.kind != "f"):
            for operand in operands:
                if isinstance(operand, Tensor) and type(operand) not in _plain:
                    return operand.apply(op, operands, attrs)
            operands, number = as_operands(op, operands)
            arrays = [operand._array for operand in operands]
            needed = any(operand._node is not None for operand in operands)
        if op.checked:
            _validate(op, arrays, attrs)
        try:
            if arrays and arrays[0].size >= LARGE:
                array = evaluate_large(op, arrays, attrs)
            else:
                array = op.evaluate(*arrays, **attrs)
        except (ValueError, TypeError, IndexError) as error:
            if "out" in attrs:
                rest = {name: value for name, value in attrs.items() if name != "out"}
                result = self.apply(op, operands, rest)
                return into(op.name, attrs["out"], result, operands)
            _explain(op, arrays, attrs, error)
        result = _new(Tensor)
        if type(array) is not _ndarray:
            array = _asarray(array)
        result._array = array
        result._counter = counter = [0, None]
        result._home = result._node = result._view = result._views = None
        if op in VIEWS:
            if shares_memory(array, arrays[0]):
                make_view(result, operands[0], op, attrs)
                counter = result._counter
        elif array.base is not None or (arrays and array is arrays[0]):
            array = result._array = _own(array, arrays)
        if inferring and mode.inference:
            if result._view is None:
                result._counter = UNTRACKED
        elif needed and mode.enabled and array.dtype.kind == "f":
            result._node = record(op, attrs, operands, array, counter, number)
        return result


_plain.add(Tensor)


def _gather(op: Op, operands: Sequence[Any]) -> tuple[list[Any], Any, bool, bool]:
    """The arrays of tensors, their dtype, whether one requires grad, whether they need a cast."""
    arrays: list[Any] = []
    needed = mixed = False
    dtype = None
    for operand in operands:
        if type(operand) not in _plain:
            return arrays, dtype, needed, True
        array = operand._array
        arrays.append(array)
        if dtype is None:
            dtype = array.dtype
        elif array.dtype is not dtype:
            mixed = op.promotes is not None
        if operand._node is not None:
            needed = True
    return arrays, dtype, needed, mixed


def wrap(array: Any) -> Tensor:
    """A tensor on the memory of an array, without a gradient."""
    result = _new(Tensor)
    result._array = array if type(array) is _ndarray else _asarray(array)
    result._counter = [0, None]
    result._home = result._node = result._view = result._views = None
    if inferring and mode.inference:
        result._counter = UNTRACKED
    return result


def _own(array: Any, arrays: Sequence[Any]) -> Any:
    """`array`, copied if it is on the memory of an operand: only views may share memory."""
    if any(array is one or shares_memory(array, one) for one in arrays):
        return array.copy()
    return array


def as_operands(op: Op, operands: Sequence[Any]) -> tuple[Sequence[Tensor], bool]:
    """The operands as tensors, cast to one dtype where the op wants it; whether one is a number.

    Raises GraphError for a symbolic operand.
    """
    values = [
        operand if isinstance(operand, Tensor) else _as_value(op, operand) for operand in operands
    ]
    shared = range(len(values))[op.promotes] if op.promotes else range(0)
    dtype = None
    if len(shared):
        dtype = result_type(
            value._array if isinstance(value, Tensor) else value
            for value in (values[i] for i in shared)
        )
        if op.floating and dtype.kind != "f":
            dtype = get_default_dtype().dtype
    number = False
    for i, value in enumerate(values):
        wanted = dtype if i in shared else None
        if not isinstance(value, Tensor):
            number = True
            array = np.asarray(value)
            values[i] = wrap(array if wanted is None else array.astype(wanted))
            continue
        if wanted is None and op.floating and value._array.dtype.kind != "f":
            wanted = get_default_dtype().dtype
        if wanted is not None and value._array.dtype != wanted:
            values[i] = ops.astype(value, wanted)
    return values, number


def _as_value(op: Op, operand: Any) -> Any:
    """A tensor on the operand's memory, or a Python number, which is weak."""
    if isinstance(operand, np.ndarray):
        return wrap(operand)
    if isinstance(operand, np.generic):
        return operand.item()
    if isinstance(operand, bool | int | float):
        return operand
    if isinstance(operand, Operand):
        raise GraphError(
            f"{op.name}: an eager tensor meets a symbolic expression: feed the tensor to a "
            "placeholder, or use its numpy() as a constant"
        )
    return wrap(np.asarray(operand))


def _explain(op: Op, arrays: Sequence[Any], attrs: Attrs, error: Exception) -> NoReturn:
    """Raise what the op's type rule says of the operands, or else NumPy's error."""
    if not isinstance(error, StaticGraphError):
        _infer(op, arrays, attrs)
    raise error


def _infer(op: Op, arrays: Sequence[Any], attrs: Attrs) -> None:
    try:
        op.infer_type(*(type_of(array) for array in arrays), **attrs)
    except ShapeError as error:
        raise SizeError(str(error)) from None


_valid: set[Any] = set()


def _validate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> None:
    """Check the operands of a composite, which NumPy would not; each kind of call once."""
    call = (
        op,
        tuple([(array.shape, array.dtype) for array in arrays]),
        tuple(attrs.items()),
    )
    if call not in _valid:
        _infer(op, arrays, attrs)
        if len(_valid) >= 4096:
            _valid.clear()
        _valid.add(call)


def _known(other: Any) -> bool:
    return isinstance(other, _KNOWN)


_KNOWN = (Operand, np.ndarray, np.generic, bool, int, float)


_Plans = dict[tuple[bool, bool], Any]


def _plans(op: Op, number: bool) -> _Plans:
    choices = ((True, True), (True, False), (False, True))
    return {needs: recipe(op, needs, number) for needs in choices}


_NO_ATTRS: Attrs = {}
_CONSTANT: Any = (0, None)
"""The version counter of a number, which nothing changes."""


def _forward(op: Op) -> Any:
    """`tensor op other`: two tensors of one floating dtype, or a number, take the short way."""
    evaluate, plans, number_plans = op.evaluate, _plans(op, False), _plans(op, True)

    def method(self: Tensor, other: Any) -> Any:
        x = self._array
        dtype = x.dtype
        if type(other) in _plain:
            y, second, version, table = other._array, other._node, other._counter, plans
            if y.dtype is not dtype or (dtype is not F32 and dtype is not F64):
                return op(self, other)
        elif (type(other) is float or type(other) is int) and (dtype is F32 or dtype is F64):
            y, second, version, table = _array(other, dtype), None, _CONSTANT, number_plans
        else:
            return op(self, other) if _known(other) else NotImplemented
        try:
            value = evaluate(x, y) if x.size < LARGE else evaluate_large(op, (x, y), _NO_ATTRS)
        except ValueError as error:
            _explain(op, (x, y), _NO_ATTRS, error)
        result = _new(Tensor)
        result._array = value if type(value) is _ndarray else _asarray(value)
        result._counter = [0, None]
        result._home = result._node = result._view = result._views = None
        first = self._node
        if inferring and mode.inference:
            result._counter = UNTRACKED
        elif (first is not None or second is not None) and mode.enabled:
            plan = table[first is not None, second is not None]
            record_pair(plan, (first, second), x, y, (self._counter, version), result)
        return result

    return method


def _backward(op: Op) -> Any:
    """`number op tensor`; other left operands take the long way."""
    evaluate, plan = op.evaluate, recipe(op, (False, True), True)

    def method(self: Tensor, other: Any) -> Any:
        y = self._array
        dtype = y.dtype
        if (type(other) is not float and type(other) is not int) or dtype.kind != "f":
            return op(other, self) if _known(other) else NotImplemented
        x = _array(other, dtype)
        result = wrap(_asarray(evaluate(x, y)))
        node = self._node
        if node is not None and mode.enabled and result._counter is not UNTRACKED:
            record_pair(plan, (None, node), x, y, (_CONSTANT, self._counter), result)
        return result

    return method


for _name, _op in (
    ("add", ops.add), ("sub", ops.subtract), ("mul", ops.multiply), ("truediv", ops.divide),
    ("pow", ops.power), ("matmul", ops.matmul),
):  # fmt: skip
    setattr(Tensor, f"__{_name}__", _forward(_op))
    setattr(Tensor, f"__r{_name}__", _backward(_op))
