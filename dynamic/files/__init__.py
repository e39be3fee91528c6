"""Tensors in files: safetensors, and the checkpoints that PyTorch writes."""

from __future__ import annotations

from staticgraph.dynamic.files import serialization as serialization
