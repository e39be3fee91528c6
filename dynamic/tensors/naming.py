"""Names of nodes for functions that are composed of ops here, and are one node in PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.tape.nodes import class_named
from staticgraph.dynamic.tape.tape import Node
from staticgraph.dynamic.tensors.tensor import Tensor


def called(label: str) -> Callable[[Any], Any]:
    """Have the last node of what a function computes carry PyTorch's name, without `Backward0`."""
    name = label if "Backward" in label else f"{label}Backward0"

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def method(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            first = result[0] if isinstance(result, tuple) else result
            if type(first) is Tensor and not any(first is one for one in args):
                node = first._maker
                if type(node) is Node:
                    node.__class__ = class_named(name, Node)
            return result

        return method

    return decorate
