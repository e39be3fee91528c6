"""The short ways: ops on plain tensors, straight to NumPy, each family from one function here.

`Tensor.apply` provides for all that an op may meet: tracers, casts, numbers, several operands,
memory that is shared or not. What is made here looks at the operand it usually gets, and leaves
every other to the op. So a call is one Python function, NumPy's own, and `new_value` or
`new_view`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.op import Attrs, Op, Operand, all_ops
from dynamic import eager_ops
from dynamic.blockwise import LARGE
from dynamic.blockwise import evaluate as evaluate_large
from dynamic.dtypes import F32, F64
from dynamic.grad_mode import mode, paused, recording
from dynamic.indexing import Indexing
from dynamic.tape import recipe, record_pair
from dynamic.tensor import PLAIN, Tensor, explain, new_value, new_view, wrap
from dynamic.versions import UNTRACKED

_new = object.__new__
_ndarray = np.ndarray
_array = np.array
_asarray = np.asarray
_NO_ATTRS: Attrs = {}
_KNOWN = (Operand, np.ndarray, np.generic, bool, int, float)

_Plans = dict[tuple[bool, bool], Any]


def _plans(op: Op, number: bool) -> _Plans:
    choices = ((True, True), (True, False), (False, True))
    return {needs: recipe(op, needs, number) for needs in choices}


def forward(op: Op) -> Any:
    """`tensor op other`: two tensors of one floating dtype, or a tensor and a number."""
    evaluate, plans, number_plans = op.evaluate, _plans(op, False), _plans(op, True)

    def method(self: Tensor, other: Any) -> Any:
        x = self._array
        dtype = x.dtype
        if type(other) in PLAIN:
            y, table = other._array, plans
            second = other._maker if other._note is None else other._node
            if y.dtype is not dtype or (dtype is not F32 and dtype is not F64):
                return op(self, other)
        elif (type(other) is float or type(other) is int) and (dtype is F32 or dtype is F64):
            y, second, table = _array(other, dtype), None, number_plans
        else:
            return op(self, other) if isinstance(other, _KNOWN) else NotImplemented
        try:
            value = evaluate(x, y) if x.size < LARGE else evaluate_large(op, (x, y), _NO_ATTRS)
        except ValueError as error:
            explain(op, (x, y), _NO_ATTRS, error)
        result = _new(Tensor)
        result._array = value if type(value) is _ndarray else _asarray(value)
        result._cell = result._home = result._maker = result._note = None
        result._rebased = 0
        first = self._maker if self._note is None else self._node
        if paused and not recording():
            if mode.inference:
                result._cell = UNTRACKED
        elif first is not None or second is not None:
            plan = table[first is not None, second is not None]
            right = None if table is number_plans else other
            result._maker = record_pair(plan, (first, second), x, y, self, right, result)
        return result

    return method


def backward(op: Op) -> Any:
    """`number op tensor`; other left operands take the long way."""
    evaluate, plan = op.evaluate, recipe(op, (False, True), True)

    def method(self: Tensor, other: Any) -> Any:
        y = self._array
        dtype = y.dtype
        if (type(other) is not float and type(other) is not int) or dtype.kind != "f":
            return op(other, self) if isinstance(other, _KNOWN) else NotImplemented
        x = _array(other, dtype)
        result = wrap(_asarray(evaluate(x, y)))
        node = self._node
        if node is not None and not (paused and not recording()):
            result._maker = record_pair(plan, (None, node), x, y, None, self, result)
        return result

    return method


for _name, _op in (
    ("add", ops.add), ("sub", ops.subtract), ("mul", ops.multiply), ("truediv", ops.divide),
    ("pow", ops.power), ("matmul", ops.matmul),
):  # fmt: skip
    setattr(Tensor, f"__{_name}__", forward(_op))
    setattr(Tensor, f"__r{_name}__", backward(_op))


def _described(function: Any, op: Op) -> Any:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    return function


def one_rule(op: Op) -> bool:
    """Whether an op has one operand, to judge by its gradient rules."""
    return isinstance(op.vjp, tuple) and len(op.vjp) == 1


def unary(op: Op) -> Any:
    """A function of each element of one floating tensor."""
    evaluate, plan = op.evaluate, recipe(op, (True,))

    def function(input: Any, *, out: Any = None) -> Any:
        if type(input) in PLAIN and out is None:
            x = input._array
            if (x.dtype is F32 or x.dtype is F64) and x.size < LARGE:
                return new_value(plan, input, evaluate(x), _NO_ATTRS)
        return op(input) if out is None else op(input, out=out)

    return _described(function, op)


SHORT: dict[Op, Any] = {
    op: unary(op) for op in all_ops() if op.elementwise and op.bind is None and one_rule(op)
}
"""The short way of an op as a function, for the ops that have one."""
for _name, _value in vars(ops).items():
    if isinstance(_value, Op) and _value in SHORT and _value is not ops.round:
        setattr(Tensor, _name, SHORT[_value])


_INDICES = frozenset((int, slice, type(None)))
"""The types of keys that make a view, beside an Ellipsis."""
_select = recipe(eager_ops.select, (True,))


def _getitem(self: Any, key: Any) -> Any:
    """`self[key]`: a view for an int, a slice, None, or several of them."""
    if type(key) in _INDICES:
        key = (key, Ellipsis)  # without it, an index of the only axis makes a NumPy scalar
    elif type(key) is tuple:
        for one in key:
            if type(one) not in _INDICES:
                return Indexing.__getitem__(self, key)
        key = (*key, Ellipsis)
    else:
        return Indexing.__getitem__(self, key)
    try:
        array = self._array[key]
    except IndexError:
        return Indexing.__getitem__(self, key)
    return new_view(_select, self, array, {"key": key})


Tensor.__getitem__ = _getitem  # type: ignore[method-assign]


_reshape = recipe(ops.reshape, (True,))


def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in row-major order under another shape, as a view if that is possible."""
    if type(input) in PLAIN:
        x = input._array
        try:
            array = x.reshape(*shape)
        except (TypeError, ValueError):
            return ops.reshape(input, *shape)
        base = array.base
        new = new_view if base is x or (base is not None and base is x.base) else new_value
        return new(_reshape, input, array, {"shape": array.shape})
    return ops.reshape(input, *shape)


SHORT[ops.reshape] = reshape
setattr(Tensor, "reshape", reshape)  # noqa: B010 - the class inherits another one
