"""Functions in NumPy's names over the shared ops: of arrays, expressions and tensors alike.

Each is composed of ops, so that gradients, batches and kernels are those of the ops. The modules
are imported when one of their functions is asked for: `NAMES` says which has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.values import Value

_MODULES = {
    "arranging":
        "atleast_1d atleast_2d atleast_3d diag diagflat diagonal fliplr flipud "
        "matrix_transpose moveaxis permute_dims ravel repeat resize roll rollaxis rot90 tile "
        "trace tril triu unstack",
    "joining":
        "append array_split block broadcast_arrays column_stack concat delete dsplit dstack "
        "ediff1d hsplit hstack insert ix_ meshgrid select vsplit vstack",
    "bits": "packbits unpackbits",
    "elements":
        "absolute allclose arccos arccosh arcsin arcsinh arctan arctan2 arctanh around "
        "array_equal array_equiv bitwise_invert bitwise_left_shift bitwise_right_shift "
        "copy degrees divmod fabs fix float_power frexp i0 invert isclose "
        "isneginf isposinf ldexp mod modf nan_to_num nextafter "
        "piecewise positive radians rint round signbit spacing true_divide",
    "complex_numbers":
        "angle conj conjugate imag iscomplex isreal polar real",
    "statistics":
        "amax amin average corrcoef count_nonzero cov median nanmedian nanpercentile nanquantile "
        "percentile ptp quantile",
    "nans":
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum "
        "nanvar",
    "sequences":
        "argpartition cumulative_prod cumulative_sum digitize gradient interp lexsort "
        "partition searchsorted topk trapezoid unwrap",
    "counting":
        "argwhere bincount choose compress extract fill_diagonal flatnonzero histogram "
        "histogram2d histogram_bin_edges histogramdd nonzero unravel_index",
    "segments":
        "segment_max segment_min segment_prod segment_sum",
    "sets":
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values",
    "products":
        "convolve correlate cross inner kron matvec tensordot vander vdot vecdot vecmat",
    "einsum":
        "einsum einsum_path",
    "polynomials":
        "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval",
    "asking":
        "broadcast_shapes can_cast iscomplexobj isdtype isrealobj isscalar issubdtype "
        "iterable ndim promote_types result_type shape size",
}  # fmt: skip
_LINALG = {
    "products": "multi_dot tensorinv tensorsolve",
    "norms": "cond norm",
}  # fmt: skip


def _by_name(modules: dict[str, str]) -> dict[str, str]:
    return {name: module for module, names in modules.items() for name in names.split()}


NAMES = _by_name(_MODULES)
"""The functions that both frontends export, and the modules that have them."""

LINALG = (
    _by_name(_LINALG)
    | dict.fromkeys(("cross", "tensordot", "vecdot"), "products")
    | dict.fromkeys(("diagonal", "trace"), "last_planes")
    | {"matrix_transpose": "arranging"}
)
"""Those of staticgraph.linalg."""


def function_named(name: str, names: dict[str, str]) -> Value:
    """The function of this name in one of the tables above."""
    return getattr(import_module(f"staticgraph.compiler.functions.{names[name]}"), name)


def _of_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    from staticgraph.compiler.functions import numpy_protocol  # most programs need none of it

    return numpy_protocol.of_ufunc(ufunc, method, inputs, options)


def _of_function(function: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    from staticgraph.compiler.functions import numpy_protocol

    return numpy_protocol.of_function(function, args, options)


provided.numpy_ufunc.provide(_of_ufunc)
provided.numpy_function.provide(_of_function)
