"""What subclasses of Tensor take of `torch._C`: their own `__torch_function__` not to be asked.

>>> class Counted(dynamic.Tensor):
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         with dynamic._C.DisableTorchFunctionSubclass():
...             return func(*args, **(kwargs or {}))
>>> dynamic.ones(2).as_subclass(Counted) + 1
tensor([2., 2.])
"""

from __future__ import annotations

from staticgraph.compiler.core.overrides import state
from staticgraph.dynamic.tensors.methods import Methods
from staticgraph.dynamic.tensors.overriding import unasked

__all__ = ["DisableTorchFunctionSubclass"]

_disabled_torch_function_impl = vars(Methods)["__torch_function__"]


class DisableTorchFunctionSubclass:
    """Inside, functions of a subclass of Tensor are those of the tensors, and make plain ones.

    Example:
        >>> with dynamic._C.DisableTorchFunctionSubclass():
        ...     dynamic.overrides.has_torch_function((dynamic.ones(2),))
        False
    """

    def __enter__(self) -> None:
        self._before = state.unasked
        state.unasked = unasked

    def __exit__(self, *exception: object) -> None:
        state.unasked = self._before
