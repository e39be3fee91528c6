"""Distributions whose parameters are tensors, with gradients (torch.distributions)."""

from __future__ import annotations

from staticgraph.dynamic.distributions import constraints, kl, transforms
from staticgraph.dynamic.distributions.choices import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from staticgraph.dynamic.distributions.constraint_registry import biject_to, transform_to
from staticgraph.dynamic.distributions.counts import (
    Bernoulli,
    Binomial,
    Geometric,
    NegativeBinomial,
    Poisson,
)
from staticgraph.dynamic.distributions.derived import (
    Independent,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    MixtureSameFamily,
    TransformedDistribution,
)
from staticgraph.dynamic.distributions.distribution import Distribution
from staticgraph.dynamic.distributions.kl import kl_divergence, register_kl
from staticgraph.dynamic.distributions.location_scale import (
    Cauchy,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from staticgraph.dynamic.distributions.multivariate import MultivariateNormal
from staticgraph.dynamic.distributions.positive import (
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
from staticgraph.dynamic.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from staticgraph.dynamic.distributions.transforms import (
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
