"""Tensors that compute at once and record what they did, in PyTorch's names.

    >>> import dynamic as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])

`help(torch.Tensor)` lists the methods by subject; names, arguments, defaults and errors are those
of PyTorch where `docs/signatures.md` does not say otherwise.

Make tensors     tensor, zeros, ones, full, arange, linspace, rand, randn, randint, from_numpy
Gradients        no_grad, enable_grad, set_grad_enabled, inference_mode, autograd, func
Layers           nn, nn.functional, nn.init, nn.utils; optim, optim.lr_scheduler; utils.data
Mathematics      the ops of `staticgraph` (`dynamic.tanh` is `staticgraph.tanh`), linalg, special,
                 fft, distributions
Files            save, load (safetensors, and PyTorch's `.pt` without running anything)
Randomness       manual_seed, get_rng_state, set_rng_state
Standards        xp: the array API
"""

# Every op that both paradigms share is here under its own name, itself or a function that leads to
# it (`dynamic.fast_paths`), except where PyTorch gives the name another meaning: see
# `dynamic.operations.functions`.

from __future__ import annotations

from importlib import import_module
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core import fork as _fork, short_names as _short_names
from staticgraph.compiler.core.errors import LintWarning as LintWarning
from staticgraph.compiler.core.published import published as _published
from staticgraph.compiler.functions import NAMES as _COMPOSED, function_named as _function_named
from staticgraph.compiler.ops.elementwise.exponential import erfinv as erfinv
from staticgraph.dynamic import (
    assembly as assembly,  # first: what follows reads the methods of Tensor
    linalg as linalg,
)
from staticgraph.dynamic.core import errors as errors, later as _later
from staticgraph.dynamic.core.dtypes import (
    DType as dtype,  # noqa: N813 - PyTorch's name
    bfloat16 as bfloat16,
    boolean as bool,
    complex64 as complex64,
    complex128 as complex128,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    set_default_dtype as set_default_dtype,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from staticgraph.dynamic.core.no_tensors import of_kinds as _of_kinds
from staticgraph.dynamic.core.results import Size as Size
from staticgraph.dynamic.kernels.threads import (
    get_num_threads as get_num_threads,
    set_num_threads as set_num_threads,
)
from staticgraph.dynamic.linalg import functions as _linear
from staticgraph.dynamic.linalg.functions import *
from staticgraph.dynamic.operations import public as _functions
from staticgraph.dynamic.operations.public import *
from staticgraph.dynamic.tape.anomaly import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)
from staticgraph.dynamic.tape.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from staticgraph.dynamic.tape.lint_switch import set_lint as set_lint
from staticgraph.dynamic.tensors.creation import (
    arange as arange,
    as_tensor as as_tensor,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    full as full,
    full_like as full_like,
    linspace as linspace,
    ones as ones,
    ones_like as ones_like,
    tensor as tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from staticgraph.dynamic.tensors.devices import device as device
from staticgraph.dynamic.tensors.drawn import (
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
)
from staticgraph.dynamic.tensors.printing import set_printoptions as set_printoptions
from staticgraph.dynamic.tensors.random_numbers import manual_seed as manual_seed
from staticgraph.dynamic.tensors.sharing import asarray as asarray
from staticgraph.dynamic.tensors.tensor import Tensor as Tensor

half = float16
float = float32  # the names of Python's types are PyTorch's dtypes
double = float64
cfloat, cdouble = complex64, complex128
short = int16
int = int32
long = int64

newaxis = None

_published(__name__, globals())

if __name__ == "dynamic":
    _short_names.lead("dynamic")

if TYPE_CHECKING:  # what is imported when it is asked for
    from staticgraph.compiler.transforms.control_flow import (
        cond as cond,
        scan as scan,
        while_loop as while_loop,
    )
    from staticgraph.dynamic import (
        autograd as autograd,
        fft as fft,
        func as func,
        nn as nn,
        optim as optim,
        utils as utils,
        xp as xp,
    )
    from staticgraph.dynamic.files.serialization import load as load, save as save
    from staticgraph.dynamic.func import vmap as vmap
    from staticgraph.dynamic.functions.drawing import make_dot as make_dot

if not TYPE_CHECKING:  # to which a name is public that is imported as itself, or with a star
    __all__ = [  # noqa: PLE0604 - the functions are listed where they are defined
        "LintWarning", "Size", "Tensor", "arange", "as_tensor", "asarray", "autograd", "bfloat16",
        "bool", "cdouble", "cfloat", "complex64", "complex128",
        "cond", "device", "double", "dtype", "e", "empty", "empty_like", "enable_grad",
        "erfinv", "eye", "fft", "float", "float16", "float32", "float64", "from_dlpack",
        "from_numpy", "full", "full_like", "func", "get_default_dtype", "get_num_threads", "half",
        "inf", "inference_mode", "int", "int16", "int32", "int64", "int8",
        "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
        "is_inference_mode_enabled", "linalg", "linspace", "load", "long", "make_dot",
        "manual_seed", "nan", "nn", "no_grad", "ones", "ones_like", "optim", "pi", "rand",
        "rand_like", "randint", "randn", "randn_like", "randperm", "save", "scan",
        "set_default_dtype", "set_grad_enabled", "set_lint", "set_num_threads", "set_printoptions",
        "short", "tensor", "uint16", "uint32", "uint64", "uint8", "utils", "vmap", "while_loop",
        "xp", "zeros", "zeros_like",
        *(name for name in vars(_functions) if not name.startswith("_")), *_linear.__all__,
    ]  # fmt: skip

    def __getattr__(name: str) -> Any:
        """A name that is imported when it is asked for, or a function that only NumPy has."""
        with _fork.importing():
            if name in _later.MODULES:
                found: Any = import_module(f"staticgraph.dynamic.{name}")
            elif name in _later.NAMES:
                found = getattr(import_module(_later.NAMES[name]), name)
            elif name in _COMPOSED:
                found = _of_kinds(_function_named(name, _COMPOSED), name)
                _published(__name__, {name: found})
            else:
                raise AttributeError(f"module 'dynamic' has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_later.MODULES, *_later.NAMES, *_COMPOSED})
