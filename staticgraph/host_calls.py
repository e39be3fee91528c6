"""`host_call`: a Python function on arrays as a step of a program, without declaring an op."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from staticgraph.compiler.core.dims import Size, unknown
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.own_ops import own_name
from staticgraph.compiler.core.types import TensorType as Type, TupleType, as_dtype
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.programs.user_host_ops import HostOp, call_of

Declared: TypeAlias = Type | list[Type] | tuple[Type, ...]

_known: dict[tuple[Callable[..., Any], int, bool], HostOp] = {}


def TensorType(shape: Sequence[Size | str], dtype: object = "float32") -> Type:  # noqa: N802
    """The type of a tensor: per axis a size, or the name of one as placeholders have it.

    Raises:
        DTypeError: there is no such dtype.
        OptionError: a size is neither a number nor a name nor the size of an axis.

    Example:
        >>> sg.TensorType(("n", 3), "float64")
        float64[n, 3]
    """
    return Type(tuple([_size(one) for one in shape]), as_dtype(dtype, "TensorType"))


def _size(size: object) -> Size:
    if isinstance(size, str):
        return unknown(size)
    if hasattr(size, "terms"):
        return size  # type: ignore[return-value]
    if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0:
        raise OptionError(f"TensorType: {size!r:.80} is no size: a number, a name, or an axis's")
    return int(size.__index__())


def host_call(function: Callable[..., Any], result: Declared, *operands: object) -> Value:
    """What a Python function of NumPy arrays gives, as a step of the program.

    Each call of the program calls the function, with read-only row-major arrays, and checks what it
    returns against the declared type before anything reads it. It has no gradient: `sg.op` declares
    one, and makes ops that are saved by their names.

    Args:
        function: takes one array per operand, and returns an array, or a tuple of several.
        result: the type of what it returns, or a list or tuple of the types of several. Its sizes
            are numbers, sizes of axes (`x.shape[0]`), or names that placeholders have.
        operands: arrays, expressions or tensors; at least one.

    Raises:
        OptionError: the result is no type, or there is no operand.
        GraphError, DTypeError, ShapeError: when it runs, the function returns something else.

    Example:
        >>> x = sg.placeholder("x", ("n",), "float64")
        >>> ranks = sg.host_call(np.argsort, sg.TensorType(("n",), "int64"), x)
        >>> sg.compile([x], ranks + 1)(np.array([3.0, 1.0, 2.0]))
        array([2, 3, 1])
    """
    several = isinstance(result, list | tuple)
    types = tuple(result) if isinstance(result, list | tuple) else (result,)
    if not types or not all(isinstance(one, Type) for one in types):
        raise OptionError(f"host_call: the result is a TensorType or several, not {result!r:.80}")
    if not operands:
        raise OptionError("host_call: takes the operands of the function, at least one")
    made = _op_of(function, len(operands), several)
    return made(*operands, type=TupleType(types) if several else types[0])


def _op_of(function: Callable[..., Any], arity: int, several: bool) -> HostOp:
    """The op around a function, which is made once."""
    if not callable(function):
        raise OptionError(f"host_call: {function!r:.80} is no function")
    key = function, arity, several
    if key not in _known:
        title = getattr(function, "__qualname__", type(function).__qualname__)
        module = getattr(function, "__module__", None) or "builtins"
        words = [re.sub(r"\W", "", one) for one in f"{module}.{title}".split(".")]
        named = f"host_call.{'.'.join(filter(str.isidentifier, words))[-45:].lstrip('.')}"
        named = own_name(named, ("host_call", named), closes=True, is_saved=False)
        _known[key] = call_of(function, named, arity, several)
    return _known[key]
