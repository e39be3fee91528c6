"""Distributions whose parameters are tensors, with gradients (torch.distributions)."""

from __future__ import annotations

from dynamic.distributions import constraints, kl, transforms
from dynamic.distributions.choices import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from dynamic.distributions.constraint_registry import biject_to, transform_to
from dynamic.distributions.counts import (
    Bernoulli,
    Binomial,
    Geometric,
    NegativeBinomial,
    Poisson,
)
from dynamic.distributions.derived import (
    Independent,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    MixtureSameFamily,
    TransformedDistribution,
)
from dynamic.distributions.distribution import Distribution
from dynamic.distributions.kl import kl_divergence, register_kl
from dynamic.distributions.location_scale import (
    Cauchy,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from dynamic.distributions.multivariate import MultivariateNormal
from dynamic.distributions.positive import (
    Beta,
    Chi2,
    Dirichlet,
    Exponential,
    FisherSnedecor,
    Gamma,
    InverseGamma,
    Pareto,
    Weibull,
)
from dynamic.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from dynamic.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy",
    "Chi2", "ComposeTransform", "Dirichlet", "Distribution", "ExpTransform", "Exponential",
    "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal", "LogisticNormal",
    "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto",
    "Poisson", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform",
    "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "Weibull",
    "biject_to", "constraints", "identity_transform", "kl", "kl_divergence", "register_kl",
    "transform_to", "transforms",
]  # fmt: skip
