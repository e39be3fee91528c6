"""Operands that are scaled, or that scale: `alpha` of sums, the weight of `lerp`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.annotated import is_real
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.dtypes import BOOL, result_type
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, ComplexArgumentError


def scaled_operand(x: Any, other: Any, alpha: Any) -> Any:
    """`other` times a number, in the dtype of its sum with a tensor, not in its own."""
    if not isinstance(alpha, Operand) and alpha == 1:
        return other
    if type(alpha) is not int and type(alpha) is not float:
        of_many = isinstance(alpha, Operand) and getattr(alpha, "ndim", 0) > 0
        if of_many or not (isinstance(alpha, complex | np.number | Operand) or is_real(alpha)):
            raise ArgumentError(f"argument 'alpha' must be Number, not {type(alpha).__name__}")
        refuse_complex_factor("alpha", alpha, x, other)
    number = not isinstance(other, Operand)
    if number:
        return other * alpha
    dtype = result_type((x._array, other._array))
    if dtype == BOOL:
        return (other * alpha).to(dtype)
    return other.to(dtype) * alpha


def plain_number(value: Any) -> Any:
    """A scalar of NumPy's as Python's number, which has no say in the dtype of a result."""
    return value.item() if isinstance(value, np.generic) else value


def refuse_complex_factor(name: str, factor: object, *operands: Any) -> None:
    """RuntimeError for a complex number that scales real operands."""
    if not isinstance(factor, complex | np.complexfloating):
        return
    kinds = [getattr(getattr(one, "dtype", None), "kind", "") for one in operands]
    numbers = [isinstance(one, complex) for one in operands]
    if "c" not in kinds and not any(numbers):
        raise AutogradError(
            f"For non-complex input tensors, argument {name} must not be a complex number: {factor}"
        )


def as_weight(x: Any, weight: Any) -> Any:
    """A weight, one that has no axes in the dtype of x: it stands for a number."""
    if not isinstance(weight, Operand):
        if not isinstance(weight, int | float | np.integer | np.floating):
            given = type(weight).__name__
            wrong = ComplexArgumentError if isinstance(weight, complex) else ArgumentError
            raise wrong(f"lerp(): argument 'weight' (position 2) must be Tensor, not {given}")
        return plain_number(weight)
    return weight if weight.ndim else weight.to(x.dtype)  # type: ignore[attr-defined]
