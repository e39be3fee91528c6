"""What the names of a captured function mean to who steps through its kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.export.prompt import Lookup, computed
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.transforms.custom_rules import without_rules
from staticgraph.tracing.modules import is_module
from staticgraph.tracing.tracing import Trace


def lookups(
    function: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    trace: Trace,
    arrays: Sequence[Array],
) -> tuple[list[Lookup], list[Lookup]]:
    """Who knows names of a function: its own ones and those it has closed over; then globals.

    Values of arrays are those when the function returns, computed op by op with NumPy.

    Args:
        args, kwargs: those of the call.
        arrays: one per input of the trace.
    """
    called: Any = function
    if is_module(function):
        called = called.forward
    if hasattr(called, "__self__"):
        args = [called.__self__, *args]
    called = getattr(called, "__func__", called)
    code = getattr(called, "__code__", None)
    if not isinstance(code, CodeType):
        return [], []
    cells = dict(zip(code.co_freevars, called.__closure__ or (), strict=True))
    given = inspect.signature(called).bind(*args, **kwargs)
    given.apply_defaults()

    def own(name: str) -> Callable[[], object] | None:
        if name in trace.names:
            return lambda: _value(trace.names[name], trace, arrays)
        if name in given.arguments:
            return lambda: given.arguments[name]
        if name in (*code.co_varnames, *code.co_cellvars):
            return lambda: _refuse(name, trace.name)
        return (lambda: cells[name].cell_contents) if name in cells else None

    def around(name: str) -> Callable[[], object] | None:
        found = called.__globals__
        return (lambda: found[name]) if name in found else None

    return [own], [around]


def _refuse(name: str, function: str) -> object:
    raise NameError(
        f"{function}: {name!r} is no value that is kept of the function: neither an array nor a "
        "number, deleted, not reached, or another one on each side of a branch"
    )


def _value(kept: Any, trace: Trace, arrays: Sequence[Array]) -> object:
    """What a name stands for, with the arrays that expressions in it are."""
    if isinstance(kept, dict):
        return {key: _value(one, trace, arrays) for key, one in kept.items()}
    if isinstance(kept, tuple | list):
        return type(kept)(_value(one, trace, arrays) for one in kept)
    if not isinstance(kept, Expression):
        return kept
    (plain,) = without_rules([kept])
    feeds: dict[Expression, Any] = dict(zip(trace.inputs, arrays, strict=True))
    for one in ancestors([plain]):
        if one.op is leaves.variable:
            feeds[one] = one.attrs["key"].array
    return computed(plain, feeds)
