"""Distributions of 0 and 1, and of counts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import MissingMethodError
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import (
    broadcast_all,
    logits_of,
    one_of,
    open_uniform,
    probs_of,
)
from staticgraph.dynamic.nn.functional import binary_cross_entropy_with_logits
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.creation import arange
from staticgraph.dynamic.tensors.keyed_draws import drawn_binomial, drawn_gamma, drawn_poisson
from staticgraph.dynamic.tensors.values import values_of


class Binary(Distribution):
    """Distributions with the probability, or logit, of a success; abstract."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def _take(self, probs: Any, logits: Any, *others: Any) -> tuple[Any, ...]:
        """Keep the one that is given, and make the other when it is asked for."""
        one_of(probs, logits)
        name = "logits" if probs is None else "probs"
        value, *rest = broadcast_all(logits if probs is None else probs, *others)
        self.__dict__[name], self._given = value, name
        return tuple(rest)

    def __getattr__(self, name: str) -> Any:
        if name == "probs":
            value = probs_of(self.logits, True)
        elif name == "logits":
            value = logits_of(self.probs, True)
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return value

    @property
    def _param(self) -> Any:
        return self.__dict__[self._given]


class Bernoulli(Binary):
    """1 with probability `probs`, or of these logits, else 0.

    Example:
        >>> dynamic.distributions.Bernoulli(0.25).mean
        tensor(0.2500)
    """

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The most likely value; nan where both are."""
        found = ops.astype(self.probs >= 0.5, self.probs.dtype)
        return ops.where(ops.equal(self.probs, 0.5), math.nan, found)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        with no_grad():
            return self.probs.expand(self._extended_shape(sample_shape)).bernoulli()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        # what is impossible counts nothing, where 0 times an infinite logit is not a number
        failed = ops.where(value == 1, 0.0, (1 - value) * ops.softplus(logits))
        return -(failed + ops.where(value == 0, 0.0, value * ops.softplus(-logits)))

    def entropy(self) -> Any:
        """The entropy."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1, along a new first axis."""
        values = arange(2, dtype=self._param.dtype).reshape(-1, *[1] * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values


class Geometric(Binary):
    """How many failures come before the first success.

    Example:
        >>> dynamic.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """The most likely value: 0."""
        return self.probs.detach() * 0

    @property
    def variance(self) -> Any:
        """The variance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = open_uniform(shape, self._param.dtype)
            return ops.floor(ops.log(u) / ops.log1p(-self.probs.expand(shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        # where a success is certain, 0 failures are too: 0 * -inf is 0
        certain = ops.logical_and(ops.equal(self.probs, 1), ops.equal(value, 0))
        failure = ops.log1p(-ops.where(certain, 0, self.probs))
        return value * failure + ops.log(self.probs)

    def entropy(self) -> Any:
        """The entropy."""
        cross = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return cross / self.probs


class Binomial(Binary):
    """How many of `total_count` trials succeed.

    Example:
        >>> dynamic.distributions.Binomial(4, 0.25).mean
        tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
        "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._take(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """The whole numbers up to the number of trials."""
        return constraints.IntegerInterval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The most likely value."""
        most = ops.floor((self.total_count + 1) * self.probs)
        return ops.minimum(most.clamp(min=0), self.total_count)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        shape = self._extended_shape(sample_shape)
        return drawn_binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        n = self.total_count
        ways = ops.lgamma(n + 1) - ops.lgamma(value + 1) - ops.lgamma(n - value + 1)
        return ways + value * self.logits - n * ops.softplus(self.logits)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The whole numbers up to the number of trials, along a new first axis."""
        counts = values_of(self.total_count)
        most = int(counts.max())
        if counts.min() != most:
            raise MissingMethodError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = arange(1 + most, dtype=self._param.dtype)
        values = values.reshape(-1, *[1] * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values

    def entropy(self) -> Any:
        """The entropy, of the same number of trials everywhere."""
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(ops.exp(log_prob) * log_prob).sum(0)


class NegativeBinomial(Binary):
    """How many successes come before `total_count` failures.

    Example:
        >>> dynamic.distributions.NegativeBinomial(3, 0.5).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._take(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * ops.exp(self.logits)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean / ops.sigmoid(-self.logits)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return ops.floor((self.total_count - 1) * ops.exp(self.logits)).clamp(min=0)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rates = drawn_gamma(self.total_count.expand(shape)) * ops.exp(self.logits)
            return drawn_poisson(rates)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        n = self.total_count
        chance = -n * ops.softplus(self.logits) - value * ops.softplus(-self.logits)
        return chance + ops.lgamma(n + value) - ops.lgamma(1.0 + value) - ops.lgamma(n)


class Poisson(Distribution):
    """How many events come while `rate` of them are expected.

    Example:
        >>> dynamic.distributions.Poisson(4.0).variance
        tensor(4.)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return ops.floor(self.rate)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        return drawn_poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        return ops.xlogy(value, self.rate) - self.rate - ops.lgamma(value + 1)
