"""Functions and methods of tensors beyond the shared ops, as PyTorch's: composed of shared ops.

Each function is a method of Tensor as well, unless listed as `ONLY_FUNCTIONS`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dynamic.operations import (
    arranging,
    attributes,
    cumulative,
    numeric_types,
    pointwise,
    products,
    sampling,
    scattering,
    sorting,
)
from dynamic.tensor import Tensor

_MODULES: tuple[ModuleType, ...] = (
    arranging, cumulative, numeric_types, pointwise, products, sampling, scattering, sorting,
)  # fmt: skip
FUNCTIONS: dict[str, Any] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__
}
"""Every function by its name."""

ONLY_METHODS = {"repeat"}
ONLY_FUNCTIONS = {
    "block_diag", "broadcast_tensors", "can_cast", "cartesian_prod", "column_stack", "dstack",
    "einsum", "finfo", "hstack", "iinfo", "is_floating_point", "meshgrid", "normal", "poisson",
    "promote_types", "result_type", "std_mean", "tensordot", "tril_indices", "triu_indices",
    "var_mean", "vstack",
}  # fmt: skip
PUBLIC = tuple(name for name in FUNCTIONS if name not in ONLY_METHODS)
"""The names that the package exports."""


def _method(function: Any) -> Any:
    """A function as a method: an Op, unlike a function, does not bind to its first argument."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__doc__ = function.__doc__ if not hasattr(function, "doc") else function.doc
    return method


def _in_place(function: Any) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return self.copy_(function(self.clone(), *args, **options))

    method.__doc__ = f"In place: {function.__doc__}"
    return method


for _name, _function in FUNCTIONS.items():
    if _name not in ONLY_FUNCTIONS:
        setattr(Tensor, _name, _method(_function))
for _name, _function in attributes.SHARED.items():
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, _method(_function))
for _name in attributes.__all__:
    setattr(Tensor, _name, getattr(attributes, _name))
for _name, _property in attributes.PROPERTIES.items():
    setattr(Tensor, _name, _property)
for _name in (
    "addcdiv", "addcmul", "addmm", "baddbmm", "clamp_max", "clamp_min", "cumprod", "cumsum", "fmod",
    "index_add", "index_copy", "index_fill", "lerp", "masked_scatter", "nan_to_num", "scatter",
    "scatter_add", "tril", "triu",
):  # fmt: skip
    if not hasattr(Tensor, _name + "_"):
        setattr(Tensor, _name + "_", _in_place(FUNCTIONS[_name]))
