"""Integers and booleans in ops of floating numbers: what PyTorch makes of them, or says."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core.dtypes import BOOL, DTYPES
from staticgraph.dynamic.core.errors import AutogradError, NoKernelError
from staticgraph.dynamic.core.pytorch import known


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


def refuse_difference(left: object, right: object) -> None:
    """RuntimeError, in PyTorch's words, for a difference of booleans."""
    arrays = [getattr(one, "_array", one) for one in (left, right)]
    bools = [isinstance(one, bool) or getattr(one, "dtype", None) == BOOL for one in arrays]
    if all(bools):
        raise AutogradError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(bools):
        raise AutogradError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )
