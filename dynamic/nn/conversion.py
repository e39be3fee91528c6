"""Casting the parameters and buffers of a tree of modules to another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.dynamic.core.dtypes import DTYPES, F32, F64, as_numpy_dtype, bfloat16, float16
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn.tree import Tree
from staticgraph.dynamic.tensors.devices import check_device, dtype_of_target
from staticgraph.dynamic.tensors.tensor import Tensor


class Conversion(Tree):
    """Casts of a module; abstract: a part of Module. Parameters stay the same objects."""

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Any:
        """Replace the values of all parameters, gradients and buffers by `fn` of them."""
        for child in self.children():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                _replace(parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: object, dtype: object = None, **options: object) -> Any:
        """The module with its floating tensors cast to a dtype, or to that of a tensor.

        TypeError if the dtype is not floating; RuntimeError for a device that is not the CPU.
        """
        dtype = dtype_of_target(args, dtype, **options)
        if dtype is None:
            return self
        wanted = as_numpy_dtype(dtype)
        if not is_float(wanted):
            raise ArgumentError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={DTYPES[wanted]}"
            )
        return self._apply(lambda tensor: _cast(tensor, wanted))

    def type(self, dst_type: object) -> Any:
        """The module with all its tensors cast to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def half(self) -> Any:
        """The module with its floating tensors cast to float16."""
        return self._apply(lambda tensor: _cast(tensor, float16.dtype))

    def bfloat16(self) -> Any:
        """The module with its floating tensors cast to bfloat16; DTypeError without `ml_dtypes`."""
        return self._apply(lambda tensor: _cast(tensor, bfloat16.dtype))

    def float(self) -> Any:
        """The module with its floating tensors cast to float32."""
        return self._apply(lambda tensor: _cast(tensor, F32))

    def double(self) -> Any:
        """The module with its floating tensors cast to float64."""
        return self._apply(lambda tensor: _cast(tensor, F64))

    def cpu(self) -> Any:
        """The module itself."""
        return self

    def cuda(self, device: object = None) -> Any:
        """AssertionError: there is no GPU."""
        check_device("cuda")

    def share_memory(self) -> Any:
        """The module itself: see `Tensor.share_memory_`."""
        return self


def _cast(tensor: Tensor, dtype: object) -> Any:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _replace(parameter: Any, fn: Callable[[Tensor], Tensor]) -> None:
    """Give a parameter and its gradient other values, which may have another dtype."""
    value, grad, wanted = fn(parameter.data), parameter.grad, parameter.requires_grad
    if value._array is parameter._array:
        return
    parameter.grad = None
    parameter.requires_grad = False
    parameter._home = None  # it holds gradients of the old dtype only
    parameter.data = value
    parameter.requires_grad = wanted
    if grad is not None:
        parameter.grad = fn(grad.detach())
