"""What a function takes numbers for, and tensors not."""

from __future__ import annotations

from staticgraph.compiler.core.annotated import is_real
from staticgraph.dynamic.tensors.tensor import Tensor


def require_number(
    function: str, name: str, position: int, value: object, kind: str = "float"
) -> None:
    """TypeError for what is no number where PyTorch takes one; what stands for a number is one."""
    is_tensor = isinstance(value, Tensor) and not getattr(value, "_weak", False)
    if is_tensor or not is_real(value):
        given = "Tensor" if is_tensor else type(value).__name__
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be {kind}, not {given}"
        )
