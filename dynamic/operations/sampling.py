"""Random tensors whose distribution other tensors give; the stream is that of `manual_seed`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.transforms.effects import check
from staticgraph.dynamic.core.dtypes import INT64, get_default_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.drawn import randn
from staticgraph.dynamic.tensors.keyed_draws import drawn_poisson
from staticgraph.dynamic.tensors.random_numbers import source_of
from staticgraph.dynamic.tensors.required import require_number
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap

__all__ = ["bernoulli", "multinomial", "normal", "poisson"]

_NO_RATE = "invalid Poisson rate, expected rate to be non-negative"
_NO_CHANCE = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."


def bernoulli(input: Any, p: float | None = None, *, generator: object = None) -> Any:
    """1 with the probability that each element is (or `p` of all), else 0.

    Example:
        >>> dynamic.bernoulli(dynamic.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    if p is not None:
        require_number("bernoulli", "p", 2, p)
    if not has_values(input):  # of which the probabilities are not known
        chance = input if p is None else p
        check(ops.logical_and(chance >= 0, chance <= 1), _NO_CHANCE)
        drawn = source_of(generator).random(tuple(input.shape))
        return ops.astype(drawn < chance, input.dtype)
    chance = input._array if p is None else p
    if np.any((np.asarray(chance) < 0) | (np.asarray(chance) > 1)):
        raise AutogradError(_NO_CHANCE)
    drawn = source_of(generator).random(input._array.shape) < chance
    return wrap(np.asarray(drawn, input._array.dtype))


def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: object = None
) -> Any:
    """Indices drawn with the weights in the last axis: (..., n) -> (..., num_samples), int64.

    Example:
        >>> dynamic.multinomial(dynamic.tensor([0.0, 1.0]), 3, replacement=True)
        tensor([1, 1, 1])
    """
    weights = input._array
    if not 1 <= weights.ndim <= 2:
        raise AutogradError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise AutogradError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise AutogradError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not has_values(input):
        return _drawn_by_weights(input, num_samples, replacement, source_of(generator))
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise AutogradError("probability tensor contains either `inf`, `nan` or element < 0")
    rows = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
    totals = rows.sum(1, keepdims=True)
    if np.any(totals <= 0):
        raise AutogradError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement:
        ends = np.cumsum(rows / totals, 1)
        ends[:, -1] = 1.0
        points = source_of(generator).random((len(rows), num_samples))
        drawn = [
            np.searchsorted(end, point, side="right")
            for end, point in zip(ends, points, strict=True)
        ]
    else:
        # the largest of log(weight) plus Gumbel noise (Efraimidis, Spirakis 2006)
        with np.errstate(divide="ignore"):
            keys = np.log(rows) + source_of(generator).gumbel(size=rows.shape)
        drawn = [_largest(one, num_samples) for one in keys]
    return wrap(np.asarray(drawn, INT64).reshape(*weights.shape[:-1], num_samples))


def _largest(keys: Any, count: int) -> Any:
    """The positions of the largest numbers, the largest first: what is smaller is not sorted."""
    if count < keys.size // 8:
        least = np.partition(keys, keys.size - count)[keys.size - count]
        places = np.flatnonzero(keys >= least)
        return places[np.argsort(-keys[places], kind="stable")][:count]
    return np.argsort(-keys, kind="stable")[:count]


def _drawn_by_weights(input: Any, count: int, replacement: bool, source: Any) -> Any:
    """`multinomial` of weights whose values are not known yet."""
    rows = input.detach().reshape(-1, input.shape[-1]).double()
    if replacement:
        ends = ops.cumsum(rows / rows.sum(1, True), 1)
        points = source.random((rows.shape[0], count))
        # as in a search among the ends, of which the last counts as 1
        drawn = (ends[:, :-1].unsqueeze(1) <= points.unsqueeze(2)).sum(2)
    else:
        keys = ops.log(rows) + source.gumbel(size=tuple(rows.shape))
        drawn = ops.argsort(-keys, 1)[:, :count]
    return drawn.reshape(*tuple(input.shape)[:-1], count)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
) -> Any:
    """Normal numbers; mean and standard deviation are numbers, with `size`, or tensors.

    Example:
        >>> dynamic.normal(dynamic.zeros(3), dynamic.zeros(3))
        tensor([0., 0., 0.])
    """
    for name, one in (("mean", mean), ("std", std)):
        if not isinstance(one, Tensor | int | float | np.generic):
            raise TypeError(f"normal(): argument '{name}' must be Tensor, not {type(one).__name__}")
    tensors = [one for one in (mean, std) if isinstance(one, Tensor)]
    if tensors and not tensors[0].is_floating_point():
        kind = tensors[0].type()[6:-6]
        raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{kind}'")
    if size is None and not all(map(has_values, tensors)):
        given = [one.dtype for one in tensors]
        shape = (mean * 0 + std * 0).shape
        drawn = randn(tuple(shape), generator=generator, dtype=given[0])
        return (drawn * std + mean).detach()
    if size is not None and not tensors:
        if std < 0:
            raise AutogradError(f"normal expects std >= 0.0, but found std {std:g}")
        result = randn(*size, generator=generator, dtype=dtype) * std + mean
        return result.requires_grad_(requires_grad)
    centre, spread = (one._array if isinstance(one, Tensor) else one for one in (mean, std))
    if np.any(np.asarray(spread) < 0):
        raise AutogradError(f"normal expects std >= 0.0, but found std {np.min(spread):g}")
    if size is not None:
        result = randn(*size, generator=generator, dtype=dtype)
    else:
        given = [one.dtype for one in (centre, spread) if isinstance(one, np.ndarray)]
        wanted = np.result_type(*given) if given else get_default_dtype().dtype
        shape = np.broadcast_shapes(np.shape(centre), np.shape(spread))
        result = randn(shape, generator=generator, dtype=wanted)
    result._array = np.asarray(result._array * spread + centre, result._array.dtype)
    result.requires_grad = requires_grad
    return result


def poisson(input: Any, generator: object = None) -> Any:
    """Numbers from Poisson distributions with the elements as their means.

    Example:
        >>> dynamic.poisson(dynamic.zeros(3))
        tensor([0., 0., 0.])
    """
    if not has_values(input):
        check(input >= 0, _NO_RATE)
    elif not np.all(input._array >= 0):  # nan is none
        raise AutogradError(_NO_RATE)
    return drawn_poisson(input, generator)
