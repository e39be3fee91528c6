"""Distributions whose parameters are tensors, with gradients (torch.distributions)."""

from __future__ import annotations

import sys

from staticgraph.dynamic.distributions import constraints, kl, kl_between as kl_between, transforms
from staticgraph.dynamic.distributions.between import (
    ContinuousBernoulli,
    GeneralizedPareto,
    VonMises,
)
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
from staticgraph.dynamic.distributions.covariances import (
    LKJCholesky,
    LowRankMultivariateNormal,
    Wishart,
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
    "Chi2", "ComposeTransform", "ContinuousBernoulli", "Dirichlet", "Distribution", "ExpTransform",
    "Exponential", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel",
    "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma",
    "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PowerTransform", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
    "constraints", "identity_transform", "kl", "kl_divergence", "register_kl", "transform_to",
    "transforms",
]  # fmt: skip

_FILES = (
    "bernoulli", "beta", "binomial", "categorical", "cauchy", "chi2", "continuous_bernoulli",
    "dirichlet", "exponential", "fishersnedecor", "gamma", "generalized_pareto", "geometric",
    "gumbel", "half_cauchy", "half_normal", "independent", "inverse_gamma", "kumaraswamy",
    "laplace", "lkj_cholesky", "lowrank_multivariate_normal", "log_normal", "logistic_normal",
    "mixture_same_family", "multinomial", "multivariate_normal", "negative_binomial", "normal",
    "one_hot_categorical", "pareto", "poisson", "relaxed_bernoulli", "relaxed_categorical",
    "studentT", "transformed_distribution", "uniform", "von_mises", "weibull", "wishart",
)  # fmt: skip
for _file in _FILES:  # `from torch.distributions.normal import Normal`: PyTorch's files
    sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]
