"""Random tensors of distributions whose parameters are tensors: of a key from the stream.

The key alone is drawn; numbers are made of it and of each element's position, by ops. So they are
the same where the values of the parameters are not known yet: in a function that is captured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.ops.leaves import iota
from staticgraph.dynamic.tensors.random_numbers import source_of
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap

_KEYS = (0, (1 << 63) - 1)


def _words(like: Any, generator: object) -> tuple[Any, Any]:
    """A key, and the position of each element of a tensor, or of an array."""
    key = source_of(generator).integers(*_KEYS, size=())
    shape = tuple(like.shape)
    if like.__class__ is np.ndarray:
        return key, np.arange(like.size).reshape(shape)
    return key, ops.reshape(like._apply(iota, (), {"size": product(shape)}), shape)


def drawn_poisson(rate: Any, generator: object = None) -> Any:
    """Poisson numbers, in the dtype of their rates, without a gradient."""
    (rate,), tensor_of = _plainly(rate.detach())
    wide, words = ops.astype(rate, "float64"), _words(rate, generator)
    few, many = _kinds(wide)
    attempt: Any = ops.poisson_attempt(wide, *words) if few else -1.0
    attempt = ops.large_poisson_attempt(attempt, wide, *words) if many else attempt
    return tensor_of(ops.astype(ops.random_poisson(attempt, wide, *words), rate.dtype))


def _kinds(means: Any) -> tuple[bool, bool]:
    """Whether there are means below 10, and others: both, of those that are not known yet.

    An attempt that none of them takes changes no number.
    """
    if means.__class__ is not np.ndarray:
        return True, True
    below = means < 10.0
    return bool(below.any()), not below.all()


def _plainly(*tensors: Any) -> tuple[Sequence[Any], Callable[[Any], Any]]:
    """Tensors as arrays where they have values and no gradient, and what makes a tensor again.

    The ops of a draw take three times as long on a few numbers in tensors.
    """
    for one in tensors:
        if type(one) is not Tensor or one.requires_grad or not has_values(one):
            return tensors, lambda found: found
    return [one._array for one in tensors], wrap


def drawn_binomial(count: Any, prob: Any, generator: object = None) -> Any:
    """How many of so many trials succeed, in the dtype of the probabilities of the same shape."""
    (count, prob), tensor_of = _plainly(count.detach(), prob.detach())
    trials, chance = (ops.astype(one, "float64") for one in (count, prob))
    trials, words = ops.floor(trials), _words(prob, generator)
    few, many = _kinds(trials * ops.minimum(chance, 1.0 - chance))
    attempt: Any = ops.binomial_attempt(trials, chance, *words) if few else -1.0
    attempt = ops.large_binomial_attempt(attempt, trials, chance, *words) if many else attempt
    return tensor_of(ops.astype(ops.random_binomial(attempt, trials, chance, *words), prob.dtype))


def drawn_gamma(concentration: Any, generator: object = None) -> Any:
    """Gamma numbers of rate 1, which are not 0, with gradients by the shape parameters."""
    (concentration,), tensor_of = _plainly(concentration)
    key, positions = _words(concentration, generator)
    a = ops.astype(concentration, "float64")
    found = ops.random_gamma(ops.gamma_attempt(a, key, positions), a, key, positions)
    tiny = float(limits(np.dtype(concentration.dtype)).tiny)
    return tensor_of(ops.astype(ops.maximum(found, tiny), concentration.dtype))
