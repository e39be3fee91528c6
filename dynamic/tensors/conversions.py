"""A tensor as something else: of another dtype or layout, numbers, lists, what Python asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.whose_code import by_user
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import DTYPES, F32, F64, as_numpy_dtype, dtype_of_type, element
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.devices import check_format, contiguous_format, dtype_of_target
from staticgraph.dynamic.tensors.values import values_of

_NUMBERS = (int, float, complex, np.number)


class Conversions:
    """These methods of tensors, and of what stands for them."""

    _array: Any
    _apply: Any
    unbind: Any

    def item(self) -> Any:
        """The only element, as a Python number; RuntimeError if there are more or none."""
        if self._array.size != 1:
            raise AutogradError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        if paused and mode.capture is not None and by_user():
            lifted = mode.capture.lifted(self)
            if lifted is not self:
                return lifted.number()
        array = values_of(self) if paused else self._array
        return (array.astype(F32) if array.dtype.kind == "V" else array).item()

    def tolist(self) -> Any:
        """The elements as nested lists; a number for a 0-d tensor.

        Example:
            >>> dynamic.tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
        array = values_of(self)
        return (array.astype(F32) if array.dtype.kind == "V" else array).tolist()

    def is_floating_point(self) -> bool:
        """Whether the dtype is one of floats."""
        return is_float(self._array.dtype)

    def is_contiguous(self, memory_format: object = None) -> bool:
        """Whether the memory is in row-major order; in no other, whatever is asked for."""
        if memory_format is not None:
            check_format("is_contiguous", memory_format)
            if memory_format is not contiguous_format:
                return False
        return bool(self._array.flags.c_contiguous)

    def contiguous(self, memory_format: object = None) -> Any:
        """The tensor itself if it is in row-major order, else a copy that is.

        Other orders are accepted as `memory_format`, and are row-major too.
        """
        check_format("contiguous", memory_format)
        if self.is_contiguous():
            return self
        return self._apply(eager_ops.contiguous, (self,), {})

    def element_size(self) -> int:
        """The bytes of an element."""
        return int(self._array.itemsize)

    def to(self, *args: object, dtype: object = None, copy: bool = False, **options: object) -> Any:
        """The tensor cast to a dtype, or to that of another tensor.

        RuntimeError for a device that is not the CPU.

        Example:
            >>> dynamic.ones(2).to(dynamic.int64)
            tensor([1, 1])
        """
        dtype = dtype_of_target(args, dtype, **options)
        wanted = self._array.dtype if dtype is None else as_numpy_dtype(dtype)
        if wanted != self._array.dtype:
            return ops.astype(self, wanted)
        return self._apply(eager_ops.clone, (self,), {}) if copy else self

    def type(self, dtype: Any = None, non_blocking: Any = False) -> Any:
        """The tensor cast to `dtype`; PyTorch's name of the tensor's type if None.

        A typed constructor (`torch.LongTensor`) or its name is a dtype, too.
        """
        if dtype is None:
            return f"torch.{DTYPES[self._array.dtype].legacy}Tensor"
        known = dtype_of_type(dtype)
        if known is None and isinstance(dtype, str):
            raise OptionError(f"invalid type: {dtype!r}")
        return self.to(dtype if known is None else known)

    def type_as(self, other: Any) -> Any:
        """The tensor cast to the dtype of another."""
        return self.to(other._array.dtype)

    def cpu(self, memory_format: object = None) -> Any:
        """The tensor itself."""
        check_format("cpu", memory_format)
        return self

    def __bool__(self) -> bool:
        if self._array.size == 1:
            return bool((values_of(self) if paused else self._array).item())
        what = "no values" if self._array.size == 0 else "more than one value"
        raise AutogradError(f"Boolean value of Tensor with {what} is ambiguous")

    def __float__(self) -> float:
        return float(element(_only(self).item(), F64))

    def __int__(self) -> int:
        return int(_only(self).item())

    def __complex__(self) -> complex:
        return complex(_only(self).item())

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iu" or self._array.size != 1:
            raise ArgumentError(
                "only integer tensors of a single element can be converted to an index"
            )
        return int(values_of(self).item())

    def __len__(self) -> int:
        if not self._array.ndim:
            raise ArgumentError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        if not self._array.ndim:
            raise ArgumentError("iteration over a 0-d tensor")
        if paused and mode.capture is not None:
            return iter(mode.capture.lifted(self).unbind())
        return iter(self.unbind())

    def __contains__(self, value: object) -> bool:
        if not (isinstance(value, _NUMBERS) or hasattr(value, "_array")):
            raise AutogradError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(value)}."
            )
        return bool(np.any(values_of(self) == getattr(value, "_array", value)))


def _only(tensor: Any) -> Any:
    """A tensor of one element; ValueError if it has more or none."""
    if tensor._array.size != 1:
        raise OptionError(
            "only one element tensors can be converted to Python scalars: this has "
            f"{tensor._array.size} elements"
        )
    return tensor
