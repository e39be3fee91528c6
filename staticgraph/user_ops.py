"""`op`: functions of users as ops of both paradigms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias, overload

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.programs.user_host_ops import host
from staticgraph.compiler.ops.programs.user_ops import UserOp, elementwise

Kind: TypeAlias = Literal["elementwise", "array", "host"]
KINDS = ("elementwise", "array", "host")


@overload
def op(
    function: Callable[..., Any],
    *,
    kind: Kind | None = None,
    result: object = None,
    results: object = None,
    like: int | None = None,
    dtype: object = None,
    name: str | None = None,
) -> UserOp: ...
@overload
def op(
    *,
    kind: Kind | None = None,
    result: object = None,
    results: object = None,
    like: int | None = None,
    dtype: object = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], UserOp]: ...
def op(
    function: Callable[..., Any] | None = None,
    *,
    kind: Kind | None = None,
    result: object = None,
    results: object = None,
    like: int | None = None,
    dtype: object = None,
    name: str | None = None,
) -> Any:
    """Declare a function as an op of both paradigms, alone or as a decorator.

    The op is a record as those of the library: it is fused, batched, differentiated, compiled,
    explained and saved as they are. A gradient is declared with `@f.vjp` (or `@f.jvp`), in ops, so
    that it has gradients in turn. Without one, that of a function of numbers is derived, to any
    order, by calling it with symbols once per way through its branches, if it is made of
    arithmetic, comparisons, loops of fixed length and functions of `math` or NumPy: the derivative
    of a branch is that of the side that is taken. Asking for any other is an error, never zero.

    - `kind="elementwise"`, which is the default: a function of numbers that Numba can compile. Its
      machine code is inlined into kernels, so that loops over it are fused and vectorised, without
      the interpreter; eager tensors are computed by the same code. The operands broadcast, in the
      dtype that they have in common; results are of that dtype, or bool, int64 or float64 where the
      function gives another kind of number. Inside, arithmetic is Numba's: 0.5 * x of a float32 is
      a float64. What it closes over, and globals, are constants from the first call with a dtype.
    - `kind="array"`: a function of arrays that Numba compiles, without the interpreter's lock and
      with a look at indices, or has compiled with options of yours (`@numba.njit(...)` below).
    - `kind="host"`, if a result is declared: a function of NumPy arrays, called by the interpreter.
      What is given by keyword is an attribute.

    Functions of arrays get read-only row-major arrays, and what they return is checked against the
    declared type before anything reads it.

    Args:
        function: takes operands by position, up to 14.
        kind: see above.
        result: the type of the result of a function of arrays: `(shape, dtype)`, or a function of
            the operands' types (which have `shape` and `dtype`) and the attributes that gives it.
        results: the types of several, a list of such pairs, or a function that gives it.
        like: the operand whose type the result has, instead.
        dtype: that of an elementwise result.
        name: what files, messages and kernels call it; MODULE.FUNCTION unless given.

    Raises:
        OptionError: the arguments do not fit each other, or the function is none of operands.
        GraphError: another function has the name; when it is first called, Numba cannot compile it,
            or it may raise an exception, or is no function of numbers alone.

    Example:
        >>> @sg.op
        ... def huber(x, delta):
        ...     return 0.5 * x * x if abs(x) <= delta else delta * (abs(x) - 0.5 * delta)
        >>> @huber.vjp
        ... def _(g, out, x, delta):
        ...     return g * sg.clip(x, -delta, delta), None
        >>> huber(np.array([0.5, -3.0]), 1.0)
        array([0.125, 2.5  ])
        >>> sg.grad(lambda x: sg.sum(huber(x, 1.0)))(np.array([0.5, -3.0]))
        array([ 0.5, -1. ])
    """
    if function is None:
        given = {"kind": kind, "result": result, "results": results}
        return partial(op, **given, like=like, dtype=dtype, name=name)
    if not callable(function):
        raise OptionError(f"op: {function!r:.80} is no function")
    title = getattr(function, "__name__", type(function).__name__)
    named = name or f"{getattr(function, '__module__', None)}.{title}"
    declared = sum(one is not None for one in (result, results, like))
    chosen = kind or ("host" if declared else "elementwise")
    if chosen not in KINDS:
        raise OptionError(f"op {named}: kind is one of {', '.join(KINDS)}, not {chosen!r:.80}")
    if chosen == "elementwise":
        if declared:
            raise OptionError(
                f"op {named}: an elementwise op has the shape of its operands: give dtype= alone"
            )
        return elementwise(getattr(function, "py_func", function), named, dtype)
    if declared != 1 or dtype is not None:
        raise OptionError(
            f"op {named}: a function of arrays declares one of result=, results= and like="
        )
    if like is not None:
        result = _like(named, like)
    several = results is not None
    return host(function, named, results if several else result, several, chosen == "array")


def _like(name: str, position: int) -> Callable[..., TensorType]:
    def result(*types: TensorType, **attrs: object) -> TensorType:
        if type(position) is not int or not -len(types) <= position < len(types):
            raise OptionError(f"{name}: like={position!r:.80} is no operand of {len(types)}")
        return types[position]

    return result


__all__ = ["UserOp", "op"]
