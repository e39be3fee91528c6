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


def __getattr__(name: str) -> Any:
    """What `torch.nn` has under the name."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _FILES:
        return sys.modules[__name__]
    return getattr(import_module("staticgraph.dynamic.nn"), name)
