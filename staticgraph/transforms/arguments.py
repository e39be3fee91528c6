"""What transforms make of the arguments and results of the functions that they transform."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from staticgraph.compiler import ops
from staticgraph.compiler.core import fork
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import DTypeError, OptionError, OutputError, ShapeError
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.graph import expression as expressions
from staticgraph.compiler.graph.expression import Expression, Handle, closed, handle_among
from staticgraph.tracing.outputs import as_output

if TYPE_CHECKING:
    from staticgraph.tracing import functions

    Function: TypeAlias = functions.Function
else:  # what hints say: its class is imported when a function is made
    Function = Callable[..., Any]

Argnums: TypeAlias = int | Sequence[int]


def transformed(
    name: str,
    f: Callable[..., object],
    apply: Callable[..., object],
    key: object,
    made_by: tuple[Callable[..., object], tuple[object, ...]] | None = None,
) -> Function:
    """`apply`, which composes expressions out of those of f, as a compiled function.

    It is kept with f under the name and `key`, so that to transform a function again does not
    compile it again. A pickle has what it was `made_by`: a transform, and its arguments.
    """
    if not callable(f):
        raise OptionError(f"{name}: {f!r} cannot be called")
    with fork.importing():  # a program that transforms expressions alone traces no function
        from staticgraph.tracing.functions import Function
    made = Function(apply, {}, f"{name}({_name_of(f)})", {}, of=f)
    made.made_by = made_by
    if not isinstance(f, FunctionType | Function):
        return made  # what else has attributes may be copied or pickled with them
    known: dict[Any, Function] = vars(f).setdefault("_transformed", {})
    return known.setdefault((name, key), made)


def _name_of(f: object) -> str:
    return getattr(f, "name", None) or getattr(f, "__name__", None) or type(f).__name__


def is_symbolic(tree: object) -> bool:
    """Whether a leaf is an expression."""
    return any(expressions.is_symbolic(leaf) for leaf in leaves(tree))


def as_given(values: Sequence[object], given: Sequence[object]) -> list[Any]:
    """Expressions as what they take the place of: as traced tensors where these were given."""
    return [
        closed(value, one if isinstance(one, Handle) else None)
        for value, one in zip(values, given, strict=True)
    ]


def as_tensors(result: object, given: object) -> Any:
    """What a transform makes of `given`, as traced tensors if there are any in that."""
    handle = handle_among(leaves(given))
    return mapped(lambda leaf: closed(leaf, handle), result)


def positions(name: str, argnums: object, count: int) -> tuple[int, ...]:
    """`argnums` as positions from the front; OptionError unless it names arguments, each once."""
    listed = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(listed, tuple | list) or not all(type(one) is int for one in listed):
        raise OptionError(f"{name}: argnums is an int or a sequence of ints, not {argnums!r}")
    for place in listed:
        if not -count <= place < count:
            raise OptionError(
                f"{name}: argnums={argnums!r}: no argument {place} among {count} by position"
            )
    places = tuple(place % count for place in listed)
    if not places or len(set(places)) != len(places):
        raise OptionError(f"{name}: argnums={argnums!r} does not name arguments, each once")
    return places


def hashable(argnums: object) -> Any:
    """`argnums` as a key."""
    return tuple(argnums) if isinstance(argnums, list) else argnums


class Partial:
    """A function of some of its positional arguments.

    Attributes:
        given: these arguments.
        variables: per array in them a new expression, to differentiate by.
    """

    def __init__(
        self,
        name: str,
        f: Callable[..., object],
        argnums: Argnums,
        args: tuple[object, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._name = name
        self._single = isinstance(argnums, int)
        places = positions(name, argnums, len(args))
        self.given = [args[i] for i in places]
        self.variables = [variable(name, x) for x in leaves(self.given)]
        every = list(args)
        variables = as_given(self.variables, leaves(self.given))
        for place, value in zip(places, rebuilt(self.given, variables), strict=True):
            every[place] = value
        self._call = functools.partial(f, *every, **kwargs)

    def output(self, has_aux: bool) -> tuple[Any, Any]:
        """What the function returns: its output as expressions, and aux or None."""
        return output(self._name, self._call(), has_aux)

    def structured(self, values: Sequence[object]) -> Any:
        """One value per variable in the structure of the arguments: of the one, or a tuple."""
        found = rebuilt(self.given, values)
        return found[0] if self._single else tuple(found)


def variable(name: str, x: object) -> Expression:
    """The value of an argument as a new expression, to differentiate by."""
    if not isinstance(x, Expression):
        x = expression(name, x)
    if not is_inexact(x.dtype):
        raise DTypeError(f"{name}: an argument is {x.type}: only floating point has a gradient")
    made: Expression = ops.reshape.bound((x,), {"shape": x.shape})
    made.weak = x.weak
    return made


def expression(name: str, x: object) -> Expression:
    """An array or a number as an expression."""
    if isinstance(x, str) or callable(x):
        raise DTypeError(f"{name}: the argument {x!r} is no array")
    made = as_output(name, x)
    made.weak = made.weak or isinstance(x, bool | int | float | complex)
    return made


def output(name: str, result: object, has_aux: bool) -> tuple[Any, Any]:
    """The output of a function as expressions, and aux, which is None without `has_aux`."""
    aux = None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise OutputError(f"{name}: with has_aux the function returns a pair (output, aux)")
        result, aux = result
    return mapped(lambda one: as_output(name, one), result), aux


def scalar(name: str, result: object) -> Expression:
    """The output, if it is a floating-point scalar; OutputError otherwise."""
    if not isinstance(result, Expression):
        raise OutputError(
            f"{name}: the function returns a {type(result).__name__}, no scalar: "
            "what else it returns is aux"
        )
    if result.ndim:
        raise OutputError(
            f"{name}: the function returns {result.type} ({result.source}), no scalar: "
            "reduce it with sum or mean, or use jacobian or vjp"
        )
    if result.dtype.kind == "c":
        raise OutputError(
            f"{name}: the function returns {result.type} ({result.source}): a loss is real: take "
            "real or abs, or use vjp"
        )
    return floating(name, result)


def floating(name: str, result: Expression) -> Expression:
    """The output, if it is floating point; OutputError otherwise."""
    if not is_inexact(result.dtype):
        raise OutputError(
            f"{name}: the function returns {result.type} ({result.source}): "
            "only floating point has a gradient"
        )
    return result


def like(name: str, what: str, value: object, model: Expression) -> Expression:
    """A tangent or cotangent as an expression of the type of `model`.

    Raises:
        DTypeError, ShapeError: it has another type.
    """
    made = expression(name, value) if not isinstance(value, Expression) else value
    if made.weak and made.dtype != model.dtype:
        made = ops.astype(made, model.dtype)
    if made.dtype != model.dtype:
        raise DTypeError(f"{name}: a {what} is {made.type}, not {model.type}")
    if made.ndim != model.ndim or None in map(unify, made.shape, model.shape):
        raise ShapeError(f"{name}: a {what} is {made.type}, not {model.type}")
    return made
