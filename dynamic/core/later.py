"""Where the public names are that are imported when they are asked for, not with the package."""

from __future__ import annotations

MODULES = (
    "_C", "_utils", "accelerator", "amp", "autograd", "backends", "cuda", "distributed",
    "distributions", "fft", "func", "hub", "jit", "multiprocessing", "nn", "onnx", "ops", "optim",
    "overrides", "profiler", "random", "sparse", "special", "testing", "utils", "version", "xp",
)  # fmt: skip
"""Modules of the package."""

_TYPED = (
    "FloatTensor", "DoubleTensor", "HalfTensor", "ByteTensor", "CharTensor", "ShortTensor",
    "IntTensor", "LongTensor", "BoolTensor",
)  # fmt: skip
_RANDOM = (
    "Generator", "default_generator", "get_rng_state", "initial_seed", "seed", "set_rng_state",
)  # fmt: skip
_DEVICES = (
    "channels_last", "channels_last_3d", "contiguous_format", "get_default_device", "layout",
    "memory_format", "preserve_format", "set_default_device", "strided",
)  # fmt: skip
_SETTINGS = (
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads", "is_warn_always_enabled",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_flush_denormal", "set_num_interop_threads", "set_warn_always",
    "use_deterministic_algorithms",
)  # fmt: skip
_OF_FUNCTIONAL = (
    "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu", "channel_shuffle", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity",
    "group_norm", "layer_norm", "max_pool1d", "max_pool2d", "max_pool3d", "pairwise_distance",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "rms_norm", "rrelu", "selu",
)  # fmt: skip
_OWN_ARGUMENTS = (
    "alpha_dropout",
    "batch_norm",
    "dropout",
    "embedding",
    "feature_alpha_dropout",
    "instance_norm",
    "kl_div",
)
_WINDOWS = (
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hann_window",
    "kaiser_window",
)
_OLDER = (
    "binomial",
    "detach",
    "empty_strided",
    "fill",
    "frobenius_norm",
    "frombuffer",
    "get_device",
    "is_same_size",
    "is_signed",
    "is_storage",
    "lu_unpack",
    "nuclear_norm",
    "qr",
    "randint_like",
    "range",
    "scalar_tensor",
    "spmm",
    "svd",
    "typename",
)
_REMOVED = ("eig", "lstsq", "matrix_rank", "solve", "symeig")

_LOOPS = ("cond", "scan", "while_loop")
_FILES = ("load", "save")

NAMES: dict[str, str] = {
    **dict.fromkeys(_LOOPS, "staticgraph.compiler.transforms.control_flow"),
    **dict.fromkeys(_FILES, "staticgraph.dynamic.files.serialization"),
    "vmap": "staticgraph.dynamic.func",
    "make_dot": "staticgraph.dynamic.functions.drawing",
    **dict.fromkeys(_TYPED, "staticgraph.dynamic.tensors.typed"),
    **dict.fromkeys(_RANDOM, "staticgraph.dynamic.tensors.random_numbers"),
    **dict.fromkeys(_DEVICES, "staticgraph.dynamic.tensors.devices"),
    **dict.fromkeys(_SETTINGS, "staticgraph.dynamic.core.settings"),
    **dict.fromkeys(_OF_FUNCTIONAL, "staticgraph.dynamic.nn.functional"),
    **dict.fromkeys(_WINDOWS, "staticgraph.dynamic.functions.windows"),
    **dict.fromkeys(_REMOVED, "staticgraph.dynamic.functions.removed"),
    **dict.fromkeys(_OLDER, "staticgraph.dynamic.functions.older"),
    **dict.fromkeys(_OWN_ARGUMENTS, "staticgraph.dynamic.functions.layers"),
    **dict.fromkeys(("igamma", "igammac", "mvlgamma"), "staticgraph.dynamic.special"),
    "sparse_coo": "staticgraph.dynamic.sparse",
    "sparse_coo_tensor": "staticgraph.dynamic.sparse",
    "compile": "staticgraph.dynamic.functions.compilation",
    "autocast": "staticgraph.dynamic.amp",
    "get_autocast_dtype": "staticgraph.dynamic.amp",
    "is_autocast_enabled": "staticgraph.dynamic.amp",
    "GradScaler": "staticgraph.dynamic.amp",
    "serialization": "staticgraph.dynamic.files",
    "__version__": "staticgraph.dynamic.version",
}
"""Per name the module that has it."""
