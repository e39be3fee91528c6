"""Checkpoint: regions of a graph whose values are computed again for the gradient, not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.graph.expression import (
    closed as as_handle,
    handle_among,
    is_symbolic,
    next_serial,
    opened,
)
from staticgraph.compiler.transforms.control_eager import unshared
from staticgraph.compiler.transforms.regions import close_region


def checkpoint(function: Callable[..., object], *args: object, **kwargs: object) -> Any:
    """`function(*args, **kwargs)`, of which a gradient keeps only what goes in and what comes out.

    Everything between is computed again when the reverse pass gets there, so that it takes memory
    for one region at a time: with n layers in regions of about sqrt(n) layers, that of 2 sqrt(n)
    layers for one more forward pass (Chen, Xu, Zhang, Guestrin 2016, "Training deep nets with
    sublinear memory cost"). Regions may lie inside regions, and derivatives of any order are
    computed in regions of the same kind.

    Args:
        function: what it reads beside its arguments (closures, variables) goes in as well.
        args, kwargs: its arguments, of any kind.

    Returns:
        What the function returns: expressions in any nesting of tuples, lists and dicts. Values
        are the same bit for bit, and so are the gradients of first order where no rewrite reaches
        across the border of the region. All of them have memory of their own, in eager calls too.

    Example:
        >>> loss = lambda x: sg.sum(sg.checkpoint(lambda x: sg.sin(sg.sin(x)), x))
        >>> sg.grad(loss)(np.array([0.0]))
        array([1.])
    """
    start = next_serial()
    result = unshared(function(*args, **kwargs), leaves((args, kwargs)))
    values = leaves(result)
    given = [opened(one) for one in values if is_symbolic(one)]
    results = close_region(given, start)
    for one, before in zip(results, given, strict=True):
        one.weak = before.weak
    closed = iter(results)
    return rebuilt(
        result,
        [
            as_handle(next(closed), handle_among([one])) if is_symbolic(one) else one
            for one in values
        ],
    )
