"""Parameters of distributions: numbers as tensors, of one shape; probabilities and logits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.dtypes import get_default_dtype
from staticgraph.dynamic.operations.arranging import broadcast_tensors
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.drawn import rand
from staticgraph.dynamic.tensors.random_numbers import generator
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of

EULER = float(np.euler_gamma)
LOG_2PI = math.log(2 * math.pi)


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape; numbers in the dtype of the tensors.

    ValueError for anything else.
    """
    if not all(isinstance(one, Tensor | int | float | np.generic) for one in values):
        raise OptionError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    tensors = [one for one in values if isinstance(one, Tensor)]
    dtype: Any = tensors[0].dtype if tensors else get_default_dtype()
    given = [one if isinstance(one, Tensor) else as_tensor(one, dtype=dtype) for one in values]
    return tuple(broadcast_tensors(*given))


def one_of(probs: Any, logits: Any) -> None:
    """ValueError unless one of both is given."""
    if (probs is None) == (logits is None):
        raise OptionError("Either `probs` or `logits` must be specified, but not both.")


def clamped(probs: Any) -> Any:
    """Probabilities so far from 0 and 1 that their logarithms are finite."""
    eps = float(limits(probs._array.dtype).eps)
    return probs.clamp(eps, 1 - eps)


def logits_of(probs: Any, is_binary: bool = False) -> Any:
    """The logits of probabilities."""
    safe = clamped(probs)
    return ops.log(safe) - ops.log1p(-safe) if is_binary else ops.log(safe)


def probs_of(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities of logits."""
    return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)


def open_uniform(shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform numbers in (0, 1)."""
    drawn: Any = rand(shape, dtype=dtype)
    known = limits(drawn._array.dtype)
    return drawn.clamp(float(known.tiny), 1 - float(known.eps) / 2)


def drawn(method: str, shape: tuple[int, ...], dtype: Any, *parameters: Any) -> Any:
    """Numbers of a distribution of NumPy's generator, without a gradient."""
    arrays = [np.asarray(values_of(one), np.float64) for one in parameters]
    found = getattr(generator(), method)(*arrays, size=shape)
    return wrap(np.asarray(found).astype(np.dtype(dtype)))


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


def summed(value: Any, count: int) -> Any:
    """The sum over the last `count` axes."""
    return value.sum(tuple(range(-count, 0))) if count else value
