"""Transforms in forward mode: Jacobians column by column, products with Hessians, linear maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.transforms.autodiff import pushforward
from staticgraph.leaves import arange
from staticgraph.transforms.arguments import (
    Argnums,
    Function,
    Partial,
    floating,
    hashable,
    transformed,
)
from staticgraph.transforms.derivatives import grad, pushed


def jacfwd(f: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The function that returns the Jacobian of f, by forward mode, all columns as one batch.

    What `jacobian` returns, where there are more outputs than inputs for less work (`jax.jacfwd`).

    Raises:
        OutputError: what f returns is not floating point.
        DTypeError: an argument to differentiate by is not floating point.
        OptionError: `argnums` does not fit the arguments.

    Example:
        >>> sg.jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """

    def apply(*args: object, **kwargs: object) -> Any:
        partial = Partial("jacfwd", f, argnums, args, kwargs)
        result, aux = partial.output(has_aux)
        outputs = [floating("jacfwd", out) for out in leaves(result)]
        columns = [
            jacobian_columns(outputs, partial.variables, i) for i in range(len(partial.variables))
        ]
        blocks = [partial.structured(list(row)) for row in zip(*columns, strict=True)]
        found = rebuilt(result, blocks)
        return (found, aux) if has_aux else found

    made_by = jacfwd, (f, argnums, has_aux)
    return transformed("jacfwd", f, apply, (hashable(argnums), has_aux), made_by)


def jacobian_columns(
    outputs: Sequence[Expression], variables: Sequence[Expression], place: int
) -> list[Expression]:
    """The Jacobian of each output by one of the variables."""
    from staticgraph.compiler.transforms.vectorize import (  # nothing else here needs its rules
        batched,
        example,
    )

    x = variables[place]
    count = x.type.size
    numbers = arange(count)
    unit = ops.equal(ops.expand_dims(numbers, 1), ops.expand_dims(numbers, 0))
    rows = ops.reshape(ops.astype(unit, x.dtype), (count, *x.shape))
    tangent = example(rows)
    directions = [tangent if one is x else zeros_like(one) for one in variables]
    moved = pushforward(outputs, variables, directions)
    found = []
    for whole, out in zip(batched(moved, {tangent: rows}, count), outputs, strict=True):
        shape = (*out.shape, *x.shape)
        if whole is None:  # x has no part in the output
            found.append(ops.broadcast_to(zeros_like(x), shape))
            continue
        last = ops.transpose(whole, (*range(1, whole.ndim), 0))
        found.append(ops.reshape(last, shape))
    return found


def hvp(f: Callable[..., object], primals: Sequence[object], tangents: Sequence[object]) -> Any:
    """The product of the Hessian of a scalar function and a vector: forward over reverse mode.

    Primals and tangents are tuples or lists, one entry per argument of f; the result is a tuple in
    their structure. It takes about twice the time of a gradient, and no matrix.

    Raises:
        OutputError: what f returns is no floating-point scalar.
        OptionError, DTypeError, ShapeError: primals and tangents do not fit each other.

    Example:
        >>> sg.hvp(lambda x: sg.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
        (array([ 6., 12.]),)
    """
    count = len(primals) if isinstance(primals, tuple | list) else 1  # others are refused below
    by_all = grad(f, argnums=tuple(range(count)))
    return pushed("hvp", by_all, primals, tangents)[1]


def linearize(f: Callable[..., object], *primals: object) -> tuple[Any, Callable[..., Any]]:
    """`f(*primals)`, and the linear map from tangents of the primals to those of the value.

    On arrays the map evaluates f again, in one executable with its derivative.

    Raises:
        DTypeError: a primal is not floating point.
        OptionError, DTypeError, ShapeError: tangents that do not fit the primals.

    Example:
        >>> value, moved = sg.linearize(lambda x: x * x, np.array([1.0, 2.0]))
        >>> moved(np.array([1.0, 10.0]))
        array([ 2., 40.])
    """

    def moved(*tangents: object) -> Any:
        return pushed("linearize", f, primals, tangents)[1]

    return transformed("value", f, f, None)(*primals), moved
