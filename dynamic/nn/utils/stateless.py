"""The old place of `func.functional_call` (torch.nn.utils.stateless)."""

from __future__ import annotations

from staticgraph.dynamic.func.stateless import functional_call

__all__ = ["functional_call"]
