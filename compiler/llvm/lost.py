"""What tells in one instruction whether a value is inf or nan."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def add_lost(builder: Any, total: Any, value: Any) -> Any:
    """total + 0 * value, fused where the processor can: nan from the first inf or nan on."""
    nothing = builder.fmul(value, ir.Constant(value.type, 0.0), flags=("contract",))
    return builder.fadd(total, nothing, flags=("reassoc", "contract"))
