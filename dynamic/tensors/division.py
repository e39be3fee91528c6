"""Division that rounds down: its value is the shared op's, its errors PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from dynamic.core.errors import AutogradError
from dynamic.tape.grad_mode import mode
from dynamic.tape.nodes import Failing


def floor_divide(x: Any, y: Any) -> Any:
    """`x // y`, rounded down; differentiating it is a RuntimeError, as is 0 among integer y."""
    divisor = np.asarray(getattr(y, "_array", y))
    dividend = np.asarray(getattr(x, "_array", x))
    if dividend.dtype.kind != "f" and divisor.dtype.kind != "f" and not divisor.all():
        raise AutogradError("ZeroDivisionError")
    result = ops.floor_divide(x, y)
    if mode.enabled and any(getattr(one, "_node", None) is not None for one in (x, y)):
        error = AutogradError("derivative for aten::floor_divide is not implemented")
        result._node = Failing(result._array, error, "NotImplemented")
    return result
