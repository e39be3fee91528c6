"""`torch.overrides`: functions that ask their arguments' classes what they are.

>>> from dynamic.overrides import handle_torch_function, has_torch_function
>>> class Named:
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return func.__name__
>>> dynamic.add(Named(), 1)
'add'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.overrides import overrides, said_of, state
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = ["handle_torch_function", "has_torch_function", "is_tensor_like"]


def has_torch_function(relevant_args: Sequence[object]) -> bool:
    """Whether an argument is of a class that has a `__torch_function__` of its own.

    Example:
        >>> dynamic.overrides.has_torch_function((dynamic.ones(2), 1.0))
        False
    """
    return state.unasked is None and any(map(overrides, relevant_args))


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Sequence[object], *args: Any, **kwargs: Any
) -> Any:
    """What the first class that knows says `public_api` of these arguments is.

    Those of `relevant_args` are asked, derived classes before their bases. TypeError where none
    knows it.

    Example:
        >>> class Named:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__
        >>> dynamic.overrides.handle_torch_function(dynamic.add, (Named(),), Named(), 1)
        'add'
    """
    return said_of(public_api, relevant_args, args, kwargs)


def is_tensor_like(inp: object) -> bool:
    """Whether it is a tensor, or of a class that has a `__torch_function__`.

    Example:
        >>> dynamic.overrides.is_tensor_like(dynamic.ones(2))
        True
    """
    return isinstance(inp, Tensor) or overrides(inp)
