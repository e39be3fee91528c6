"""The op library: every op and composite that both paradigms share."""

from compiler.op import all_ops, op_named
from compiler.ops.arithmetic import (
    absolute,
    add,
    astype,
    ceil,
    copy,
    divide,
    floor,
    floor_divide,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    reciprocal,
    remainder,
    round,
    sign,
    square,
    stop_gradient,
    subtract,
    trunc,
)
from compiler.ops.comparison import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    where,
)
from compiler.ops.exponential import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    cosh,
    erf,
    exp,
    expm1,
    log,
    log1p,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    softplus,
    sqrt,
    tan,
    tanh,
)
from compiler.ops.indexing import along_add, getitem, one_hot, take, take_add, take_along_axis
from compiler.ops.leaves import constant, iota, placeholder, size_of, variable
from compiler.ops.linalg import dot, matmul, outer
from compiler.ops.nn import (
    binary_cross_entropy_with_logits,
    clamp,
    clip,
    cross_entropy,
    elu,
    gelu,
    layer_norm,
    leaky_relu,
    log_softmax,
    mse_loss,
    relu,
    silu,
    softmax,
)
from compiler.ops.reduction import (
    all,
    any,
    argmax,
    argmin,
    logsumexp,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from compiler.ops.shape import (
    broadcast_to,
    concatenate,
    embed,
    expand_dims,
    flip,
    pad,
    permute,
    reshape,
    split,
    squeeze,
    stack,
    strided_slice,
    swapaxes,
    transpose,
)

abs = absolute
pow = power
true_divide = divide

__all__ = [
    "abs", "absolute", "acos", "add", "all", "all_ops", "along_add", "any", "argmax", "argmin",
    "asin", "astype", "atan", "atan2", "binary_cross_entropy_with_logits", "broadcast_to", "ceil",
    "clamp", "clip", "concatenate", "constant", "copy", "cos", "cosh", "cross_entropy", "divide",
    "dot", "elu", "embed", "equal", "erf", "exp", "expand_dims", "expm1", "flip", "floor",
    "floor_divide", "gelu", "getitem", "greater", "greater_equal", "iota", "isfinite", "isinf",
    "isnan", "layer_norm", "leaky_relu", "less", "less_equal", "log", "log1p", "log_softmax",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "matmul", "max",
    "maximum", "mean", "min", "minimum", "mse_loss", "multiply", "negative", "not_equal",
    "one_hot", "op_named", "outer", "pad", "permute", "placeholder", "pow", "power", "prod",
    "reciprocal", "relu", "remainder", "reshape", "round", "rsqrt", "sigmoid", "sign", "silu",
    "sin", "sinh", "size_of", "softmax", "softplus", "split", "sqrt", "square", "squeeze", "stack",
    "std", "stop_gradient", "strided_slice", "subtract", "sum", "swapaxes", "take", "take_add",
    "take_along_axis", "tan", "tanh", "transpose", "true_divide", "trunc", "var", "variable",
    "where",
]  # fmt: skip

_INTERNAL = {
    "absolute", "all_ops", "along_add", "clamp", "constant", "copy", "embed", "getitem", "iota",
    "op_named", "placeholder", "size_of", "strided_slice", "take_add", "true_divide", "variable",
}  # fmt: skip

PUBLIC = tuple(name for name in __all__ if name not in _INTERNAL)
"""The names that both frontends export; the others are for the compiler."""
