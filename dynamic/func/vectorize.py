"""vmap: a function on examples as a function on batches (PyTorch's torch.func.vmap)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import OptionError, OutOfRangeError
from staticgraph.compiler.core.pytree import leaves, rebuilt, spread_over, structure
from staticgraph.compiler.core.types import unify
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.batched import Batched, batched
from staticgraph.dynamic.func.tracer import Level, Tracer, batch_of, new_level, settled
from staticgraph.dynamic.tensors.random_numbers import refusing_random_numbers
from staticgraph.dynamic.tensors.tensor import Tensor

_REFUSAL = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


def vmap(
    func: Callable[..., object],
    in_dims: object = 0,
    out_dims: object = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that maps `func` over an axis of its arguments, as ops on whole batches.

    Args:
        func: takes and returns tensors, or trees of them.
        in_dims: the axis of each argument that counts the examples, or None for an argument
            that all share; one number, or a tuple in the structure of the arguments.
        out_dims: where the results get the axis, in the structure of the results or a part of it.
        randomness: "error" refuses random numbers inside `func`, with "same" all examples share
            them; "different" runs `func` on one example after the other, each with its own.
        chunk_size: how many examples to compute at a time.

    Keyword arguments are shared by all examples. Ops without a batching rule run on one example
    after the other. Raises ValueError for axes that do not fit the arguments or results, and
    RuntimeError where `func` needs the value of an example.

    Example:
        >>> dynamic.func.vmap(dynamic.dot)(dynamic.ones(2, 3), dynamic.ones(2, 3))
        tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise AutogradError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise OptionError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", type(func).__name__)
    refusal = _REFUSAL if randomness == "error" else None

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        given, dims, size = _inputs(name, in_dims, args)
        if randomness != "different" and chunk_size is None:  # so the size may be unknown
            with refusing_random_numbers(refusal):
                return _mapped(name, func, args, dims, kwargs, out_dims, size)[0]
        step = 1 if randomness == "different" else chunk_size or size
        parts = []
        for start in range(0, max(size, 1), step):
            count = min(step, size - start)
            some = [
                x if dim is None or count == size else x.narrow(dim, start, count)
                for x, dim in zip(given, dims, strict=True)
            ]
            with refusing_random_numbers(refusal):
                parts.append(
                    _mapped(name, func, rebuilt(args, some), dims, kwargs, out_dims, count)
                )
        if len(parts) == 1:
            return parts[0][0]
        return _joined([part for part, _ in parts], parts[0][1])

    return wrapper


def _joined(parts: Sequence[object], dims: Sequence[object]) -> Any:
    """The results of the chunks along the axes that count the examples."""
    columns = zip(*(leaves(part) for part in parts), strict=True)
    return rebuilt(
        parts[0],
        [
            column[0] if dim is None else ops.concatenate(list(column), dim % column[0].ndim)
            for column, dim in zip(columns, dims, strict=True)
        ],
    )


def _mapped(
    name: str,
    func: Callable[..., object],
    args: object,
    dims: Sequence[int | None],
    kwargs: dict[str, Any],
    out_dims: object,
    size: Size,
) -> tuple[Any, list[Any]]:
    """The results of a batch, and where each has the axis of the examples."""
    with new_level(size) as level:
        examples = [
            x if dim is None else batched(_first(x, dim), level)
            for x, dim in zip(leaves(args), dims, strict=True)
        ]
        output = func(*rebuilt(args, examples), **kwargs)

        def misfit() -> OptionError:
            return OptionError(
                f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
                f"with the structure of `outputs`. out_dims has structure {structure(out_dims)} "
                f"but outputs has structure {structure(output)}."
            )

        places = spread_over(out_dims, output, misfit)
        results = [
            _result(name, value, place, level)
            for value, place in zip(leaves(output), places, strict=True)
        ]
    return rebuilt(output, results), places


def _inputs(name: str, in_dims: object, args: object) -> tuple[list[Any], list[int | None], Size]:
    """The leaves of the arguments, the axis of each, and how many examples there are."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise OptionError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise OptionError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )

    def misfit() -> OptionError:
        return OptionError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {structure(in_dims)} but inputs has structure {structure(args)}."
        )

    given = leaves(args)
    dims = [
        _axis(call, x, dim)
        for x, dim in zip(given, spread_over(in_dims, args, misfit), strict=True)
    ]
    sizes = [x.shape[dim] for x, dim in zip(given, dims, strict=True) if dim is not None]
    if not sizes:
        raise OptionError("vmap: Expected at least one Tensor to vmap over")
    size = functools.reduce(_common, sizes)
    if size is None:
        raise OptionError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return given, dims, size


def _common(left: Size | None, right: Size) -> Size | None:
    return None if left is None else unify(left, right)


def _axis(call: str, x: object, dim: object) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise OptionError(
            f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(x, Tensor):
        raise OptionError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot "
            "vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.ndim <= dim < x.ndim:
        raise OptionError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {x.ndim} so expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
        )
    return dim % x.ndim


def _first(x: Any, dim: int) -> Any:
    """The tensor with one axis moved to the front."""
    return x if dim == 0 else ops.transpose(x, (dim, *(i for i in range(x.ndim) if i != dim)))


def _result(name: str, value: object, place: Any, level: Level) -> Any:
    """One result with the axis of the examples at `place`."""
    value = settled(value)
    if place is None:
        if isinstance(value, Tracer) and _depends(value, level):
            raise OptionError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return value
    if not isinstance(value, Tensor):
        raise OptionError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    if not isinstance(place, int):
        raise OptionError(
            f"vmap({name}, ..., out_dims={place}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )
    batch = batch_of(value, level)
    ndim = batch.ndim
    if not -ndim <= place < ndim:
        raise OutOfRangeError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
            f"{place})"
        )
    place %= ndim
    if place == 0:
        return batch if isinstance(value, Tracer) else batch.contiguous()
    order = list(range(1, ndim))
    order.insert(place, 0)
    return ops.transpose(batch, tuple(order))


def _depends(value: Tracer, level: Level) -> bool:
    return isinstance(value, Batched) and value._level is level
