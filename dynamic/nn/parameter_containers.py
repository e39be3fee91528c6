"""Containers of parameters, which register them: in a list, in a dict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn.containers import pairs, position
from staticgraph.dynamic.nn.errors import ModuleAttributeError, ModuleError
from staticgraph.dynamic.nn.module import Module, indented
from staticgraph.dynamic.nn.parameter import Parameter, type_name
from staticgraph.dynamic.tensors.tensor import Tensor


def _registered(value: object) -> Any:
    """A tensor as a parameter; any other value as it is."""
    return Parameter(value) if type(value) is Tensor else value


def _line(name: str, value: object, dtype: object) -> str:
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type_name(value)}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(size) for size in value.shape)
    return f"  ({name}): {kind} containing: [{dtype} of size {size}]"


class _Holder(Module):
    """Values under names, parameters among them registered; abstract."""

    _names: list[str]

    def _dtype_name(self, value: object) -> str:
        """How the representation calls the dtype of a tensor."""
        return repr(getattr(value, "dtype", None))

    def _all(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self._names]

    def __len__(self) -> int:
        return len(self._names)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise ModuleError(f"{type(self).__name__} should not be called.")

    def _child_lines(self) -> Iterator[str]:
        for name, value in self._all():
            yield _line(name, value, self._dtype_name(value))
        yield from (
            f"({name}): {indented(repr(module))}"
            for name, module in self._modules.items()
            if name not in self._names
        )


class ParameterList(_Holder):
    """Parameters in a list; tensors become parameters, other values are kept as they are.

    Example:
        >>> len(nn.ParameterList([dynamic.ones(2), dynamic.ones(3)]))
        2
    """

    def __init__(self, values: Iterable[object] | None = None) -> None:
        super().__init__()
        self._names = []
        self.extend(() if values is None else values)

    def _name(self, index: object) -> str:
        return self._names[position(index, len(self))]

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, slice):
            return type(self)([value for _, value in self._all()[index]])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: object) -> None:
        setattr(self, self._name(index), _registered(value))

    def __iter__(self) -> Iterator[Any]:
        return iter([value for _, value in self._all()])

    def append(self, value: object) -> ParameterList:
        """Add a value at the end."""
        name = str(len(self))
        setattr(self, name, _registered(value))
        self._names.append(name)
        return self

    def extend(self, values: object) -> ParameterList:
        """Add values at the end; TypeError if they cannot be iterated over, as a tensor."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise ArgumentError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[object]) -> ParameterList:
        return self.extend(values)


class ParameterDict(_Holder):
    """Parameters in a dict; tensors become parameters, other values are kept as they are.

    Example:
        >>> nn.ParameterDict({"w": nn.Parameter(dynamic.ones(2))})["w"].shape
        torch.Size([2])
    """

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._names = []
        if parameters is not None:
            self.update(parameters)

    def _dtype_name(self, value: object) -> str:
        return type_name(value)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._present(key))

    def _present(self, key: str) -> str:
        self._check_key(key)
        if key not in self._names:
            raise ModuleAttributeError(f"'{self._get_name()}' object has no attribute '{key}'")
        return key

    def _check_key(self, key: object) -> None:
        if not isinstance(key, str):
            raise ArgumentError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need "
                "non-string keys."
            )

    def __setitem__(self, key: str, value: object) -> None:
        self._check_key(key)
        setattr(self, key, _registered(value))
        if key not in self._names:
            self._names.append(key)

    def __delitem__(self, key: str) -> None:
        delattr(self, self._present(key))
        self._names.remove(key)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._names))

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def keys(self) -> list[str]:
        """The names."""
        return list(self._names)

    def items(self) -> list[tuple[str, Any]]:
        """The names with the values."""
        return self._all()

    def values(self) -> list[Any]:
        """The values."""
        return [value for _, value in self._all()]

    def get(self, key: str, default: object = None) -> Any:
        """The value of a name, or `default`."""
        return dict(self._all()).get(key, default)

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Remove all values."""
        for key in self.keys():
            del self[key]

    def update(self, parameters: object) -> None:
        """Add the values of a mapping, or of pairs of a name and a value."""
        for key, value in pairs("ParameterDict", parameters):
            self[key] = value
