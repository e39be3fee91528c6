"""Convolution of a few pixels in a short way: what was checked once is not again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels.native_windows import LEAST_WORK, work
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.short_ways import small_arrays
from staticgraph.dynamic.tensors.tensor import wrap

MOST_KNOWN = 1024
"""The kinds of calls that are remembered."""


class FewWindows:
    """What computes and records an op of small plain tensors, images over two axes first."""

    __slots__ = ("_evaluate", "_known", "_names", "_recorder")

    def __init__(self, op: Op, count: int, names: Sequence[str]) -> None:
        """An op of so many operands; `names` are those of its attributes."""
        self._evaluate, self._names = op.evaluate, tuple(names)
        self._recorder = Recorder(op, count)
        self._known: dict[Any, Attrs] = {}

    def value(
        self, operands: Sequence[Any], options: tuple[Any, ...], general: Callable[[], Any]
    ) -> Any:
        """The tensor; `general` computes it, and checks all, where no such call went well before.

        Args:
            operands: tensors; what is not small, plain and of one dtype is left to `general`.
            options: the op's attributes, those of each axis as pairs of whole numbers.
            general: the same by the long way.
        """
        arrays = None if paused and mode.capture is not None else small_arrays(operands)
        if arrays is None:
            return general()
        key = (options, *[one.shape for one in arrays])
        attrs = self._known.get(key)
        if attrs is not None:
            return self._recorder.function(self._evaluate(*arrays, **attrs), attrs, *operands)
        result = general()
        attrs = dict(zip(self._names, options, strict=True))
        if arrays[0].ndim == 4 and work(arrays, attrs) < LEAST_WORK:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = attrs
        return result


CONVOLUTION = FewWindows(ops.conv2d, 3, ("stride", "padding", "dilation", "groups"))
TRANSPOSED = FewWindows(
    ops.conv_transpose2d, 3, ("stride", "padding", "output_padding", "dilation", "groups")
)

_no_bias: dict[Any, Any] = {dtype: wrap(np.array(-0.0, dtype)) for dtype in (F32, F64)}


def bias_for(input: Any, bias: Any) -> Any:
    """The bias, or the number that stands for none: added to -0.0 it leaves the sign."""
    if bias is not None:
        return bias
    return _no_bias.get(getattr(getattr(input, "_array", None), "dtype", None))
