"""The file of PyTorch's that scripts import `Variable` from (torch.autograd.variable)."""

from __future__ import annotations

from staticgraph.dynamic.tensors.variables import Variable

__all__ = ["Variable"]
