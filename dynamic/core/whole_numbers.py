"""Integers and booleans in ops of floating numbers: what PyTorch makes of them, or says."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import DTYPES

UNCHANGED = frozenset({ops.ceil, ops.floor, ops.round, ops.trunc})
"""What gives integers themselves, as integers."""

_KERNELS = {
    ops.elu: "elu_cpu",
    ops.frac: "frac_cpu",
    ops.gelu: "GeluKernelImpl",
    ops.leaky_relu: "leaky_relu_cpu",
    ops.log_softmax: "log_softmax_lastdim_kernel_impl",
    ops.silu: "silu_cpu",
    ops.softmax: "softmax_lastdim_kernel_impl",
    ops.softplus: "softplus_cpu",
}
"""The kernels that PyTorch has of floating numbers alone."""

_SPREAD = "std and var only support floating point and complex dtypes"
_NORM = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}"
_TEXTS = {ops.std: _SPREAD, ops.var: _SPREAD, ops.vector_norm: _NORM, eager_ops.norm: _NORM}


class NoKernelError(DTypeError, NotImplementedError):
    """An op is not there for tensors of this dtype."""


def refuse_whole_numbers(op: Op, dtype: Any) -> None:
    """NotImplementedError for integers or booleans that PyTorch's op does not take."""
    legacy = DTYPES[dtype].legacy
    text = _TEXTS.get(op)
    if text is not None:
        raise NoKernelError(text.format(legacy))
    kernel = _KERNELS.get(op)
    if op in UNCHANGED and dtype.kind == "b":
        kernel = f"{op.name}_vml_cpu"
    if kernel is not None:
        raise NoKernelError(f"\"{kernel}\" not implemented for '{legacy}': cast it with float()")
