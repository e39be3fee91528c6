"""Saving and loading: the state of an optimizer in PyTorch's layout, parameters by index."""

from __future__ import annotations

import copy
from collections import defaultdict
from itertools import chain
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.dynamic.optim.hooks import Hook
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle
from staticgraph.dynamic.tensors.tensor import Tensor, wrap

COUNTS = ("step", "mu_product", "eta", "mu")
"""The numbers that depend on the steps alone: a cast would change the steps that follow."""


class State:
    """The part of an optimizer that saves and loads its groups and its state; abstract."""

    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, dict[str, Any]]

    def _reset_hooks(self) -> None:
        self._state_dict_pre_hooks, self._state_dict_post_hooks = Hooks(), Hooks()
        self._load_state_dict_pre_hooks, self._load_state_dict_post_hooks = Hooks(), Hooks()

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return self._state_dict_pre_hooks.add(hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another dict."""
        return self._state_dict_post_hooks.add(hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another dict."""
        return self._load_state_dict_pre_hooks.add(hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return self._load_state_dict_post_hooks.add(hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """The "param_groups" and the "state", with the parameters numbered through all groups.

        The values are the optimizer's own, not copies.
        """
        for hook in self._state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            params = group["params"]
            for i, param in enumerate(params, start):
                numbers.setdefault(id(param), i)
            start += len(params)
            options = {key: value for key, value in group.items() if key != "params"}
            groups.append({**options, "params": [numbers[id(param)] for param in params]})
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over copies of the options and the state that `state_dict` returned.

        Tensors of the state are cast to the dtype of their parameter, except those that count
        steps; arrays, which a symbolic optimizer saves, become tensors. Options that are not
        among the saved ones stay. ValueError if the groups differ in number or size; CaptureError
        in a function that is captured.
        """
        if paused and mode.capture is not None:
            refuse("loads the state of an optimizer, which a graph would not", "load it outside")
        state_dict = dict(state_dict)
        for hook in self._load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise OptionError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise OptionError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        params = dict(zip(_params(saved), _params(groups), strict=True))
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param = params.get(key)
            state[key if param is None else param] = _copied(value, param)
        for group, loaded in zip(groups, saved, strict=True):
            loaded["params"] = group["params"]
            for option in ("param_names", *self.defaults):
                if option in group:
                    loaded.setdefault(option, group[option])
        self.state, self.param_groups = state, saved
        for hook in self._load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults, "state": self.state, "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset_hooks()


def _params(groups: list[dict[str, Any]]) -> chain[Any]:
    return chain.from_iterable(group["params"] for group in groups)


def _copied(value: object, param: Tensor | None, key: str | None = None) -> Any:
    """A copy of a part of the state, its tensors in the dtype of the parameter."""
    if isinstance(value, np.ndarray):
        value = wrap(value)
    if isinstance(value, Tensor):
        copied = value.detach().clone()
        return copied if param is None or key in COUNTS else copied.to(param.dtype)
    if isinstance(value, dict):
        return {name: _copied(one, param, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_copied(one, param) for one in value])
    return copy.deepcopy(value)
