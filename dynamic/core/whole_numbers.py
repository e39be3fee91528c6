"""Integers and booleans in ops of floating numbers: what PyTorch makes of them, or says."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.pytorch import known


class NoKernelError(DTypeError, NotImplementedError):
    """An op is not there for tensors of this dtype."""


def in_pytorchs_class(error: Exception) -> Exception:
    """An error, that of a dtype as PyTorch's of a missing kernel."""
    if isinstance(error, DTypeError) and not isinstance(error, NotImplementedError):
        return NoKernelError(str(error))
    return error


def keeps_whole_numbers(op: Op, dtype: Any) -> bool:
    """Whether an op of floating numbers gives integers as they are.

    NotImplementedError for integers or booleans that PyTorch's op does not take.
    """
    said = known(op).whole
    legacy = DTYPES[dtype].legacy
    if said == "same" and dtype.kind != "b":
        return True
    if " " in said:
        raise NoKernelError(said.format(legacy))
    if said:
        kernel = f"{op.name}_vml_cpu" if said == "same" else said
        raise NoKernelError(f"\"{kernel}\" not implemented for '{legacy}': cast it with float()")
    return False
