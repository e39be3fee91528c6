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


__path__: list[str] = []
for _file in _FILES:  # `from torch.nn.modules.module import Module`
    sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """What `torch.nn` has under the name."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _FILES:
        return sys.modules[__name__]
    of_nn = import_module("staticgraph.dynamic.nn")
    return getattr(of_nn if hasattr(of_nn, name) else of_nn.linear, name)
