"""Optimizer: what all optimizers share, groups of parameters and their options (PyTorch's)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.watching import changing
from staticgraph.dynamic.core.dtypes import get_default_dtype
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.places import user_place
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.optim.errors import AbstractMethodError
from staticgraph.dynamic.optim.hooks import Hook, with_hooks
from staticgraph.dynamic.optim.state import State
from staticgraph.dynamic.tape.grad_mode import enable_grad, mode, paused
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle
from staticgraph.dynamic.tape.noted import note_optimizer, optimizers
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


class _Required:
    """What stands for an option that has no default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer(State):
    """Changes parameters by their gradients; abstract: a subclass defines `step` or `_update`.

    Args:
        params: leaves that require grad, or pairs of a name and a leaf, or dicts of such "params"
            and options of their own.
        defaults: the options of the groups that do not set them.

    Attributes:
        param_groups: dicts of "params" and options, read at each step.
        state: what the algorithm keeps per parameter.

    Example:
        >>> issubclass(dynamic.optim.Adam, dynamic.optim.Optimizer)
        True
    """

    takes_complex = True
    """Whether parameters may be complex; each element is then a pair of real numbers."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if paused and mode.capture is not None:
            refuse(
                f"makes an optimizer ({type(self).__name__}), which would keep its state from call "
                "to call",
                "make it once, outside",
            )
        if isinstance(params, Tensor):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}"
            )
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self._reset_hooks()
        groups = list(params)
        if not groups:
            raise OptionError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        note_optimizer(self)

    def _reset_hooks(self) -> None:
        super()._reset_hooks()
        optimizers.add(self)  # also one that is unpickled
        self._step_pre_hooks, self._step_post_hooks = Hooks(), Hooks()
        # whether it was called since the first scheduler; and what `step` was then, if replaced
        self._step_called: bool | None = None
        self._step_tracked: Any = None

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new arguments."""
        return self._step_pre_hooks.add(hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._step_post_hooks.add(hook)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own: the dict itself, completed, is the group."""
        if not isinstance(param_group, dict):
            raise ArgumentError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _separate(param_group["params"])
        for param in params:
            _check_param(param)
            self._check_dtype(param)
        self._check_distinct(params, names)
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for option, value in self.defaults.items():
            if value is required and option not in param_group:
                raise OptionError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{option}"
                )
            param_group.setdefault(option, value)
        self.param_groups.append(param_group)

    def _check_distinct(self, params: list[Tensor], names: list[str]) -> None:
        identities = {id(param) for param in params}
        if len(identities) != len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; each of them "
                "would be updated more than once in a step"
            )
        for group in self.param_groups:
            if ("param_names" in group) != bool(names):
                raise OptionError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {'with' if names else 'without'} names to the optimizer"
                )
            if any(id(param) in identities for param in group["params"]):
                raise OptionError("some parameters appear in more than one parameter group")

    @changing("clears gradients")
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or set them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    if param.grad.requires_grad:
                        param.grad.detach_()
                    param.grad.zero_()

    @with_hooks
    def step(self, closure: Callable[[], object] | None = None) -> Any:
        """Change the parameters once; `closure` computes the loss anew, which is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        place = user_place()
        for group in self.param_groups:
            for param in group["params"]:
                g = _gradient(param)
                if g is None:
                    continue
                # a transposed gradient would slow down each of the passes over memory
                g = g if g.flags.c_contiguous else np.array(g, order="C")
                change = self._update_pairs if g.dtype.kind == "c" else self._update
                change(param, g, group)
                counter = param._counter
                counter[0] += 1
                counter[1] = place
        return loss

    def _check_dtype(self, param: Tensor) -> None:
        if param._array.dtype.kind == "c" and not self.takes_complex:
            raise AutogradError(
                f"{type(self).__name__} does not support complex parameters: let it have a real "
                "one, and compute with torch.view_as_complex of it"
            )

    def _update_pairs(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        """Change a complex parameter: its parts, and those of what is kept of it, as real ones."""
        state = self.state.pop(param, {})
        parts = wrap(pairs(param._array))
        if state:
            self.state[parts] = {key: _real(value) for key, value in state.items()}
        self._update(parts, pairs(g), group)
        kept = self.state.pop(parts, {})
        for key, value in kept.items():
            is_pair = isinstance(value, Tensor) and value._array.shape == parts._array.shape
            kept[key] = wrap(value._array.view(g.dtype)[..., 0]) if is_pair else value
        if kept:
            self.state[param] = kept

    def _update(self, param: Tensor, g: object, group: dict[str, Any]) -> None:
        """Change the memory of one parameter, given its gradient as an ndarray."""
        raise AbstractMethodError(f"{type(self).__name__}: neither step nor _update is defined")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def pairs(array: Any) -> Any:
    """The memory of a complex array as real numbers, the parts along a new last axis."""
    real = array.real.dtype
    if array.flags.c_contiguous:
        return array.view(real).reshape(*array.shape, 2)
    steps = (*array.strides, real.itemsize)
    return np.lib.stride_tricks.as_strided(array.real, (*array.shape, 2), steps)


def _real(value: Any) -> Any:
    is_complex = isinstance(value, Tensor) and value._array.dtype.kind == "c"
    return wrap(pairs(value._array)) if is_complex else value


def _gradient(param: Tensor) -> Any:
    """The array of a parameter's gradient, or None: without a tensor that nobody looks at."""
    home = param._home
    grad = param.grad if home is None or paused else home.grad
    return grad if grad is None or type(grad) is np.ndarray else grad._array


def _separate(given: Any) -> tuple[list[Any], list[str]]:
    """The parameters of a group and their names, if they are pairs of both."""
    if isinstance(given, set):
        raise ArgumentError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    members = [given] if isinstance(given, Tensor) else list(given)
    names = [member[0] for member in members if isinstance(member, tuple)]
    if names and len(names) != len(members):
        raise OptionError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [member[1] for member in members] if names else members, names


def _check_param(param: object) -> None:
    if not isinstance(param, Tensor):
        kind = type(param)
        place = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        raise ArgumentError(
            f"optimizer can only optimize Tensors, but one of the params is {place}{kind.__name__}"
        )
    if not (param.is_leaf or param.retains_grad):
        raise OptionError("can't optimize a non-leaf Tensor")


def new_count() -> Tensor:
    """The number of steps so far, 0: a 0-d tensor of the default dtype, as PyTorch keeps it."""
    return wrap(np.zeros((), get_default_dtype().dtype))


def begin(state: dict[str, Any], values: object, *names: str) -> None:
    """The state of a parameter before its first step: no steps, and zeros like its values."""
    state.setdefault("step", new_count())
    for name in names:
        state[name] = wrap(np.zeros_like(values))


def count(state: dict[str, Any]) -> float:
    """Add one to the number of steps of a parameter; the new number."""
    array = state["step"]._array
    steps: float = array.item() + 1
    array[()] = steps
    return steps
