"""What Python makes of a tensor: truth, numbers, an index, a sequence of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.dtypes import F64, element
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.values import values_of


class Conversions:
    """The methods that Python calls; of tensors, and of what stands for them."""

    _array: Any

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
        return bool(np.any(values_of(self) == getattr(value, "_array", value)))


def _only(tensor: Any) -> Any:
    """A tensor of one element; ValueError if it has more or none."""
    if tensor._array.size != 1:
        raise OptionError(
            "only one element tensors can be converted to Python scalars: this has "
            f"{tensor._array.size} elements"
        )
    return tensor
