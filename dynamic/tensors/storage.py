"""The memory of tensors as a sequence: `tensor.storage()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.dynamic.core.dtypes import DTYPES, DType
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors.strided import address, owner


class TypedStorage:
    """The elements of a tensor's memory, in the order in which they lie; changes are the tensor's.

    Those of all tensors that share the memory are among them, whatever their shapes.
    """

    _name = "TypedStorage"

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return DTYPES[self._array.dtype]

    def __len__(self) -> int:
        return len(self._array)

    def size(self) -> int:
        """The number of elements."""
        return len(self._array)

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._array.nbytes)

    def __sizeof__(self) -> int:
        return 32 + self.nbytes()  # with what Python adds, 64 bytes of its own, as PyTorch's

    def element_size(self) -> int:
        """The number of bytes of an element."""
        return int(self._array.itemsize)

    def data_ptr(self) -> int:
        """The address of the first element; 0 if there is none."""
        return address(self._array) if self._array.size else 0

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        found: list[Any] = self._array.tolist()
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self._array[index])
        if not hasattr(index, "__index__"):
            raise ArgumentError(f"can't index a {self._name} with {type(index).__name__}")
        return self._array[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value

    def __repr__(self) -> str:
        lines = "".join(f" {one}\n" for one in self.tolist())
        return (
            f"{lines}[torch.storage.{self._name}(dtype={self.dtype}, device=cpu) of size "
            f"{len(self)}]"
        )


class UntypedStorage(TypedStorage):
    """The bytes of a tensor's memory."""

    _name = "UntypedStorage"

    def __repr__(self) -> str:
        lines = "".join(f" {one}\n" for one in self.tolist())
        return f"{lines}[torch.storage.UntypedStorage(device=cpu) of size {len(self)}]"


def memory_of(array: Any) -> Any:
    """All elements of the memory that an array is on, as a vector."""
    memory = owner(array)
    if not memory.flags.c_contiguous:
        memory = memory.transpose(sorted(range(memory.ndim), key=lambda i: -memory.strides[i]))
    if memory.dtype != array.dtype:
        memory = memory.reshape(-1).view(array.dtype)
    return np.ndarray((memory.size,), memory.dtype, memory)
