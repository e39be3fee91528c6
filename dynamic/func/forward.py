"""Transforms by forward mode: jvp, linearize, jacfwd, hessian (PyTorch's torch.func)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt, structure
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.dual import make_dual, split
from staticgraph.dynamic.func.pull import lifted, pull, released
from staticgraph.dynamic.func.reverse import (
    Argnums,
    Recorded,
    basis_of,
    chunks,
    jacrev,
    joint,
    positions,
)
from staticgraph.dynamic.func.tracer import (
    Level,
    Tracer,
    batch_of,
    evaluated,
    new_level,
    settled,
    zeros_of,
)
from staticgraph.dynamic.tape.grad_mode import enable_grad
from staticgraph.dynamic.tensors.tensor import Tensor

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., object],
    primals: object,
    tangents: object,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """`func(*primals)`, and its derivative in the direction of the tangents.

    Primals and tangents are tuples of one structure, of tensors or of trees of them. With
    `strict`, RuntimeError if an output does not depend on the primals. With `has_aux`, `func`
    returns (output, aux), and aux is returned as a third result.

    Example:
        >>> dynamic.func.jvp(lambda x: x**2, (dynamic.tensor(3.0),), (dynamic.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple):
        raise AutogradError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if structure(primals) != structure(tangents):
        raise AutogradError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {structure(primals)} and tangents with structure {structure(tangents)}"
        )
    if not leaves(primals):
        raise AutogradError(f"{_JVP}: Expected primals to contain at least one Tensor.")
    values, directions, aux = _pushed(func, primals, leaves(tangents), strict, has_aux)
    return (values, directions, aux) if has_aux else (values, directions)


def _pushed(
    func: Callable[..., object],
    primals: tuple[object, ...],
    tangents: Sequence[object],
    strict: bool,
    has_aux: bool,
) -> tuple[Any, Any, Any]:
    """The output of a function, its tangents, and aux."""
    given = leaves(primals)
    for one in (*given, *tangents):
        if not isinstance(one, Tensor):
            raise OptionError(f"Thing passed to transform API must be Tensor, got {type(one)}")
    with new_level() as level:
        duals = [make_dual(level, x, v) for x, v in zip(given, tangents, strict=True)]
        output = func(*rebuilt(primals, duals))
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise AutogradError(
                    f"{_JVP}: output of function f should be a tuple: (output, aux) if has_aux is "
                    "True"
                )
            output, aux = output
        values, directions = zip(
            *(_parts(out, level, strict) for out in leaves(output)), strict=True
        )
        aux = mapped(lambda one: split(one, level)[0], aux)
    # an output that is a primal has a gradient of its own
    values = tuple([_alias(one) if any(one is x for x in given) else one for one in values])
    return rebuilt(output, values), rebuilt(output, directions), aux


def _alias(x: Any) -> Any:
    return evaluated(ops.reshape, [x], {"shape": tuple(x.shape)})


def _parts(out: object, level: Level, strict: bool) -> tuple[Any, Any]:
    """The value and the tangent of an output."""
    if not isinstance(out, Tensor):
        raise AutogradError(
            f"{_JVP}: expected f(*primals) to return only tensors, got unsupported type {type(out)}"
        )
    value, direction = split(out, level)
    if direction is None:
        if strict:
            raise AutogradError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        direction = zeros_of(value)
    return value, direction


def linearize(func: Callable[..., object], *primals: object) -> tuple[Any, Callable[..., Any]]:
    """`func(*primals)`, and the function from tangents to the derivative in their direction.

    The function is evaluated once, here; each call then costs a pass over the record of the
    reverse pass of `func`, which is linear in the cotangent (the double vjp).

    Example:
        >>> value, push = dynamic.func.linearize(lambda x: x**2, dynamic.tensor(3.0))
        >>> value, push(dynamic.tensor(2.0))
        (tensor(9.), tensor(12.))
    """
    run = Recorded("linearize(f, *primals)", func, primals, {}, False)
    with enable_grad():
        cotangents = [lifted(out.detach()) for out in run.outputs]
        pulled = pull(run.outputs, run.inputs, cotangents)
    used = [i for i, g in enumerate(pulled) if g is not None]

    def pushforward(*tangents: object) -> Any:
        if structure(tangents) != structure(primals):
            raise AutogradError(
                "Expected the tangents to have the structure of the primals, got "
                f"{structure(tangents)} and {structure(primals)}"
            )
        given = leaves(tangents)
        found = pull([pulled[i] for i in used], cotangents, [given[i] for i in used])
        variables = [*cotangents, *run.inputs]
        results = [
            zeros_of(u) if g is None else released(g, variables)
            for u, g in zip(cotangents, found, strict=True)
        ]
        return rebuilt(run.output, results)

    return rebuilt(run.output, [run.released(out) for out in run.outputs]), pushforward


def jacfwd(
    func: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that returns the Jacobian, by forward mode: one column per input element.

    Shapes and structure are those of `jacrev`. The columns are computed together, as a batch of
    tangents, or `chunk_size` at a time. Good for fewer inputs than outputs.

    Example:
        >>> dynamic.func.jacfwd(lambda x: x**2)(dynamic.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: object) -> Any:
        places = positions(argnums, len(args))
        primals = tuple(args[i] for i in places)

        def of_some(*some: object) -> Any:
            every = list(args)
            for place, value in zip(places, some, strict=True):
                every[place] = value
            return func(*every)

        blocks: list[list[Any]] = []  # per input, per output
        given = leaves(primals)
        output = aux = None
        for i in range(len(given)):
            columns, output, aux = _columns(of_some, primals, given, i, has_aux, chunk_size)
            blocks.append(columns)
        trees = []
        for per_input in zip(*blocks, strict=True):
            found = rebuilt(primals, per_input)
            trees.append(found[0] if isinstance(argnums, int) else found)
        result = rebuilt(output, trees)
        return (result, aux) if has_aux else result

    return wrapper


def _columns(
    func: Callable[..., object],
    primals: tuple[object, ...],
    given: Sequence[Any],
    i: int,
    has_aux: bool,
    chunk_size: int | None,
) -> tuple[list[Any], Any, Any]:
    """The Jacobian of each output by one input; the output and aux."""
    x = given[i]
    shape = tuple(x.shape)
    basis = basis_of(shape, x.dtype.dtype)
    if not len(basis):  # one direction all the same, which tells the output; it is left out below
        basis = np.zeros((1, *shape), basis.dtype)
    parts: list[list[Any]] = []
    output = aux = None
    for rows in chunks(basis, chunk_size):
        with new_level(len(rows)) as level:
            tangents = [zeros_of(one) for one in given]
            tangents[i] = Batched(level, x._constant(rows))
            output, directions, aux = _pushed(func, primals, tangents, False, has_aux)
            parts.append([batch_of(one, level) for one in leaves(directions)])
            output = mapped(lambda one: _first(one, level), output)
            aux = mapped(lambda one: _first(one, level), aux)
    columns = []
    for pieces in zip(*parts, strict=True):
        whole = joint(pieces) if 0 not in shape else joint(pieces)[:0]
        turned = ops.transpose(whole, (*range(1, whole.ndim), 0))
        columns.append(ops.reshape(turned, (*whole.shape[1:], *shape)))
    return columns, output, aux


def _first(value: object, level: Level) -> Any:
    """A value that does not depend on the example, without the level of the batch."""
    value = settled(value)
    return batch_of(value, level)[0] if isinstance(value, Tracer) else value


def hessian(func: Callable[..., object], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the second derivatives: forward mode over reverse mode.

    For an output of shape s and arguments of shapes t and u: s + t + u.

    Example:
        >>> dynamic.func.hessian(lambda x: (x**3).sum())(dynamic.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
