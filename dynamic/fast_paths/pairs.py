"""Arithmetic and comparisons: `tensor op other` and `number op tensor`, and their functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Attrs, Op, Operand
from dynamic.core.dtypes import F32, F64
from dynamic.kernels.blockwise import LARGE, evaluate as evaluate_large
from dynamic.tape.grad_mode import mode, paused, recording
from dynamic.tape.tape import recipe, record_pair
from dynamic.tape.versions import UNTRACKED
from dynamic.tensors.division import quotient_of
from dynamic.tensors.tensor import PLAIN, Tensor, explain, wrap

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
                return op.general(self, other)
        elif (type(other) is float or type(other) is int) and (dtype is F32 or dtype is F64):
            y, second, table = _array(other, dtype), None, number_plans
        else:
            return op.general(self, other) if isinstance(other, _KNOWN) else NotImplemented
        try:
            value = evaluate(x, y) if x.size < LARGE else evaluate_large(op, (x, y), _NO_ATTRS)
        except ValueError as error:
            explain(op, (x, y), _NO_ATTRS, error)
        result = _new(Tensor)
        result._array = value if type(value) is _ndarray else _asarray(value)
        result._cell = result._home = result._maker = result._note = None
        first = self._maker if self._note is None else self._node
        if paused and not recording():
            if mode.inference:
                result._cell = UNTRACKED
        elif first is not None or second is not None:
            plan = table[first is not None, second is not None]
            right = None if table is number_plans else other
            if plan.steps:
                result._maker = record_pair(
                    plan, (first, second), x, y, self, right, result, _NO_ATTRS
                )
        return result

    return method


def backward(op: Op) -> Any:
    """`number op tensor`; other left operands take the long way."""
    evaluate, plan = op.evaluate, recipe(op, (False, True), True)

    def method(self: Tensor, other: Any) -> Any:
        y = self._array
        dtype = y.dtype
        if (type(other) is not float and type(other) is not int) or dtype.kind != "f":
            return op.general(other, self) if isinstance(other, _KNOWN) else NotImplemented
        x = _array(other, dtype)
        result = wrap(_asarray(evaluate(x, y)))
        node = self._node
        if node is not None and not (paused and not recording()):
            result._maker = record_pair(plan, (None, node), x, y, None, self, result, _NO_ATTRS)
        return result

    return method


def pair(op: Op, operator: Any) -> Any:
    """The function of an op that is an operator as well."""

    def function(*operands: Any, **options: Any) -> Any:
        if not options and len(operands) == 2 and type(operands[0]) in PLAIN:
            result = operator(*operands)
            if result is not NotImplemented:
                return result
        return op.general(*operands, **options)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    return function


def scaled(op: Op, operator: Any) -> Any:
    """The method of a sum or difference, of which the second operand may be scaled."""

    def method(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        if alpha != 1:
            other = other * alpha
        result = operator(self, other) if type(self) in PLAIN else NotImplemented
        return op.general(self, other) if result is NotImplemented else result

    method.__doc__ = f"{op.doc} With b scaled by `alpha`."
    return method


def quotient(op: Op, operator: Any) -> Any:
    """The function of the quotient, which may be rounded."""

    def function(*operands: Any, **options: Any) -> Any:
        if not options and len(operands) == 2 and type(operands[0]) in PLAIN:
            result = operator(*operands)
            if result is not NotImplemented:
                return result
        if "rounding_mode" in options and isinstance(operands[0], Tensor):
            return quotient_of(*operands, **options)
        return op.general(*operands, **options)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f'{op.doc} Tensors\' rounded if `rounding_mode` is "floor" or "trunc".'
    return function


_ARITHMETIC = {
    "add": ops.add, "sub": ops.subtract, "mul": ops.multiply, "truediv": ops.divide,
    "pow": ops.power, "matmul": ops.matmul,
}  # fmt: skip
_COMPARISONS = {
    "eq": ops.equal, "ne": ops.not_equal, "lt": ops.less, "le": ops.less_equal, "gt": ops.greater,
    "ge": ops.greater_equal,
}  # fmt: skip
_FUNCTIONS = {
    "mul": ops.multiply, "div": ops.divide, "divide": ops.divide, "true_divide": ops.divide,
    "mm": ops.matmul,
    "mv": ops.matmul, "matmul": ops.matmul, "pow": ops.power, "maximum": ops.maximum,
    "minimum": ops.minimum, "atan2": ops.atan2, **_COMPARISONS,
}  # fmt: skip

_operators = {op: forward(op) for op in (*_ARITHMETIC.values(), *_FUNCTIONS.values())}
PAIRS: dict[Op, Any] = {op: pair(op, operator) for op, operator in _operators.items()}
PAIRS[ops.divide] = quotient(ops.divide, _operators[ops.divide])
"""The short way of an op of two operands as a function."""


METHODS: dict[str, Any] = {
    **{f"__{name}__": _operators[op] for name, op in (_ARITHMETIC | _COMPARISONS).items()},
    **{f"__r{name}__": backward(op) for name, op in _ARITHMETIC.items()},
    **{name: PAIRS[op] for name, op in _FUNCTIONS.items()},
    "add": scaled(ops.add, _operators[ops.add]),
    "sub": scaled(ops.subtract, _operators[ops.subtract]),
}
"""Operators and methods of Tensor."""
