"""The `onnx` package, which an extra installs: imported when somebody reads or writes a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.compiler.core.types import DTYPES, as_dtype

OLDEST, NEWEST = 18, 28
"""The opsets that `save` writes: the forms of its operators are the same in all of them."""
OLDEST_READ = 13
"""The first opset that `load` reads."""


def onnx(caller: str) -> Any:
    """The package.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        with fork.importing():
            import onnx.checker
            import onnx.helper
            import onnx.numpy_helper
    except ImportError:
        raise MissingExtraError(
            f"{caller}: onnx is not installed: pip install 'staticgraph[onnx]'"
        ) from None
    return onnx


def number_of(dtype: np.dtype[Any]) -> int:
    """The number that ONNX has for a dtype of the library."""
    names = onnx("save").TensorProto.DataType
    short = {"float32": "FLOAT", "float64": "DOUBLE"}
    return int(names.Value(short.get(dtype.name, dtype.name.upper())))


def dtype_of(number: int) -> np.dtype[Any] | None:
    """The dtype of one of ONNX's numbers, or None if the library has no such numbers."""
    names = onnx("load").TensorProto.DataType
    known = {"FLOAT": "float32", "DOUBLE": "float64"}
    if number not in names.values():
        return None
    name = names.Name(number)
    name = known.get(name, name.lower())
    return as_dtype(name, "load") if name in DTYPES else None
