"""Parameters that functions of others take the place of (torch.nn.utils.parametrize)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.containers import ModuleDict, ModuleList
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations",
]  # fmt: skip

_cache: list[dict[tuple[int, str], Any]] = []


@contextmanager
def cached() -> Iterator[None]:
    """A block in which each such parameter is computed once.

    Example:
        >>> from dynamic.nn.utils import parametrize
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     print(layer.weight is layer.weight)
        True
    """
    _cache.append({})
    try:
        yield
    finally:
        _cache.pop()


class ParametrizationList(ModuleList):
    """The functions of one parameter, one after the other, and what they are applied to.

    Attributes:
        original: the parameter; `original0`, `original1`, ... where the function's `right_inverse`
            gives several.

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> layer.parametrizations.weight.original0.shape, len(layer.parametrizations.weight)
        (torch.Size([2, 1]), 1)
    """

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        inner: Any = original
        with no_grad():
            for one in reversed(list(modules)):
                if hasattr(one, "right_inverse"):
                    with suppress(NotImplementedError):  # then the parameter stays as it is
                        inner = one.right_inverse(inner)
        self.is_tensor = isinstance(inner, Tensor)
        keep = isinstance(original, Parameter)
        if self.is_tensor:
            if inner is not original and keep:
                original.data = inner.detach()
                inner = original
            self._take("original", inner, keep)
            return
        self.ntensors = len(inner)
        for i, one in enumerate(inner):
            self._take(f"original{i}", one, keep)

    def _take(self, name: str, value: Any, is_parameter: bool) -> None:
        if is_parameter:
            self.register_parameter(
                name, value if isinstance(value, Parameter) else Parameter(value.detach())
            )
        else:
            self.register_buffer(name, value)

    def originals(self) -> list[Any]:
        """What the functions are applied to."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set what the functions are applied to, so that they give this value."""
        with no_grad():
            for one in reversed(list(self)):
                value = one.right_inverse(value)
            values = [value] if self.is_tensor else value
            for place, one in zip(self.originals(), values, strict=True):
                place.copy_(one)

    def forward(self) -> Any:
        """The value of the parameter."""
        first, *rest = list(self)
        value = first(*self.originals())
        for one in rest:
            value = one(value)
        return value


def _property(name: str) -> property:
    def get(self: Any) -> Any:
        if not _cache:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache[-1]:
            _cache[-1][key] = self.parametrizations[name]()
        return _cache[-1][key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _copied(module: Any, memo: dict[int, Any]) -> Any:
    """A deep copy of a parametrized module, of a class of its own, as that has the properties."""
    kind = type(module)
    made: Any = object.__new__(type(kind.__name__, kind.__bases__, {**vars(kind)}))
    memo[id(module)] = made
    vars(made).update(copy.deepcopy(vars(module), memo))
    return made


def _refused(module: Any) -> NoReturn:
    raise AutogradError(
        "Serialization of parametrized modules is only supported through state_dict(): "
        "save that, and load it into a module that is parametrized in the same way."
    )


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """The module, of which a parameter is what another module gives for it.

    Its `right_inverse`, if it has one, says what it is to be applied to at first.

    Raises:
        ValueError: the module has no such parameter or buffer, or the value has another shape.

    Example:
        >>> from dynamic.nn.utils import parametrize
        >>> layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Softplus())
        >>> bool((layer.weight > 0).all()), type(layer).__name__
        (True, 'ParametrizedLinear')
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    table = next((one for one in (module._parameters, module._buffers) if tensor_name in one), None)
    if table is None:
        raise OptionError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = table.pop(tensor_name)
    listed = ParametrizationList([parametrization], original, unsafe)
    with no_grad():
        made = listed()
    if not unsafe and tuple(made.shape) != tuple(original.shape):
        table[tensor_name] = original
        raise OptionError(
            "Registering a parametrization may not change the shape of the tensor, unless the "
            f"`unsafe` flag is enabled. It is {tuple(made.shape)}, not {tuple(original.shape)}"
        )
    kind = type(module)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        own = {"__module__": kind.__module__, "__deepcopy__": _copied, "__getstate__": _refused}
        kind = type(f"Parametrized{kind.__name__}", (kind,), own)
        module.__class__ = kind
    module.parametrizations[tensor_name] = listed
    setattr(kind, tensor_name, _property(tensor_name))
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module, or a parameter of it, is the value of other modules.

    Example:
        >>> from dynamic.nn.utils import parametrize
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> parametrize.is_parametrized(layer, "weight"), parametrize.is_parametrized(layer, "bias")
        (True, False)
    """
    tables = module._modules.get("parametrizations")
    if tensor_name is None:
        return tables is not None and len(tables) > 0
    return tables is not None and tensor_name in tables


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """The module with an ordinary parameter again: its value, or what it is made of.

    Example:
        >>> from dynamic.nn.utils import parametrize
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> _ = parametrize.remove_parametrizations(layer, "weight")
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise OptionError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    with no_grad():
        value = listed() if leave_parametrized else listed.originals()[0]
    original = listed.originals()[0]
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, Parameter(value.detach()))
    else:
        module.register_buffer(tensor_name, value.detach())
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module
