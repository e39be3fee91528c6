"""The namespace of the Python array API standard (2025.12) for expressions.

`expression.__array_namespace__()` gives it, so that code that is written for the standard builds a
graph. Results whose shapes depend on values have a `size=` of their own in `staticgraph`, and are
refused here.

Example:
    >>> x = sg.placeholder("x", (None, 3))
    >>> xp = x.__array_namespace__()
    >>> sg.compile([x], xp.sum(x, axis=0))(np.ones((2, 3), "float32"))
    array([2., 2., 2.], dtype=float32)

Source:
    https://data-apis.org/array-api/2025.12
"""

from __future__ import annotations

from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

import numpy as _np

from staticgraph.compiler.array_api import FUNCTIONS as _FUNCTIONS, VERSION as _VERSION
from staticgraph.compiler.array_api.data_types import (
    NAMES as _NAMES,
    DataTypes as _DataTypes,
    Info as _Info,
)
from staticgraph.compiler.array_api.examples import document as _document
from staticgraph.compiler.core.default_dtype import get_default_dtype as _get_default_dtype
from staticgraph.compiler.core.published import published as _published
from staticgraph.xp import creation as _creation, fft as fft, linalg as linalg
from staticgraph.xp.creation import *  # noqa: F403 - `__all__` there

__array_api_version__ = _VERSION
newaxis = None
_types = _DataTypes(_np.dtype)
can_cast, isdtype, result_type = _types.can_cast, _types.isdtype, _types.result_type
finfo, iinfo = _types.finfo, _types.iinfo

_TABLE: dict[str, Any] = {**_FUNCTIONS, **{name: _np.dtype(name) for name in _NAMES}}
_published(__name__, _TABLE)
_document(
    {**_FUNCTIONS, **{name: getattr(_creation, name) for name in _creation.__all__}},
    of_tensors=False,
)

if not TYPE_CHECKING:
    __all__ = [  # noqa: PLE0604 - the tables have them
        "__array_api_version__", "__array_namespace_info__", "can_cast", "e", "fft", "finfo",
        "iinfo", "inf", "isdtype", "linalg", "nan", "newaxis", "pi", "result_type",
        *_FUNCTIONS, *_NAMES, *_creation.__all__,
    ]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A function or a dtype of the table."""
    if name not in _TABLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TABLE[name]


def __array_namespace_info__() -> _Info:  # noqa: N807 - the standard's name
    """What the namespace has: devices, dtypes, capabilities.

    Example:
        >>> sg.xp.__array_namespace_info__().capabilities()["max dimensions"]
        64
    """
    return _Info(_np.dtype, _get_default_dtype(), "cpu", counts=False)
