"""Operands of methods by PyTorch's names, where the method itself takes them by position."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_OTHER = (
    "atan2_", "arctan2_", "copysign_", "eq_", "gcd_", "ge_", "greater_", "greater_equal_", "gt_",
    "hypot_", "lcm_", "le_", "less_", "less_equal_", "lt_", "ne_", "not_equal_", "xlogy_",
    "logical_and_", "logical_or_", "logical_xor_",
)  # fmt: skip

METHODS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_OTHER, ("other",)),
    **dict.fromkeys(("fmod", "fmod_", "remainder", "remainder_"), ("divisor", "other")),
    **dict.fromkeys(("floor_divide", "floor_divide_"), ("value", "other")),
    **dict.fromkeys(("narrow", "narrow_copy"), ("dimension", "dim", "axis", "start", "length")),
    "random_": ("from", "to"),
    **dict.fromkeys(("swapaxes", "swapaxes_"), ("axis0", "axis1")),
    **dict.fromkeys(("hsplit", "vsplit"), ("split_size_or_sections",)),
    **dict.fromkeys(("masked_scatter", "masked_scatter_"), ("mask", "tensor")),
    **dict.fromkeys(("type_as", "resize_as_"), ("tensor",)),
    "bmm": ("batch2",),
    "broadcast_to": ("shape", "size"),
    "cholesky_solve": ("input2",),
    "heaviside_": ("values",),
    "index_copy": ("dim", "axis", "index", "tensor2"),
    "index_copy_": ("dim", "axis", "index", "tensor"),
    "pow_": ("exponent",),
    "resize_": ("size",),
    "sum_to_size": ("size",),
    "unsafe_split": ("split_size",),
    "where": ("condition", "y"),
}
"""Per method of Tensor the names of its operands in order; of several for one, the documented."""

PARAMETERS: dict[str, dict[str, str]] = {"uniform_": {"from": "a", "to": "b"}}
"""Per method of Tensor its parameters by PyTorch's names: one may be given without those before."""

ALONG = ("chunk", "index_select", "select", "unbind")
"""Methods of Tensor that take `axis` for `dim` as well: the others see to it themselves."""


def by_name(method: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """`method`, whose operands may be given by these names."""

    @functools.wraps(method)
    def named(self: object, *args: object, **options: object) -> Any:
        if options:
            given = [options.pop(name) for name in names if name in options]
            args = (*args, *given)
        return method(self, *args, **options)

    return named


def renamed(method: Callable[..., Any], names: dict[str, str]) -> Callable[..., Any]:
    """`method`, whose parameters may be given by these names."""

    @functools.wraps(method)
    def named(self: object, *args: object, **options: object) -> Any:
        return method(self, *args, **{names.get(key, key): one for key, one in options.items()})

    return named
