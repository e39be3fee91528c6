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
from staticgraph.compiler.core.passing import seeing
from staticgraph.dynamic.tensors.methods import Methods
from staticgraph.dynamic.tensors.overriding import unasked

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass"]

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


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, neither subclasses of Tensor nor modes say what functions are.

    Example:
        >>> with dynamic.overrides.TorchFunctionMode(), dynamic._C.DisableTorchFunction():
        ...     print(dynamic.ones(1))
        tensor([1.])
    """

    def __enter__(self) -> None:
        super().__enter__()
        self._modes, seeing.modes = seeing.modes, []

    def __exit__(self, *exception: object) -> None:
        seeing.modes = self._modes
        super().__exit__(*exception)
