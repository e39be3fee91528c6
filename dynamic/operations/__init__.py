"""Functions and methods of tensors beyond the shared ops, as PyTorch's: composed of shared ops.

Each function is a method of Tensor as well, unless listed as `ONLY_FUNCTIONS`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from staticgraph.dynamic.core.named_operands import in_pytorchs_words
from staticgraph.dynamic.operations import (
    arranging,
    attributes,
    complex_numbers,
    cumulative,
    diagonals,
    distances,
    elements,
    memory,
    numeric_types,
    places,
    pointwise,
    products,
    sampling,
    scattering,
    shape_in_place,
    slices,
    sorting,
    statistics,
)
from staticgraph.dynamic.tensors.tensor import Tensor

_MODULES: tuple[ModuleType, ...] = (
    arranging, complex_numbers, cumulative, diagonals, distances, elements, numeric_types, places,
    pointwise, products, sampling, scattering, slices, sorting, statistics,
)  # fmt: skip
FUNCTIONS: dict[str, Any] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__
}
"""Every function by its name."""

_ONLY_METHODS = {"repeat": arranging.repeat, "unfold": places.unfold}
ONLY_FUNCTIONS = {
    "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "bucketize", "can_cast",
    "cartesian_prod", "cdist", "column_stack", "combinations", "complex", "concat",
    "cumulative_trapezoid", "imag", "polar", "real", "view_as_complex", "view_as_real",
    "dstack", "einsum", "finfo", "isin", "rsub", "threshold", "logspace", "pdist",
    "row_stack", "searchsorted", "trapezoid", "trapz", "vander", "hstack", "iinfo",
    "is_floating_point", "meshgrid", "normal", "poisson",
    "promote_types", "result_type", "std_mean", "tensordot", "tril_indices", "triu_indices",
    "var_mean", "vstack",
}  # fmt: skip


def _method(name: str, function: Any) -> Any:
    """A function as a method: an Op, unlike a function, does not bind to its first argument."""

    def method(self: object, *args: object, **options: object) -> Any:
        if options:
            options = in_pytorchs_words(function, options)
        return function(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__ if not hasattr(function, "doc") else function.doc
    method.__wrapped__ = function  # type: ignore[attr-defined]  # the signature that `help` shows
    method.__annotations__ = {"return": Any}  # texts would be looked up where the op is from
    return method


def _in_place(function: Any) -> Any:
    def method(self: Any, *args: object, **options: object) -> Any:
        if options:
            options = in_pytorchs_words(function, options)
        return self.copy_(function(self.clone(), *args, **options))

    method.__doc__ = f"In place: {function.__doc__}"
    method.__wrapped__ = function  # type: ignore[attr-defined]
    method.__annotations__ = {"return": Any}
    return method


SHARED_OPS: dict[str, Any] = {
    name: _method(name, op)
    for name, op in attributes.SHARED.items()
    if name not in FUNCTIONS and not hasattr(Tensor, name)
}
FUNCTIONS_AS_METHODS: dict[str, Any] = {
    name: _method(name, function)
    for name, function in (FUNCTIONS | _ONLY_METHODS).items()
    if name not in ONLY_FUNCTIONS
}
ATTRIBUTES: dict[str, Any] = {
    **{name: getattr(attributes, name) for name in attributes.__all__},
    **attributes.PROPERTIES,
    **complex_numbers.PROPERTIES,
    **{name: getattr(memory, name) for name in memory.__all__},
    **memory.PROPERTIES,
    **{name: getattr(shape_in_place, name) for name in shape_in_place.__all__},
}
_REPLACING = (
    "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm", "bitwise_not", "clamp_max",
    "clamp_min", "cumprod", "cumsum", "index_add", "index_copy", "index_fill", "index_reduce",
    "lerp", "masked_scatter", "nan_to_num", "nextafter", "put", "renorm", "scatter",
    "scatter_add", "scatter_reduce", "tril", "triu", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
IN_PLACE: dict[str, Any] = {
    f"{name}_": _in_place(FUNCTIONS[name]) for name in _REPLACING if not hasattr(Tensor, f"{name}_")
}
"""Methods and properties of Tensor: see `dynamic.assembly`."""
