"""Kullback-Leibler divergences of pairs of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic import linalg
from staticgraph.dynamic.core.errors import MissingMethodError
from staticgraph.dynamic.distributions.choices import Categorical, OneHotCategorical
from staticgraph.dynamic.distributions.counts import Bernoulli, Binomial, Geometric, Poisson
from staticgraph.dynamic.distributions.derived import (
    Independent,
    LogNormal,
    TransformedDistribution,
)
from staticgraph.dynamic.distributions.location_scale import (
    Cauchy,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from staticgraph.dynamic.distributions.multivariate import MultivariateNormal, squared_distance
from staticgraph.dynamic.distributions.parameters import log_beta, summed
from staticgraph.dynamic.distributions.positive import Beta, Dirichlet, Exponential, Gamma, Pareto

__all__ = ["kl_divergence", "register_kl"]

Rule = TypeVar("Rule", bound=Callable[[Any, Any], Any])
_rules: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator: the function gives the divergence of these two families.

    Example:
        >>> of = dynamic.distributions
        >>> class Point(of.Normal):
        ...     pass
        >>> @of.register_kl(Point, Point)
        ... def between(p, q):
        ...     return (p.mean - q.mean).abs()
        >>> of.kl_divergence(Point(0.0, 1.0), Point(3.0, 1.0))
        tensor(3.)
    """
    if not (isinstance(type_p, type) and isinstance(type_q, type)):
        raise OptionError(f"register_kl: {type_p!r} and {type_q!r} are to be classes")

    def register(function: Rule) -> Rule:
        _rules[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Any, q: Any) -> Any:
    """The divergence of p from q, the mean of log(p / q) under p.

    NotImplementedError where there is no rule for the two families.

    Example:
        >>> of = dynamic.distributions
        >>> of.kl_divergence(of.Normal(0.0, 1.0), of.Normal(1.0, 1.0))
        tensor(0.5000)
    """
    for first in type(p).__mro__:
        for second in type(q).__mro__:
            if (first, second) in _rules:
                return _rules[first, second](p, q)
    raise MissingMethodError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ops.log(ratio))


@register_kl(LogNormal, LogNormal)
def _log_normal(p: Any, q: Any) -> Any:
    return _normal(p, q)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - ops.log(ratio))


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, ops.absolute(p.loc - q.loc)
    return -ops.log(ratio) + distance / q.scale + ratio * ops.exp(-distance / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    above = ops.log((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2)
    return above - ops.log(4 * p.scale * q.scale)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    outside = ops.logical_or(q.low > p.low, q.high < p.high)
    return ops.where(outside, math.inf, ops.log((q.high - q.low) / (p.high - p.low)))


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    first = ops.log(math.sqrt(math.pi * 2) * q.scale / width)
    return first + (width**2 / 12 + ((p.high + p.low) / 2 - q.loc) ** 2) / (2 * q.scale**2)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    ones = p.probs * (ops.softplus(-q.logits) - ops.softplus(-p.logits))
    ones = ops.where(p.probs == 0, 0.0, ops.where(q.probs == 0, math.inf, ones))
    zeros = (1 - p.probs) * (ops.softplus(q.logits) - ops.softplus(p.logits))
    return ones + ops.where(p.probs == 1, 0.0, ops.where(q.probs == 1, math.inf, zeros))


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (q.total_count > p.total_count).any():
        raise MissingMethodError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    logs = p.probs * (p.logits - q.logits) + ops.log1p(-p.probs) - ops.log1p(-q.probs)
    return ops.where(p.total_count > q.total_count, math.inf, p.total_count * logs)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (ops.log(p.rate) - ops.log(q.rate)) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = ops.where(ops.equal(q.probs, 0), math.inf, t)
    return ops.where(ops.equal(p.probs, 0), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ops.log(ratio) + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    first = b * ops.log(p.rate / q.rate) + ops.lgamma(b) - ops.lgamma(a)
    return first + (a - b) * ops.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    first = log_beta(c, d) - log_beta(a, b)
    slopes = (a - c) * ops.digamma(a) + (b - d) * ops.digamma(b)
    return first + slopes + (c + d - a - b) * ops.digamma(a + b)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    first = ops.lgamma(total) - ops.lgamma(b.sum(-1))
    second = (ops.lgamma(a) - ops.lgamma(b)).sum(-1)
    third = (a - b) * (ops.digamma(a) - ops.digamma(total).unsqueeze(-1))
    return first - second + third.sum(-1)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * ops.log(p.scale / q.scale) - ops.log(ratio) + ratio - 1
    return ops.where(p.scale < q.scale, math.inf, found)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise OptionError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            f"computed: {p.event_shape} and {q.event_shape}"
        )
    between = linalg.solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    trace = (between**2).sum((-2, -1))
    distance = squared_distance(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise MissingMethodError("kl_divergence: Independents of different numbers of axes")
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape or list(map(type, p.transforms)) != list(
        map(type, q.transforms)
    ):
        raise MissingMethodError("kl_divergence: of other transforms")
    return kl_divergence(p.base_dist, q.base_dist)
