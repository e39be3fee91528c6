"""Python numbers of which a captured function learns the value when it runs: `x.item()`.

Each is a traced tensor of no axes whose expression is weak, as those of numbers that are given by
position are: what is computed with it means what Python means, and it is a number to `isinstance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.whose_code import by_user
from staticgraph.compiler.graph.expression import Expression, Handle
from staticgraph.compiler.transforms.effects import raise_unless
from staticgraph.dynamic.capture.unknown import refuse_values
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.grad_mode import mode

_DTYPES = {"b": np.dtype(np.bool_), "i": np.dtype(np.int64), "u": np.dtype(np.int64)}
_OF_NUMBERS = frozenset(
    (
        "abs", "add", "divide", "equal", "floor_divide", "greater", "greater_equal", "less",
        "less_equal", "multiply", "negative", "not_equal", "power", "remainder", "subtract",
    )
)  # fmt: skip
"""The ops that mean of Python numbers what Python means."""
_QUOTIENTS = {
    "divide": ("division by zero", "float division by zero"),
    "floor_divide": ("integer division or modulo by zero", "float floor division by zero"),
    "remainder": ("integer division or modulo by zero", "float modulo"),
}
"""What Python says of a divisor that is 0, of ints and of floats."""
MOST = 64
"""Elements that `tolist` makes numbers of."""


class Numbers:
    """The part of a traced tensor that is about numbers."""

    __slots__ = ()

    expression: Any
    _array: Any
    _current: Any
    ndim: int

    def item(self) -> Any:
        """The only element, as a number of which each call has another."""
        value = self._current()
        if not isinstance(value, Expression):
            return super().item()  # type: ignore[misc]
        if value.type.size != 1:
            raise AutogradError(
                f"a Tensor with {value.type.size} elements cannot be converted to Scalar"
            )
        if not by_user():
            refuse_values("item")
        return self.number()

    def number(self) -> Any:
        """Its only element, as such a number."""
        value = self.expression
        if value.dtype.kind == "c":
            refuse_values("item")
        return _number(value)

    def __round__(self, digits: object = None) -> Any:
        """Refused: Python rounds a number that it has."""
        refuse_values("item")

    def tolist(self) -> Any:
        """The elements as nested lists of such numbers."""
        value = self._current()
        if not isinstance(value, Expression):
            return super().tolist()  # type: ignore[misc]
        if not by_user() or value.dtype.kind == "c" or value.type.size > MOST:
            refuse_values("tolist")
        return _nested(value)


def _in_place(name: str) -> Any:
    """`n += 1`: of a number another one, of a tensor itself."""

    def method(self: Any, other: object) -> Any:
        if self._weak:
            return NotImplemented  # Python goes on with n + 1
        return getattr(super(Numbers, self), name)(other)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(Numbers, f"__i{_name}__", _in_place(f"__i{_name}__"))


def _nested(value: Expression) -> Any:
    if not value.ndim:
        return _number(value)
    return [_nested(value[i]) for i in range(int(value.shape[0]))]


def _number(value: Expression) -> Any:
    made = ops.stop_gradient(ops.reshape(value, ()))
    dtype = _DTYPES.get(value.dtype.kind, np.dtype(np.float64))
    made = ops.astype(made, dtype) if made.dtype != dtype else ops.copy(made)
    made.weak = True
    return mode.capture.made(made)


def of_numbers(op: Op, operands: Sequence[object], attrs: Attrs) -> Any:
    """The value of an op of numbers, which is a number."""
    if op.name not in _OF_NUMBERS or (op.name == "power" and not _is_count(operands[1])):
        refuse(
            f"{op.name} of a Python number whose value is not known",
            "keep it a tensor (x.detach() for x.item()); a number that is given by position is "
            "known if it is given by keyword",
        )
    values = [one.expression if isinstance(one, Handle) else one for one in operands]
    if op.name in _QUOTIENTS and isinstance(values[1], Expression):
        is_float = any(getattr(one, "dtype", np.dtype(type(one))).kind == "f" for one in values)
        error = ZeroDivisionError(_QUOTIENTS[op.name][is_float])
        raise_unless(ops.not_equal(values[1], 0), error)
        values[1] = ops.where(ops.equal(values[1], 0), 1, values[1])
        values[1].weak = True
    first = next(value for value in values if isinstance(value, Expression))
    return mode.capture.made(first._apply(op, values, attrs))


def _is_count(exponent: object) -> bool:
    """Whether a power to it stays what its base is."""
    return type(exponent) in (bool, int) and exponent >= 0  # type: ignore[operator]
