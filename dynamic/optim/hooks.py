"""Hooks: functions that run before or after an optimizer's step or its saving and loading."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dynamic.errors import AutogradError

Hook = Callable[..., Any]
_numbers = itertools.count()


class Hooks(OrderedDict[int, Hook]):
    """Functions in the order in which they are called, each under a number of its own. Final."""

    def add(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook` after the others, or before them, until its handle is removed."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle


class RemovableHandle:
    """What takes a hook off again: `remove()`, or the end of a `with` block. Final."""

    def __init__(self, hooks: Hooks) -> None:
        self.id = next(_numbers)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Take the hook off; again does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


before_any_step, after_any_step = Hooks(), Hooks()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of all optimizers."""
    return before_any_step.add(hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of all optimizers."""
    return after_any_step.add(hook)


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step`, the method of an optimizer, with the hooks called and the call noted.

    The arguments that a hook sees and may replace begin with the optimizer. RuntimeError if it
    returns anything but None or a pair of arguments.
    """

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._step_called is False:
            self._step_called = True
        before, after = self._step_pre_hooks, self._step_post_hooks
        if not (before or after or before_any_step or after_any_step):
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in (*before_any_step.values(), *before.values()):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise AutogradError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
            args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in (*after.values(), *after_any_step.values()):
            hook(self, args, kwargs)
        return result

    return hooked
