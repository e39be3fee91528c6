"""The modules under the name of the package in which PyTorch has them (torch.nn.modules)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from staticgraph.dynamic.nn.module import Module

__all__ = ["Module"]

_FILES = frozenset({
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance",
    "dropout", "flatten", "fold", "instancenorm", "linear", "loss", "module", "normalization",
    "padding", "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling",
})  # fmt: skip
"""The files of PyTorch's package, each of which is this module."""


_BASES = {
    "RNNCellBase": ("recurrent_cells", "_Cell"),
    "_AdaptiveAvgPoolNd": ("pooling", "_AdaptiveAvg"),
    "_AdaptiveMaxPoolNd": ("pooling", "_AdaptiveMax"),
    "_AvgPoolNd": ("pooling", "_AvgPool"),
    "_BatchNorm": ("normalization", "_BatchNorm"),
    "_ConvNd": ("conv", "_Convolution"),
    "_ConvTransposeNd": ("conv", "_ConvTranspose"),
    "_DropoutNd": ("dropout", "_Dropout"),
    "_InstanceNorm": ("normalization", "_InstanceNorm"),
    "_LPPoolNd": ("pooling", "_LPPool"),
    "_Loss": ("loss", "_Loss"),
    "_MaxPoolNd": ("pooling", "_MaxPool"),
    "_MaxUnpoolNd": ("pooling", "_MaxUnpool"),
    "_NormBase": ("normalization", "_RunningStatistics"),
    "_WeightedLoss": ("loss", "_WeightedLoss"),
}
"""Classes that scripts test modules for, and derive their own from: where they are, and as what."""

__path__: list[str] = []
for _file in _FILES:  # `from torch.nn.modules.module import Module`
    sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]
sys.modules[f"{__name__}.utils"] = import_module("staticgraph.dynamic.nn.tuples")


def __getattr__(name: str) -> Any:
    """What `torch.nn` has under the name."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _FILES:
        return sys.modules[__name__]
    if name == "utils":
        return import_module("staticgraph.dynamic.nn.tuples")
    if name.startswith("register_module_"):
        return getattr(import_module("staticgraph.dynamic.nn.global_hooks"), name)
    if name in _BASES:
        file, own = _BASES[name]
        return getattr(import_module(f"staticgraph.dynamic.nn.{file}"), own)
    of_nn = import_module("staticgraph.dynamic.nn")
    return getattr(of_nn if hasattr(of_nn, name) else of_nn.linear, name)
