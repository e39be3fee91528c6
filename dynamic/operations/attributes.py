"""What a tensor tells of its memory, and new tensors of its dtype."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors import creation
from staticgraph.dynamic.tensors.devices import CPU
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.strided import address, layout

__all__ = [
    "data_ptr", "element_size", "ndimension", "new_empty", "new_full", "new_ones", "new_tensor",
    "new_zeros", "reshape_as", "storage_offset", "stride", "subtract",
]  # fmt: skip


def stride(self: Any, dim: int | None = None) -> Any:
    """How many elements apart neighbours along each axis, or one axis, are in memory.

    Example:
        >>> dynamic.ones(2, 3).stride()
        (3, 1)
    """
    array = self._array
    if array.size:
        steps = [step // array.itemsize for step in array.strides]
    else:
        steps = [0] * array.ndim
    following = 1  # what a step of an axis of size 1 is, if it was added to the array
    for axis in range(array.ndim - 1, -1, -1):
        size = array.shape[axis]
        if not steps[axis] and (size == 1 or not array.size):
            steps[axis] = following
        following = max(size, 1) * steps[axis]
    if dim is None:
        return tuple(steps)
    return steps[axis_of("stride", dim, len(steps), of_number=False)]


def data_ptr(self: Any) -> int:
    """The address of the first element; 0 if there is none.

    Example:
        >>> x = dynamic.ones(2)
        >>> x.data_ptr() == x[:1].data_ptr()
        True
    """
    if paused and mode.capture is not None:
        return int(mode.capture.told(self, "data_ptr", _data_ptr))
    return _data_ptr(self)


def _data_ptr(tensor: Any) -> int:
    return address(tensor._array) if tensor._array.size else 0


def storage_offset(self: Any) -> int:
    """How many elements after the first of its memory the tensor's first one is.

    Example:
        >>> dynamic.arange(5)[2:].storage_offset()
        2
    """
    if paused and mode.capture is not None:
        return int(mode.capture.told(self, "storage_offset", _storage_offset))
    return _storage_offset(self)


def _storage_offset(tensor: Any) -> int:
    return layout(tensor._array).start


def element_size(self: Any) -> int:
    """The number of bytes of an element.

    Example:
        >>> dynamic.ones(2).itemsize
        4
    """
    return int(self._array.itemsize)


def subtract(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The tensor without alpha * other: see `sub`.

    Example:
        >>> dynamic.subtract(dynamic.tensor([5.0, 2.0]), 1.5)
        tensor([3.5000, 0.5000])
    """
    return self.sub(other, alpha=alpha)


def ndimension(self: Any) -> int:
    """The number of axes.

    Example:
        >>> dynamic.ones(2, 3).ndimension()
        2
    """
    return int(self._array.ndim)


def reshape_as(self: object, other: Any) -> Any:
    """The elements in the shape of another tensor.

    Example:
        >>> dynamic.ones(4).reshape_as(dynamic.ones(2, 2)).shape
        torch.Size([2, 2])
    """
    return ops.reshape(self, tuple(other.shape))


def _new(make: Any) -> Any:
    def method(self: Any, *size: object, dtype: object = None, **options: object) -> Any:
        wanted = self._array.dtype if dtype is None else dtype
        return make(sizes_of(size, f"new_{make.__name__}"), dtype=wanted, **options)

    method.__doc__ = f"As `{make.__name__}`, with the dtype of the tensor unless another is given."
    return method


new_empty, new_zeros, new_ones = (
    _new(make) for make in (creation.empty, creation.zeros, creation.ones)
)


def new_full(
    self: Any, size: object, fill_value: object, *, dtype: object = None, **options: Any
) -> Any:
    """One number in this shape, with the dtype of the tensor unless another is given.

    Example:
        >>> dynamic.ones(2).new_full((3,), 7.0)
        tensor([7., 7., 7.])
    """
    wanted = self._array.dtype if dtype is None else dtype
    return creation.full(size, fill_value, dtype=wanted, **options)


def new_tensor(self: Any, data: object, *, dtype: object = None, **options: Any) -> Any:
    """A copy of `data`, with the dtype of the tensor unless another is given.

    Example:
        >>> dynamic.ones(2, dtype=dynamic.float64).new_tensor([1.0]).dtype
        torch.float64
    """
    wanted = self._array.dtype if dtype is None else dtype
    return creation.tensor(data, dtype=wanted, **options)


PROPERTIES: dict[str, property] = {
    "device": property(lambda self: CPU, doc="Where the tensor is: on the CPU."),
    "is_cuda": property(lambda self: False, doc="Whether the tensor is on a GPU: no."),
    "itemsize": property(element_size, doc="The number of bytes of an element."),
    "nbytes": property(lambda self: int(self._array.nbytes), doc="The bytes of all elements."),
}
SHARED: dict[str, Op] = {
    name: op
    for name in ops.PUBLIC
    if isinstance(op := getattr(ops, name), Op) and op.elementwise and op is not ops.polygamma
}
"""Shared ops that are methods under their own names, of which the tensor is the first operand."""
