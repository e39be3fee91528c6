"""`onnx.export`: a module written as an ONNX model by `staticgraph.onnx.save` (torch.onnx)."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["export"]


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    opset_version: int | None = None,
    **options: object,
) -> None:
    """Write a module or a function, called with `args`, to the path or open file `f`.

    Names of inputs and outputs, dynamic axes and the other options choose nothing: sizes that
    are unknown are symbolic. Errors are those of `staticgraph.onnx.save`.

    Example:
        >>> model = dynamic.nn.Linear(3, 2)
        >>> dynamic.onnx.export(model, (dynamic.ones(1, 3),), "model.onnx")
        >>> sg.onnx.load("model.onnx").inputs
        ('input',)
    """
    inputs = args if isinstance(args, tuple) else (args,)
    version = {} if opset_version is None else {"opset": opset_version}
    sys.modules["staticgraph"].onnx.save(model, f, inputs, **version)
