"""NumPy's functions on expressions and tensors: `np.sin(x)`, `np.add.reduce(x)`, `np.concatenate`.

NumPy hands them over (NEP 13, NEP 18) and gets what the operator or the function of that name
gives. Nothing loses a gradient without a word: where there is no such function, what records none
is computed by NumPy itself, as PyTorch's tensors are, and all else is a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NoReturn, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.op_arguments import OF_UFUNCS
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions import LINALG, NAMES, fft, function_named

Options: TypeAlias = Mapping[str, Value]


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


_OPERATORS: Mapping[np.ufunc, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.divmod: "divmod", np.power: "pow",
    np.matmul: "matmul",
}  # fmt: skip
_COMPARISONS: Mapping[np.ufunc, tuple[str, str]] = {
    np.less: ("lt", "gt"), np.less_equal: ("le", "ge"), np.greater: ("gt", "lt"),
    np.greater_equal: ("ge", "le"), np.equal: ("eq", "eq"), np.not_equal: ("ne", "ne"),
}  # fmt: skip
_REDUCTIONS: Mapping[np.ufunc, str] = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min",
    np.logical_and: "all", np.logical_or: "any",
}  # fmt: skip
_ACCUMULATIONS: Mapping[np.ufunc, str] = {np.add: "cumsum", np.multiply: "cumprod"}
_DEFAULTS: Options = {"casting": "same_kind", "order": "K", "subok": True, "where": True}
"""Options that say nothing where they are as NumPy has them by itself."""

_METHODS = _named(
    "all any amax amin argmax argmin argpartition argsort choose clip compress cumprod cumsum max "
    "mean min nonzero prod put repeat reshape round searchsorted squeeze std sum swapaxes take "
    "transpose var"
)
"""The functions that NumPy calls as methods of what is no array: their results are tensors."""

_OF_TYPES = _named(
    "can_cast diag_indices_from iscomplexobj isrealobj ndim result_type shape size "
    "tril_indices_from triu_indices_from"
)
"""The functions of shapes and dtypes alone, of which no gradient can be lost."""

_IN_PLACE = _named("copyto fill_diagonal place put put_along_axis putmask")
"""The functions that write into their first operand, which ours do not."""

_OTHERWISE = _named("bitwise_count eig eigvals einsum_path lstsq polydiv")
"""The functions whose results have other shapes or dtypes here."""


def _filled(x: Any, value: Any, dtype: Any = None, shape: object = None) -> Any:
    """The value in the shape and the dtype of a handle unless they are given."""
    number = x._constant(np.asarray(value, x.dtype if dtype is None else np.dtype(dtype)))
    return ops.broadcast_to(number, x.shape if shape is None else shape)


def _difference(x: Any, n: int = 1, axis: int = -1, **ends: Any) -> Any:
    """NumPy's `diff`: `sg.diff` compares paradigms."""
    if not (type(n) is int and n >= 0):
        raise OptionError(f"np.diff: the order is an integer of at least 0, not {n!r}")
    one = tuple(1 if at == axis % x.ndim else size for at, size in enumerate(x.shape))
    ends = {name: end if np.ndim(end) else ops.broadcast_to(end, one) for name, end in ends.items()}
    parts = [end for end in (ends.get("prepend"), x, ends.get("append")) if end is not None]
    x = ops.concatenate(parts, axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x


def _dot(a: Any, b: Any) -> Any:
    """NumPy's `dot`: ours is PyTorch's, of vectors alone."""
    if not np.ndim(a) or not np.ndim(b):
        return ops.multiply(a, b)
    if np.ndim(b) == 1:
        return ops.matmul(a, b)
    return function_named("tensordot", NAMES)(a, b, ((-1,), (-2,)))


def _where(condition: Any, *others: Any) -> Any:
    """NumPy's `where`: of a condition alone, the places where it holds."""
    return ops.where(condition, *others) if others else function_named("nonzero", NAMES)(condition)


_OF_THE_PROTOCOL: Mapping[str, Callable[..., Any]] = {
    "diff": _difference,
    "dot": _dot,
    "empty_like": lambda x, **options: _filled(x, 0, **options),
    "full_like": _filled,
    "where": _where,
    "ones_like": lambda x, **options: _filled(x, 1, **options),
    "zeros_like": lambda x, **options: _filled(x, 0, **options),
    **{
        name: lambda x, name=name: getattr(np, name)(np.broadcast_to(0, x.shape))
        for name in ("diag_indices_from", "tril_indices_from", "triu_indices_from")
    },
}
"""What has no public function of its own."""


@cache
def _function(module: str | None, name: str) -> Callable[..., Any] | None:
    """Ours of the name that NumPy's function has in its module, if there is one."""
    if module == "numpy.linalg":
        if name in LINALG:
            return function_named(name, LINALG)
        known = (name in ops.LINALG and name not in _OTHERWISE) or name in ("matmul", "outer")
        return getattr(ops, name) if known else None
    if module == "numpy.fft":
        return getattr(fft, name, None) if name in fft.__all__ else None
    if module != "numpy" or name in _IN_PLACE or name in _OTHERWISE:
        return None
    if name in _OF_THE_PROTOCOL:
        return _OF_THE_PROTOCOL[name]
    if name in ops.PUBLIC:
        return getattr(ops, name)
    return function_named(name, NAMES) if name in NAMES else None


def counterpart(function: Callable[..., Value]) -> Callable[..., Value] | None:
    """Ours of one of NumPy's functions, or of a ufunc."""
    return _function(getattr(function, "__module__", "numpy"), function.__name__)


def of_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[object, ...], options: Options) -> Value:
    """What a ufunc of operands, of which one is a handle, gives.

    Raises:
        TypeError: the library has no such function, or it is to be written into an array.
    """
    out = tuple(one for one in options.get("out") or () if one is not None)
    given = {
        name: value
        for name, value in options.items()
        if name != "out" and not (name in _DEFAULTS and value is _DEFAULTS[name])
    }
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if out and not all(hasattr(one, "copy_") for one in out):
        return _by_numpy(getattr(ufunc, method), name, inputs, options)
    if method == "__call__":
        if "dtype" in given and f"{'d' * ufunc.nin}->{'d' * ufunc.nout}" in ufunc.types:
            inputs = _cast(name, inputs, np.dtype(given.pop("dtype")))
        _refuse_options(name, given, (*inputs, *given.values()))
    are_handled = _handles((*inputs, *given.values()))  # where= may be the only handle
    function = of_method(ufunc, method) if are_handled else getattr(ufunc, method)
    if function is None:
        return _by_numpy(getattr(ufunc, method), name, inputs, options)
    result = function(*inputs, **given)
    if not out:
        return result
    for place, value in zip(out, result if isinstance(result, tuple) else (result,), strict=True):
        if not np.can_cast(np.dtype(value.dtype), np.dtype(place.dtype), "same_kind"):
            raise TypeError(f"np.{name}: {value.dtype} does not fit into out= of {place.dtype}")
        place.copy_(value)
    return options["out"] if isinstance(result, tuple) else out[0]


def _cast(name: str, inputs: tuple[Any, ...], dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Operands in the dtype that a ufunc is to compute in; Python numbers stay weak."""
    for one in inputs:
        if hasattr(one, "dtype") and not np.can_cast(np.dtype(one.dtype), dtype, "same_kind"):
            raise TypeError(f"np.{name}: {one.dtype} does not become dtype={dtype}")
    return tuple([ops.astype(one, dtype) if hasattr(one, "dtype") else one for one in inputs])


def _refuse_options(name: str, given: Options, values: tuple[object, ...]) -> None:
    """TypeError for what only NumPy's loops can do."""
    for option, advice in OF_UFUNCS.items():
        if option in given:
            kinds = " and ".join(sorted({type(one).__name__ for one in _handles(values)}))
            raise TypeError(f"np.{name} of {kinds} takes no {option}=: {advice}")


def of_method(ufunc: np.ufunc, method: str) -> Callable[..., Value] | None:
    """Our function for a ufunc, or for one of its methods."""
    if method == "__call__":
        return _call(ufunc)
    if method == "reduce" and ufunc in _REDUCTIONS:
        return _along_first(_REDUCTIONS[ufunc])
    if method == "accumulate" and ufunc in _ACCUMULATIONS:
        return _along_first(_ACCUMULATIONS[ufunc])
    if method == "outer" and ufunc.nin == 2 and _call(ufunc) is not None:
        return _outer(ufunc)
    return None


def _call(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """A ufunc of operands: what their operator gives, where it has one."""
    if ufunc in _COMPARISONS or ufunc in _OPERATORS:
        return _operator(ufunc)
    return _function("numpy", ufunc.__name__)


def _operator(ufunc: np.ufunc) -> Callable[..., Any]:
    sign, reflected = _COMPARISONS.get(ufunc) or (_OPERATORS[ufunc], "r" + _OPERATORS[ufunc])

    def operate(a: object, b: object, **options: object) -> Any:
        function = _function("numpy", ufunc.__name__)
        name, of, other = (sign, a, b) if isinstance(a, Operand) else (reflected, b, a)
        method = getattr(of, f"__{name}__", None)
        if function is not None and (options or method is None):
            return function(a, b, **options)
        result = NotImplemented if method is None else method(other)
        if result is NotImplemented:
            kinds = f"{type(a).__name__} and {type(b).__name__}"
            raise TypeError(f"np.{ufunc.__name__}: unsupported operand types: {kinds}")
        return result

    return operate


def _along_first(name: str) -> Callable[..., Any]:
    """Along the first axis where nothing is said: `reduce` and `accumulate` do so."""

    def reduce(x: object, axis: object = 0, **options: object) -> Any:
        given = {name: value for name, value in options.items() if value is not None}
        return getattr(ops, name)(x, axis=axis, **given)

    return reduce


def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    call = _call(ufunc)
    assert call is not None

    def outer(a: Any, b: Any, **options: object) -> Any:
        more = tuple(range(np.ndim(a), np.ndim(a) + np.ndim(b)))
        return call(ops.expand_dims(a, more) if more else a, b, **options)

    return outer


def of_function(
    function: Callable[..., Value], args: tuple[object, ...], options: Options
) -> Value:
    """What another function of NumPy's gives for arguments among which handles are.

    Raises:
        TypeError: the library has no such function, and NumPy's would lose a gradient, or needs
            values that are not there yet.
    """
    module, name, ours = function.__module__, function.__name__, counterpart(function)
    kept = any(one._kept_from_numpy() for one in _handles((*args, *options.values())))
    to_array = options.get("out") is not None and not isinstance(options["out"], Operand)
    if ours is None or to_array or not (kept or name in _METHODS or name in _OF_TYPES):
        path = f"{module}.{name}".removeprefix("numpy.")
        return _by_numpy(function, path, args, options)
    return ours(*args, **{key: value for key, value in options.items() if value is not np._NoValue})


def _handles(values: Iterable[Any]) -> list[Any]:
    found = []
    for value in values:
        if isinstance(value, Operand):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _handles(value)
    return found


def _by_numpy(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], options: Options
) -> Any:
    """NumPy's own function on the arrays of tensors, where no gradient is lost by it."""
    for one in _handles((*args, *options.values())):
        if one._kept_from_numpy():
            _refuse(name, one, "out" in options)
    return function(*map(_array, args), **{key: _array(value) for key, value in options.items()})


def _array(value: Any) -> Any:
    if isinstance(value, Operand):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(_array, value))
    return value


def _refuse(name: str, handle: Any, out: bool) -> NoReturn:
    kind = type(handle).__name__
    if out:
        raise TypeError(
            f"np.{name} writes into an array what it computes of {kind}, of which that would keep "
            "no gradient: use its result"
        )
    raise TypeError(
        f"np.{name} of {kind}: there is no such function of it, and NumPy's would lose its "
        "gradient, or needs values before there are any; compute it of arrays, such as "
        "x.detach().numpy() of a tensor, or in a sg.host_call of an expression"
    )
