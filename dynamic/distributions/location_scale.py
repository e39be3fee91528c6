"""Distributions of numbers that are moved by a location and stretched by a scale."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from staticgraph.compiler import ops
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import (
    EULER,
    LOG_2PI,
    broadcast_all,
    open_uniform,
)
from staticgraph.dynamic.tensors.creation import full_like, zeros_like
from staticgraph.dynamic.tensors.drawn import rand, randn
from staticgraph.dynamic.tensors.keyed_draws import drawn_gamma

_REAL_POSITIVE = {"loc": constraints.real, "scale": constraints.positive}


class _LocationScale(Distribution):
    """Distributions with `loc` and `scale`; abstract."""

    arg_constraints: ClassVar[Any] = _REAL_POSITIVE
    support: Any = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _standard(self, value: Any) -> Any:
        self._validate_sample(value)
        return (value - self.loc) / self.scale


class Normal(_LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Example:
        >>> normal = dynamic.distributions.Normal(0.0, 1.0)
        >>> normal.log_prob(dynamic.tensor(1.0)), normal.sample((3,)).shape
        (tensor(-1.4189), torch.Size([3]))
    """

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale**2

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + scale times standard normal numbers."""
        noise = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -(self._standard(value) ** 2) / 2 - ops.log(self.scale) - LOG_2PI / 2

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        return 0.5 * (1 + ops.erf(self._standard(value) / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """The entropy."""
        return 0.5 + LOG_2PI / 2 + ops.log(self.scale)


class Laplace(_LocationScale):
    """The density falls exponentially on both sides of `loc`.

    Example:
        >>> dynamic.distributions.Laplace(1.0, 2.0).variance
        tensor(8.)
    """

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance."""
        return 2 * self.scale**2

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = open_uniform(self._extended_shape(sample_shape), self.loc.dtype) - 0.5
        return self.loc - self.scale * ops.sign(u) * ops.log1p(-2 * ops.absolute(u))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -ops.log(2 * self.scale) - ops.absolute(self._standard(value))

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        z = self._standard(value)
        return 0.5 - 0.5 * ops.sign(z) * ops.expm1(-ops.absolute(z))

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        term = value - 0.5
        return self.loc - self.scale * ops.sign(term) * ops.log1p(-2 * ops.absolute(term))

    def entropy(self) -> Any:
        """The entropy."""
        return 1 + ops.log(2 * self.scale)


class Cauchy(_LocationScale):
    """The distribution of quotients of normal numbers: it has no mean.

    Example:
        >>> dynamic.distributions.Cauchy(0.0, 1.0).cdf(dynamic.tensor(0.0))
        tensor(0.5000)
    """

    @property
    def mean(self) -> Any:
        """The mean: nan."""
        return full_like(self.loc, math.nan)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance: inf."""
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = open_uniform(self._extended_shape(sample_shape), self.loc.dtype)
        return self.icdf(u)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -math.log(math.pi) - ops.log(self.scale) - ops.log1p(self._standard(value) ** 2)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        return ops.atan(self._standard(value)) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return self.loc + self.scale * ops.tan(math.pi * (value - 0.5))

    def entropy(self) -> Any:
        """The entropy."""
        return math.log(4 * math.pi) + ops.log(self.scale)


class Gumbel(_LocationScale):
    """The distribution of the largest of many numbers.

    Example:
        >>> dynamic.distributions.Gumbel(3.0, 1.0).mode
        tensor(3.)
    """

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.stddev**2

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        return self.icdf(open_uniform(self._extended_shape(sample_shape), self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y = -self._standard(value)
        return y - ops.exp(y) - ops.log(self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        return ops.exp(-ops.exp(-self._standard(value)))

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return self.loc - self.scale * ops.log(-ops.log(value))

    def entropy(self) -> Any:
        """The entropy."""
        return ops.log(self.scale) + (1 + EULER)


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, moved and stretched.

    Example:
        >>> dynamic.distributions.StudentT(3.0).variance
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive, **_REAL_POSITIVE}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean; nan for at most one degree of freedom."""
        return ops.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance; inf for at most two degrees of freedom, nan for at most one."""
        large = self.scale**2 * self.df / (self.df - 2)
        return ops.where(self.df <= 1, math.nan, ops.where(self.df <= 2, math.inf, large))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape = self._extended_shape(sample_shape)
        chi2 = 2 * drawn_gamma((self.df / 2).expand(shape))
        noise = randn(shape, dtype=self.df.dtype)
        return self.loc + self.scale * noise * ops.rsqrt(chi2 / self.df)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        scale = (
            ops.log(self.scale) + 0.5 * ops.log(self.df) + 0.5 * math.log(math.pi)
            + ops.lgamma(0.5 * self.df) - ops.lgamma(0.5 * (self.df + 1))
        )  # fmt: skip
        return -0.5 * (self.df + 1) * ops.log1p(y**2 / self.df) - scale

    def entropy(self) -> Any:
        """The entropy."""
        half = 0.5 * self.df
        log_beta = ops.lgamma(half) + math.lgamma(0.5) - ops.lgamma(0.5 + half)
        digammas = ops.digamma(half + 0.5) - ops.digamma(half)
        return (
            ops.log(self.scale) + 0.5 * (self.df + 1) * digammas + 0.5 * ops.log(self.df) + log_beta
        )


class _Half(Distribution):
    """The absolute values of a distribution around 0; abstract."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _whole: Any = None

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        self._base = self._whole(zeros_like(self.scale), self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mode(self) -> Any:
        """The most likely value: 0."""
        return zeros_like(self.scale)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        return ops.absolute(self._base.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        found = self._base.log_prob(value) + math.log(2)
        return ops.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return 2 * self._base.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return self._base.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """The entropy."""
        return self._base.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute values of normal numbers of mean 0.

    Example:
        >>> dynamic.distributions.HalfNormal(1.0).mode
        tensor(0.)
    """

    _whole = Normal

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale**2 * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute values of numbers of a Cauchy distribution around 0.

    Example:
        >>> dynamic.distributions.HalfCauchy(1.0).cdf(dynamic.tensor(0.0))
        tensor(0.)
    """

    _whole = Cauchy

    @property
    def mean(self) -> Any:
        """The mean: inf."""
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        """The variance: inf."""
        return self._base.variance


class Uniform(Distribution):
    """Numbers from `low` up to `high`, all of them equally likely.

    Example:
        >>> dynamic.distributions.Uniform(0.0, 4.0).mean
        tensor(2.)
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:  # type: ignore[override]
        """What the bounds have to be."""
        return {
            "low": constraints.LessThan(_plain(self.high)),
            "high": constraints.GreaterThan(_plain(self.low)),
        }

    @property
    def support(self) -> Any:
        """The numbers between the bounds."""
        return constraints.Interval(_plain(self.low), _plain(self.high))

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """No value is the most likely: nan."""
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Any:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density; -inf outside."""
        self._validate_sample(value)
        inside = ops.logical_and(self.low <= value, self.high > value)
        return ops.where(inside, 0.0, -math.inf) - ops.log(self.high - self.low)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """The entropy."""
        return ops.log(self.high - self.low)


def _plain(bound: Any) -> Any:
    return bound.item() if not bound.ndim else bound
