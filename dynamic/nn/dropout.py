"""Dropout."""

from __future__ import annotations

from typing import Any

from compiler.core.errors import OptionError
from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn.module import Module


class _Dropping(Module):
    """The probability of a dropout layer; abstract."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise OptionError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def _drop(self, function: Any, input: Any) -> Any:
        return function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropping):
    """Each element 0 with probability p, else divided by 1 - p, in training (Srivastava 2014)."""

    def forward(self, input: Any) -> Any:
        """The input with elements dropped."""
        return self._drop(F.dropout, input)


class Dropout1d(_Dropping):
    """Each channel of (n, c, l) or (c, l) dropped as a whole: see Dropout."""

    def forward(self, input: Any) -> Any:
        """The input with channels dropped."""
        return self._drop(F.dropout1d, input)


class Dropout2d(_Dropping):
    """Each channel of (n, c, h, w) dropped as a whole (Tompson et al. 2015)."""

    def forward(self, input: Any) -> Any:
        """The input with channels dropped."""
        return self._drop(F.dropout2d, input)


class Dropout3d(_Dropping):
    """Each channel of (n, c, d, h, w) or (c, d, h, w) dropped as a whole: see Dropout."""

    def forward(self, input: Any) -> Any:
        """The input with channels dropped."""
        return self._drop(F.dropout3d, input)


class AlphaDropout(_Dropping):
    """Dropout that keeps mean 0 and variance 1, for selu (Klambauer et al. 2017)."""

    def forward(self, input: Any) -> Any:
        """The input with elements dropped."""
        return self._drop(F.alpha_dropout, input)


class FeatureAlphaDropout(_Dropping):
    """AlphaDropout of whole channels of (n, c, ...)."""

    def forward(self, input: Any) -> Any:
        """The input with channels dropped."""
        return self._drop(F.feature_alpha_dropout, input)
