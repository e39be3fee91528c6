"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tensors.copies import rebuild
from staticgraph.dynamic.tensors.tensor import Tensor
from staticgraph.dynamic.tensors.values import values_of


class Parameter(Tensor):
    """A leaf on the memory of `data` that requires grad, whatever the grad mode.

    TypeError if `data` is no tensor, RuntimeError if it is to require grad and is not floating.

    Example:
        >>> m = nn.Module()
        >>> m.scale = nn.Parameter(dynamic.ones(1))
        >>> [name for name, _ in m.named_parameters()]
        ['scale']
    """

    __slots__ = ()

    def __new__(cls, data: object = None, requires_grad: bool = True) -> Any:
        """The parameter: made here, as subclasses in PyTorch's words have a `__new__`."""
        self = object.__new__(cls)
        Tensor.__init__(self)
        if data is not None:
            self._array = _tensor("Parameter", data)._array
        if requires_grad and not is_inexact(self._array.dtype):
            raise AutogradError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad = requires_grad
        return self

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        data = self._constant(values_of(self).copy(order="K"))
        result = memo[id(self)] = type(self)(data, self.requires_grad)
        return result

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        state = getattr(self, "__dict__", None)
        return rebuild, (type(self), self._array, self.requires_grad), state or None


class Buffer(Tensor):
    """A tensor on the memory of `data` that a module keeps beside its parameters.

    Attributes:
        persistent: whether it is part of the module's state dict.

    Example:
        >>> m = nn.Module()
        >>> m.steps = nn.Buffer(dynamic.zeros(1))
        >>> list(m.state_dict())
        ['steps']
    """

    __slots__ = ("persistent",)

    persistent: bool

    def __new__(cls, data: object = None, *, persistent: bool = True) -> Any:
        """The buffer: made here, as `Parameter`."""
        self = object.__new__(cls)
        Tensor.__init__(self)
        if data is not None:
            self._array = _tensor("Buffer", data)._array
        self.persistent = persistent
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        result: Buffer = super().__deepcopy__(memo)
        result.persistent = self.persistent
        return result

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        make, parts, state = super().__reduce_ex__(protocol)
        return make, parts, (state, {"persistent": self.persistent})


def _tensor(name: str, data: object) -> Tensor:
    if not isinstance(data, Tensor):
        raise ArgumentError(f"{name}: data is a {type(data).__name__}, not a Tensor")
    return data


def type_name(value: object) -> str:
    """PyTorch's name of the type of a value, for messages."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
