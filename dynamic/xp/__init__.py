"""The Python array API standard (2025.12) for tensors: what `x.__array_namespace__()` gives.

Its functions take tensors and arrays and return arrays (`dynamic.xp.Array`): tensors whose
operators promote as the standard has it. Gradients, `dynamic.func` and `sg.function` see the shared
ops of which the functions are made.

Example:
    >>> xp = dynamic.xp
    >>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])

Source:
    https://data-apis.org/array-api/2025.12
"""

from __future__ import annotations

from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.array_api import FUNCTIONS as _FUNCTIONS, VERSION as _VERSION
from staticgraph.compiler.array_api.data_types import (
    NAMES as _NAMES,
    DataTypes as _DataTypes,
    Info as _Info,
)
from staticgraph.compiler.array_api.examples import document as _document
from staticgraph.compiler.core.published import published as _published
from staticgraph.dynamic.core.dtypes import (
    DTYPES as _DTYPES,
    dtype_named as _dtype_named,
    get_default_dtype as _get_default_dtype,
)
from staticgraph.dynamic.tensors.devices import device as _device
from staticgraph.dynamic.xp import (
    counting as _counting,
    creation as _creation,
    fft as fft,
    linalg as linalg,
)
from staticgraph.dynamic.xp.array import Array as Array
from staticgraph.dynamic.xp.creation import *  # noqa: F403 - `__all__` there
from staticgraph.dynamic.xp.functions import namespace as _namespace

__array_api_version__ = _VERSION
newaxis = None
_types = _DataTypes(_DTYPES.__getitem__)
can_cast, isdtype, result_type = _types.can_cast, _types.isdtype, _types.result_type
finfo, iinfo = _types.finfo, _types.iinfo

_functions = {
    **_namespace(_FUNCTIONS),
    **{name: getattr(_counting, name) for name in _counting.__all__},
}
_TABLE: dict[str, Any] = {**_functions, **{name: _dtype_named(name) for name in _NAMES}}
_published(__name__, _TABLE)
_document(
    {**_functions, **{name: getattr(_creation, name) for name in _creation.__all__}},
    of_tensors=True,
)

if not TYPE_CHECKING:
    __all__ = [  # noqa: PLE0604 - the tables have them
        "Array", "__array_api_version__", "__array_namespace_info__", "can_cast", "e", "fft",
        "finfo", "iinfo", "inf", "isdtype", "linalg", "nan", "newaxis", "pi", "result_type",
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
        >>> dynamic.xp.__array_namespace_info__().capabilities()["max dimensions"]
        64
    """
    return _Info(_DTYPES.__getitem__, _get_default_dtype().dtype, _device("cpu"), counts=True)
