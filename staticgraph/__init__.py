"""staticgraph: define a computation graph once, compile it, run it many times."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from compiler import fork as _fork
from compiler.control import cond, scan, while_loop
from compiler.dims import Dim
from compiler.errors import (
    CaptureError,
    CompileError,
    DTypeError,
    FeedError,
    FormatError,
    GraphError,
    LinAlgError,
    NonFiniteWarning,
    OptionError,
    OutOfRangeError,
    OutputError,
    ShapeError,
    StaticGraphError,
)
from compiler.graph.expression import Expression
from compiler.ops import (
    abs,
    acos,
    add,
    all,
    any,
    argmax,
    argmin,
    argsort,
    asin,
    astype,
    atan,
    atan2,
    avg_pool2d,
    binary_cross_entropy_with_logits,
    broadcast_to,
    ceil,
    clip,
    concatenate,
    conv2d,
    cos,
    cosh,
    cross_entropy,
    cummax,
    cummin,
    cumprod,
    cumsum,
    divide,
    dot,
    elu,
    equal,
    erf,
    exp,
    expand_dims,
    expm1,
    flip,
    floor,
    floor_divide,
    gelu,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    layer_norm,
    leaky_relu,
    less,
    less_equal,
    log,
    log1p,
    log_softmax,
    logcumsumexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    logsumexp,
    matmul,
    max,
    max_pool2d,
    maximum,
    mean,
    min,
    minimum,
    mse_loss,
    multiply,
    negative,
    not_equal,
    one_hot,
    outer,
    pad,
    permute,
    pow,
    power,
    prod,
    reciprocal,
    relu,
    remainder,
    reshape,
    round,
    rsqrt,
    sigmoid,
    sign,
    silu,
    sin,
    sinh,
    sliding_windows,
    softmax,
    softplus,
    sort,
    split,
    sqrt,
    square,
    squeeze,
    stack,
    std,
    stop_gradient,
    subtract,
    sum,
    swapaxes,
    take,
    take_along_axis,
    tan,
    tanh,
    transpose,
    trunc,
    var,
    where,
)
from compiler.runtime.threads import get_num_threads, set_num_threads
from staticgraph import linalg
from staticgraph.leaves import (
    Variable,
    arange,
    constant,
    full,
    ones,
    placeholder,
    variable,
    zeros,
)

if TYPE_CHECKING:
    from staticgraph import optim
    from staticgraph.compilation import compile, run
    from staticgraph.executable import Executable
    from staticgraph.functions import Function, function
    from staticgraph.regions import checkpoint
    from staticgraph.saving import load, save
    from staticgraph.transforms import grad, hessian, jacobian, jvp, value_and_grad, vjp, vmap

__version__ = "0.1.0"

__all__ = [
    "CaptureError", "CompileError", "DTypeError", "Dim", "Executable", "Expression",
    "FeedError", "FormatError", "Function", "GraphError", "LinAlgError", "NonFiniteWarning",
    "OptionError", "OutOfRangeError", "OutputError", "ShapeError", "StaticGraphError",
    "Variable", "abs", "acos", "add", "all", "any", "arange", "argmax", "argmin", "argsort",
    "asin", "astype", "atan", "atan2", "avg_pool2d", "binary_cross_entropy_with_logits",
    "broadcast_to", "ceil", "checkpoint", "clip", "compile", "concatenate", "cond",
    "constant", "conv2d", "cos", "cosh", "cross_entropy", "cummax", "cummin", "cumprod",
    "cumsum", "divide", "dot", "elu", "equal", "erf", "exp", "expand_dims", "expm1", "flip",
    "floor", "floor_divide", "full", "function", "gelu", "get_num_threads", "grad",
    "greater", "greater_equal", "hessian", "isfinite", "isinf", "isnan", "jacobian", "jvp",
    "layer_norm", "leaky_relu", "less", "less_equal", "linalg", "load", "log", "log1p",
    "log_softmax", "logcumsumexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logsumexp", "matmul", "max", "max_pool2d", "maximum", "mean", "min",
    "minimum", "mse_loss", "multiply", "negative", "not_equal", "one_hot", "ones", "optim",
    "outer", "pad", "permute", "placeholder", "pow", "power", "prod", "reciprocal", "relu",
    "remainder", "reshape", "round", "rsqrt", "run", "save", "scan", "set_num_threads",
    "sigmoid", "sign", "silu", "sin", "sinh", "sliding_windows", "softmax", "softplus",
    "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "stop_gradient",
    "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh", "transpose",
    "trunc", "value_and_grad", "var", "variable", "vjp", "vmap", "where", "while_loop",
    "zeros",
]  # fmt: skip

# What compiles is imported when it is first used: with networkx it takes longer than all the rest.
_LATER = {
    "regions": ("checkpoint",),
    "compilation": ("compile", "run"),
    "executable": ("Executable",),
    "functions": ("Function", "function"),
    "saving": ("load", "save"),
    "transforms": ("grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is not there yet."""
    with _fork.importing:
        if name == "optim":
            return import_module("staticgraph.optim")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'staticgraph' has no attribute {name!r}")
        found = getattr(import_module(f"staticgraph.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
