"""Blocks under the names of torchvision's, which scripts test modules for."""

from __future__ import annotations

from torch import nn


class BasicBlock(nn.Module):
    """Two convolutions of a residual network: named, and never made."""


class Bottleneck(nn.Module):
    """Three convolutions of a residual network: named, and never made."""
