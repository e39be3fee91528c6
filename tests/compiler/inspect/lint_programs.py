"""Small programs for the lint, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import staticgraph as sg

Program = Callable[[], Any]


X = sg.placeholder("x", (None, 5))


Y = sg.placeholder("y", (None,), "int64")
ROWS, CLASSES = np.ones((4, 5), "float32"), np.zeros(4, "int64")


def variable(*shape: int, name: str = "w") -> sg.Variable:
    return sg.variable(np.full(shape, 0.5, "float32"), name)


def compiled(inputs: Sequence[Any], outputs: Any, **options: Any) -> Program:
    return lambda: sg.compile(inputs, outputs, debug=True, **options)


def chosen(logits: Any) -> Any:
    return sg.take_along_axis(logits, Y[:, None], axis=1)
