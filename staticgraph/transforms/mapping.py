"""vmap: a function of one example as a function of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size, assume_equal
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt, spread_over, structure
from staticgraph.compiler.graph.effects import collecting, depth, emit_batched
from staticgraph.compiler.graph.expression import Expression, handle_among
from staticgraph.compiler.transforms.branching import on_all_ways
from staticgraph.compiler.transforms.overruns import of_examples
from staticgraph.tracing.outputs import as_output
from staticgraph.tracing.signature import is_array
from staticgraph.transforms.arguments import Function, as_given, expression, transformed


def vmap(f: Callable[..., object], in_axes: object = 0, out_axes: object = 0) -> Function:
    """The function that maps f over an axis of its arguments, as ops on whole batches.

    Args:
        f: takes and returns arrays, or trees of them.
        in_axes: the axis of each argument that counts the examples, or None for one that all
            share; an int, or a tuple of such per argument, or of trees like a part of it.
            Arrays by keyword are mapped over their first axis. What is no array is shared.
        out_axes: where the results get the axis, in the structure of the results or a part of
            it; None for a result that is the same for all examples.

    Raises:
        OptionError: `in_axes` or `out_axes` do not fit the arguments or results.
        ShapeError: an argument has no such axis, or the axes differ in size.
        GraphError: an op has no batching rule.

    Example:
        >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> sg.vmap(sg.dot, in_axes=(0, None))(rows, np.array([1.0, 10.0]))
        array([21., 43.])
    """
    if not isinstance(in_axes, int | tuple | list):
        raise OptionError(f"vmap: in_axes is an int or a tuple, not {in_axes!r}")

    def apply(*args: object, **kwargs: object) -> Any:
        from staticgraph.compiler.transforms.vectorize import (  # nothing but vmap needs its rules
            batched,
            example,
        )

        axes = _axes(in_axes, args, kwargs)
        given = leaves((args, kwargs))
        wholes = [
            None if axis is None or not is_array(x) else _in_front(x, axis)
            for x, axis in zip(given, axes, strict=True)
        ]
        size = _count(in_axes, wholes)
        examples = [
            x if whole is None else example(whole) for x, whole in zip(given, wholes, strict=True)
        ]
        handle = handle_among(given)
        with (
            nullcontext() if handle is None else handle.in_body(),
            collecting(depth()) as effects,
            of_examples(),
        ):
            positional, named = rebuilt((args, kwargs), as_given(examples, given))
            result = on_all_ways(
                lambda: mapped(lambda one: as_output("vmap", one), f(*positional, **named)),
                [one for one, whole in zip(examples, wholes, strict=True) if whole is not None],
                lambda one, dtype: as_output("vmap", one),
            )
        batches = {
            one: whole for one, whole in zip(examples, wholes, strict=True) if whole is not None
        }
        places = spread_over(out_axes, result, lambda: _misfit("out_axes", out_axes, result))
        emit_batched(effects.effects, batched, batches, size)
        found = batched(leaves(result), batches, size)
        return rebuilt(
            result,
            [
                _placed(whole, one, place, size)
                for whole, one, place in zip(found, leaves(result), places, strict=True)
            ],
        )

    made_by = vmap, (f, in_axes, out_axes)
    return transformed("vmap", f, apply, (_key(in_axes), _key(out_axes)), made_by)


def _key(axes: object) -> str:
    return repr(axes)


def _misfit(name: str, axes: object, tree: object) -> OptionError:
    what = "arguments" if name == "in_axes" else "results"
    return OptionError(f"vmap: {name}={axes!r} does not fit the {what}, {structure(tree)}")


def _axes(in_axes: Any, args: tuple[object, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The axis of each leaf of the arguments."""
    if not isinstance(in_axes, int) and len(in_axes) != len(args):
        raise OptionError(
            f"vmap: in_axes={in_axes!r} has {len(in_axes)} entries for {len(args)} arguments"
        )
    prefix = in_axes if isinstance(in_axes, int) else tuple(in_axes)
    axes = spread_over(prefix, args, lambda: _misfit("in_axes", in_axes, args))
    for axis in axes:
        if axis is not None and type(axis) is not int:
            raise OptionError(f"vmap: in_axes={in_axes!r}: {axis!r} is no axis")
    return axes + [0] * len(leaves(kwargs))


def _in_front(x: object, axis: int) -> Expression:
    """An argument with the axis that counts the examples as first axis."""
    whole = x if isinstance(x, Expression) else expression("vmap", x)
    if not -whole.ndim <= axis < whole.ndim:
        raise ShapeError(f"vmap: in_axes has axis {axis} for an argument {whole.type}")
    return _moved(whole, axis % whole.ndim, 0)


def _moved(x: Expression, source: int, target: int) -> Expression:
    if source == target:
        return x
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(target, source)
    result: Expression = ops.transpose(x, tuple(order))
    return result


def _count(in_axes: object, wholes: Sequence[Expression | None]) -> Size:
    """The number of examples, which all arguments must agree on."""
    sizes = [whole.shape[0] for whole in wholes if whole is not None]
    if not sizes:
        raise OptionError(f"vmap: in_axes={in_axes!r} maps no array")
    known = [size for size in sizes if isinstance(size, int)]
    count = known[0] if known else sizes[0]
    for size in sizes:
        if isinstance(size, int) and size != count:
            raise ShapeError(f"vmap: the arguments have {sizes} examples along their axes")
        if size != count:
            assume_equal(count, size)
    return count


def _placed(whole: Expression | None, one: Expression, place: object, size: Size) -> Expression:
    """A result with the axis of the examples at `place`."""
    if place is None:
        if whole is not None:
            raise OptionError("vmap: out_axes is None for a result that depends on the example")
        return one
    if type(place) is not int:
        raise OptionError(f"vmap: out_axes: {place!r} is no axis")
    if not -one.ndim - 1 <= place <= one.ndim:
        raise OptionError(f"vmap: out_axes has axis {place} for results of {one.ndim + 1} axes")
    batch = ops.broadcast_to(one, (size, *one.shape)) if whole is None else whole
    return _moved(batch, 0, place % (one.ndim + 1))
