"""Functions of each element with options: a short way for every value of the options.

Which loops of NumPy's are run may depend on the options, so that what was called often with some
gets a builtin function for these: see `loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.fast_paths.loops import Watched, Way
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.kernels.layouts import tells_apart
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tensors import tensor
from staticgraph.dynamic.tensors.recorders import recording_by
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, new_value

MOST_KNOWN = 64
"""For how many values of its options an op has ways."""
_RANKS = range(9)
_new = object.__new__

Function = Callable[..., Any]


class _Kept(Watched):
    """A short way that no method is: who calls it asks for `function` each time."""

    def _put(self, make: Callable[[Function, tuple[str, str]], Function | None]) -> None:
        assert self.function is not None
        self.function = make(self.function, ("kernel", "")) or self.function


def way_with(op: Op, attrs: Attrs, general: Function) -> Watched:
    """The short way of an op of one operand with these attributes, as the `function` of it.

    `general` takes the calls with another operand than a plain tensor of a few floats.
    """
    plan = recipe(op, (True,))
    evaluate = partial(op.evaluate, **attrs) if attrs else op.evaluate

    def finish(array: object, input: Tensor) -> Tensor:
        return new_value(_new(Tensor), plan, input, array, attrs)

    def function(input: Any) -> Any:
        if type(input) in PLAIN:
            x = input._array
            if (x.dtype is F32 or x.dtype is F64) and 0 < x.size < LARGE:
                value = evaluate(x)
                if value is not x:
                    for result in state.blanks:
                        return new_value(result, plan, input, value, attrs)
                    return new_value(state.count((input,)), plan, input, value, attrs)
        return general(input)

    recorded = recording_by(op, 1, finish, [attrs for _ in _RANKS])
    state = _Kept(Way(evaluate, finish, recorded=recorded), function)
    return state


_ways: dict[Op, dict[Any, Watched]] = {}


def as_one_node(op: Op, input: Any, **attrs: Any) -> Any:
    """`tensor.as_one_node` of an op of each element, in a short way."""
    given = tuple(attrs.values())
    if type(input) not in PLAIN:
        return tensor.as_one_node(op, input, **attrs)
    try:
        ways = _ways[op]
    except KeyError:
        ways = _ways[op] = {}
    key = (given, *map(type, given)) if given else given
    try:
        state = ways.get(key)
    except TypeError:  # a tensor
        return tensor.as_one_node(op, input, **attrs)
    if not tells_apart(given) or (state is None and len(ways) >= MOST_KNOWN):
        return tensor.as_one_node(op, input, **attrs)
    if state is None:
        attrs = {
            name: one.item() if isinstance(one, np.generic) else one for name, one in attrs.items()
        }
        general = partial(tensor.as_one_node, op, **attrs)
        state = ways[key] = way_with(op, attrs, general)
    return state.function(input)  # type: ignore[misc] # it has one
