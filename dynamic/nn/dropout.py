"""Dropout."""

from __future__ import annotations

from typing import Any

from compiler.errors import OptionError
from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn.module import Module


class Dropout(Module):
    """Each element 0 with probability p, else divided by 1 - p, in training (Srivastava 2014)."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise OptionError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The input with elements dropped."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"
