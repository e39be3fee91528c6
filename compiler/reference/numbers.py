"""Numbers as arrays without axes, which NumPy computes with in half the time of Python's."""

from __future__ import annotations

from typing import Any

import numpy as np


class Number(dict[Any, Any]):
    """By dtype an array without axes that holds one number, made when it is first needed."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, dtype: Any) -> Any:
        made = self[dtype] = np.array(self.value, dtype)
        made.flags.writeable = False
        return made


ZERO, ONE, HALF = Number(0), Number(1), Number(0.5)
