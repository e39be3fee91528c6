"""Module: parameters, buffers and submodules under one roof, and a `forward` (PyTorch's)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.watching import changing
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.user_warnings import keep_silent
from staticgraph.dynamic.nn.backward_hooks import Hooked, at_last_node
from staticgraph.dynamic.nn.conversion import Conversion
from staticgraph.dynamic.nn.errors import (
    MissingForwardError,
    ModuleAttributeError,
    ModuleError,
    ModuleKeyError,
)
from staticgraph.dynamic.nn.global_hooks import everywhere, of_all, registered
from staticgraph.dynamic.nn.hooks import Hook
from staticgraph.dynamic.nn.parameter import Buffer, Parameter, type_name
from staticgraph.dynamic.nn.state import State
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle
from staticgraph.dynamic.tensors.constructors import name_constructor
from staticgraph.dynamic.tensors.tensor import Tensor

_NOUNS = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}


class Module(Conversion, State):
    """A part of a network; subclasses define `forward` and assign parameters and modules.

    Parameters, Buffers and Modules that are assigned as attributes are registered, after
    `super().__init__()`.

    Attributes:
        training: whether layers such as dropout behave as in training.

    Example:
        >>> class Twice(nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Twice()(dynamic.ones(2))
        tensor([2., 2.])
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name_constructor(cls)

    def __init__(self) -> None:
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_modules", {})
        put("_forward_pre_hooks", Hooks())
        put("_forward_hooks", Hooks())
        put("_backward_pre_hooks", Hooks())
        put("_backward_hooks", Hooks())
        put("_state_dict_pre_hooks", Hooks())
        put("_state_dict_hooks", Hooks())
        put("_load_state_dict_pre_hooks", Hooks())
        put("_load_state_dict_post_hooks", Hooks())

    def _no_forward(self, *args: object, **kwargs: object) -> Any:
        raise MissingForwardError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    forward: Callable[..., Any] = _no_forward
    """What calling the module computes; a subclass defines it with arguments of its own."""

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """`forward`, between the hooks if there are any."""
        keep_silent()
        if paused and mode.capture is not None:
            with mode.capture.inside(self):
                return self._called(args, kwargs)
        if self._forward_hooks or self._forward_pre_hooks or everywhere:
            return self._call_with_hooks(args, kwargs)
        if self._backward_hooks or self._backward_pre_hooks:
            return self._call_between_backward_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _called(self, args: tuple[object, ...], kwargs: dict[str, Any]) -> Any:
        """What `__call__` does where it is not inlined."""
        if self._forward_hooks or self._forward_pre_hooks or everywhere:
            return self._call_with_hooks(args, kwargs)
        if self._backward_hooks or self._backward_pre_hooks:
            return self._call_between_backward_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_between_backward_hooks(self, args: tuple[object, ...], kwargs: dict[str, Any]) -> Any:
        hooked = self._hooked()
        if hooked is None:
            return self._with_last(args, self.forward(*args, **kwargs))
        args = hooked.inputs(args)
        return self._with_last(args, hooked.outputs(self.forward(*args, **kwargs)))

    def _hooked(self) -> Hooked | None:
        """A call between the full backward hooks, if there are any."""
        own = self._backward_hooks.values() if self._is_full_backward_hook else ()
        hooks = (*of_all("full_backward").values(), *own)
        before = (*of_all("full_backward_pre").values(), *self._backward_pre_hooks.values())
        return Hooked(self, hooks, before) if hooks or before else None

    def _with_last(self, args: tuple[object, ...], result: Any) -> Any:
        """The result, on whose node the backward hooks are that are not full ones."""
        own = () if self._is_full_backward_hook else self._backward_hooks.values()
        hooks = (*of_all("backward").values(), *own)
        if hooks:
            at_last_node(self, hooks, args, result)
        return result

    def _call_with_hooks(self, args: tuple[object, ...], kwargs: dict[str, Any]) -> Any:
        if everywhere and paused and mode.capture is not None:
            refuse("calls a module while there are hooks of all modules", "remove them before")
        due = {**of_all("forward"), **self._forward_hooks}
        result = None
        try:
            for hook in (*of_all("forward_pre").values(), *self._forward_pre_hooks.values()):
                args, kwargs = self._before_forward(hook, args, kwargs)
            hooked = self._hooked()
            if hooked is not None:
                args = hooked.inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook in tuple(due.items()):
                del due[key]
                result = self._after_forward(hook, args, kwargs, result)
            if hooked is not None:
                result = hooked.outputs(result)
            self._with_last(args, result)
        except Exception:
            for hook in due.values():
                if hook.always_call:
                    self._after_forward(hook, args, kwargs, result)
            raise
        return result

    def _before_forward(
        self, hook: Hook, args: tuple[object, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not hook.with_kwargs:
            given = hook.function(self, args)
            if given is None:
                return args, kwargs
            return (given if isinstance(given, tuple) else (given,)), kwargs
        given = hook.function(self, args, kwargs)
        if given is None:
            return args, kwargs
        if not isinstance(given, tuple) or len(given) != 2:
            raise ModuleError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                f"but got {given}."
            )
        return given

    def _after_forward(
        self, hook: Hook, args: tuple[object, ...], kwargs: dict[str, Any], result: object
    ) -> Any:
        given = (
            hook.function(self, args, kwargs, result)
            if hook.with_kwargs
            else hook.function(self, args, result)
        )
        return result if given is None else given

    def register_forward_pre_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments."""
        return self._forward_pre_hooks.add(Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., object],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        return self._forward_hooks.add(Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward pass.

        What it returns replaces the gradients of the outputs.
        """
        return self._backward_pre_hooks.add(hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the module's backward pass.

        What it returns replaces the gradients of the positional arguments. The inputs and outputs
        must not be changed in place. RuntimeError if the module has hooks of
        `register_backward_hook`.
        """
        self._require_backward_hooks(full=True)
        return self._backward_hooks.add(hook, prepend)

    def register_backward_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the last node of the module.

        Deprecated: the gradients are those of the node that made the output, or the first tensor
        in it, and not of the module: of a linear layer they are of bias, input and turned weight. A
        tuple that it returns replaces `grad_input`. A FutureWarning says at a call what is missed.
        RuntimeError if the module has hooks of `register_full_backward_hook`.
        """
        self._require_backward_hooks(full=False)
        return self._backward_hooks.add(hook)

    _is_full_backward_hook: bool | None = None
    """Of which kind the backward hooks are; None before there was one."""

    def _require_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise ModuleError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None keeps the name for one that is absent."""
        self._check_name("_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            raise ArgumentError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter; part of the state dict if `persistent`."""
        self._check_name("_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        self._non_persistent_buffers_set.discard(name)
        if not persistent:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under a name; None keeps the name for one that is absent."""
        if module is not None and not isinstance(module, Module):
            raise ArgumentError(
                f"{getattr(module, '__qualname__', type_name(module))} is not a Module subclass"
            )
        self._check_name("_modules", name)
        self._modules[name] = registered("module", self, name, module)

    register_module = add_module

    def _check_name(self, table: str, name: object) -> None:
        noun = _NOUNS[table]
        if table not in self.__dict__:
            raise ModuleAttributeError(f"cannot assign {noun} before Module.__init__() call")
        if not isinstance(name, str):
            raise ArgumentError(f"{noun} name should be a string. Got {type_name(name)}")
        if noun == "module" and hasattr(self, name) and name not in self._modules:
            raise ModuleKeyError(f"attribute '{name}' already exists")
        if "." in name:
            got = f", got: {name}" if noun == "module" else ""
            raise ModuleKeyError(f'{noun} name can\'t contain "."{got}')
        if not name:
            raise ModuleKeyError(f'{noun} name can\'t be empty string ""')
        if hasattr(self, name) and name not in getattr(self, table):
            raise ModuleKeyError(f"attribute '{name}' already exists")

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in _NOUNS:
            if table in own and name in own[table]:
                return own[table][name]
        raise ModuleAttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._require_init("parameters")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            _require(value, None, "parameter", name, "torch.nn.Parameter")
            self._parameters[name] = None
        elif isinstance(value, Module):
            self._require_init("module")
            self._forget(name, keep="_modules")
            self._modules[name] = registered("module", self, name, value)
        elif name in own.get("_modules", ()):
            _require(value, None, "child module", name, "torch.nn.Module")
            self._modules[name] = registered("module", self, name, None)
        elif isinstance(value, Buffer):
            self._require_init("buffer")
            self._forget(name, keep="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_buffers", ()):
            _require(value, Tensor, "buffer", name, "torch.nn.Buffer, torch.Tensor")
            if paused and mode.capture is not None:
                value = mode.capture.assigns(self._buffers, name, value)
            self._buffers[name] = value
        else:
            if paused and mode.capture is not None and isinstance(value, Tensor):
                refuse(
                    f"assigns a tensor to {name!r} of a module, which is no buffer",
                    f"make it one with register_buffer({name!r}, ...)",
                )
            if paused and mode.capture is not None and name == "training":
                mode.capture.flagged.sets_training(self.__dict__, value)
            super().__setattr__(name, value)

    def _require_init(self, what: str) -> None:
        if "_parameters" not in self.__dict__:
            raise ModuleAttributeError(f"cannot assign {what} before Module.__init__() call")

    def _forget(self, name: str, keep: str) -> None:
        """Remove an attribute from wherever it is but the table that it will be in."""
        self.__dict__.pop(name, None)
        for table in _NOUNS:
            if table != keep:
                getattr(self, table).pop(name, None)

    def __delattr__(self, name: str) -> None:
        for table in _NOUNS:
            if name in self.__dict__.get(table, ()):
                del getattr(self, table)[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def apply(self, fn: Callable[[Module], object]) -> Any:
        """Call `fn` with every module below and with this one; children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Any:
        """Set `training` here and below."""
        if not isinstance(mode, bool):
            raise OptionError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Any:
        """Leave training mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set whether the parameters require grad."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    @changing("clears gradients")
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the parameters, or set them to zero."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                if parameter.grad.requires_grad:
                    parameter.grad.detach_()
                parameter.grad.zero_()

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the representation shows of the module's own options."""
        return ""

    def _child_lines(self) -> Iterator[str]:
        for name, module in self._modules.items():
            yield f"({name}): {indented(repr(module))}"

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [*(extra.split("\n") if extra else ()), *self._child_lines()]
        if not lines or (len(lines) == 1 and extra):
            return f"{self._get_name()}({''.join(lines)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _repr_html_(self) -> str:
        from staticgraph.dynamic.nn.module_tree import tree

        return tree(self, Module.__repr__)


def indented(text: str) -> str:
    """Text whose second and further lines are moved in by two spaces."""
    return text.replace("\n", "\n  ")


def _require(value: object, kind: Any, noun: str, name: str, wanted: str) -> None:
    if value is not None and (kind is None or not isinstance(value, kind)):
        raise ArgumentError(
            f"cannot assign '{type_name(value)}' as {noun} '{name}' ({wanted} or None expected)"
        )
