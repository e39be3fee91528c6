"""What a factory may be asked for beside the values: `out`, and what there is one of."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tensors.devices import check_device, check_format, strided
from staticgraph.dynamic.tensors.tensor import Tensor

_INTO_OUT = {
    "arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm",
    "range", "zeros",
}  # fmt: skip
"""The factories that put what they make into another tensor, if it is given as `out`."""


def check_options(name: str, options: dict[str, Any]) -> Any:
    """Raise unless what a factory called `name` is asked for beside the values is what there is.

    The tensor that it is to be put into, or None.
    """
    for option, value in options.items():
        if option == "out" and name in _INTO_OUT:
            if value is not None and not isinstance(value, Tensor):
                raise ArgumentError(
                    f"{name}(): argument 'out' must be Tensor, not {type(value).__name__}"
                )
            continue
        if option not in ("device", "layout", "memory_format", "pin_memory"):
            raise ArgumentError(f"{name}() got an unexpected keyword argument {option!r}")
        if option == "device":
            check_device(value)
        elif option == "pin_memory" and not isinstance(value, bool | None):
            raise ArgumentError(
                f"{name}(): argument 'pin_memory' must be bool, not {type(value).__name__}"
            )
        elif option == "memory_format":
            check_format(name, value)
        elif value and value is not strided:
            raise AutogradError(f"{name}: {option}={value!r}: there is only ordinary, dense memory")
    return options.get("out") if options else None
