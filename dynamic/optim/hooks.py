"""Hooks: functions that run before or after an optimizer's step or its saving and loading."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.compiler.core.passing import passing
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.watching import changing
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.optim.stale import hide_optimizer, hide_schedule
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle

Hook = Callable[..., Any]

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
    @changing("steps an optimizer")
    def hooked(self: Any, *args: object, **kwargs: object) -> Any:
        if not hasattr(self, "_step_pre_hooks"):  # around another one, and never initialised
            return step(self, *args, **kwargs)
        if paused and mode.capture is not None:
            if args or kwargs:
                refuse(
                    "steps an optimizer with a closure, which it may call many times",
                    "capture what computes the loss, and call step(closure) outside, or compile "
                    "all of LBFGS by sg.optim.LBFGS; without a closure, step() can be captured",
                )
            mode.capture.step(self, functools.partial(hooked, self))
            hide_optimizer(self)
            return None
        if self._step_called is False:
            self._step_called = True
        before, after = self._step_pre_hooks, self._step_post_hooks
        if not (before or after or before_any_step or after_any_step):
            args = (self, *args)
            return _measured(self, step, args, kwargs) if passing else step(*args, **kwargs)
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
        result = _measured(self, step, args, kwargs) if passing else step(*args, **kwargs)
        for hook in (*after.values(), *after_any_step.values()):
            hook(self, args, kwargs)
        return result

    return hooked


def _measured(
    optimizer: object,
    step: Callable[..., Any],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
) -> Any:
    """What a step gives, which a profile shows."""
    from staticgraph.dynamic.autograd.profiler import record_function

    with record_function(f"Optimizer.step#{type(optimizer).__name__}.step"):
        return step(*args, **options)


def at_each_call(step: Callable[..., None]) -> Callable[..., None]:
    """`step`, the method of a scheduler; in a function that is captured, done at each call."""

    @functools.wraps(step)
    @changing("steps a scheduler")
    def deferred(self: object, *args: object, **kwargs: object) -> None:
        if not paused or mode.capture is None:
            step(self, *args, **kwargs)
            return
        if any(getattr(one, "_overwritten", None) is not None for one in (*args, *kwargs.values())):
            refuse("steps a scheduler by a value", "return the value, and step outside")
        mode.capture.do(functools.partial(deferred, self, *args, **kwargs), "steps a scheduler")
        hide_schedule(self)

    return deferred
