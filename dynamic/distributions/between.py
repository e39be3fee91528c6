"""Densities between 0 and 1, on the circle, and beyond a threshold."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from staticgraph.compiler import ops
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.counts import Binary
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import (
    LOG_2PI,
    broadcast_all,
    clamped,
    drawn,
    open_uniform,
)
from staticgraph.dynamic.nn.functional import binary_cross_entropy_with_logits
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.drawn import rand


class ContinuousBernoulli(Binary):
    """The density proportional to p**x * (1 - p)**(1 - x) on [0, 1].

    Loaiza-Ganem and Cunningham (2019), "The continuous Bernoulli: fixing a pervasive error in
    variational autoencoders". Between `lims`, around p = 1 / 2, by Taylor series.

    Example:
        >>> dynamic.distributions.ContinuousBernoulli(0.5).mean
        tensor(0.5000)
    """

    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)
        if probs is not None:
            self.__dict__["probs"] = clamped(self.probs)

    def _parts(self) -> tuple[Any, Any, Any]:
        """Where formulas hold, probabilities for which they do, and the distance from 1 / 2."""
        low, high = self._lims
        outside = ops.logical_or(self.probs <= low, self.probs > high)
        return outside, ops.where(outside, self.probs, low), self.probs - 0.5

    def _log_norm(self) -> Any:
        outside, p, x = self._parts()
        below = ops.where(p <= 0.5, p, 0.0)
        above = ops.where(p >= 0.5, p, 1.0)
        span = ops.where(p <= 0.5, ops.log1p(-2.0 * below), ops.log(2.0 * above - 1.0))
        exact = ops.log(ops.abs(ops.log1p(-p) - ops.log(p))) - span
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x**2) * x**2
        return ops.where(outside, exact, series)

    @property
    def mean(self) -> Any:
        """The mean."""
        outside, p, x = self._parts()
        exact = p / (2.0 * p - 1.0) + 1.0 / (ops.log1p(-p) - ops.log(p))
        return ops.where(outside, exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Any:
        """The variance."""
        outside, p, x = self._parts()
        spread = ops.log1p(-p) - ops.log(p)
        exact = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / spread**2
        return ops.where(outside, exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x**2) * x**2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = rand(self._extended_shape(sample_shape), dtype=self.probs.dtype)
        return self.icdf(u)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        fit = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm() - fit

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        outside, p, _ = self._parts()
        exact = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = ops.where(outside, exact, value)
        return ops.where(value <= 0.0, 0.0, ops.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        outside, p, _ = self._parts()
        slope = ops.log(p) - ops.log1p(-p)
        exact = (ops.log1p(-p + value * (2.0 * p - 1.0)) - ops.log1p(-p)) / slope
        return ops.where(outside, exact, value)

    def entropy(self) -> Any:
        """The entropy."""
        failed, done = ops.log1p(-self.probs), ops.log(self.probs)
        return self.mean * (failed - done) - self._log_norm() - failed


class VonMises(Distribution):
    """Angles around `loc`, with the density exp(concentration * cos(x - loc)) but for a factor.

    Example:
        >>> dynamic.distributions.VonMises(0.5, 1.0).mean
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - ops.i1e(self.concentration) / ops.i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient, from -pi to pi."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return drawn("vonmises", shape, self.loc.dtype, self.loc, self.concentration)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        k = self.concentration
        return k * (ops.cos(value - self.loc) - 1) - LOG_2PI - ops.log(ops.i0e(k))


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold: the tail (1 + k z)**(-1 / k), z = (x - loc) / scale.

    k is the concentration; exp(-z) where it is 0 (Pickands 1975).

    Example:
        >>> dynamic.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """Values from `loc` on, up to an end if the concentration is negative."""
        k = self.concentration
        end = ops.where(k < 0, self.loc - self.scale / ops.where(k < 0, k, -1.0), math.inf)
        return constraints.interval(self.loc, end)

    def _log_tail(self, value: Any) -> Any:
        """The logarithm of the probability of values beyond these."""
        z, k = (value - self.loc) / self.scale, self.concentration
        flat = ops.equal(k, 0)
        safe = ops.where(flat, 1.0, k)
        return ops.where(flat, -z, -ops.log1p(ops.where(flat, 0.0, safe * z)) / safe)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        return self.icdf(open_uniform(self._extended_shape(sample_shape), self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        return (1 + self.concentration) * self._log_tail(value) - ops.log(self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        self._validate_sample(value)
        return -ops.expm1(self._log_tail(value))

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        tail, k = ops.log1p(-value), self.concentration
        flat = ops.equal(k, 0)
        safe = ops.where(flat, 1.0, k)
        return self.loc + self.scale * ops.where(flat, -tail, ops.expm1(-safe * tail) / safe)

    @property
    def mean(self) -> Any:
        """The mean: infinite from a concentration of 1 on."""
        k = self.concentration
        found = self.loc + self.scale / ops.where(k < 1, 1 - k, 1.0)
        return ops.where(k < 1, found, math.inf)

    @property
    def variance(self) -> Any:
        """The variance: infinite from a concentration of 1 / 2 on."""
        k = ops.where(self.concentration < 0.5, self.concentration, 0.0)
        found = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return ops.where(self.concentration < 0.5, found, math.inf)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.loc

    def entropy(self) -> Any:
        """The entropy."""
        return ops.log(self.scale) + self.concentration + 1
