"""Transforms by reverse mode: vjp, grad, grad_and_value, jacrev (PyTorch's torch.func)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt, structure
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.batched import Batched, spread
from staticgraph.dynamic.func.pull import lifted, pull, released
from staticgraph.dynamic.func.tracer import batch_of, new_level, zeros_of
from staticgraph.dynamic.tape.grad_mode import enable_grad, mode
from staticgraph.dynamic.tape.gradients import refuse_complex_output
from staticgraph.dynamic.tensors.tensor import Tensor

Argnums = int | tuple[int, ...]


def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> tuple[Any, ...]:
    """`func(*primals)`, and the function from its cotangents to those of the primals.

    Primals and outputs are tensors or nested tuples, lists and dicts of them. The function
    returns a tuple, one entry per primal, and may be called again. With `has_aux`, `func` returns
    (output, aux), and aux is returned as a third result.

    Raises:
        RuntimeError: an output is no tensor, a cotangent has another structure or shape.
        ValueError: a primal is no tensor.

    Example:
        >>> value, pull = dynamic.func.vjp(lambda x: x**2, dynamic.tensor(3.0))
        >>> pull(dynamic.tensor(1.0))
        (tensor(6.),)
    """
    run = Recorded("vjp(f, *primals)", func, primals, {}, has_aux)
    expected = structure(run.output)
    for out in run.outputs:
        if not isinstance(out, Tensor):
            raise AutogradError(
                "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported "
                f"type {type(out)}"
            )

    def pullback(cotangents: object) -> tuple[Any, ...]:
        if structure(cotangents) != expected:
            raise AutogradError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {structure(cotangents)}, primal output: "
                f"{expected}"
            )
        given = leaves(cotangents)
        for i, (out, cotangent) in enumerate(zip(run.outputs, given, strict=True)):
            if out.shape != cotangent.shape:
                raise AutogradError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {cotangent.shape} and "
                    f"output[{i}] has a shape of {out.shape}."
                )
        return rebuilt(primals, run.pulled(run.outputs, given))

    result = rebuilt(run.output, [run.released(out) for out in run.outputs])
    return (result, pullback, run.aux) if has_aux else (result, pullback)


class Recorded:
    """A call of a function on variables, recorded so that cotangents can be pulled back.

    Attributes:
        inputs: the variables, in the order of the leaves of the primals.
        output: what the function returned, without aux.
        outputs: its leaves.
        aux: the rest, without the history of this call.
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., object],
        primals: object,
        others: dict[str, Any],
        has_aux: bool,
    ) -> None:
        for leaf in leaves(primals):
            if not isinstance(leaf, Tensor):
                raise OptionError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        capture = mode.capture
        variables = None if capture is None else set(capture.gradients.variables)
        try:
            self.inputs = [lifted(spread(leaf)) for leaf in leaves(primals)]
            with enable_grad():
                output = func(*rebuilt(primals, self.inputs), **others)
        finally:
            if variables is not None:  # its results require no grad because of the inputs
                capture.gradients.variables = variables
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise AutogradError(
                    f"{name}: output of function f should be a tuple: (output, aux) if has_aux is "
                    "True"
                )
            output, aux = output
        self.output = output
        self.outputs = leaves(output)
        self.aux = mapped(self.released, aux)

    def released(self, value: object) -> Any:
        """A value without the history of this call."""
        return released(value, self.inputs) if isinstance(value, Tensor) else value

    def pulled(self, outputs: Sequence[object], cotangents: Sequence[object]) -> list[Any]:
        """The gradients by the inputs; zeros where the outputs do not depend on one."""
        found = pull(outputs, self.inputs, cotangents)
        return [zeros_of(x) if g is None else g for x, g in zip(self.inputs, found, strict=True)]


def grad_and_value(
    func: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns (gradient, value) of a scalar function.

    The gradient is by the argument `argnums`, or a tuple of those by several; each has the
    structure of the argument. With `has_aux`, `func` returns (value, aux), and the result is
    (gradient, (value, aux)).

    Raises:
        RuntimeError: the value is no 0-d tensor, or `argnums` does not fit the arguments.

    Example:
        >>> dynamic.func.grad_and_value(lambda x: x**3)(dynamic.tensor(2.0))
        (tensor(12.), tensor(8.))
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        places = positions(argnums, len(args))
        run = Recorded(
            name, _of_some(func, args, places), [args[i] for i in places], kwargs, has_aux
        )
        value = run.output
        if not isinstance(value, Tensor):
            raise AutogradError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
        if value.ndim:
            raise AutogradError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{value.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        refuse_complex_output(value._array.dtype)
        one = value._constant(np.ones((), value.dtype.dtype))
        found = rebuilt([args[i] for i in places], run.pulled([value], [one]))
        result = found[0] if isinstance(argnums, int) else tuple(found)
        value = run.released(value)
        return (result, (value, run.aux)) if has_aux else (result, value)

    return wrapper


def grad(
    func: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of a scalar function: see `grad_and_value`.

    With `has_aux` it returns (gradient, aux).

    Example:
        >>> dynamic.func.grad(lambda x: x**3)(dynamic.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        result, rest = both(*args, **kwargs)
        return (result, rest[1]) if has_aux else result

    return wrapper


def jacrev(
    func: Callable[..., object],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that returns the Jacobian, by reverse mode: one row per output element.

    For an output of shape s and an argument of shape t it has shape s + t; its structure is that
    of the output, with that of the arguments at each leaf. The rows are pulled back together, as
    a batch, or `chunk_size` at a time. Good for fewer outputs than inputs: see `jacfwd`.

    Example:
        >>> dynamic.func.jacrev(lambda x: x**2)(dynamic.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        places = positions(argnums, len(args))
        primals = [args[i] for i in places]
        run = Recorded("vjp(f, *primals)", _of_some(func, args, places), primals, kwargs, has_aux)
        blocks = []
        for out in run.outputs:
            if not isinstance(out, Tensor):
                raise AutogradError(
                    "vjp(f, *primals): expected f(*primals) to return only tensors, got "
                    f"unsupported type {type(out)}"
                )
            found = rebuilt(primals, _rows(run, out, chunk_size))
            blocks.append(found[0] if isinstance(argnums, int) else tuple(found))
        result = rebuilt(run.output, blocks)
        return (result, run.aux) if has_aux else result

    return wrapper


def _rows(run: Recorded, out: Any, chunk_size: int | None) -> list[Any]:
    """The Jacobian of one output by each input."""
    shape = tuple(out.shape)
    basis = basis_of(shape, out.dtype.dtype)
    parts: list[list[Any]] = []
    for rows in chunks(basis, chunk_size):
        with new_level(len(rows)) as level:
            found = run.pulled([out], [Batched(level, out._constant(rows))])
            parts.append([batch_of(g, level) for g in found])
    return [
        ops.reshape(joint(columns), (*shape, *x.shape))
        for columns, x in zip(zip(*parts, strict=True), run.inputs, strict=True)
    ]


def basis_of(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array per element of a shape: 1 there, and 0 elsewhere."""
    count = math.prod(shape)
    return np.eye(count, dtype=dtype).reshape(count, *shape)


def chunks(basis: Any, size: int | None) -> list[Any]:
    """The array cut into parts of at most `size` along its first axis."""
    if size is not None and size <= 0:
        raise OptionError(f"chunk_size should be None or greater than 0. (got {size})")
    if size is None or len(basis) <= size:
        return [basis]
    return [basis[i : i + size] for i in range(0, len(basis), size)]


def joint(parts: Sequence[object]) -> Any:
    """Tensors joined along their first axis."""
    return parts[0] if len(parts) == 1 else ops.concatenate(list(parts), 0)


def positions(argnums: object, count: int) -> tuple[int, ...]:
    """`argnums` as positions from the front; RuntimeError unless it names arguments, each once."""
    if not isinstance(argnums, int | tuple):
        raise AutogradError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    listed = (argnums,) if isinstance(argnums, int) else argnums
    if not listed:
        raise AutogradError("argnums must be non-empty")
    for place in listed:
        if not -count <= place < count:
            raise AutogradError(f"Got argnum={place}, but only {count} positional inputs")
    places = tuple(place % count for place in listed)
    if len(set(places)) != len(places):
        raise AutogradError(f"argnums elements must be unique, got {argnums}")
    return places


def _of_some(
    func: Callable[..., object], args: Sequence[object], places: Sequence[int]
) -> Callable[..., Any]:
    """The function of the arguments at `places`, the others fixed."""

    def partial(*some: object, **kwargs: object) -> Any:
        every = list(args)
        for place, value in zip(places, some, strict=True):
            every[place] = value
        return func(*every, **kwargs)

    return partial
