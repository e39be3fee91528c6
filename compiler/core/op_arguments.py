"""What an op does with the arguments of a call: their number, and the dtype that they share."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import computing, is_inexact, is_narrow, promoted
from staticgraph.compiler.core.errors import DTypeError, StaticGraphError
from staticgraph.compiler.core.values import Value


def named(error: TypeError, function: Any, name: str) -> TypeError:
    """What Python says of a call that does not fit a function, as of the function `name`."""
    own = f"{function.__qualname__}()"
    text = str(error)
    return TypeError(f"{name}(){text.removeprefix(own)}") if text.startswith(own) else error


_WRITTEN_IN_C = {np.where: ("condition", "x", "y"), np.dot: ("a", "b", "out")}
"""The parameters of what has had a signature since NumPy 2.4 only."""


def parameters_of(function: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function of Python's or of NumPy's."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return {name: inspect.Parameter(name, kind) for name in _WRITTEN_IN_C[function]}


@functools.cache
def most_operands(function: Any) -> float:
    """How many arrays a function of NumPy's kind reads: one more by position is its `out`."""
    if isinstance(function, np.ufunc):
        return function.nin
    parameters = parameters_of(function).values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return math.inf
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in by_position and one.name != "out" for one in parameters)


def refuse_more(name: str, function: object, count: int) -> None:
    """TypeError if one of so many arguments were written to."""
    most = most_operands(function)
    if count > most:
        takes = f"{most} positional argument{'s' * (most != 1)}"
        raise TypeError(f"{name}() takes {takes} but {count} were given")


_SECOND = frozenset({
    "other", "exponent", "mat2", "vec", "vec2", "tensor", "tensor2", "divisor", "value", "batch2",
})  # fmt: skip
_BY_NAME = _SECOND | {"input"}


def _is_operand(value: object) -> bool:
    """Whether an op may take a value: a number, an array, or what knows how to apply ops."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        return False
    return isinstance(value, complex | np.generic) or any(
        hasattr(value, name) for name in ("__float__", "__index__", "__array__", "_apply")
    )


def refuse_others(name: str, operands: Sequence[object], error: Exception) -> None:
    """DTypeError where an op failed because an operand is no array, number or sequence of such."""
    if isinstance(error, DTypeError):
        return
    bare = not isinstance(error, StaticGraphError)
    rows = bare and isinstance(error, AttributeError | TypeError | KeyError)
    for i, one in enumerate(operands):
        if one is None or isinstance(one, str | dict | set):
            refused = bare or not i
        else:
            single = not i and not isinstance(one, list | tuple)
            refused = (rows or single) and not _is_operand(one)
        if refused:
            held = one.item() if isinstance(one, np.ndarray) and not one.ndim else one
            raise DTypeError(
                f"{name}(): argument {i + 1} must be a tensor or an array, not "
                f"{type(held).__name__}"
            ) from None


_OPERANDS = frozenset((bool, int, float, complex))
_ARRAYS, _LISTS = (np.ndarray, np.generic), (list, tuple)


def _is_no_number(value: object) -> bool:
    return value is None or isinstance(value, str) or not hasattr(value, "__float__")


def refuse_objects(name: str, operands: Sequence[object], computes: bool = True) -> None:
    """DTypeError for what is no operand, but of which NumPy makes an array of texts or objects.

    It would be compared, counted and handed on, and None would be nan. Objects that are numbers,
    such as ints beyond all dtypes, are operands; sequences are left to the op, and so are objects
    that it does not compute with, but shows.
    """
    for i, one in enumerate(operands):
        if isinstance(one, _ARRAYS):
            array = one
        elif type(one) in _OPERANDS or isinstance(one, _LISTS) or hasattr(one, "_apply"):
            continue
        else:
            array = np.asarray(one)
        kind = array.dtype.kind
        if kind not in "OUS":
            continue
        of_objects = kind == "O" and computes
        if kind in "US" or (of_objects and any(map(_is_no_number, np.asarray(array).flat))):
            held = array.item() if not array.ndim else one
            raise DTypeError(
                f"{name}(): argument {i + 1} must be a tensor or an array, not "
                f"{'str' if kind in 'US' else type(held).__name__}"
            )


@functools.cache
def _own_names(function: Any) -> frozenset[str]:
    if isinstance(function, np.ufunc):
        return frozenset()
    return frozenset(parameters_of(function))


def by_position(
    function: object, count: int, operands: tuple[object, ...], attrs: dict[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Operands, of which there are `count`, that are given by PyTorch's names: `exp(input=x)`."""
    if _BY_NAME.isdisjoint(attrs):
        return operands, attrs
    own, rest = _own_names(function), dict(attrs)
    if not operands and "input" in rest and "input" not in own:
        operands = (rest.pop("input"),)
    second = (rest.keys() & _SECOND) - own
    if count > 1 == len(operands) == len(second):
        operands = (*operands, rest.pop(second.pop()))
    return operands, rest


OF_UFUNCS: Mapping[str, str] = {
    "where": "choose between its result and another value with np.where",
    "dtype": "cast the operands with astype before it",
    "signature": "cast the operands with astype before it",
    "casting": "cast the operands with astype before it",
    "order": "results are in row-major order",
    "subok": "results are of the operands' kind",
    "axes": "move the axes with np.moveaxis before it",
}
"""What a call of NumPy's ufuncs may be told that ours are not, and what to write."""


def refuse_names(op: Any, attrs: Iterable[str], of_handles: bool) -> None:
    """TypeError for an argument that an op without a signature of its own does not take.

    There is advice for what NumPy's ufuncs take.
    """
    ufunc = isinstance(op.evaluate, np.ufunc)
    known = set() if ufunc else {*parameters_of(op.evaluate)}
    for name in {*attrs} - known - ({"out"} if ufunc or of_handles else set()):
        advice = f": {OF_UFUNCS[name]}" if op.elementwise and name in OF_UFUNCS else ""
        raise TypeError(f"{op.name}() got an unexpected keyword argument {name!r}{advice}")


_F32, _F64, _BOOL, _I64 = (np.dtype(name) for name in ("float32", "float64", "bool", "int64"))
_NUMBERS = frozenset((bool, int, float))


def are_plain(operands: Sequence[object], floating: bool) -> bool:
    """Whether an op, which may want `floating` operands, computes with these as they are.

    Most operands in gradient rules are such: nothing is cast, and nothing refused.
    """
    for one in operands:
        dtype = getattr(one, "dtype", None)
        if dtype is _F32 or dtype is _F64:
            continue
        if floating or not (dtype is _BOOL or dtype is _I64 or type(one) in _NUMBERS):
            return False
    return True


def is_stored(operand: object) -> bool:
    """Whether an operand has a dtype that is stored only."""
    dtype = getattr(operand, "dtype", None)
    return dtype is not None and is_narrow(dtype)


def in_computing(array: Value) -> Value:
    """An array in the dtype that ops compute in."""
    return array.astype(computing(array.dtype), copy=False)


def of_shared_dtype(operands: Sequence[Any], promotes: slice | None) -> Sequence[Any]:
    """Arrays and numbers, of which some share a dtype, as arrays of this dtype."""
    shared = range(len(operands))[promotes] if promotes else ()
    if not shared:
        return operands
    numbers = (bool, int, float)
    given = [operands[i] for i in shared]
    common = promoted(*[one if type(one) in numbers else np.asarray(one).dtype for one in given])
    return [
        np.asarray(one).astype(common, copy=False) if i in shared else one
        for i, one in enumerate(operands)
    ]


def as_floating(operands: Sequence[object], promotes: slice | None) -> Sequence[Any]:
    """Operands without handles, with numbers and integers cast as frontends cast them.

    NumPy casts what has 8 or 16 bits to float16, or float32, or computes with integers.
    """
    for operand in operands:
        if isinstance(operand, bool | int | float | complex):
            break
        if isinstance(operand, np.ndarray | np.generic) and operand.dtype.kind in "biu":
            break
    else:
        return operands
    shared = range(len(operands))[promotes] if promotes else ()
    numbers = [
        one if isinstance(one, bool | int | float | complex) else np.asarray(one).dtype
        for one in [operands[i] for i in shared]
    ]
    common = promoted(*numbers) if numbers else None
    cast = []
    for i, operand in enumerate(operands):
        if common is not None and isinstance(operand, bool | int | float | complex) and i in shared:
            # in the dtype of what it meets: a function of it alone would be in float64
            operand = np.asarray(operand, common if is_inexact(common) else np.float64)
        elif isinstance(operand, np.ndarray | np.generic):
            dtype = common if common is not None and i in shared else operand.dtype
            operand = operand.astype(np.float64 if dtype.kind in "biu" else dtype, copy=False)
        cast.append(operand)
    return cast
