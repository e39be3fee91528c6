"""Hooks: functions that a module calls before and after its forward."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ids = itertools.count()


@dataclass(frozen=True, slots=True)
class Hook:
    """A function, whether it gets keyword arguments, and whether it runs after an exception."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class RemovableHandle:
    """What registering a hook returns: `remove()`, or the end of a `with` block, takes it away."""

    def __init__(self, hooks: dict[int, Hook], hook: Hook, prepend: bool) -> None:
        self.id = next(_ids)
        self._hooks = hooks
        later = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(later)

    def remove(self) -> None:
        """Take the hook away; nothing happens the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
