"""Hooks of all modules: what is called with each one, before the hooks that it has itself.

One table has those of every kind, so that a call of a module without any asks once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.hooks import Hook
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle

everywhere = Hooks()
"""Pairs of a kind and a hook."""


def of_all(kind: str) -> dict[int, Any]:
    """The hooks of all modules that are of a kind, by their numbers."""
    return {key: hook for key, (one, hook) in everywhere.items() if one == kind}


def registered(kind: str, module: object, name: str, value: Any) -> Any:
    """What is registered under a name, after the hooks that may replace it."""
    for hook in of_all(kind).values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def register_module_forward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, args)` before each module's forward; what it returns replaces `args`.

    Example:
        >>> from dynamic.nn.modules.module import register_module_forward_pre_hook
        >>> with register_module_forward_pre_hook(lambda module, args: print(module)):
        ...     _ = nn.ReLU()(dynamic.ones(1))
        ReLU()
    """
    return everywhere.add(("forward_pre", Hook(hook)))


def register_module_forward_hook(
    hook: Callable[..., object], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after each module's forward.

    What it returns replaces the output. `with_kwargs` puts the keyword arguments before `output`;
    `always_call` calls it after an exception too.

    Example:
        >>> from dynamic.nn.modules.module import register_module_forward_hook
        >>> with register_module_forward_hook(lambda module, args, output: print(output)):
        ...     _ = nn.ReLU()(dynamic.ones(1))
        tensor([1.])
    """
    return everywhere.add(("forward", Hook(hook, with_kwargs, always_call)))


def register_module_full_backward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before each module's backward pass.

    Example:
        >>> from dynamic.nn.modules.module import register_module_full_backward_pre_hook
        >>> with register_module_full_backward_pre_hook(lambda module, given: print(given)):
        ...     nn.ReLU()(dynamic.ones(1, requires_grad=True)).backward()
        (tensor([1.]),)
    """
    return everywhere.add(("full_backward_pre", hook))


def register_module_full_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after each module's backward pass.

    RuntimeError if there are hooks of `register_module_backward_hook`.

    Example:
        >>> from dynamic.nn.modules.module import register_module_full_backward_hook
        >>> with register_module_full_backward_hook(lambda module, found, given: print(found)):
        ...     nn.ReLU()(dynamic.ones(1, requires_grad=True)).backward()
        (tensor([1.]),)
    """
    _refuse_beside("backward")
    return everywhere.add(("full_backward", hook))


def register_module_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` with the gradients of each module's last node.

    Deprecated, as `Module.register_backward_hook`, which says what it gets. RuntimeError if there
    are hooks of `register_module_full_backward_hook`.

    Example:
        >>> from dynamic.nn.modules.module import register_module_backward_hook
        >>> with register_module_backward_hook(lambda module, found, given: print(found)):
        ...     nn.ReLU()(dynamic.ones(1, requires_grad=True) * 1).backward()
        (tensor([1.]),)
    """
    _refuse_beside("full_backward")
    return everywhere.add(("backward", hook))


def _refuse_beside(kind: str) -> None:
    if of_all(kind):
        raise ModuleError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )


def register_module_module_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, name, child)` when a module gets a child, which a result replaces.

    Example:
        >>> from dynamic.nn.modules.module import register_module_module_registration_hook
        >>> with register_module_module_registration_hook(lambda *given: print(given[1:])):
        ...     _ = nn.Sequential(nn.ReLU())
        ('0', ReLU())
    """
    return everywhere.add(("module", hook))


def register_module_parameter_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a module gets one, which a result replaces.

    Example:
        >>> from dynamic.nn.modules.module import register_module_parameter_registration_hook
        >>> with register_module_parameter_registration_hook(lambda *given: print(given[1])):
        ...     _ = nn.Linear(1, 1)
        weight
        bias
    """
    return everywhere.add(("parameter", hook))


def register_module_buffer_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a module gets one, which a result replaces.

    Example:
        >>> from dynamic.nn.modules.module import register_module_buffer_registration_hook
        >>> with register_module_buffer_registration_hook(lambda *given: print(given[1])):
        ...     _ = nn.BatchNorm1d(1)
        running_mean
        running_var
        num_batches_tracked
    """
    return everywhere.add(("buffer", hook))
