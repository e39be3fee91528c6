"""Why there is nothing of ours beside a function of JAX's or PyTorch's."""

from __future__ import annotations

_MEMORY = "tensors are values: nothing is written in place"
_FILES = "arrays are read and written with NumPy; sg.save and sg.load are of executables"
_PYTHON = "of Python values and their printing: NumPy's own serves"
_SIZE = "the size of the result depends on values"
_FACTORS = "LAPACK's own form of factors; see linalg.qr, solve and lstsq"


def _table(reasons: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in reasons.items() for name in names.split()}


JAX_NUMPY = _table({
    "sg.diff compares the paradigms; np.diff of tensors and expressions, or x[1:] - x[:-1]": "diff",
    _FILES: "from_dlpack frombuffer fromfile fromiter fromstring load save savez",
    _PYTHON: "array_repr array_str get_printoptions printoptions set_printoptions",
    "functions of arrays are mapped with vmap":
        "apply_along_axis apply_over_axes frompyfunc vectorize",
    "complex numbers have no order": "sort_complex",
    "linalg.eigvals of the companion matrix": "roots",
    _MEMORY: "place",
    _SIZE: "trim_zeros",
})  # fmt: skip
JAX_LINALG: dict[str, str] = {}
JAX_SPECIAL: dict[str, str] = {}
TORCH = _table({
    _FACTORS: "geqrf orgqr ormqr triangular_solve",
    "drawn at random on the way": "pca_lowrank svd_lowrank",
    "not in PyTorch's documentation": "hash_tensor slice_inverse",
})  # fmt: skip
TORCH_FUNCTIONAL = _table({
    "drawn at random on the way: dynamic.nn.functional has it, eagerly":
        "fractional_max_pool2d fractional_max_pool3d",
    "an old name of interpolate": "upsample upsample_bilinear upsample_nearest",
    "nn.MultiheadAttention, which captures and trains": "multi_head_attention_forward",
})  # fmt: skip
