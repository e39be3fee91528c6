"""Nodes of functions that are composed of ops here, and are one node in PyTorch.

They carry its name, and tell of what it keeps if that was changed in place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.dynamic.tape import tape
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.nodes import class_named
from staticgraph.dynamic.tape.tape import KeepingNode, Node
from staticgraph.dynamic.tensors.tensor import Tensor


def called(label: str, *keeps: str) -> Callable[[Any], Any]:
    """Have the last node of what a function computes carry PyTorch's name, without `Backward0`.

    Of the arguments `keeps`, and of the result where it has that name, PyTorch's node keeps the
    tensors: RuntimeError in the reverse pass if they were changed in place.
    """
    name = label if "Backward" in label else f"{label}Backward0"

    def decorate(function: Any) -> Any:
        places = _places(function, keeps)

        @functools.wraps(function)
        def method(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            first = result[0] if isinstance(result, tuple) else result
            if type(first) is Tensor and not any(first is one for one in args):
                node = first._maker
                kind: type = type(node)
                if kind is Node or kind is KeepingNode:
                    if places:
                        kind = KeepingNode
                        given = _given(places, args, options, first)
                        node.kept = tape.noted(node, given)
                    node.__class__ = class_named(name, kind)
            return result

        return method

    return decorate


def labelled(result: Any, label: str) -> Any:
    """`result`, a tensor that was made here, whose node carries PyTorch's name."""
    node: Any = result._maker if type(result) is Tensor else None
    kind: type = type(node)
    if kind is Node or kind is KeepingNode:
        node.__class__ = class_named(f"{label}Backward0", kind)
    return result


def _places(function: Any, keeps: Sequence[str]) -> list[tuple[int, str]]:
    """The positions and names of arguments; -1 for the result."""
    names = list(inspect.signature(function).parameters) if keeps else []
    return [(-1 if one == "result" else names.index(one), one) for one in keeps]


def _given(
    places: Sequence[tuple[int, str]], args: Sequence[Any], options: dict[str, Any], result: Any
) -> list[Any]:
    found = []
    for position, name in places:
        if position < 0:
            one = result
        else:
            one = args[position] if position < len(args) else options.get(name)
        if isinstance(one, Tensor):
            found.append(one)
    return found


def keep(result: Any, *tensors: Any) -> Any:
    """`result`, whose node tells of these in the reverse pass if they were changed in place."""
    captured = paused and mode.capture is not None
    if type(result) is Tensor and not captured and result._maker is not None:
        tape.keep(result._maker, [one for one in tensors if isinstance(one, Tensor)])
    return result
