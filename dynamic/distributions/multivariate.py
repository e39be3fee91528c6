"""The normal distribution of vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic import linalg
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.parameters import LOG_2PI
from staticgraph.dynamic.tensors.creation import eye
from staticgraph.dynamic.tensors.drawn import randn


class MultivariateNormal(Distribution):
    """Normal vectors with a mean, and a covariance, its inverse, or its Cholesky factor.

    Example:
        >>> dynamic.distributions.MultivariateNormal(dynamic.zeros(2), dynamic.eye(2)).sample(
        ...     (3,)
        ... ).shape
        torch.Size([3, 2])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise OptionError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }  # fmt: skip
        named = {name: one for name, one in given.items() if one is not None}
        if len(named) != 1:
            raise OptionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((self._given, matrix),) = named.items()
        if matrix.ndim < 2:
            raise OptionError(
                f"{self._given} must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        size = loc.shape[-1]
        batch = np.broadcast_shapes(tuple(loc.shape)[:-1], tuple(matrix.shape)[:-2])
        self.loc = loc.expand(*batch, size)
        self.__dict__[self._given] = matrix.expand(*batch, *tuple(matrix.shape)[-2:])
        super().__init__(batch, (size,), validate_args)
        self._unbroadcasted_scale_tril = self._factor(matrix)

    def _factor(self, matrix: Any) -> Any:
        if self._given == "scale_tril":
            return matrix
        if self._given == "covariance_matrix":
            return linalg.cholesky(matrix)
        turned = linalg.cholesky(matrix.flip(-2, -1)).flip(-2, -1).transpose(-2, -1)
        identity = eye(matrix.shape[-1], dtype=matrix.dtype)
        return linalg.solve_triangular(turned, identity, upper=False)

    def __getattr__(self, name: str) -> Any:
        factor = self.__dict__.get("_unbroadcasted_scale_tril")
        if factor is None or name not in self.arg_constraints:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        shape = (*self._batch_shape, *self._event_shape, *self._event_shape)
        if name == "scale_tril":
            return factor.expand(shape)
        covariance = factor @ factor.transpose(-2, -1)
        found = covariance if name == "covariance_matrix" else linalg.inv(covariance)
        return found.expand(shape)

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
        """The variance of each element."""
        shape = (*self._batch_shape, *self._event_shape)
        return (self._unbroadcasted_scale_tril**2).sum(-1).expand(shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        noise = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        distance = squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_2PI + distance) - self._half_log_det()

    def _half_log_det(self) -> Any:
        return ops.log(self._unbroadcasted_scale_tril.diagonal(0, -2, -1)).sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        found = 0.5 * self._event_shape[0] * (1.0 + LOG_2PI) + self._half_log_det()
        return found.expand(tuple(self._batch_shape))

    def __repr__(self) -> str:
        matrix = self.__dict__[self._given]
        return f"MultivariateNormal(loc: {self.loc.shape}, {self._given}: {matrix.shape})"


def squared_distance(factor: Any, difference: Any) -> Any:
    """The squared Mahalanobis distance: x^T (L L^T)^-1 x."""
    lead = np.broadcast_shapes(tuple(factor.shape)[:-2], tuple(difference.shape)[:-1])
    size = factor.shape[-1]
    solved = linalg.solve_triangular(
        factor.expand(*lead, size, size), difference.expand(*lead, size).unsqueeze(-1), upper=False
    )
    found = (solved.squeeze(-1) ** 2).sum(-1)
    # back substitution gives 0 times infinity
    return ops.where(ops.isinf(difference).any(-1), difference.abs().sum(-1), found)
