"""Tables of hooks, and the handles that take hooks off again: tape, modules and optimizers."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

_numbers = itertools.count()


class Hooks(OrderedDict[int, Any]):
    """Hooks in the order in which they are called, each under a number of its own. Final."""

    def add(self, hook: object, prepend: bool = False) -> RemovableHandle:
        """Call `hook` after the others, or before them, until its handle is removed."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle

    def replace(self, hooks: Mapping[Any, object]) -> None:
        """Have these hooks, under the keys that they have, instead of those that are there."""
        self.clear()
        self.update(hooks)


class RemovableHandle:
    """What takes a hook off again: `remove()`, or the end of a `with` block. Final.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_forward_hook(lambda module, inputs, output: print("called"))
        >>> _ = layer(dynamic.ones(1))
        called
        >>> handle.remove()
        >>> _ = layer(dynamic.ones(1))
    """

    def __init__(self, hooks: Hooks) -> None:
        self.id = next(_numbers)
        self._hooks = weakref.ref(hooks)  # a hook may hold its own handle

    def remove(self) -> None:
        """Take the hook off; again does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Hooks | None, int]:
        return self._hooks(), self.id

    def __setstate__(self, state: tuple[Hooks | None, int]) -> None:
        hooks, self.id = state
        self._hooks = weakref.ref(Hooks() if hooks is None else hooks)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
