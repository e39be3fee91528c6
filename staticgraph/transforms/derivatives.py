"""Transforms that differentiate: reverse mode, and forward mode by transposing it twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from staticgraph.compilation import grad as grad_of_expression, is_zero
from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.pytree import leaves, rebuilt, same_structure, structure
from staticgraph.compiler.graph.expression import Expression, constant
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.transforms.autodiff import gradients, pullback, pushforward
from staticgraph.leaves import arange
from staticgraph.transforms.arguments import (
    Argnums,
    Function,
    Partial,
    as_given,
    as_tensors,
    floating,
    hashable,
    is_symbolic,
    like,
    output,
    scalar,
    transformed,
    variable,
)


@overload
def grad(
    f: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    on_disconnected: str = "zero",
) -> Function: ...
@overload
def grad(
    f: Expression, wrt: object, seed: Expression | None = None, on_disconnected: str = "error"
) -> Any: ...
def grad(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The gradient of a scalar: of a function as a function, of an expression as expressions.

    `grad(f, argnums=0, has_aux=False)` is the function that returns the gradient of f by the
    argument `argnums`, or a tuple of those by several, in the structure of the argument. With
    `has_aux`, f returns (value, aux), and the result is (gradient, aux).

    `grad(output, wrt, seed=None)` is the gradient of a scalar expression with respect to one
    expression or a list of them; of one of any shape if `seed`, its cotangent, is given.

    `on_disconnected` says what the gradient is by what has no part in the value: "zero" (that of
    functions unless given), or an "error" (that of expressions).

    Raises:
        OutputError: the value is no floating-point scalar.
        DTypeError: an argument to differentiate by is not floating point.
        OptionError: `argnums` does not fit the arguments.
        GraphError: the output does not depend on what it is differentiated by.

    Example:
        >>> sg.grad(lambda x: sg.sum(x * x))(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    if isinstance(f, Expression):
        return grad_of_expression(f, *args, **kwargs)
    return _grad(f, *args, **kwargs)


def _grad(
    f: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    on_disconnected: str = "zero",
) -> Function:
    zero = is_zero(on_disconnected)

    def apply(*args: object, **kwargs: object) -> Any:
        _, aux, found = _differentiated("grad", f, argnums, has_aux, args, kwargs, zero)
        return (found, aux) if has_aux else found

    made_by = grad, (f, argnums, has_aux, on_disconnected)
    return transformed("grad", f, apply, (hashable(argnums), has_aux, zero), made_by)


def value_and_grad(
    f: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False
) -> Function:
    """The function that returns (value, gradient) of a scalar function: see `grad`.

    With `has_aux`, f returns (value, aux), and the result is ((value, aux), gradient).

    Example:
        >>> sg.value_and_grad(lambda x: sg.sum(x * x))(np.array([1.0, 2.0]))
        (array(5.), array([2., 4.]))
    """

    def apply(*args: object, **kwargs: object) -> Any:
        value, aux, found = _differentiated("value_and_grad", f, argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), found

    made_by = value_and_grad, (f, argnums, has_aux)
    return transformed("value_and_grad", f, apply, (hashable(argnums), has_aux), made_by)


def _differentiated(
    name: str, f: Any, argnums: Argnums, has_aux: bool, args: Any, kwargs: Any, zero: bool = True
) -> tuple[Expression, Any, Any]:
    """The value of a function, aux, and the gradient in the structure of the arguments."""
    partial = Partial(name, f, argnums, args, kwargs)
    result, aux = partial.output(has_aux)
    value = scalar(name, result)
    one = constant(np.ones((), value.dtype))
    found = gradients(value, partial.variables, one, implied=True, disconnected=zero)
    return value, aux, partial.structured(found)


def vjp(f: Callable[..., object], *primals: object, has_aux: bool = False) -> tuple[Any, ...]:
    """`f(*primals)`, and the function from its cotangents to a tuple of those of the primals.

    On arrays that function evaluates f again, with its reverse pass, in one executable. With
    `has_aux`, f returns (output, aux), and aux is returned as a third result.

    Raises:
        DTypeError: a primal is not floating point.
        OptionError, DTypeError, ShapeError: the cotangents have not the structure, dtypes and
            shapes of the output.

    Example:
        >>> value, pull = sg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
        >>> pull(np.array([1.0, 10.0]))
        (array([ 2., 40.]),)
    """
    if is_symbolic(primals):
        value, pull_back, *rest = _vjp(f, primals, has_aux)
        parts = (value, lambda cotangents: as_tensors(pull_back(cotangents), primals), *rest)
        return tuple(as_tensors(part, primals) for part in parts)

    def apply(given: tuple[object, ...], cotangents: object) -> Any:
        return _vjp(f, given, has_aux)[1](cotangents)

    forward = transformed("value", f, f, None)
    backward = transformed("vjp", f, apply, has_aux)
    result = forward(*primals)

    def pull(cotangents: object) -> Any:
        return backward(primals, cotangents)

    return (result[0], pull, result[1]) if has_aux else (result, pull)


def _vjp(f: Callable[..., object], primals: tuple[object, ...], has_aux: bool) -> tuple[Any, ...]:
    variables = [variable("vjp", x) for x in leaves(primals)]
    given = as_given(variables, leaves(primals))
    result, aux = output("vjp", f(*rebuilt(primals, given)), has_aux)

    def pull(cotangents: object) -> Any:
        if not same_structure(cotangents, result):
            raise OptionError(
                f"vjp: the cotangents have the structure {structure(cotangents)}, the output "
                f"{structure(result)}"
            )
        pairs = [
            (out, like("vjp", "cotangent", given, out))
            for out, given in zip(leaves(result), leaves(cotangents), strict=True)
            if is_inexact(out.dtype)
        ]
        outputs, seeds = [out for out, _ in pairs], [seed for _, seed in pairs]
        return rebuilt(primals, pullback(outputs, variables, seeds))

    return (result, pull, aux) if has_aux else (result, pull)


def jvp(
    f: Callable[..., object],
    primals: Sequence[object],
    tangents: Sequence[object],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """`f(*primals)`, and its derivative in the direction of the tangents: forward mode.

    Primals and tangents are tuples or lists of one structure. With `has_aux`, f returns
    (output, aux), and aux is returned as a third result. The tangent of what is not floating
    point is 0.

    Raises:
        OptionError: primals and tangents differ in structure.
        DTypeError, ShapeError: they differ in dtype or shape, or a primal is not floating point.

    Example:
        >>> sg.jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
        (array([1., 4.]), array([ 2., 40.]))
    """
    return pushed("jvp", f, primals, tangents, has_aux)


def pushed(
    name: str,
    f: Callable[..., object],
    primals: Sequence[object],
    tangents: Sequence[object],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """`jvp`, whose errors have the name of the function that was called."""
    for what, trees in (("primals", primals), ("tangents", tangents)):
        if not isinstance(trees, tuple | list):
            raise OptionError(f"{name}: the {what} are a tuple or a list, not {trees!r}")
    given, along = tuple(primals), tuple(tangents)
    if not same_structure(given, along):
        raise OptionError(
            f"{name}: the primals have the structure {structure(given)}, the tangents "
            f"{structure(along)}"
        )

    def apply(given: tuple[object, ...], along: tuple[object, ...]) -> Any:
        variables = [variable(name, x) for x in leaves(given)]
        inside = as_given(variables, leaves(given))
        result, aux = output(name, f(*rebuilt(given, inside)), has_aux)
        directions = [
            like(name, "tangent", t, x) for t, x in zip(leaves(along), variables, strict=True)
        ]
        found = rebuilt(result, pushforward(leaves(result), variables, directions))
        return (result, found, aux) if has_aux else (result, found)

    found: tuple[Any, ...]
    if is_symbolic((given, along)):
        found = as_tensors(apply(given, along), given)
    else:
        found = transformed(name, f, apply, has_aux)(given, along)
    return found


def jacobian(f: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns the Jacobian of f, by reverse mode, all rows as one batch.

    For an output of shape s and an argument of shape t it has shape s + t; its structure is that
    of the output, with that of the arguments at each leaf (`jax.jacrev`). With `has_aux` the
    result is (Jacobian, aux).

    Raises:
        OutputError: what f returns is not floating point.
        DTypeError: an argument to differentiate by is not floating point.
        OptionError: `argnums` does not fit the arguments.

    Example:
        >>> sg.jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """

    def apply(*args: object, **kwargs: object) -> Any:
        partial = Partial("jacobian", f, argnums, args, kwargs)
        result, aux = partial.output(has_aux)
        blocks = [
            partial.structured(jacobian_rows(out, partial.variables)) for out in leaves(result)
        ]
        found = rebuilt(result, blocks)
        return (found, aux) if has_aux else found

    made_by = jacobian, (f, argnums, has_aux)
    return transformed("jacobian", f, apply, (hashable(argnums), has_aux), made_by)


def hessian(f: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns the second derivatives of f: the Jacobian of its Jacobian.

    For an output of shape s and arguments of shapes t and u: s + t + u (`jax.hessian`).

    Example:
        >>> sg.hessian(lambda x: sg.sum(x * x * x))(np.array([1.0, 2.0]))
        array([[ 6.,  0.],
               [ 0., 12.]])
    """
    return jacobian(jacobian(f, argnums, has_aux), argnums, has_aux)


def jacobian_rows(out: Expression, variables: Sequence[Expression]) -> list[Expression]:
    """The Jacobian of one output by each variable."""
    from staticgraph.compiler.transforms.vectorize import (  # nothing else here needs its rules
        batched,
        example,
    )

    floating("jacobian", out)
    if not out.ndim:
        return pullback([out], variables, [constant(np.ones((), out.dtype))])
    count = out.type.size
    numbers = arange(count)
    unit = ops.equal(ops.expand_dims(numbers, 1), ops.expand_dims(numbers, 0))
    rows = ops.reshape(ops.astype(unit, out.dtype), (count, *out.shape))
    seed = example(rows)
    pulled = pullback([out], variables, [seed])
    return [
        ops.broadcast_to(zeros_like(x), (*out.shape, *x.shape))
        if whole is None  # x has no part in the output
        else ops.reshape(whole, (*out.shape, *x.shape))
        for whole, x in zip(batched(pulled, {seed: rows}, count), variables, strict=True)
    ]
