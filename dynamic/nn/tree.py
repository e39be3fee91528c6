"""The tree of modules: its parameters, buffers and submodules by their dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.dynamic.nn.errors import ModuleAttributeError
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.tensor import Tensor


class Tree:
    """What a module registers, and the walks over it; abstract: a part of Module."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The module and all below it, parents first, with dotted names; shared ones once."""
        seen = set() if memo is None else memo
        if remove_duplicate:
            if id(self) in seen:
                return
            seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, below, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """The module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules directly below this one, each once, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules directly below this one, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """The entries of one table of each module, with dotted names."""
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        seen = set()
        for path, module in owners if recurse else [(prefix, self)]:
            for name, tensor in getattr(module, table).items():
                if tensor is None or (remove_duplicate and id(tensor) in seen):
                    continue
                seen.add(id(tensor))
                yield (f"{path}.{name}" if path else name), tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with dotted names, those of the modules below too if `recurse`."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once, those of the modules below too if `recurse`."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with dotted names, those of the modules below too if `recurse`."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once, those of the modules below too if `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Any:
        """The module at a dotted name; AttributeError if there is none."""
        module: Any = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise _no_attribute(module, name)
            module = getattr(module, name)
            if not isinstance(module, Tree):
                raise ModuleAttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name; AttributeError if there is none."""
        value = self._tensor_at(target)
        if not isinstance(value, Parameter):
            raise ModuleAttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name; AttributeError if there is none."""
        value = self._tensor_at(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise ModuleAttributeError(f"`{name}` is not a buffer")
        assert isinstance(value, Tensor)
        return value

    def _tensor_at(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise _no_attribute(module, name)
        return getattr(module, name)


def _no_attribute(module: object, name: str) -> ModuleAttributeError:
    return ModuleAttributeError(f"{type(module).__name__} has no attribute `{name}`")
