"""Normal vectors whose covariance has few factors, and distributions of covariances."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.functions.special import multigammaln
from staticgraph.dynamic import linalg
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.multivariate import MultivariateNormal
from staticgraph.dynamic.distributions.parameters import LOG_2PI, broadcast_all
from staticgraph.dynamic.distributions.positive import Beta, Chi2
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.creation import arange, as_tensor, eye
from staticgraph.dynamic.tensors.drawn import randn
from staticgraph.dynamic.tensors.tensor import has_values


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of the covariance W W^T + D: W of few columns, D diagonal.

    Example:
        >>> dynamic.distributions.LowRankMultivariateNormal(
        ...     dynamic.zeros(2), dynamic.ones(2, 1), dynamic.ones(2)
        ... ).variance
        tensor([2., 2.])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        if loc.ndim < 1:
            raise OptionError("loc must be at least one-dimensional.")
        size = loc.shape[-1]
        if cov_factor.ndim < 2 or cov_factor.shape[-2] != size:
            raise OptionError(
                f"cov_factor must be a batch of matrices with shape {size} x m, but its shape is "
                f"{tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1] != size:
            raise OptionError(
                f"cov_diag must be a batch of vectors with shape {(size,)}, but its shape is "
                f"{tuple(cov_diag.shape)}"
            )
        batch = np.broadcast_shapes(
            tuple(loc.shape)[:-1], tuple(cov_factor.shape)[:-2], tuple(cov_diag.shape)[:-1]
        )
        self.loc = loc.expand(*batch, size)
        self.cov_factor = cov_factor.expand(*batch, size, cov_factor.shape[-1])
        self.cov_diag = cov_diag.expand(*batch, size)
        super().__init__(batch, (size,), validate_args)
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        identity = eye(cov_factor.shape[-1], dtype=loc.dtype)
        self._unbroadcasted_capacitance = linalg.cholesky(identity + scaled @ cov_factor)

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
        return (self.cov_factor**2).sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return linalg.inv(self.covariance_matrix)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape = self._extended_shape(sample_shape)
        factors = randn((*shape[:-1], self.cov_factor.shape[-1]), dtype=self.loc.dtype)
        common = (self.cov_factor @ factors.unsqueeze(-1)).squeeze(-1)
        return self.loc + common + self.cov_diag.sqrt() * randn(shape, dtype=self.loc.dtype)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        apart = (value - self.loc) / self.cov_diag
        common = (self.cov_factor.mT @ apart.unsqueeze(-1)).squeeze(-1)
        size = self._unbroadcasted_capacitance.shape[-1]
        factor = self._unbroadcasted_capacitance.expand(*tuple(common.shape)[:-1], size, size)
        solved = linalg.solve_triangular(factor, common.unsqueeze(-1), upper=False).squeeze(-1)
        distance = ((value - self.loc) * apart).sum(-1) - (solved**2).sum(-1)
        return -0.5 * (self._event_shape[0] * LOG_2PI + self._log_det() + distance)

    def _log_det(self) -> Any:
        inner = ops.log(self._unbroadcasted_capacitance.diagonal(0, -2, -1)).sum(-1)
        return 2 * inner + ops.log(self.cov_diag).sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        found = 0.5 * (self._event_shape[0] * (1.0 + LOG_2PI) + self._log_det())
        return found.expand(tuple(self._batch_shape))


class Wishart(Distribution):
    """Sums of `df` squared normal vectors of a covariance, given as for MultivariateNormal.

    Values are drawn by the decomposition of Bartlett (1933).

    Example:
        >>> dynamic.distributions.Wishart(3.0, dynamic.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = (covariance_matrix, precision_matrix, scale_tril)
        given = [one for one in matrices if one is not None]
        if len(given) != 1:
            raise OptionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        size = given[0].shape[-1]
        df = as_tensor(df, dtype=given[0].dtype)
        batch = np.broadcast_shapes(tuple(given[0].shape)[:-2], tuple(df.shape))
        if has_values(df) and not bool((df.detach() > size - 1).all()):
            raise OptionError(
                f"Value of df={df.detach()} expected to be greater than ndim - 1 = {size - 1}."
            )
        self.df = df.expand(batch)
        zeros = given[0].new_zeros(*batch, size)
        self._normal = MultivariateNormal(zeros, *matrices, validate_args=validate_args)
        super().__init__(batch, (size, size), validate_args)

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._normal.scale_tril

    @property
    def covariance_matrix(self) -> Any:
        """The covariance of the vectors."""
        return self._normal.covariance_matrix

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._normal.precision_matrix

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        """The most likely value; nan where there is none."""
        factor = self.df - self._event_shape[-1] - 1
        factor = ops.where(factor <= 0, math.nan, factor)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(0, -2, -1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (matrix**2 + outer)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values with gradients."""
        shape, size = self._extended_shape(sample_shape), self._event_shape[-1]
        degrees = self.df.unsqueeze(-1) - arange(size, dtype=self.df.dtype)
        lengths = Chi2(degrees).rsample(sample_shape).sqrt()
        noise = randn(shape, dtype=self.df.dtype).tril(-1) + lengths.diag_embed()
        factor = self.scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = (self.precision_matrix * value).sum((-2, -1))
        determinant = 0.5 * (nu - p - 1) * linalg.slogdet(value)[1]
        return determinant - 0.5 * trace - nu * self._half_log_det(p) - multigammaln(nu / 2, p)

    def _half_log_det(self, p: int) -> Any:
        return p * math.log(2) / 2 + ops.log(self.scale_tril.diagonal(0, -2, -1)).sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        nu, p = self.df, self._event_shape[-1]
        half = arange(p, dtype=nu.dtype) / 2
        slopes = ops.digamma(nu.unsqueeze(-1) / 2 - half).sum(-1)
        spread = (p + 1) * self._half_log_det(p) + multigammaln(nu / 2, p)
        return spread - 0.5 * (nu - p - 1) * slopes + nu * p / 2

    def __repr__(self) -> str:
        return f"Wishart(df: {self.df.shape}, scale: {self._event_shape})"


class LKJCholesky(Distribution):
    """Cholesky factors of correlations, of the density det**(concentration - 1).

    Lewandowski, Kurowicka and Joe (2009), by the onion method: all correlations of a matrix have
    one distribution, which those that PyTorch draws for its third and later rows have not.

    Example:
        >>> dynamic.distributions.LKJCholesky(3).sample().shape
        torch.Size([3, 3])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise OptionError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values without a gradient."""
        dtype = self.concentration.dtype
        with no_grad():
            below = arange(self.dim, dtype=dtype).clamp(min=1) / 2
            last = self.concentration.unsqueeze(-1) + 0.5 * (self.dim - 1) - below
            lengths = Beta(below, last).sample(sample_shape)
            directions = randn(self._extended_shape(sample_shape), dtype=dtype).tril(-1)
            norms = directions.norm(dim=-1, keepdim=True)
            rows = ops.where(norms > 0, directions / norms, 0.0) * lengths.sqrt().unsqueeze(-1)
            tiny = float(limits(rows._array.dtype).tiny)
            rest = (1 - (rows**2).sum(-1)).clamp(min=tiny).sqrt()
            return rows + rest.diag_embed()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        self._validate_sample(value)
        count, dtype = self.dim - 1, self.concentration.dtype
        order = arange(2, self.dim + 1, dtype=dtype)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        diagonal = value.diagonal(0, -2, -1)[..., 1:]
        alpha = self.concentration + 0.5 * count
        norm = 0.5 * count * math.log(math.pi) + multigammaln(alpha - 0.5, count)
        return (powers * ops.log(diagonal)).sum(-1) - norm + ops.lgamma(alpha) * count
