"""State dicts: the parameters and persistent buffers of a tree of modules by their dotted names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dynamic.errors import ArgumentError
from dynamic.grad_mode import no_grad
from dynamic.nn.errors import ModuleError
from dynamic.nn.parameter import Parameter
from dynamic.nn.tree import Tree
from dynamic.tensor import Tensor


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


class State(Tree):
    """Saving and loading the state of a module; abstract: a part of Module."""

    def _state_entries(self) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Per entry of the state dict its key, the table that holds it, and its name there."""
        for path, module in self.named_modules(remove_duplicate=False):
            before = f"{path}." if path else ""
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    yield before + name, module._parameters, name
            for name, buffer in module._buffers.items():
                if buffer is not None and name not in module._non_persistent_buffers_set:
                    yield before + name, module._buffers, name

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The parameters and persistent buffers by their dotted names, in order.

        Args:
            destination: the mapping to fill; a new OrderedDict if None.
            prefix: what the keys begin with, its final dot included.
            keep_vars: whether the values are the tensors themselves, not detached ones.
        """
        result = OrderedDict() if destination is None else destination
        for key, table, name in self._state_entries():
            result[prefix + key] = table[name] if keep_vars else table[name].detach()
        return result

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into the parameters and buffers, or take the tensors over if `assign`.

        RuntimeError lists the sizes that differ and, if `strict`, the keys that do not match.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        entries = {key: (table, name) for key, table, name in self._state_entries()}
        missing = [key for key in entries if key not in state_dict]
        unexpected = [key for key in state_dict if key not in entries]
        problems = []
        if strict and missing:
            problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if strict and unexpected:
            problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        for key, (table, name) in entries.items():
            if key in state_dict:
                problem = _load(key, table, name, state_dict[key], assign)
                problems += [problem] if problem else []
        if problems:
            listed = "\n\t".join(problems)
            raise ModuleError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return IncompatibleKeys(missing, unexpected)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _load(key: str, table: dict[str, Any], name: str, value: Any, assign: bool) -> str | None:
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
    elif isinstance(own, Parameter):
        table[name] = Parameter(value, own.requires_grad)
    else:
        table[name] = value
    return None
