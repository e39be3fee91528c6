"""Random tensors of distributions whose parameters are tensors: of a key from the stream.

The key alone is drawn; numbers are made of it and of each element's position, by ops. So they are
the same where the values of the parameters are not known yet: in a function that is captured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.ops.leaves import iota
from staticgraph.dynamic.tensors.random_numbers import source_of

_KEYS = (0, (1 << 63) - 1)


def _words(like: Any, generator: object) -> tuple[Any, Any]:
    """A key, and the position of each element of a tensor."""
    key = source_of(generator).integers(*_KEYS, size=())
    shape = tuple(like.shape)
    return key, ops.reshape(like._apply(iota, (), {"size": product(shape)}), shape)


def drawn_poisson(rate: Any, generator: object = None) -> Any:
    """Poisson numbers, in the dtype of their rates, without a gradient."""
    rate = rate.detach()
    wide, words = ops.astype(rate, "float64"), _words(rate, generator)
    found = ops.random_poisson(ops.poisson_attempt(wide, *words), wide, *words)
    return ops.astype(found, rate.dtype)


def drawn_binomial(count: Any, prob: Any, generator: object = None) -> Any:
    """How many of so many trials succeed, in the dtype of the probabilities of the same shape."""
    trials, chance = (ops.astype(one.detach(), "float64") for one in (count, prob))
    trials, words = ops.floor(trials), _words(prob, generator)
    attempt = ops.binomial_attempt(trials, chance, *words)
    found = ops.random_binomial(attempt, trials, chance, *words)
    return ops.astype(found, prob.dtype)


def drawn_gamma(concentration: Any, generator: object = None) -> Any:
    """Gamma numbers of rate 1, which are not 0, with gradients by the shape parameters."""
    key, positions = _words(concentration, generator)
    a = ops.astype(concentration, "float64")
    found = ops.random_gamma(ops.gamma_attempt(a, key, positions), a, key, positions)
    tiny = float(limits(np.dtype(concentration.dtype)).tiny)
    return ops.astype(ops.maximum(found, tiny), concentration.dtype)
