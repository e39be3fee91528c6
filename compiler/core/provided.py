"""What lower rooms need of higher ones: functions that the room above provides when it is imported.

The gradient rules of loops are loops, and an op that expands to others has the type of what it
expands to. Both are made of expressions, which are made of ops. So an op's record calls what stands
here; every frontend imports what provides it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from compiler.core.errors import GraphError

Given = TypeVar("Given", bound=Callable[..., Any])


class Provided:
    """A function that another module provides, once."""

    __slots__ = ("_function", "_module")

    def __init__(self, module: str) -> None:
        self._module = module
        self._function: Callable[..., Any] | None = None

    def provide(self, function: Given) -> Given:
        """Take the function; usable as a decorator."""
        self._function = function
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it.

        Raises:
            GraphError: its module has not been imported.
        """
        if self._function is None:
            raise GraphError(f"{self._module} is not imported")
        return self._function(*args, **kwargs)


type_of_expansion = Provided("compiler.graph.expression")
"""`(expand, types, attrs)`: the type of what an op expands to on operands of these types."""

scan = Provided("compiler.transforms.control_flow")
"""`scan(step, init, xs, reverse=)`, which gradient rules use."""

scan_cotangents = Provided("compiler.transforms.control_gradients")
"""The cotangents of a scan's operands."""

cond_cotangents = Provided("compiler.transforms.control_gradients")
"""The cotangents of a branch's operands."""
