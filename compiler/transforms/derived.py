"""The derivatives of a user's function of numbers, found by calling it with symbols.

The function is called once per way through its branches, with expressions in place of numbers and
ops in place of the functions of `math`. What it gives on a way is differentiated; the derivatives
of the way that an element takes are its own.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from types import BuiltinFunctionType, CellType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.op import op_named
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import DType, TensorType
from staticgraph.compiler.graph.expression import Expression, abstract, constant
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.transforms.autodiff import cotangents_of
from staticgraph.compiler.transforms.decisions import ways_through

_SAME = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "isfinite", "isinf",
    "isnan", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
)  # fmt: skip
_OPS = {
    **{name: name for name in _SAME},
    "fabs": "abs", "pow": "power", "degrees": "rad2deg", "radians": "deg2rad",
}  # fmt: skip
"""The ops that the functions of `math` are."""


@frozen(eq=False)
class Way:
    """A way through a function.

    Attributes:
        decisions: the predicates on the way, with what they are.
        partials: the derivatives by each operand, None where it is 0.
    """

    decisions: Sequence[tuple[Expression, bool]]
    partials: Sequence[Expression | None]


@frozen(eq=False)
class Derived:
    """The derivatives of a function: `inputs` stand for its operands."""

    inputs: Sequence[Expression]
    ways: Sequence[Way]


def derivatives_of(
    function: Callable[..., Any], dtype: DType, arity: int
) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The derivatives of a function of numbers of a dtype, as a function of operands.

    Raises:
        Whatever calling it with symbols raises.
    """
    # in a context of its own: nothing of a trace, a transform or a pass around it is part of it
    found = Context().run(_derived, function, dtype, arity)
    return lambda operands: _applied(found, operands)


def _derived(function: Callable[..., Any], dtype: DType, arity: int) -> Derived:
    symbolic = _symbolic(function, {})
    inputs = [abstract(TensorType((), dtype)) for _ in range(arity)]
    found = []
    for way in ways_through(lambda: symbolic(*inputs), lambda: inputs):
        decisions = [(one.predicate, one.outcome) for one in way.decisions]
        found.append(Way(decisions, _partials(way.made, inputs)))
    return Derived(inputs, found)


def _partials(value: object, inputs: Sequence[Expression]) -> Sequence[Expression | None]:
    if not isinstance(value, Expression):
        return [None] * len(inputs)
    if value.dtype.kind != "f":
        raise DTypeError(f"it gives {value.type}, which has no derivative")
    one = constant(np.ones((), value.dtype))
    found = cotangents_of([value], inputs, [one])
    for node in ancestors([part for part in found if part is not None]):
        if node.operands and not node.op.elementwise and node.op is not ops.stop_gradient:
            raise DTypeError(f"{node.op.name} is no function of numbers")
    return found


def _applied(found: Derived, operands: Sequence[Any]) -> list[Any]:
    """The derivatives at operands, arrays or handles, by each of them; None where it is 0."""
    ends = [ops.stop_gradient(one) for one in operands]
    total: list[Any] = [None] * len(operands)
    for way in reversed(found.ways):
        known = dict(zip([one.serial for one in found.inputs], ends, strict=True))
        there: Any = None
        for predicate, outcome in way.decisions:
            holds = _value(predicate, known)
            holds = holds if outcome else ops.logical_not(holds)
            there = holds if there is None else ops.logical_and(there, holds)
        # the derivatives of a way that is not taken may be nan: nothing comes back through it
        own = operands if there is None else [
            ops.where(there, one, end) for one, end in zip(operands, ends, strict=True)
        ]  # fmt: skip
        values = dict(zip([one.serial for one in found.inputs], own, strict=True))
        for i, part in enumerate(way.partials):
            value = 0.0 if part is None else _value(part, values)
            if there is None or (total[i] is None and part is None):
                total[i] = None if part is None else value
            else:
                total[i] = ops.where(there, value, 0.0 if total[i] is None else total[i])
    return total


def _value(root: Expression, known: dict[int, Any]) -> Any:
    """An expression of what stands for operands, at operands."""
    for node in ancestors([root]):
        if node.serial in known:
            continue
        if node.op is leaves.constant:
            known[node.serial] = node.attrs["value"].array
        else:
            given = [known[one.serial] for one in node.operands]
            known[node.serial] = node.op.bound(given, node.attrs)
    return known[root.serial]


# -- ops in place of the functions of math ---------------------------------------------------------


def _symbolic(function: Any, made: dict[int, Any]) -> Callable[..., Any]:
    """The function with ops for those of `math`, in what it calls as well."""
    function = getattr(function, "py_func", function)
    if id(function) in made:
        return made[id(function)]
    space: dict[str, Any] = {"__builtins__": builtins}
    cells = tuple(
        CellType(_exchanged(one.cell_contents, made)) for one in function.__closure__ or ()
    )
    again = FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, cells or None
    )
    made[id(function)] = again
    names: Mapping[str, Any] = function.__globals__
    for name in _names(function.__code__):
        if name in names:
            space[name] = again if names[name] is function else _exchanged(names[name], made)
    return again


def _names(code: Any) -> set[str]:
    inner = [one for one in code.co_consts if hasattr(one, "co_names")]
    return set(code.co_names).union(*map(_names, inner))


def _exchanged(value: Any, made: dict[int, Any]) -> Any:
    if value is math:
        return SimpleNamespace(**{name: _exchanged(one, made) for name, one in vars(math).items()})
    if isinstance(value, BuiltinFunctionType):
        name = value.__name__
        of_math = name in _OPS and getattr(math, name, None) is value
        return op_named(_OPS[name]) if of_math else value
    if isinstance(value, FunctionType) or hasattr(value, "py_func"):
        return _symbolic(value, made)
    return value


provided.derivatives_of.provide(derivatives_of)
