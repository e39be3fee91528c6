"""Kullback-Leibler divergences of two families, by the moments of the first.

KL(p || q) is -H(p) less the mean of log q under p, which for these q depends on the mean, the
variance, or the mean of the logarithm of what p gives. It is infinite where q does not give it.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.distributions.between import ContinuousBernoulli
from staticgraph.dynamic.distributions.counts import Bernoulli, Binomial, Poisson
from staticgraph.dynamic.distributions.kl import register_kl
from staticgraph.dynamic.distributions.location_scale import Gumbel, Laplace, Normal, Uniform
from staticgraph.dynamic.distributions.parameters import EULER
from staticgraph.dynamic.distributions.positive import Beta, Exponential, Gamma, Pareto

__all__: list[str] = []

_BOUNDED = (Beta, ContinuousBernoulli)
_POSITIVE = (Exponential, Gamma)
_REAL = (Gumbel, Laplace, Normal)


def _infinite(p: Any, q: Any) -> Any:
    return ops.broadcast_to(p.mean.new_full((), math.inf), tuple(p.batch_shape)).clone()


for _pair in (
    *itertools.product(_BOUNDED, (Pareto,)),
    *itertools.product(_POSITIVE, (*_BOUNDED, Pareto, Uniform)),
    *itertools.product(_REAL, (*_BOUNDED, *_POSITIVE, Pareto, Uniform)),
    *itertools.product((Pareto,), (*_BOUNDED, Uniform)),
    *itertools.product((Poisson,), (Bernoulli, Binomial)),
):
    register_kl(*_pair)(_infinite)


def _by_normal(p: Any, q: Any) -> Any:
    """Where the logarithm of q is a square of the distance to its location."""
    spread = p.variance + (p.mean - q.loc) ** 2
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + ops.log(q.scale) + spread / (2 * q.scale**2)


for _first in (*_BOUNDED, *_POSITIVE, Gumbel, Laplace):
    register_kl(_first, Normal)(_by_normal)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Any:
    return ops.where(p.alpha <= 2, math.inf, _by_normal(p, q))


def _by_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - ops.log(q.rate) + q.rate * p.mean


for _first in (*_BOUNDED, Gamma):
    register_kl(_first, Exponential)(_by_exponential)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Any:
    return ops.where(p.alpha <= 1, math.inf, _by_exponential(p, q))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Any:
    return ops.where(p.low < 0, math.inf, _by_exponential(p, q))


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _by_uniform(p: Any, q: Any) -> Any:
    outside = ops.logical_or(q.low > 0, q.high < 1)
    return ops.where(outside, math.inf, -p.entropy() + ops.log(q.high - q.low))


def _by_gamma(p: Any, q: Any, mean_of_log: Any) -> Any:
    normaliser = ops.lgamma(q.concentration) - q.concentration * ops.log(q.rate)
    return -p.entropy() + normaliser - (q.concentration - 1) * mean_of_log + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration1, p.concentration0
    return _by_gamma(p, q, ops.digamma(a) - ops.digamma(a + b))


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Any:
    return _by_gamma(p, q, -EULER - ops.log(p.rate))


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Any:
    found = _by_gamma(p, q, ops.log(p.scale) + ops.reciprocal(p.alpha))
    return ops.where(p.alpha <= 1, math.inf, found)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - p.probs * ops.log(q.rate) + q.rate


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    away = (p.loc - q.loc) / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * ops.exp(-0.5 * away**2) + (
        p.loc - q.loc
    ) * ops.erf(away * math.sqrt(0.5))
    return -p.entropy() + ops.log(2 * q.scale) + distance / q.scale


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Any:
    away = (p.loc - q.loc) / q.scale
    mean_of_exp = ops.exp(-away + 0.5 * (p.scale / q.scale) ** 2)
    return -p.entropy() + ops.log(q.scale) + away + mean_of_exp
