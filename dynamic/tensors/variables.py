"""Variable: the old way to ask for gradients, before tensors had them of their own."""

from __future__ import annotations

from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.callbacks import ExecutionEngine
from staticgraph.dynamic.tensors.tensor import Tensor


class _AnyTensor(type):
    """Every tensor is an instance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """`Variable(data, requires_grad)`: a tensor on the memory of the tensor `data`, a leaf.

    TypeError if the data are no tensor. `volatile`, from when there was no `no_grad`, has no
    effect, and a warning says so.

    Attributes:
        _execution_engine: what callbacks are given to that run after a reverse pass.

    Example:
        >>> dynamic.autograd.Variable(dynamic.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ExecutionEngine()

    def __new__(  # type: ignore[misc]
        cls, data: object = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        """The tensor."""
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result: Tensor = data.detach()
        return result.requires_grad_() if requires_grad else result
