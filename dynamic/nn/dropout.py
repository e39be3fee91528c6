"""Dropout."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared


class _Dropout(Declared):
    """The probability of a dropout layer; abstract."""

    p: float = 0.5
    inplace: bool = False
    _shown = ("p", "inplace")

    def _assign(self, values: dict[str, Any]) -> None:
        p = values["p"]
        if p < 0 or p > 1:
            raise OptionError(f"dropout probability has to be between 0 and 1, but got {p}")
        super()._assign(values)


class Dropout(_Dropout, functional=F.dropout):
    """Each element 0 with probability p, else divided by 1 - p, in training (Srivastava 2014).

    Example:
        >>> nn.Dropout(0.5).eval()(dynamic.ones(2))
        tensor([1., 1.])
    """


class Dropout1d(_Dropout, functional=F.dropout1d):
    """Each channel of (n, c, l) or (c, l) dropped as a whole: see Dropout.

    Example:
        >>> nn.Dropout1d(0.5)(dynamic.ones(1, 3, 4)).shape
        torch.Size([1, 3, 4])
    """


class Dropout2d(_Dropout, functional=F.dropout2d):
    """Each channel of (n, c, h, w) dropped as a whole (Tompson et al. 2015).

    Example:
        >>> nn.Dropout2d(0.5)(dynamic.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 4, 4])
    """


class Dropout3d(_Dropout, functional=F.dropout3d):
    """Each channel of (n, c, d, h, w) or (c, d, h, w) dropped as a whole: see Dropout.

    Example:
        >>> nn.Dropout3d(0.5)(dynamic.ones(1, 3, 4, 4, 4)).shape
        torch.Size([1, 3, 4, 4, 4])
    """


class AlphaDropout(_Dropout, functional=F.alpha_dropout):
    """Dropout that keeps mean 0 and variance 1, for selu (Klambauer et al. 2017).

    Example:
        >>> nn.AlphaDropout().eval()(dynamic.ones(2))
        tensor([1., 1.])
    """


class FeatureAlphaDropout(_Dropout, functional=F.feature_alpha_dropout):
    """AlphaDropout of whole channels of (n, c, ...).

    Example:
        >>> nn.FeatureAlphaDropout().eval()(dynamic.ones(1, 2, 2)).shape
        torch.Size([1, 2, 2])
    """
