"""What stands in for an array that nobody reads."""

from __future__ import annotations

import numpy as np

from staticgraph.dynamic.core.dtypes import NumpyDType


class Spec:
    """The shape and dtype of an operand whose values were not saved."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: NumpyDType) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def turned(self) -> bool:
        """Whether it is known to be the transpose of a matrix."""
        return False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))
