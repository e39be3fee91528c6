"""By what calls of a captured function are told apart: types, dtypes, sizes, identities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.whose_code import is_library
from staticgraph.compiler.graph.expression import Expression
from staticgraph.tracing.inspection import file_of
from staticgraph.tracing.modules import is_module


def kinds_of(args: Sequence[Any]) -> tuple[object, ...]:
    """The types, dtypes and shapes of arrays and tensors: in a row up to three, else by each."""
    if len(args) > 3:  # a loop within a loop takes a fifth more
        return tuple([(type(x), x.dtype, x.shape) for x in args])
    return tuple([part for x in args for part in (type(x), x.dtype, x.shape)])


def is_array(x: object) -> bool:
    """Whether it is an array or a tensor, of no class of the user's of arrays."""
    return type(x) is np.ndarray or isinstance(x, Operand)


def same_static(one: object, other: object) -> bool:
    """Whether a static argument that equals another tells a function nothing else."""
    if one is other:
        return True
    if is_dataclass(one):  # of which all fields are compared: whether it has anything else
        return getattr(one, "__dict__", {}).keys() <= {field.name for field in fields(one)}
    return not hasattr(one, "__dict__") and is_library(file_of(type(one)))


def settings_of(values: Sequence[Any]) -> list[Any]:
    """The settings of the eager engine, if some values are its tensors."""
    for one in values:
        tensor: Any = next(iter(one.parameters()), None) if is_module(one) else one
        if is_tensor(tensor):
            return list(tensor._settings)
    return []


def is_tensor(x: object) -> bool:
    """Whether it is an eager tensor."""
    return isinstance(x, Operand) and not isinstance(x, Expression)


def kind_of_operand(x: Any) -> tuple[Any, ...]:
    """The type of a Python number; the type, dtype and sizes of an array."""
    return (
        (type(x),) if isinstance(x, bool | int | float | complex) else (type(x), x.dtype, *x.shape)
    )


def identity(x: object) -> Any:
    """What of the state of modules stands in a key."""
    return x if isinstance(x, bool | int | tuple) else id(x)
