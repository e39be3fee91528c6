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
    "_BatchNorm": "normalization", "_InstanceNorm": "normalization", "_Loss": "loss",
    "_WeightedLoss": "loss", "_ConvNd": "conv", "_ConvTransposeNd": "conv",
}  # fmt: skip
"""Classes that scripts test modules for, and derive their own from, and where they are."""
_OWN_NAMES = {"_ConvNd": "_Convolution", "_ConvTransposeNd": "_ConvTranspose"}

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
        found = import_module(f"staticgraph.dynamic.nn.{_BASES[name]}")
        return getattr(found, _OWN_NAMES.get(name, name))
    of_nn = import_module("staticgraph.dynamic.nn")
    return getattr(of_nn if hasattr(of_nn, name) else of_nn.linear, name)
