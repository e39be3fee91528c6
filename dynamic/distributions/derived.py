"""Distributions made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.choices import Categorical
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.location_scale import Normal, Uniform
from staticgraph.dynamic.distributions.parameters import (
    broadcast_all,
    summed,
)
from staticgraph.dynamic.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
    Transform,
)
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.creation import full_like


class Independent(Distribution):
    """The last axes of a batch of distributions as one value.

    Example:
        >>> normals = dynamic.distributions.Normal(dynamic.zeros(3), 1.0)
        >>> dynamic.distributions.Independent(normals, 1).event_shape
        torch.Size([3])
    """

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        self.base_dist, self.reinterpreted_batch_ndims = (
            base_distribution, reinterpreted_batch_ndims,
        )  # fmt: skip
        batch = tuple(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > len(batch):
            raise OptionError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        event = (*batch[cut:], *base_distribution.event_shape)
        self.has_rsample = base_distribution.has_rsample
        super().__init__(batch[:cut], event, validate_args)

    @property
    def support(self) -> Any:
        """The values of the distributions."""
        inner = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(inner, count) if count else inner

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The sum of the logarithms of the densities."""
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The sum of the entropies."""
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a larger batch."""
        inner = tuple(self.event_shape)[: self.reinterpreted_batch_ndims]
        grown = self.base_dist.expand((*batch_shape, *inner))
        return Independent(grown, self.reinterpreted_batch_ndims, validate_args=False)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """What functions with an inverse make of the values of a distribution.

    Example:
        >>> of = dynamic.distributions
        >>> of.TransformedDistribution(of.Normal(0.0, 1.0), [of.ExpTransform()]).sample((3,)).shape
        torch.Size([3])
    """

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: bool | None = None
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        if not isinstance(transforms, Sequence) or not all(
            isinstance(one, Transform) for one in transforms
        ):
            raise OptionError(
                f"transforms must be a Transform or a list of Transforms, but was {transforms}"
            )
        self.transforms = list(transforms)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        composed = ComposeTransform(self.transforms)
        whole = composed.forward_shape(shape)
        events = max(len(base_distribution.event_shape), composed.event_dim)
        events += len(whole) - len(shape)
        missing = events - len(base_distribution.event_shape)
        self.base_dist = (
            Independent(base_distribution, missing, validate_args=False)
            if missing > 0
            else base_distribution
        )
        self.has_rsample = self.base_dist.has_rsample
        cut = len(whole) - events
        super().__init__(whole[:cut], whole[cut:], validate_args)

    @property
    def support(self) -> Any:
        """What the last function gives."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self.event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        with no_grad():
            return ComposeTransform(self.transforms)(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        return ComposeTransform(self.transforms)(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        total: Any = 0.0
        events, y = len(self.event_shape), value
        for one in reversed(self.transforms):
            x = one._inv_call(y)
            total = total - summed(one.log_abs_det_jacobian(x, y), events - one.event_dim)
            y = x
        inner = self.base_dist.log_prob(y)
        return total + summed(inner, events - len(self.base_dist.event_shape))

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these, of functions of numbers."""
        sign: Any = 1
        for one in reversed(self.transforms):
            value = one._inv_call(value)
            sign = sign * one.sign
        found = self.base_dist.cdf(value)
        return found if isinstance(sign, int) and sign == 1 else sign * (found - 0.5) + 0.5

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities, of functions of numbers."""
        sign = math.prod(one.sign for one in self.transforms)
        if not (isinstance(sign, int) and sign == 1):
            value = sign * (value - 0.5) + 0.5
        return ComposeTransform(self.transforms)(self.base_dist.icdf(value))


class LogNormal(TransformedDistribution):
    """exp of normal numbers.

    Example:
        >>> dynamic.distributions.LogNormal(0.0, 1.0).sample((3,)).shape
        torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args)
        self.loc, self.scale = normal.loc, normal.scale
        super().__init__(normal, ExpTransform(), validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return ops.exp(self.loc + self.scale**2 / 2)

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return ops.exp(self.loc - self.scale**2)

    @property
    def variance(self) -> Any:
        """The variance."""
        square = self.scale**2
        return ops.expm1(square) * ops.exp(2 * self.loc + square)

    def entropy(self) -> Any:
        """The entropy."""
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Shares made of normal numbers.

    Example:
        >>> dynamic.distributions.LogisticNormal(dynamic.zeros(2), dynamic.ones(2)).sample().shape
        torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args)
        self.loc, self.scale = normal.loc, normal.scale
        super().__init__(normal, StickBreakingTransform(), validate_args)


class Kumaraswamy(TransformedDistribution):
    """Shares whose probabilities are powers.

    Example:
        >>> dynamic.distributions.Kumaraswamy(1.0, 1.0).sample((3,)).shape
        torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        a, b = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = a, b
        parts = [
            PowerTransform(ops.reciprocal(b)), AffineTransform(1.0, -1.0),
            PowerTransform(ops.reciprocal(a)),
        ]  # fmt: skip
        base = Uniform(full_like(a, 0.0), full_like(a, 1.0), False)
        super().__init__(base, parts, validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._moment(1)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self._moment(2) - self._moment(1) ** 2

    @property
    def mode(self) -> Any:
        """The most likely value; nan where there is none between 0 and 1."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** ops.reciprocal(a)
        return ops.where(ops.logical_or(a < 1, b < 1), math.nan, found)

    def _moment(self, n: int) -> Any:
        b, at = self.concentration0, 1 + n / self.concentration1
        return b * ops.exp(ops.lgamma(at) + ops.lgamma(b) - ops.lgamma(at + b))


class MixtureSameFamily(Distribution):
    """One of several distributions of a family, chosen with probabilities.

    Example:
        >>> of = dynamic.distributions
        >>> of.MixtureSameFamily(
        ...     of.Categorical(dynamic.ones(2)), of.Normal(dynamic.tensor([0.0, 4.0]), 1.0)
        ... ).mean
        tensor(2.)
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise OptionError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise OptionError(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution"
            )
        count = component_distribution.batch_shape[-1]
        if mixture_distribution._num_events != count:
            raise OptionError(
                f"`mixture_distribution component` ({mixture_distribution._num_events}) does not "
                f"equal `component_distribution.batch_shape[-1]` ({count})"
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        events = component_distribution.event_shape
        self._events = len(events)
        super().__init__(component_distribution.batch_shape[:-1], events, validate_args)

    @property
    def support(self) -> Any:
        """The values of the distributions."""
        return self.component_distribution.support

    def _weights(self) -> Any:
        probs = self.mixture_distribution.probs
        return probs.reshape(*tuple(probs.shape), *[1] * self._events)

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._events)

    @property
    def variance(self) -> Any:
        """The variance."""
        weights, parts, axis = self._weights(), self.component_distribution, -1 - self._events
        centre = self.mean.unsqueeze(axis)
        return (weights * (parts.variance + (parts.mean - centre) ** 2)).sum(axis)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        with no_grad():
            axis = -1 - self._events
            values = self.component_distribution.sample(sample_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            place = chosen.reshape(*tuple(chosen.shape), 1, *[1] * self._events)
            shape = [*values.shape]
            shape[axis] = 1
            return values.gather(values.ndim + axis, place.expand(shape)).squeeze(axis)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - self._events))
        return (each + ops.log_softmax(self.mixture_distribution.logits, -1)).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        each = self.component_distribution.cdf(value.unsqueeze(-1))
        return (each * self.mixture_distribution.probs).sum(-1)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a larger batch."""
        count = self.mixture_distribution._num_events
        return MixtureSameFamily(
            self.mixture_distribution.expand(batch_shape),
            self.component_distribution.expand((*batch_shape, count)),
            validate_args=False,
        )

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
