"""Distribution: a batch of distributions of one family, with parameters that are tensors."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import MissingMethodError
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.constraints import Constraint
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.tensor import Tensor, has_values
from staticgraph.dynamic.tensors.values import values_of


class Distribution:
    """A batch of distributions; abstract.

    Attributes:
        arg_constraints: what each parameter has to be.
        support: what its values are.
        has_rsample: whether `rsample` gives values that have gradients by the parameters.
        has_enumerate_support: whether `enumerate_support` lists all values.
        batch_shape: the shape of the batch.
        event_shape: the shape of a value of one of them.

    Example:
        >>> isinstance(dynamic.distributions.Normal(0.0, 1.0), dynamic.distributions.Distribution)
        True
    """

    arg_constraints: ClassVar[Mapping[str, Constraint]] = {}
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    _validate = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether arguments are checked where a distribution is not told."""
        if value not in (True, False):
            raise OptionError(f"set_default_validate_args: {value!r} is not True or False")
        Distribution._validate = value

    def __init__(
        self,
        batch_shape: Any = (),
        event_shape: Any = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate = validate_args
        if self._validate:
            self._check_parameters()

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if value is None or constraints.is_dependent(constraint) or not has_values(value):
                continue
            if not constraint.holds(values_of(value)).all():
                raise OptionError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{_shown(value)}"
                )

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a value of one of them."""
        return self._event_shape

    def _missing(self, what: str) -> MissingMethodError:
        return MissingMethodError(f"{type(self).__name__} has no {what}")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise self._missing("mean")

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise self._missing("mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient: of shape sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients by the parameters; NotImplementedError where there are none."""
        raise self._missing("rsample: its values have no gradients")

    def sample_n(self, n: int) -> Any:
        """`sample((n,))`."""
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at values."""
        raise self._missing("log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of values up to these."""
        raise self._missing("cdf")

    def icdf(self, value: Any) -> Any:
        """The values up to which these are the probabilities."""
        raise self._missing("icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values, along a new first axis."""
        raise self._missing("enumerate_support")

    def entropy(self) -> Any:
        """The entropy."""
        raise self._missing("entropy")

    def perplexity(self) -> Any:
        """exp of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a larger batch."""
        result, before = copy.copy(self), tuple(self._batch_shape)
        own = vars(result)
        for name, value in own.items():
            if name.startswith("_unbroadcasted"):  # whose shape has no part of the batch's
                continue
            if isinstance(value, Distribution):
                own[name] = value.expand(batch_shape)
            elif isinstance(value, Tensor) and tuple(value.shape)[: len(before)] == before:
                own[name] = value.expand(*batch_shape, *tuple(value.shape)[len(before) :])
        result._batch_shape = Size(batch_shape)
        return result

    def _extended_shape(self, sample_shape: Any = ()) -> tuple[int, ...]:
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)

    def _validate_sample(self, value: Any) -> None:
        """ValueError for what is no tensor, does not broadcast, or is no value of the family."""
        if not self._validate:
            return
        if not isinstance(value, Tensor):
            raise OptionError("The value argument to log_prob must be a Tensor")
        own = (*self._batch_shape, *self._event_shape)
        lead = value.ndim - len(self._event_shape)
        if tuple(value.shape)[lead:] != tuple(self._event_shape):
            raise OptionError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}."
            )
        for i, j in zip(reversed(tuple(value.shape)), reversed(own), strict=False):
            if 1 not in (i, j) and i != j:
                raise OptionError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.shape} vs {Size(own)}."
                )
        support = self.support
        if support is None or constraints.is_dependent(support) or not has_values(value):
            return
        if not support.holds(values_of(value)).all():
            raise OptionError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{_shown(value)}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                single = isinstance(value, Tensor) and value.numel() == 1
                shown.append(f"{name}: {_shown(value) if single else value.shape}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if value.ndim or not has_values(value):
        return repr(value.detach() if isinstance(value, Tensor) else value)
    return str(np.float64(value.item())) if value.is_floating_point() else str(value.item())
