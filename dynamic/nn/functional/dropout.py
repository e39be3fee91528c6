"""Dropout: of elements, of whole channels, and with mean and variance kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.layers.dropping import floored, of_channels
from staticgraph.dynamic.core.dtypes import itself
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.random_numbers import generator
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip


def _refused(p: float) -> OptionError:
    return OptionError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: Any, p: float, channels: int | None = None) -> Any:
    """Which elements stay, or which channels, with the axes from `channels` on of size 1."""
    if isinstance(input, Expression):
        refuse(
            "dropout: a graph would repeat its random numbers",
            "call eval() first, or take the mask as an argument",
        )
    shape = tuple(input.shape)
    if channels is not None:
        shape = of_channels(shape, channels)
    return generator().random(shape, np.float32) >= p


def _scaled(kept: Any, p: float, dtype: Any) -> Any:
    """1 / (1 - p) where an element is kept, else 0."""
    scale, zero = dtype.type(0 if p == 1 else 1 / (1 - p)), dtype.type(0)
    if isinstance(kept, Tensor):  # in a function that is captured
        return ops.where(kept, kept._constant(scale), kept._constant(zero))
    return kept.astype(dtype) if p == 1 else np.where(kept, scale, zero)


def _written(input: Any, result: object, inplace: bool) -> Any:
    return input.copy_(result) if inplace else result


def _require_floats(input: Any) -> None:
    """RuntimeError for integers, among which there is no 1 / (1 - p)."""
    if not is_inexact(np.dtype(input.dtype)):
        raise AutogradError(
            "result type Float can't be cast to the desired output type "
            f"{input.type()[6:-6]}: dropout takes floating-point elements"
        )


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element 0 with probability p, else divided by 1 - p, if `training`; x if not.

    The random numbers are those that `manual_seed` starts (Srivastava et al. 2014).

    Example:
        >>> nn.functional.dropout(dynamic.ones(2), 0.5, training=False)
        tensor([1., 1.])
    """
    if p < 0.0 or p > 1.0:
        raise _refused(p)
    if not training or p == 0:
        return input
    _require_floats(input)
    mask = _scaled(_kept(input, p), p, np.dtype(input.dtype))
    return input.mul_(input._constant(mask)) if inplace else input * input._constant(mask)


def _of_channels(input: Any, p: float, training: bool, inplace: bool, axes: int) -> Any:
    """Each channel of (n, c, ...) or (c, ...) zero with probability p, else divided by 1 - p."""
    if p < 0.0 or p > 1.0:
        raise _refused(p)
    if not training or p == 0:
        return input
    _require_floats(input)
    kept = _kept(input, p, 1 if input.ndim == axes + 1 else 2)
    mask = _scaled(kept, p, np.dtype(input.dtype))
    return _written(input, input * input._constant(mask), inplace)


def dropout1d(input: object, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each channel of (n, c, l) or (c, l) 0 with probability p, else divided by 1 - p.

    Example:
        >>> nn.functional.dropout1d(dynamic.ones(1, 3, 4), 1.0).sum()
        tensor(0.)
    """
    return _of_channels(input, p, training, inplace, 1)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each channel of (n, c, h, w) 0 with probability p, else divided by 1 - p (Tompson 2015).

    Example:
        >>> nn.functional.dropout2d(dynamic.ones(1, 3, 4, 4), 1.0).sum()
        tensor(0.)
    """
    # PyTorch takes three axes for (n, c, l) here
    return _of_channels(input, p, training, inplace, 3 if input.ndim == 3 else 2)


def dropout3d(input: object, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each channel of (n, c, d, h, w) or (c, d, h, w) 0 with probability p, else scaled.

    Example:
        >>> nn.functional.dropout3d(dynamic.ones(1, 3, 2, 2, 2), 1.0).sum()
        tensor(0.)
    """
    return _of_channels(input, p, training, inplace, 3)


def _alpha(input: Any, p: float, training: bool, inplace: bool, channels: int | None) -> Any:
    if p < 0.0 or p > 1.0:
        raise _refused(p)
    input = itself("alpha_dropout" if channels is None else "feature_alpha_dropout", input)
    if not training or p == 0:
        return input
    if p == 1:
        return _written(input, input * 0, inplace)
    kept = input._constant(_kept(input, p, channels))
    return _written(input, floored(input, kept, p), inplace)


def alpha_dropout(
    input: object, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Each element the lower end of selu with probability p, scaled and shifted.

    Mean 0 and variance 1 stay as they are (Klambauer et al. 2017).

    Example:
        >>> nn.functional.alpha_dropout(dynamic.ones(2), training=False)
        tensor([1., 1.])
    """
    return _alpha(input, p, training, inplace, None)


def feature_alpha_dropout(
    input: object, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """`alpha_dropout` of whole channels of (n, c, ...).

    Example:
        >>> nn.functional.feature_alpha_dropout(dynamic.ones(1, 2, 2)).shape
        torch.Size([1, 2, 2])
    """
    return _alpha(input, p, training, inplace, 2)
