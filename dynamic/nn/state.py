"""State dicts: the parameters and persistent buffers of a tree of modules by their dotted names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.nn.tree import Tree
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle
from staticgraph.dynamic.tensors.tensor import Tensor


class IncompatibleKeys(NamedTuple):
    """The keys that a module has and a state dict lacks, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


_EXTRA = "_extra_state"


class Loading(NamedTuple):
    """One call of `load_state_dict`: what is loaded, how, and what was wrong so far."""

    values: OrderedDict[str, Any]
    strict: bool
    assign: bool
    missing: list[str]
    unexpected: list[str]
    problems: list[str]


class State(Tree):
    """Saving and loading the state of a module; abstract: a part of Module."""

    _state_dict_pre_hooks: Hooks
    _state_dict_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def _own_entries(self) -> Iterator[tuple[dict[str, Any], str]]:
        """The tables and names of the parameters and persistent buffers of this module alone."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield self._parameters, name
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield self._buffers, name

    def get_extra_state(self) -> Any:
        """What belongs in the state dict beside tensors; a subclass defines it, and the setter."""
        raise ModuleError(
            f"{type(self).__name__} has no extra state: it defines no get_extra_state"
        )

    def set_extra_state(self, state: object) -> None:
        """Take over what `get_extra_state` returned."""
        raise ModuleError(
            f"{type(self).__name__} has no extra state: it defines no set_extra_state"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the state of this module alone into a mapping."""
        for table, name in self._own_entries():
            destination[prefix + name] = table[name] if keep_vars else table[name].detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(
        self, *, destination: object = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The parameters and persistent buffers by their dotted names, in order.

        Args:
            destination: the mapping to fill; a new OrderedDict if None.
            prefix: what the keys begin with, its final dot included.
            keep_vars: whether the values are the tensors themselves, not detached ones.
        """
        result = OrderedDict() if destination is None else destination
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(result, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=result, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in tuple(self._state_dict_hooks.values()):
            found = hook(self, result, prefix, {})
            if found is not None and isinstance(hook, _Older):
                result = found
            elif found is not None:
                raise ModuleError("state_dict post-hook must return None")
        return result

    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into the parameters and buffers, or take the tensors over if `assign`.

        RuntimeError lists the sizes that differ and, if `strict`, the keys that do not match.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        task = Loading(OrderedDict(state_dict), strict, assign, [], [], [])
        self._load(task, "")
        problems = list(task.problems)
        if strict and task.unexpected:
            problems.insert(0, f"Unexpected key(s) in state_dict: {_quoted(task.unexpected)}. ")
        if strict and task.missing:
            problems.insert(0, f"Missing key(s) in state_dict: {_quoted(task.missing)}. ")
        if problems:
            listed = "\n\t".join(problems)
            raise ModuleError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return IncompatibleKeys(task.missing, task.unexpected)

    def _load(self, task: Loading, prefix: str) -> None:
        """Load this module and those below."""
        lists = (task.missing, task.unexpected, task.problems)
        own = type(self)._load_from_state_dict
        if own is State._load_from_state_dict:
            self._load_alone(task, prefix)
        else:  # a user's, which calls that of its base
            self._task = task
            try:
                self._load_from_state_dict(task.values, prefix, {}, task.strict, *lists)
            finally:
                del self._task
        for name, child in self._modules.items():
            if child is not None:
                child._load(task, f"{prefix}{name}.")
        keys = IncompatibleKeys(task.missing, task.unexpected)
        for hook in tuple(self._load_state_dict_post_hooks.values()):
            if hook(self, keys) is not None:
                raise ModuleError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load this module alone; a subclass may change the dict before, or the lists after."""
        self._load_alone(self._task, prefix)

    def _load_alone(self, task: Loading, prefix: str) -> None:
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(self, task.values, prefix, {}, True, task.missing, task.unexpected, task.problems)
        self._load_own(task, prefix)

    def _load_own(self, task: Loading, prefix: str) -> None:
        own = set()
        for table, name in self._own_entries():
            key = prefix + name
            own.add(name)
            if key in task.values:
                problem = _load(key, table, name, task.values[key], task.assign)
                task.problems.extend([problem] if problem else [])
            else:
                task.missing.append(key)
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not State.set_extra_state:
            own.add(_EXTRA)
            if extra in task.values:
                self.set_extra_state(task.values[extra])
            else:
                task.missing.append(extra)
        for key in task.values:
            if key.startswith(prefix):
                name, *rest = key[len(prefix) :].split(".", 1)
                if name not in (self._modules if rest else own):
                    task.unexpected.append(key)

    def register_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state dict is filled."""
        return self._state_dict_pre_hooks.add(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when it is filled.

        The hook changes the state dict in place; RuntimeError if it returns anything.
        """
        return self._state_dict_hooks.add(hook)

    def _register_state_dict_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """The older form of `register_state_dict_post_hook`: what it returns, if anything, counts.

        Only for the module that `state_dict` is called on: a dict that is returned below is lost.
        """
        return self._state_dict_hooks.add(_Older(hook))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., object], with_module: bool = False
    ) -> RemovableHandle:
        """The older form of `register_load_state_dict_pre_hook`, without the module."""
        if with_module:
            return self._load_state_dict_pre_hooks.add(hook)
        return self._load_state_dict_pre_hooks.add(lambda module, *rest: hook(*rest))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call a hook before the module is loaded.

        Its arguments: module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs.
        """
        return self._load_state_dict_pre_hooks.add(hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` when the module is loaded.

        The hook changes the lists of keys in place; RuntimeError if it returns anything.
        """
        return self._load_state_dict_post_hooks.add(hook)


class _Older:
    """A hook that may return another state dict."""

    def __init__(self, hook: Callable[..., object]) -> None:
        self.hook = hook

    def __call__(self, *arguments: object) -> Any:
        """What the hook returns."""
        return self.hook(*arguments)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _load(key: str, table: dict[str, Any], name: str, value: object, assign: bool) -> str | None:
    """Set one entry of a module; what is wrong with the value, if anything."""
    own = table[name]
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
    if value.shape != own.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {own.shape}."
        )
    if not assign:
        with no_grad():
            own.copy_(value)
    elif isinstance(own, Parameter) and not isinstance(value, Parameter):
        table[name] = Parameter(value, own.requires_grad)
    else:
        table[name] = value.requires_grad_(own.requires_grad)
    return None
