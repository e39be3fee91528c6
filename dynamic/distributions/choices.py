"""Distributions of choices among several."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import logits_of, one_of, probs_of
from staticgraph.dynamic.tensors.creation import arange


class _Choice(Distribution):
    """Distributions with probabilities, or logits, in the last axis; abstract."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def _take(self, probs: Any, logits: Any) -> None:
        one_of(probs, logits)
        given = logits if probs is None else probs
        if given.ndim < 1:
            name = "logits" if probs is None else "probs"
            raise OptionError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits, self._given = logits - logits.logsumexp(-1, True), "logits"
        else:
            self.probs, self._given = probs / probs.sum(-1, True), "probs"
        self._num_events = int(given.shape[-1])

    def __getattr__(self, name: str) -> Any:
        if name == "probs":
            return probs_of(self.logits)
        if name == "logits":
            return logits_of(self.probs)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def _param(self) -> Any:
        return self.__dict__[self._given]

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._param.shape


class Categorical(_Choice):
    """A choice of 0 to k - 1 with probabilities, or logits, in the last axis.

    Example:
        >>> dynamic.distributions.Categorical(dynamic.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @property
    def support(self) -> Any:
        """The whole numbers from 0 to k - 1."""
        return constraints.IntegerInterval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        """A choice has no mean: nan."""
        return self.probs[..., 0].detach() * math.nan

    @property
    def mode(self) -> Any:
        """The most likely choice."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Any:
        """A choice has no variance: nan."""
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Any:
        """Choices, int64."""
        count = math.prod(tuple(sample_shape))
        rows = self.probs.detach().reshape(-1, self._num_events)
        found = rows.multinomial(count, True).t() if count else rows.new_empty(0)
        return found.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        place = value.long().unsqueeze(-1)
        shape = np.broadcast_shapes(tuple(place.shape), (*tuple(self.logits.shape)[:-1], 1))
        logits = self.logits.expand(*shape[:-1], self._num_events)
        return logits.gather(-1, place.expand(shape)).squeeze(-1)

    def entropy(self) -> Any:
        """The entropy."""
        least = float(np.finfo(self.logits._array.dtype).min)
        logits = self.logits.clamp(min=least)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The choices, along a new first axis."""
        values = arange(self._num_events).reshape(-1, *[1] * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values


class OneHotCategorical(_Choice):
    """A choice as a vector with a 1 at its place.

    Example:
        >>> dynamic.distributions.OneHotCategorical(dynamic.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        self._categorical = Categorical(probs, logits, validate_args)
        shape = tuple(self._param.shape)
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The most likely choice."""
        return _one_hot(self.probs.argmax(-1), self._num_events, self.probs.dtype)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors without a gradient."""
        chosen = self._categorical.sample(sample_shape)
        return _one_hot(chosen, self._num_events, self._param.dtype)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        """The entropy."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """The vectors, along a new first axis."""
        rows = _one_hot(arange(self._num_events), self._num_events, self._param.dtype)
        rows = rows.reshape(self._num_events, *[1] * len(self.batch_shape), self._num_events)
        return rows.expand(-1, *self.batch_shape, self._num_events) if expand else rows


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose vectors have the gradient of the probabilities (Bengio et al. 2013).

    Example:
        >>> probs = dynamic.tensor([0.0, 1.0], requires_grad=True)
        >>> dynamic.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Vectors with the gradient of the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_Choice):
    """How often each choice is made in `total_count` of them.

    Example:
        >>> dynamic.distributions.Multinomial(4, dynamic.tensor([1.0, 3.0])).mean
        tensor([1., 3.])
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        shape = tuple(self._param.shape)
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def support(self) -> Any:
        """Vectors of counts."""
        return constraints.Multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts without a gradient."""
        chosen = self._categorical.sample((self.total_count, *tuple(sample_shape)))
        return _one_hot(chosen, self._num_events, self._param.dtype).sum(0)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        self._validate_sample(value)
        logits = ops.where(ops.equal(value, 0), 0.0, self.logits)
        ways = ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        n = self.total_count
        counts = arange(n + 1, dtype=self._param.dtype)
        ways = ops.lgamma(counts + 1)
        p = self.probs[..., None]
        logs = ops.xlogy(counts, p) + ops.xlogy(n - counts, 1 - p)
        chances = ops.exp(ways[-1] - ways - ops.lgamma(n - counts + 1) + logs)
        return n * self._categorical.entropy() - ways[-1] + (chances * ways).sum((-2, -1))


def _one_hot(index: Any, size: int, dtype: Any) -> Any:
    return ops.astype(ops.equal(index.unsqueeze(-1), arange(size)), dtype)
