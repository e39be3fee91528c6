"""Arguments of a wrong type: refused as the annotations of an op's signature say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex, TypeGuard

import numpy as np

Known = tuple[str, str, Callable[[Any], bool], int]
"""The name and type of a parameter, whether it takes a value, and its position or -1."""


def is_real(value: object) -> TypeGuard[SupportsFloat | SupportsIndex]:
    """Whether a value is, or stands for, a real number: NumPy's complex ones have a float too."""
    if type(value) is float or type(value) is int:  # nearly always, and asked in each call
        return True
    if isinstance(value, complex | np.complexfloating):
        return False
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return False
    return hasattr(value, "__float__") or hasattr(value, "__index__")


def as_float(function: str, name: str, value: object) -> float:
    """An argument as a float; TypeError if it is no real number."""
    if is_real(value):
        return float(value)
    given = type(value).__name__
    raise TypeError(f"{function}(): argument {name!r} must be float, not {given}")


def _is_int(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


_TAKES: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": _is_int,
    "int | None": lambda value: value is None or _is_int(value),
    "float": is_real,
    "float | None": lambda value: value is None or is_real(value),
    "str": lambda value: isinstance(value, str),
}
"""The annotations that are checked; those of axes, shapes and arrays are checked by their ops."""
_AXES = ("axis", "dim")


@functools.cache
def _known(function: Callable[..., object]) -> tuple[Known, ...]:
    found = []
    for position, one in enumerate(inspect.signature(function).parameters.values()):
        if one.annotation in _TAKES and one.name not in _AXES:
            place = position if one.kind is one.POSITIONAL_OR_KEYWORD else -1
            found.append((one.name, one.annotation, _TAKES[one.annotation], place))
    return tuple(found)


def check_types(
    name: str, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    """TypeError for an argument that `function` is annotated not to take."""
    for key, wanted, takes, position in _known(function):
        if key in kwargs:
            value = kwargs[key]
        elif 0 <= position < len(args):
            value = args[position]
        else:
            continue
        if not takes(value):
            given = type(value).__name__
            raise TypeError(f"{name}(): argument {key!r} must be {wanted}, not {given}")
