"""PyTorch-like eager tensors over the shared op library: `import dynamic as torch`.

Every op that both paradigms share is here under its own name, itself or a function that leads to
it (`dynamic.fast_paths`), except where PyTorch gives the name another meaning: see
`dynamic.operations.functions`.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from compiler import ops as _ops
from compiler.transforms.control_flow import cond, scan, while_loop
from dynamic import autograd, func, linalg, nn, optim, utils
from dynamic import operations as _operations
from dynamic.autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from dynamic.core.dtypes import DType as dtype  # noqa: N813 - PyTorch's name
from dynamic.core.dtypes import boolean as bool
from dynamic.core.dtypes import (
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from dynamic.core.results import Size
from dynamic.drawing import make_dot
from dynamic.func import vmap
from dynamic.handle import complete as _complete
from dynamic.kernels.memory import keep_freed_memory as _keep_freed_memory
from dynamic.kernels.threads import get_num_threads, set_num_threads
from dynamic.linalg import functions as _linear
from dynamic.operations.functions import (
    add,
    all,
    amax,
    amin,
    any,
    bmm,
    cat,
    chunk,
    clamp,
    clone,
    div,
    eq,
    flatten,
    flip,
    floor_divide,
    ge,
    gt,
    index_select,
    is_inference,
    is_tensor,
    le,
    lt,
    masked_fill,
    max,
    mean,
    min,
    mm,
    mul,
    mv,
    narrow,
    ne,
    neg,
    norm,
    numel,
    prod,
    round,
    select,
    split,
    squeeze,
    stack,
    std,
    sub,
    sum,
    swapaxes,
    t,
    transpose,
    unbind,
    unsqueeze,
    var,
)
from dynamic.serialization import load, save
from dynamic.tape.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from dynamic.tape.grad_mode import is_inference_mode_enabled
from dynamic.tensors.creation import (
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    tensor,
    zeros,
    zeros_like,
)
from dynamic.tensors.devices import cuda, device
from dynamic.tensors.printing import set_printoptions
from dynamic.tensors.random_numbers import manual_seed
from dynamic.tensors.tensor import Tensor

_complete(Tensor)
_keep_freed_memory()
globals().update({name: _operations.FUNCTIONS[name] for name in _operations.PUBLIC})
globals().update(_operations.IN_PLACE)
globals().update(_linear.SHARED)
globals().update({name: getattr(_ops, name) for name in _ops.PUBLIC if name not in globals()})
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


float = float32  # the names of Python's types are PyTorch's dtypes
double = float64
short = int16
int = int32
long = int64

__all__ = [  # noqa: PLE0604 - the shared ops are listed where they are declared
    "Size", "Tensor", "add", "all", "amax", "amin", "any", "arange", "as_tensor", "autograd", "bmm",
    "bool", "cat", "chunk", "clamp", "clone", "div", "double", "dtype", "e", "empty", "empty_like",
    "enable_grad", "eq", "eye", "flatten", "flip", "float", "float32", "float64", "from_numpy",
    "func",
    "full", "full_like", "ge", "get_default_dtype", "get_num_threads", "gt",
    "index_select", "inf",
    "inference_mode", "int",
    "int16", "int32", "int64", "int8", "is_grad_enabled", "is_inference",
    "is_inference_mode_enabled", "is_tensor", "le", "linspace", "load", "long",
    "lt", "make_dot", "manual_seed", "masked_fill", "max", "min", "mm", "mul", "mv", "nan",
    "narrow", "ne", "neg", "nn", "no_grad", "norm", "numel", "ones", "ones_like", "optim", "pi",
    "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "round", "save", "select",
    "set_default_dtype", "set_grad_enabled", "set_num_threads", "set_printoptions", "short",
    "split", "squeeze", "swapaxes",
    "stack", "std", "sub", "t", "tensor", "transpose", "uint8", "unbind", "unsqueeze", "var",
    "utils",
    "cond", "scan", "vmap", "while_loop",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "zeros", "zeros_like", "floor_divide", "mean", "prod", "sum", *_ops.PUBLIC,
    *_operations.PUBLIC, *_operations.IN_PLACE, *_linear.SHARED, "cuda", "device", "linalg",
]  # fmt: skip
