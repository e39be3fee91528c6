"""Of what kind arguments are, by their names, as PyTorch's signatures have them.

Those by position are looked at after a call has failed only: an argument of a wrong kind is told
before all else that was wrong, in PyTorch's class and words. Those by name are looked at before
(`keyword_kinds.py`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from staticgraph.compiler.core.annotated import is_real
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.dtypes import DType
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, ComplexArgumentError
from staticgraph.dynamic.core.named_operands import in_pytorchs_words

Kind = tuple[str, Callable[[object], bool]]
"""What PyTorch calls it, and whether a value is such."""


def _is_tensor(value: object) -> bool:
    return isinstance(value, Operand | np.ndarray | np.generic)


def _is_float(value: object) -> bool:
    if isinstance(value, Operand | np.ndarray):  # of one element they have a float, too
        return getattr(value, "ndim", 0) == 0
    return is_real(value) or isinstance(value, Dim)


def _is_number(value: object) -> bool:
    return isinstance(value, complex | np.number) or _is_float(value)


def _is_int(value: object) -> bool:
    if isinstance(value, Operand):
        shape = getattr(value, "shape", ())
        return not shape or (len(shape) == 1 and type(shape[0]) is int and shape[0] == 1)
    return hasattr(value, "__index__") or isinstance(value, Dim)


def _are_ints(value: object) -> bool:
    if isinstance(value, list | tuple | range | np.ndarray):
        return all(one is None or _is_int(one) for one in value)
    return _is_int(value)


def _are_tensors(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_tensor, value))


def _is_dtype(value: object) -> bool:
    if isinstance(value, str):
        try:
            np.dtype(value)
        except TypeError:
            return value == "bfloat16"
    return isinstance(value, DType | np.dtype | type | str)


def _are_edges(value: object) -> bool:
    return isinstance(value, str) or _are_ints(value)


_TENSOR: Kind = ("Tensor", _is_tensor)
_VALUE: Kind = ("Tensor or Number", lambda value: _is_tensor(value) or _is_number(value))
_NUMBER: Kind = ("Number", lambda value: _is_number(value))
_FLOAT: Kind = ("float", _is_float)
_FACTOR: Kind = ("float", lambda value: _is_tensor(value) or _is_number(value))
_INT: Kind = ("int", _is_int)
_INTS: Kind = ("tuple of ints", _are_ints)
_SIZES: Kind = ("tuple of ints", lambda value: not _is_int(value) and _are_ints(value))
_COUNTS: Kind = ("Tensor or int", lambda value: _is_tensor(value) or _is_int(value))
_BOOL: Kind = ("bool", lambda value: isinstance(value, bool | np.bool_ | int))
_EDGES: Kind = ("str or tuple of ints", _are_edges)
_STR: Kind = ("str", lambda value: isinstance(value, str))
_TENSORS: Kind = ("tuple of Tensors", _are_tensors)
_DTYPE: Kind = ("torch.dtype", _is_dtype)

_NAMES: tuple[tuple[Kind, str], ...] = (
    (
        _TENSOR,
        "input mat mat1 mat2 vec vec1 vec2 batch1 batch2 tensor1 tensor2 mask condition src "
        "sorted_sequence boundaries query key target grid theta log_probs anchor positive negative "
        "input1 input2 input3 x1 x2 real imag abs angle LU_data LU_pivots elements test_elements "
        "A x tensor index indices source values bias running_mean running_var pos_weight "
        "per_sample_weights offsets attn_mask aweights fweights sorter lengths prepend append "
        "running_mean_ theta weights",
    ),
    (_VALUE, "a b y src other exponent min max value end_value weight var"),
    (
        _NUMBER,
        "alpha beta lambd negative_slope threshold max_val min_val maxnorm fill_value norm_type dx "
        "margin lower upper correction",
    ),
    (
        _FLOAT,
        "eps atol rtol delta label_smoothing momentum dropout_p max_norm posinf neginf nan d sigma "
        "base zero_tolerance",
    ),
    (
        _INT,
        "dim0 dim1 dim2 dimension axis0 axis1 groups num_groups chunks k decimals length "
        "num_classes num_samples window_length steps start_dim end_dim diagonal offset row col "
        "minlength edge_order upscale_factor downscale_factor ignore_index padding_idx blank r "
        "storage_offset N divisor_override _stacklevel",
    ),
    (
        _INTS,
        "dim axis dims kernel_size dilation output_size output_padding shifts normalized_shape pad "
        "shape sizes size repeats split_size split_size_or_sections sections indices_or_sections "
        "stride destination s source_axes",
    ),
    (
        _BOOL,
        "keepdim keepdims ceil_mode count_include_pad descending largest sorted training inplace "
        "return_counts return_inverse equal_nan log_target log_input accumulate include_self "
        "align_corners with_replacement replacement right left transpose unitriangular invert "
        "swap scale_grad_by_freq zero_infinity full log periodic stable assume_unique "
        "return_indices use_input_stats is_causal increasing unbiased hard pivot requires_grad",
    ),
    (_STR, "equation rounding_mode indexing approximate padding_mode norm side"),
    (_TENSORS, "tensors"),
    (_DTYPE, "dtype"),
)
KINDS: dict[str, Kind] = {name: kind for kind, names in _NAMES for name in names.split()}
"""By the name of an argument."""

OWN: dict[tuple[str, str], Kind | None] = {
    **{("select", "index"): _INT, ("select_scatter", "index"): _INT},
    **{(name, "input"): _VALUE for name in ("pow", "float_power", "result_type", "where")},
    ("attention", "k"): _TENSOR,
    **{("where", name): _VALUE for name in ("condition", "x")},
    **{(name, "other"): _TENSOR for name in (
        "allclose", "isclose", "equal", "dist", "inner", "kron", "cross", "expand_as", "view_as",
        "reshape_as", "type_as", "atan2", "hypot", "nextafter", "logaddexp", "logaddexp2", "fmax",
        "fmin", "maximum", "minimum", "is_set_to", "is_same_size", "vdot", "dot", "heaviside",
        "ldexp", "gcd", "lcm", "mm",
    )},
    **{(name, one): _TENSOR for one in "ab" for name in (
        "atan2", "cross", "dot", "fmax", "fmin", "gcd", "heaviside", "hypot", "inner", "kron",
        "lcm", "ldexp", "logaddexp", "logaddexp2", "matmul", "maximum", "minimum", "nextafter",
        "outer", "tensordot", "vdot",
    )},
    **{(name, "padding"): _EDGES for name in ("conv1d", "conv2d", "conv3d")},
    **{(name, "padding"): _INTS for name in (
        "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "max_pool1d", "max_pool2d", "max_pool3d",
    )},
    **{(name, "weight"): _TENSOR for name in (
        "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "bilinear", "embedding", "embedding_bag", "prelu",
    )},
    **{(name, "dim"): _INT for name in (
        "argmax", "argmin", "chunk", "cummax", "cummin", "cumprod", "cumsum", "gather", "glu",
        "index_add", "index_copy", "index_fill", "index_reduce", "index_select", "kthvalue",
        "log_softmax", "logcumsumexp", "max", "median", "min", "mode", "narrow", "nanmedian",
        "scatter", "scatter_add", "scatter_reduce", "select", "softmax", "softmin", "sort",
        "argsort", "split", "stack", "cat", "topk", "unbind", "unflatten", "diff", "renorm",
        "unsqueeze", "cosine_similarity", "gumbel_softmax", "unique_consecutive", "prod", "cross",
        "select_scatter", "slice_scatter", "take_along_dim", "repeat_interleave", "concat",
    )},
    **{(name, "value"): _NUMBER for name in ("addcmul", "addcdiv", "pad", "full", "threshold")},
    **{(name, "fill_value"): _NUMBER for name in ("full", "full_like", "new_full")},
    **{(name, "n"): _INT for name in ("eye", "fft", "ifft", "rfft", "irfft", "hfft", "ihfft",
        "fftfreq", "rfftfreq", "matrix_power", "polygamma", "diff", "randperm")},
    **{(name, "p"): _NUMBER for name in ("dropout", "dist", "cdist", "pdist", "norm",
        "pairwise_distance", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d",
        "dropout3d", "normalize", "multi_margin_loss", "triplet_margin_loss")},
    ("mvlgamma", "p"): _INT,
    ("multigammaln", "p"): _INT,
    ("tensordot", "dims"): None,
    **{(name, "p"): None for name in ("norm",)},
    **{(name, "input"): _TENSOR for name in ("roll",)},
    **{(name, "source"): _INTS for name in ("moveaxis", "movedim")},
    **{(name, "correction"): None for name in ("std", "var", "std_mean", "var_mean")},
    **{(name, "m"): _INT for name in ("eye",)},
    ("repeat_interleave", "repeats"): _COUNTS,
    ("histc", "max"): _FLOAT,
    ("histc", "min"): _FLOAT,
    ("gradient", "dim"): _INTS,
    ("tensor_split", "indices_or_sections"): _INTS,
    ("index_put", "indices"): None,
    ("take_along_dim", "dim"): _INT,
    ("cross_entropy", "target"): _TENSOR,
    ("einsum", "equation"): None,
    ("einsum", "input"): None,
    ("norm", "dtype"): _DTYPE,
    **{(name, "reduction"): _STR for name in (
        "gaussian_nll_loss", "multilabel_soft_margin_loss", "poisson_nll_loss",
    )},
    **{(name, "q"): ("Tensor or float", lambda value: is_real(value) or _is_tensor(value))
       for name in ("quantile", "nanquantile")},
    **{(name, "start"): _COUNTS for name in ("narrow", "narrow_copy")},
    **{(name, "size"): _SIZES for name in ("full", "new_full")},
    **{(name, "input"): _VALUE for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
    )},
    ("permute", "axes"): _INTS,
    ("view", "shape"): ("tuple of ints", lambda value: _are_ints(value) or _is_dtype(value)),
    ("multi_margin_loss", "p"): None,
    ("embedding", "norm_type"): None,
    ("embedding_bag", "norm_type"): None,
    ("gumbel_softmax", "eps"): None,
    **{(name, "lambd"): _FLOAT for name in ("hardshrink", "softshrink")},
    ("rrelu", "lower"): _FLOAT,
    ("rrelu", "upper"): _FLOAT,
    **{(name, "eps"): _FACTOR for name in ("gaussian_nll_loss", "normalize")},
    **{("local_response_norm", name): _FACTOR for name in ("alpha", "beta", "k")},
    ("type", "dtype"): None,
    ("set_", "source"): None,
    ("clip_grad_norm_", "norm_type"): _FLOAT,
    ("lerp", "weight"): _VALUE,
    **{(name, one): _FLOAT for name in ("normal_", "log_normal_") for one in ("mean", "std")},
    **{(name, one): _FLOAT for name in ("uniform_", "random_") for one in ("from", "to")},
    ("cauchy_", "median"): _FLOAT,
    **{("promote_types", one): _DTYPE for one in ("type1", "type2")},
    **{("can_cast", one): _DTYPE for one in ("from_", "to")},
    ("geometric_", "p"): _FLOAT,
    ("cov", "correction"): _INT,
    ("kaiser_window", "beta"): _FLOAT,
    **{("range", one): _FLOAT for one in ("start", "end", "step")},
    **{("renorm", one): _FLOAT for one in ("p", "maxnorm")},
    **{(name, "norm_type"): _FLOAT for name in ("lp_pool1d", "lp_pool2d", "lp_pool3d")},
}  # fmt: skip
"""By function and argument, where a function has another kind than others, or none is known."""


def kind_of(function: str, name: str) -> Kind | None:
    """The kind of an argument, or None where none is known."""
    for one in (function, function.rstrip("_")):
        if (one, name) in OWN:
            return OWN[one, name]
    return KINDS.get(name)


def _given(
    parameters: Sequence[inspect.Parameter], args: Sequence[object], options: Mapping[str, object]
) -> Iterator[tuple[inspect.Parameter, int, object]]:
    """The parameters of a call with their places, from 1, and what is given."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for place, one in enumerate(parameters, 1):
        if one.kind in plain and place <= len(args):
            yield one, place, args[place - 1]
        elif (
            one.kind is one.VAR_POSITIONAL
            and place <= len(args)
            and (KINDS.get(one.name) is _INTS or one.name in ("axes", "shape"))
        ):
            rest = args[place - 1 :]
            yield one, place, rest[0] if len(rest) == 1 else rest
        elif one.kind is one.VAR_POSITIONAL and one.name == "others" and place <= len(args):
            yield one.replace(name="other"), place, args[place - 1]  # of what works in place
        elif one.name in options and one.kind is not one.VAR_POSITIONAL:
            yield one, place, options[one.name]


@functools.cache
def parameters_of(function: Callable[..., object]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function; none where it has no signature."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except ValueError:
        return ()


def wrong_argument(
    name: str,
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    method: bool = False,
) -> StaticGraphError | None:
    """What PyTorch says of the first argument of a wrong kind, or None if there is none.

    It is a TypeError, but of tensors whose truth PyTorch's own Python code asks (`BRANCHED`).

    Args:
        name: that of the function.
        function: whose signature says which argument is which.
        args: by position, and in a method the tensor itself first.
        options: by name.
        method: whether it is one, whose places are counted behind the tensor.
    """
    words = in_pytorchs_words(function, dict(options))
    for one, place, value in _given(parameters_of(function), args, words):
        called = "input" if one.name == "self" else one.name
        kind = None if method and place == 1 else kind_of(name, called)
        asked = one.name in BRANCHED or (name, one.name) in BRANCHED
        asked = asked and isinstance(value, Operand) and getattr(value, "ndim", 0) > 0
        if kind is None or (value is None and may_be_none(name, one)):
            continue
        if kind[1](value) and not asked:
            continue
        if value is one.default or (kind is _TENSORS and isinstance(value, list | tuple)):
            continue  # of which elements of a sequence are none its own error tells
        called = _PYTORCHS.get(called, called)
        of_complex = kind in (_FLOAT, _NUMBER) and isinstance(value, complex | np.complexfloating)
        wrong = ComplexArgumentError if of_complex else ArgumentError
        return (AutogradError if asked else wrong)(
            f"{name}(): argument '{called}' (position {place - method}) must be {kind[0]}, "
            f"not {_described(value) if kind is _INTS else type(value).__name__}"
        )
    return None


BRANCHED: frozenset[str | tuple[str, str]] = frozenset({
    "get_infos", "hard", "inplace", "return_counts", "return_indices", "return_inverse",
    "use_input_stats", ("batch_norm", "eps"), ("batch_norm", "training"),
    ("embedding", "padding_idx"),
    ("gaussian_nll_loss", "full"), ("group_norm", "num_groups"),
    ("triplet_margin_with_distance_loss", "swap"),
    *((name, "p") for name in ("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d",
                               "feature_alpha_dropout")),
    *(("hardtanh", name) for name in ("max_val", "min_val")),
    *((name, "margin") for name in ("triplet_margin_loss", "triplet_margin_with_distance_loss")),
})  # fmt: skip
"""Arguments whose truth, or order, PyTorch's own Python code asks: a RuntimeError of tensors."""

_OPTIONAL = frozenset({
    "append", "attn_mask", "aweights", "bias", "correction", "dim", "dims", "dtype", "dx",
    "fweights", "max", "min", "offsets", "output_size", "per_sample_weights", "pos_weight",
    "prepend", "running_mean", "running_var", "s", "size", "sorter", "stride", "value", "weight",
})  # fmt: skip
"""What may be None, where the signature that is looked at has no defaults."""


def may_be_none(function: str, parameter: inspect.Parameter) -> bool:
    """Whether None is given for an argument, as for its default."""
    if parameter.default is None:
        return True
    return parameter.name in _OPTIONAL and (function, parameter.name) not in OWN


_PYTORCHS = {"a": "input", "axis": "dim", "b": "other", "keepdims": "keepdim", "x": "input"}


def _described(value: object) -> str:
    """The kind of a value, and of a sequence that of its first element that is wrong."""
    found = type(value).__name__
    if isinstance(value, list | tuple) and value:
        at = next((i for i, one in enumerate(value) if not hasattr(one, "__index__")), 0)
        return f"{found} with {type(value[at]).__name__} at {at}"
    return found
