"""Layers under the names of torchvision's, which scripts test modules for."""

from __future__ import annotations

from torch import nn


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation whose statistics do not change: named, and never made."""


class DeformConv2d(nn.Module):
    """A convolution whose windows move: named, and never made."""
