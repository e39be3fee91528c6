"""Methods of tensors that ask where they are, and on which memory, and that change the latter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import is_symbolic
from staticgraph.dynamic.core.dtypes import complex64, complex128, int8, int16, uint8
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tape.accumulate_grad import leaf_node
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.devices import (
    check_device,
    check_format,
    strided as strided_layout,
)
from staticgraph.dynamic.tensors.storage import TypedStorage, UntypedStorage, memory_of
from staticgraph.dynamic.tensors.strided import layout, strided
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = [
    "apply_", "byte", "cdouble", "cfloat", "char", "cuda", "get_device",
    "is_neg", "is_pinned", "is_same_size", "is_set_to", "is_shared", "is_signed", "map_",
    "new", "pin_memory", "record_stream", "set_", "share_memory_", "short", "storage",
    "storage_type", "to_dense", "untyped_storage", "xpu",
]  # fmt: skip


def cuda(
    self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Any:
    """AssertionError: there is no GPU."""
    check_device("cuda")


def xpu(
    self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Any:
    """AssertionError: there is no GPU."""
    check_device("xpu")


def get_device(self: Any) -> int:
    """The number of the GPU that the tensor is on; -1, as it is on the CPU.

    Example:
        >>> dynamic.ones(2).get_device()
        -1
    """
    return -1


def pin_memory(self: Any, device: Any = None) -> Any:
    """RuntimeError: there is no GPU to pin memory for."""
    raise AutogradError("Cannot access accelerator device when none is available.")


def is_pinned(self: Any, device: Any = None) -> bool:
    """Whether the memory is pinned for a GPU: no.

    Example:
        >>> dynamic.ones(2).is_pinned()
        False
    """
    return False


def is_shared(self: Any) -> bool:
    """Whether the memory is shared with other processes: no.

    Example:
        >>> dynamic.ones(2).is_shared()
        False
    """
    return False


def share_memory_(self: Any) -> Any:
    """The tensor itself: processes that are forked share its memory until they write to it."""
    return self


def record_stream(self: Any, stream: Any) -> None:
    """RuntimeError: there is no GPU."""
    raise AutogradError("record_stream: there is no GPU, and no stream of its work")


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor, which is dense, in a dtype."""
    return self if dtype is None else self.to(dtype)


def is_signed(self: Any) -> bool:
    """Whether elements of the dtype can be negative.

    Example:
        >>> dynamic.ones(2, dtype=dynamic.uint8).is_signed()
        False
    """
    return bool(self._array.dtype.kind not in "ub")


def is_neg(self: Any) -> bool:
    """Whether the memory holds the negated elements: no."""
    return False


def is_same_size(self: Any, other: Any) -> bool:
    """Whether two tensors have the same shape.

    Example:
        >>> dynamic.ones(2).is_same_size(dynamic.zeros(2))
        True
    """
    return bool(self._array.shape == other._array.shape)


def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    same = storage(self).data_ptr() == storage(tensor).data_ptr()
    return bool(same and layout(self._array) == layout(tensor._array))


def storage_type(self: Any) -> type:
    """The class of `storage()`."""
    return TypedStorage


def storage(self: Any) -> TypedStorage:
    """The memory that the tensor is on, as a sequence of elements."""
    return TypedStorage(memory_of(values_of(self)))


def untyped_storage(self: Any) -> UntypedStorage:
    """The memory that the tensor is on, as a sequence of bytes.

    Example:
        >>> x = dynamic.arange(4)
        >>> x.untyped_storage().nbytes()
        32
    """
    return UntypedStorage(memory_of(values_of(self)).view(np.uint8))


def set_(
    self: Any,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Any:
    """Put the tensor on the memory of another one, or of a storage; on none without.

    RuntimeError if the tensor requires grad and is recorded, for another dtype, and for places
    outside the memory.

    Example:
        >>> x = dynamic.zeros(1)
        >>> x.set_(dynamic.ones(2)).shape
        torch.Size([2])
    """
    if is_symbolic(self):
        refuse("puts a tensor on the memory of another", "use copy_, or do it outside")
    _check_movable("set_", self)
    if source is None:
        self._move(np.empty(0, self._array.dtype))
        return self
    if isinstance(source, Tensor) and size is None:
        array = source._array
    else:
        memory = source._array if isinstance(source, TypedStorage) else memory_of(source._array)
        if size is None:
            size, stride = (len(memory),), (1,)
        shape = sizes_of((size,))
        array = strided(memory, shape, stride or _row_major(shape), storage_offset)
    if array.dtype != self._array.dtype:
        raise AutogradError(
            f"set_: Could not set tensor of type {self._array.dtype} to a tensor of type "
            f"{array.dtype}"
        )
    self._move(array)
    if self.requires_grad:  # graphs that were made before lead to what it was then
        before = self._home
        self._home = None
        self._node = leaf_node(self)
        self._home.grad = before.grad
    return self


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, following = [], 1
    for size in reversed(shape):
        steps.append(following)
        following *= size
    return tuple(reversed(steps))


def _check_movable(name: str, tensor: Any) -> None:
    if tensor._node is not None and not tensor.is_leaf:
        raise AutogradError(f"{name}: the tensor is recorded: use detach() first")
    if tensor.requires_grad and mode.enabled:
        raise AutogradError(
            f"{name}: a leaf Variable that requires grad is being used in an in-place operation."
        )


def new(self: Any, *data: Any, device: Any = None) -> Any:
    """A tensor of the dtype: uninitialised of a shape, or with the values of a sequence."""
    from staticgraph.dynamic.tensors.typed import new_tensor

    check_device(device)
    if len(data) == 1 and isinstance(data[0], TypedStorage):
        return wrap(data[0]._array)
    return new_tensor(self.dtype, data)


def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """In place: what a function of Python numbers gives for each element; slow.

    Example:
        >>> dynamic.tensor([1.0, 2.0]).apply_(lambda number: number + 1)
        tensor([2., 3.])
    """
    _check_movable("apply_", self)
    values = [callable(one) for one in values_of(self).reshape(-1).tolist()]
    return self.copy_(wrap(np.array(values, self._array.dtype).reshape(self._array.shape)))


def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """In place: what a function gives for each pair of elements of two tensors; slow."""
    _check_movable("map_", self)
    other = np.broadcast_to(values_of(tensor), self._array.shape).reshape(-1).tolist()
    pairs = zip(values_of(self).reshape(-1).tolist(), other, strict=True)
    values = np.array([callable(a, b) for a, b in pairs], self._array.dtype)
    return self.copy_(wrap(values.reshape(self._array.shape)))


def _cast(name: str, dtype: Any) -> Any:
    def method(self: Any, memory_format: Any = None) -> Any:
        check_format(name, memory_format)
        return self.to(dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor cast to {dtype}; itself if it has that dtype."
    return method


byte, char, short = _cast("byte", uint8), _cast("char", int8), _cast("short", int16)
cfloat, cdouble = _cast("cfloat", complex64), _cast("cdouble", complex128)


def _constant(value: Any, doc: str) -> property:
    return property(lambda self: value, doc=doc)


_NOT = (
    "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
    "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip
PROPERTIES: dict[str, property] = {
    **{name: _constant(False, f"{name}: no, tensors are dense, on the CPU.") for name in _NOT},
    "is_cpu": _constant(True, "Whether the tensor is on the CPU: yes."),
    "layout": _constant(strided_layout, "How the tensor is stored: with a step for each axis."),
    "name": _constant(None, "The name of a tensor in old versions of PyTorch: None."),
}
