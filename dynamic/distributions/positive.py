"""Distributions of positive numbers, and those of shares made of them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from staticgraph.compiler import ops
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import (
    EULER,
    broadcast_all,
    log_beta,
    open_uniform,
)
from staticgraph.dynamic.tensors.keyed_draws import drawn_gamma

_POSITIVE = constraints.positive


class Exponential(Distribution):
    """Waiting times of events that come at a rate.

    Example:
        >>> dynamic.distributions.Exponential(4.0).mean
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"rate": _POSITIVE}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return ops.reciprocal(self.rate)

    @property
    def mode(self) -> Any:
        """The most likely value: 0."""
        return self.rate.detach() * 0

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return ops.reciprocal(self.rate)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.rate**-2

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = open_uniform(self._extended_shape(sample_shape), self.rate.dtype)
        return -ops.log(u) / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        return ops.log(self.rate) - self.rate * value

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return 1 - ops.exp(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return -ops.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """The entropy."""
        return 1.0 - ops.log(self.rate)


class Gamma(Distribution):
    """The gamma distribution with a shape parameter and a rate.

    Example:
        >>> dynamic.distributions.Gamma(3.0, 2.0).mean
        tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {"concentration": _POSITIVE, "rate": _POSITIVE}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape = self._extended_shape(sample_shape)
        return drawn_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        a = self.concentration
        return ops.xlogy(a, self.rate) + ops.xlogy(a - 1, value) - self.rate * value - ops.lgamma(a)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return ops.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        """The entropy."""
        a = self.concentration
        return a - ops.log(self.rate) + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)


class Chi2(Gamma):
    """The sum of `df` squared standard normal numbers.

    Example:
        >>> dynamic.distributions.Chi2(3.0).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"df": _POSITIVE}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (half,) = broadcast_all(df)
        super().__init__(0.5 * half, 0.5, validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class InverseGamma(Distribution):
    """The reciprocals of numbers of a gamma distribution.

    Example:
        >>> dynamic.distributions.InverseGamma(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": _POSITIVE, "rate": _POSITIVE}
    support = _POSITIVE
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._gamma = Gamma(concentration, rate, validate_args)
        self.concentration, self.rate = self._gamma.concentration, self._gamma.rate
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean; inf for a shape parameter of at most 1."""
        a = self.concentration
        return ops.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The variance; inf for a shape parameter of at most 2."""
        a = self.concentration
        return ops.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        return ops.reciprocal(self._gamma.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self._gamma.log_prob(ops.reciprocal(value)) - 2 * ops.log(value)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return ops.gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Any:
        """The entropy."""
        a = self.concentration
        return a + ops.log(self.rate) + ops.lgamma(a) - (1 + a) * ops.digamma(a)


class Weibull(Distribution):
    """Waiting times of events whose rate is a power of time.

    Example:
        >>> dynamic.distributions.Weibull(1.0, 1.0).sample((3,)).shape
        torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"scale": _POSITIVE, "concentration": _POSITIVE}
    support = _POSITIVE
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.scale * ops.exp(ops.lgamma(1 + ops.reciprocal(self.concentration)))

    @property
    def mode(self) -> Any:
        """The most likely value."""
        k = self.concentration
        return self.scale * ((k - 1) / k) ** ops.reciprocal(k)

    @property
    def variance(self) -> Any:
        """The variance."""
        inverse = ops.reciprocal(self.concentration)
        return self.scale**2 * (
            ops.exp(ops.lgamma(1 + 2 * inverse)) - ops.exp(2 * ops.lgamma(1 + inverse))
        )

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = open_uniform(self._extended_shape(sample_shape), self.scale.dtype)
        return self.scale * (-ops.log(u)) ** ops.reciprocal(self.concentration)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        k, z = self.concentration, value / self.scale
        return ops.log(k / self.scale) + (k - 1) * ops.log(z) - z**k

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return -ops.expm1(-((value / self.scale) ** self.concentration))

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return self.scale * (-ops.log1p(-value)) ** ops.reciprocal(self.concentration)

    def entropy(self) -> Any:
        """The entropy."""
        inverse = ops.reciprocal(self.concentration)
        return EULER * (1 - inverse) + ops.log(self.scale * inverse) + 1


class Pareto(Distribution):
    """Numbers from `scale` on, whose density falls as a power.

    Example:
        >>> dynamic.distributions.Pareto(1.0, 3.0).mean
        tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {"alpha": _POSITIVE, "scale": _POSITIVE}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """The numbers from `scale` on."""
        return constraints.GreaterThanEq(self.scale)

    @property
    def mean(self) -> Any:
        """The mean; inf for an alpha of at most 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance; inf for an alpha of at most 2."""
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = open_uniform(self._extended_shape(sample_shape), self.scale.dtype)
        return self.scale * ops.exp(-ops.log(u) / self.alpha)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        a = self.alpha
        return ops.log(a) + a * ops.log(self.scale) - (a + 1) * ops.log(value)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        return self.scale * (1 - value) ** -ops.reciprocal(self.alpha)

    def entropy(self) -> Any:
        """The entropy."""
        return ops.log(self.scale / self.alpha) + (1 + ops.reciprocal(self.alpha))


class FisherSnedecor(Distribution):
    """Quotients of two chi-squared numbers, each divided by its degrees of freedom.

    Example:
        >>> dynamic.distributions.FisherSnedecor(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"df1": _POSITIVE, "df2": _POSITIVE}
    support = _POSITIVE
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean; nan for a df2 of at most 2."""
        return ops.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Any:
        """The most likely value; nan for a df1 of at most 2."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ops.where(self.df1 <= 2, math.nan, found)

    @property
    def variance(self) -> Any:
        """The variance; nan for a df2 of at most 4."""
        m, n = self.df1, self.df2
        found = 2 * n**2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4))
        return ops.where(n > 4, found, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape = self._extended_shape(sample_shape)
        above = Gamma(self.df1 / 2, self.df1, False).rsample(sample_shape)
        below = Gamma(self.df2 / 2, self.df2, False).rsample(sample_shape)
        return (above / below).reshape(shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        below = (half1 + half2) * ops.log1p(ratio * value)
        return (
            half1 * ops.log(ratio) + (half1 - 1) * ops.log(value) - below - log_beta(half1, half2)
        )


class Dirichlet(Distribution):
    """Shares of several parts, which sum up to 1.

    Example:
        >>> dynamic.distributions.Dirichlet(dynamic.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(_POSITIVE, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        self.concentration = concentration
        shape = tuple(concentration.shape)
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """The most likely value; the first corner of several, where all parts are below 1."""
        above = (self.concentration - 1).clamp(min=0.0)
        corner = above.new_zeros(above.shape)
        corner[..., 0] = 1.0
        low = (self.concentration < 1).all(-1, True)
        return ops.where(low, corner, above / above.sum(-1, True))

    @property
    def variance(self) -> Any:
        """The variance."""
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        parts = drawn_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return parts / parts.sum(-1, True)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        a = self.concentration
        return ops.xlogy(a - 1, value).sum(-1) + ops.lgamma(a.sum(-1)) - ops.lgamma(a).sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return (
            ops.lgamma(a).sum(-1) - ops.lgamma(total) - (k - total) * ops.digamma(total)
            - ((a - 1) * ops.digamma(a)).sum(-1)
        )  # fmt: skip


class Beta(Distribution):
    """Shares of two parts: the first one of a Dirichlet distribution.

    Example:
        >>> dynamic.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"concentration1": _POSITIVE, "concentration0": _POSITIVE}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """The most likely value: see `Dirichlet`."""
        both = ops.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, False).mode[..., 0]

    @property
    def variance(self) -> Any:
        """The variance."""
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape = self._extended_shape(sample_shape)
        first = drawn_gamma(self.concentration1.expand(shape))
        return first / (first + drawn_gamma(self.concentration0.expand(shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return ops.xlogy(a - 1, value) + ops.xlogy(b - 1, 1 - value) - log_beta(a, b)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return ops.betainc(self.concentration1, self.concentration0, value)

    def entropy(self) -> Any:
        """The entropy."""
        a, b = self.concentration1, self.concentration0
        return (
            log_beta(a, b) - (a - 1) * ops.digamma(a) - (b - 1) * ops.digamma(b)
            + (a + b - 2) * ops.digamma(a + b)
        )  # fmt: skip
