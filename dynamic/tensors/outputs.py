"""The argument `out` of functions: the tensors that the results are put into."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.named_operands import in_pytorchs_words
from staticgraph.dynamic.core.no_tensors import refuse_others
from staticgraph.dynamic.tensors.inplace import into
from staticgraph.dynamic.tensors.tensor import Tensor


def taking_out(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """`function`, whose results are put into the tensors that are given as `out`.

    It gets this name, or keeps its own.
    """
    name = name or getattr(function, "name", "") or function.__name__

    @functools.wraps(function)
    def taking(*args: Any, **options: Any) -> Any:
        if options:
            options = in_pytorchs_words(function, options)
        if "out" not in options:
            try:
                return function(*args, **options)
            except Exception as error:
                if args or options:
                    refuse_others(name, function, args, options, error)
                raise
        out = options.pop("out")
        result = function(*args, **options)
        return result if out is None else put_out(name, out, result, args)

    taking.__name__ = taking.__qualname__ = name
    return taking


def put_out(name: str, out: Any, result: Any, operands: tuple[Any, ...]) -> Any:
    """The tensors that are given as `out` with the results of a function in them.

    TypeError for what is no tensor, or another number of them.
    """
    several = isinstance(result, tuple)
    outs = out if several and isinstance(out, tuple | list) else (out,)
    results = result if several else (result,)
    for one in outs:
        if not isinstance(one, Tensor):
            raise ArgumentError(
                f"{name}(): argument 'out' must be {'tuple of Tensors' if several else 'Tensor'}, "
                f"not {type(one).__name__}"
            )
    if len(outs) != len(results):
        raise ArgumentError(
            f"{name}(): argument 'out' has {len(outs)} tensors for {len(results)} results"
        )
    put = [into(name, one, each, operands) for one, each in zip(outs, results, strict=True)]
    if not several:
        return put[0]
    return type(result)(*put) if hasattr(result, "_fields") else type(result)(put)
