"""Numbers in place of choices, so that there are gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from staticgraph.compiler import ops
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.choices import Categorical
from staticgraph.dynamic.distributions.derived import TransformedDistribution
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import (
    broadcast_all,
    clamped,
    logits_of,
    one_of,
    open_uniform,
    probs_of,
)
from staticgraph.dynamic.distributions.transforms import ExpTransform, SigmoidTransform
from staticgraph.dynamic.tensors.creation import ones_like


class _OneTemperature(Distribution):
    """Distributions with a temperature that is the same in all of the batch; abstract."""

    has_rsample = True
    temperature: Any

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a larger batch."""
        result = super().expand(batch_shape)
        result.temperature = self.temperature
        return result


class _LogitRelaxedBernoulli(_OneTemperature):
    """The logits of relaxed Bernoulli numbers; see `RelaxedBernoulli`."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        one_of(probs, logits)
        self.temperature = temperature
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            self.logits = logits_of(self.probs, True)
        else:
            (self.logits,) = broadcast_all(logits)
            self.probs = probs_of(self.logits, True)
        super().__init__(self.logits.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape = self._extended_shape(sample_shape)
        probs, u = clamped(self.probs.expand(shape)), open_uniform(shape, self.probs.dtype)
        noise = ops.log(u) - ops.log1p(-u)
        return (noise + ops.log(probs) - ops.log1p(-probs)) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        difference = self.logits - value * self.temperature
        log_temperature = (
            ops.log(self.temperature)
            if hasattr(self.temperature, "_array")
            else math.log(self.temperature)
        )
        return log_temperature + difference - 2 * ops.log1p(ops.exp(difference))


class RelaxedBernoulli(_OneTemperature, TransformedDistribution):
    """Numbers between 0 and 1 in place of Bernoulli ones, with gradients (Maddison et al. 2017).

    Example:
        >>> dynamic.distributions.RelaxedBernoulli(0.5, 0.5).rsample((3,)).shape
        torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = _LogitRelaxedBernoulli(temperature, probs, logits)
        self.temperature, self.probs, self.logits = temperature, base.probs, base.logits
        super().__init__(base, SigmoidTransform(), validate_args)


class _ExpRelaxedCategorical(_OneTemperature):
    """The logarithms of relaxed choices; see `RelaxedOneHotCategorical`."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        choice = Categorical(probs, logits, validate_args)
        self.temperature, self.probs, self.logits = temperature, choice.probs, choice.logits
        shape = tuple(self.logits.shape)
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        u = open_uniform(self._extended_shape(sample_shape), self.logits.dtype)
        scores = (self.logits - ops.log(-ops.log(u))) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        k = self.logits.shape[-1]
        temperature = self.temperature * ones_like(self.logits[..., 0].detach())
        scale = math.lgamma(k) + (k - 1) * ops.log(temperature)
        score = self.logits - value * self.temperature
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(_OneTemperature, TransformedDistribution):
    """Shares in place of a choice, with gradients (Jang et al. 2017).

    Example:
        >>> dynamic.distributions.RelaxedOneHotCategorical(0.5, dynamic.ones(4)).rsample().shape
        torch.Size([4])
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = _ExpRelaxedCategorical(temperature, probs, logits)
        self.temperature, self.probs, self.logits = temperature, base.probs, base.logits
        super().__init__(base, ExpTransform(), validate_args)
