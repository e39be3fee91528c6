"""Values of tensors that are known while a function is captured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.tensor import Tensor


def _as_plain(array: object) -> Any:
    """A plain tensor, which is what an array that is known is evaluated as."""
    result: Any = object.__new__(Tensor)
    result._array = array
    result._cell = result._home = result._maker = result._note = None
    return result


def evaluated_alone(op: Op, tensors: Sequence[Any], attrs: Attrs) -> Any:
    """The value of an op on tensors that are known, as if nothing were captured."""
    arrays = [_as_plain(one._value) for one in tensors]
    capture, mode.capture = mode.capture, None
    try:
        return arrays[0]._apply(op, arrays, attrs)
    finally:
        mode.capture = capture
