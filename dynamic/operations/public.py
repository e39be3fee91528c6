"""The functions that the package exports: the shared ops, and over them what PyTorch has else.

Where two modules have a name, the later import counts: PyTorch's meaning.
"""

# mypy: disable-error-code="assignment"

from types import FunctionType as _FunctionType

from staticgraph.compiler.ops.public import *
from staticgraph.dynamic.core.named_operands import (
    taking_input as _taking_input,
    taking_numpys_words as _taking_numpys_words,
)
from staticgraph.dynamic.core.no_tensors import of_kinds as _of_kinds, of_tensors as _of_tensors
from staticgraph.dynamic.operations.arranging import *
from staticgraph.dynamic.operations.complex_numbers import *
from staticgraph.dynamic.operations.cumulative import *
from staticgraph.dynamic.operations.diagonals import *
from staticgraph.dynamic.operations.distances import *
from staticgraph.dynamic.operations.elements import *
from staticgraph.dynamic.operations.functions import *
from staticgraph.dynamic.operations.histograms import *
from staticgraph.dynamic.operations.in_place import *
from staticgraph.dynamic.operations.numeric_types import *
from staticgraph.dynamic.operations.places import *
from staticgraph.dynamic.operations.pointwise import *
from staticgraph.dynamic.operations.products import *
from staticgraph.dynamic.operations.sampling import *
from staticgraph.dynamic.operations.scattering import *
from staticgraph.dynamic.operations.slices import *
from staticgraph.dynamic.operations.sorting import *
from staticgraph.dynamic.operations.statistics import *
from staticgraph.dynamic.tensors.outputs import taking_out as _taking_out

_INTO_OUT = (
    "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "aminmax", "angle", "baddbmm",
    "bernoulli", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "bucketize", "column_stack",
    "complex", "concatenate", "conj_physical", "cross", "cummax", "cummin", "cumprod", "cumsum",
    "diag", "dstack", "float_power", "frexp", "gather", "ger", "heaviside", "histc", "histogram",
    "histogramdd",
    "hstack", "index_add", "index_copy", "index_reduce", "inner", "isneginf", "isposinf", "kron",
    "kthvalue", "ldexp", "lerp", "logcumsumexp", "logit", "logsumexp", "masked_select", "median",
    "mm", "mode", "msort", "multinomial", "mv", "nan_to_num", "nanmean", "nanmedian",
    "nanquantile", "narrow_copy", "nextafter", "nonzero", "normal", "polar", "polygamma",
    "quantile", "renorm", "row_stack", "searchsorted", "signbit", "sort", "std_mean",
    "take_along_dim", "tensordot", "topk", "tril", "triu", "var_mean", "vdot", "vstack",
)  # fmt: skip
"""Functions without `out` of their own, which PyTorch documents for them."""

for _name in _INTO_OUT:
    if _name in globals():
        globals()[_name] = _taking_out(globals()[_name], _name)

for _operand in ("shape", "size"):
    globals()["broadcast_to"] = _taking_input(globals()["broadcast_to"], _operand)

_SHORT = frozenset({
    "broadcast_shapes", "einsum",  # which begin with something else than a tensor
    "add", "sub", "subtract", "sum", "mean", "max", "min", "amax", "amin", "clamp", "permute",
    "transpose", "squeeze", "unsqueeze", "flatten", "stack", "cat", "reshape",
})  # fmt: skip
"""Functions that small programs spend their time in: methods of theirs are checked."""

for _name, _function in list(globals().items()):
    if isinstance(_function, _FunctionType) and _name[0] != "_" and _name not in _SHORT:
        globals()[_name] = _of_tensors(_function)
globals()["einsum"] = _of_kinds(globals()["einsum"])

for _name in (
    "index_fill", "scatter", "scatter_add", "scatter_reduce", "tensor_split", "unflatten",
):  # fmt: skip
    globals()[_name] = _taking_numpys_words(globals()[_name])
