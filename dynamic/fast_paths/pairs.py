"""Arithmetic and comparisons: `tensor op other` and `number op tensor`, and their functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.op_arguments import by_position
from staticgraph.compiler.llvm.small_products_words import MATRICES
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.core.older_forms import called_again
from staticgraph.dynamic.core.operands import explain
from staticgraph.dynamic.core.pytorch import PYTORCH, called
from staticgraph.dynamic.core.whole_numbers import refuse_difference
from staticgraph.dynamic.fast_paths.loops import Watched, Way, counted_with
from staticgraph.dynamic.fast_paths.names import named_after
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tape.grad_mode import paused
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tensors.division import quotient_of
from staticgraph.dynamic.tensors.recorders import multiplied_by, recorded_by
from staticgraph.dynamic.tensors.scaled import scaled_operand
from staticgraph.dynamic.tensors.tensor import PLAIN, Plans, Tensor, new_value_of_two

_array = np.array
_asarray = np.asarray
_ndarray = np.ndarray
_new = object.__new__
_NO_ATTRS: Attrs = {}
_KNOWN = (Operand, np.ndarray, np.generic, bool, int, float, complex)


def plans_of(op: Op, number: bool) -> Plans:
    """The recipes of an op of two operands, of which one may be a number."""
    both, first, second = (True, True), (True, False), (False, True)
    return recipe(op, both, number), recipe(op, first, number), recipe(op, second, number)


def _difference(self: Any, other: Any) -> Any:
    """A difference, which booleans have none of."""
    refuse_difference(self, other)
    return ops.subtract.general(self, other)


def _long_way(op: Op) -> Any:
    """What takes other operands, of which a difference refuses booleans in PyTorch's words."""
    return _difference if op is ops.subtract else op.general


def forward(op: Op) -> Any:
    """`tensor op other`: two tensors of one floating dtype, or a tensor and a number."""
    evaluate, plans, number_plans = op.evaluate, plans_of(op, False), plans_of(op, True)
    general = _long_way(op)

    def finish(array: object, left: Tensor, right: Any) -> Tensor:
        x = left._array
        if isinstance(right, Tensor):
            return new_value_of_two(_new(Tensor), plans, left, right, x, right._array, array)
        return finish_number(array, left, _array(right, x.dtype))

    def finish_number(array: object, left: Tensor, right: object) -> Tensor:
        return new_value_of_two(_new(Tensor), number_plans, left, None, left._array, right, array)

    def recorded(of_number: bool) -> Any:
        if not of_number:
            return recorded_by(op, 2, finish, [_NO_ATTRS for _ in range(9)])
        record = recorded_by(op, 2, finish_number, [_NO_ATTRS for _ in range(9)], True)
        if record is None:
            return None
        return lambda array, left, right: record(array, left, _array(right, left._array.dtype))

    state = Watched(Way(evaluate, finish, "tx", op.elementwise, recorded))

    def method(self: Tensor, other: Any) -> Any:
        x = self._array
        dtype = x.dtype
        if (dtype is F32 or dtype is F64) and x.size < LARGE:
            kind = type(other)
            if kind is Tensor or kind in PLAIN:
                y = other._array
                if y.dtype is dtype:
                    try:
                        value = evaluate(x, y)
                    except ValueError as error:
                        explain(op, (x, y), {}, error)
                    for result in state.blanks:
                        recorded = self._maker is not None or other._maker is not None
                        if recorded or self._note is not None or other._note is not None or paused:
                            return new_value_of_two(result, plans, self, other, x, y, value)
                        result._array = value if type(value) is _ndarray else _asarray(value)
                        result._cell = result._home = result._maker = result._note = None
                        return result
                    result = state.count((self, other))
                    return new_value_of_two(result, plans, self, other, x, y, value)
            elif kind is float or kind is int:
                y = _array(other, dtype)
                value = evaluate(x, y)
                for result in state.blanks:
                    return new_value_of_two(result, number_plans, self, None, x, y, value)
                result = state.count((self, other))
                return new_value_of_two(result, number_plans, self, None, x, y, value)
        return general(self, other) if isinstance(other, _KNOWN) else NotImplemented

    return state.counts(method)


def product() -> Any:
    """`tensor @ other`: two tensors of one floating dtype; `forward` takes all else."""
    op = ops.matmul
    evaluate, plans, usual = op.evaluate, plans_of(op, False), forward(op)

    def finish(array: object, left: Tensor, right: Tensor) -> Tensor:
        return new_value_of_two(_new(Tensor), plans, left, right, left._array, right._array, array)

    def whole(general: Any, shown: tuple[str, str]) -> Any:
        record = recorded_by(op, 2, finish, [_NO_ATTRS for _ in range(9)])
        return multiplied_by(general, record or finish, MATRICES, shown)

    state = Watched(Way(evaluate, finish, "tt", whole=whole))

    def method(self: Tensor, other: Any) -> Any:
        x, kind = self._array, type(other)
        if (kind is Tensor or kind in PLAIN) and x.size < LARGE:
            y, dtype = other._array, x.dtype
            if y.dtype is dtype and (dtype is F32 or dtype is F64):
                try:
                    if x.ndim == 2 and y.ndim <= 2 and x.size > 1 and y.size > 1:
                        value = x.dot(y)  # as `evaluate`, without its call
                    else:
                        value = evaluate(x, y)
                except ValueError as error:
                    explain(op, (x, y), {}, error)
                for result in state.blanks:
                    return new_value_of_two(result, plans, self, other, x, y, value)
                result = state.count((self, other))
                return new_value_of_two(result, plans, self, other, x, y, value)
        return usual(self, other)

    return state.counts(method)


def backward(op: Op) -> Any:
    """`number op tensor`; other left operands take the long way."""
    evaluate, plans = op.evaluate, plans_of(op, True)
    general = _long_way(op)

    def finish(array: object, right: Tensor, left: object) -> Tensor:
        return finish_number(array, _array(left, right._array.dtype), right)

    def finish_number(array: object, left: object, right: Tensor) -> Tensor:
        return new_value_of_two(_new(Tensor), plans, None, right, left, right._array, array)

    def recorded(of_number: bool) -> Any:
        record = recorded_by(op, 2, finish_number, [_NO_ATTRS for _ in range(9)], True)
        if record is None:
            return None
        return lambda array, right, left: record(array, _array(left, right._array.dtype), right)

    state = Watched(Way(lambda y, x: evaluate(x, y), finish, "tx", op.elementwise, recorded))

    def method(self: Tensor, other: object) -> Any:
        y = self._array
        dtype = y.dtype
        kind = type(other)
        usual = (kind is float or kind is int) and (dtype is F32 or dtype is F64)
        if usual and y.size < LARGE:
            x = _array(other, dtype)
            value = evaluate(x, y)
            for result in state.blanks:
                return new_value_of_two(result, plans, None, self, x, y, value)
            result = state.count((self, other))
            return new_value_of_two(result, plans, None, self, x, y, value)
        return general(other, self) if isinstance(other, _KNOWN) else NotImplemented

    return state.counts(method)


def pair(op: Op, operator: Any) -> Any:
    """The function of an op that is an operator as well."""

    def function(*operands: object, **options: object) -> Any:
        if not options and len(operands) == 2:
            left, right = operands
            kind = type(left)
            if kind is Tensor or kind in PLAIN:
                result = operator(left, right)
                if result is not NotImplemented:
                    return result
        return op.general(*operands, **options)

    return named_after(op, counted_with(function, operator))


def scaled(op: Op, operator: Any) -> Any:
    """The method of a sum or difference, of which the second operand may be scaled."""

    def method(self: object, other: object, *rest: object, alpha: Any = 1) -> Any:
        if rest:
            return called_again(method, called(op), (self, other, *rest), alpha)
        if type(alpha) is not int or alpha != 1:  # nobody knows whether a traced number is 1
            other = scaled_operand(self, other, alpha)
        result = operator(self, other) if type(self) in PLAIN else NotImplemented
        return op.general(self, other) if result is NotImplemented else result

    method.__doc__ = f"{op.doc} With b scaled by `alpha`."
    return counted_with(method, operator)


def quotient(op: Op, operator: Any) -> Any:
    """The function of the quotient, which may be rounded."""

    def function(*operands: object, **options: Any) -> Any:
        if not options and len(operands) == 2 and type(operands[0]) in PLAIN:
            result = operator(*operands)
            if result is not NotImplemented:
                return result
        if "rounding_mode" in options:
            operands, options = by_position(quotient_of, 2, operands, options)
            if operands and isinstance(operands[0], Tensor):
                rounded: Any = quotient_of
                return rounded(*operands, **options)
        return op.general(*operands, **options)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f'{op.doc} Tensors\' rounded if `rounding_mode` is "floor" or "trunc".'
    function.__wrapped__ = quotient_of  # type: ignore[attr-defined]
    return counted_with(function, operator)


_OPERATORS = {row.operator: op for op, row in PYTORCH.items() if row.operator}
_FUNCTIONS = {name: op for op, row in PYTORCH.items() for name in row.methods}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
"""Python's operators that have no form for a number on the left: it asks the mirrored one."""

_operators = {op: forward(op) for op in (*_OPERATORS.values(), *_FUNCTIONS.values())}
_operators[ops.matmul] = product()
PAIRS: dict[Op, Any] = {op: pair(op, operator) for op, operator in _operators.items()}
PAIRS[ops.divide] = quotient(ops.divide, _operators[ops.divide])
"""The short way of an op of two operands as a function."""


METHODS: dict[str, Any] = {
    **{f"__{name}__": _operators[op] for name, op in _OPERATORS.items()},
    **{f"__r{name}__": backward(op) for name, op in _OPERATORS.items() if name not in _COMPARISONS},
    **{name: PAIRS[op] for name, op in _FUNCTIONS.items()},
    "add": scaled(ops.add, _operators[ops.add]),
    "sub": scaled(ops.subtract, _operators[ops.subtract]),
}
"""Operators and methods of Tensor."""
